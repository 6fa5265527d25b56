/* SPDX-License-Identifier: MIT */
/*
 * What a policy asks for, clause by clause, and what this machine makes of it. A sandbox whose
 * backend cannot hold a clause says so, before anything runs.
 */
#ifndef KODA_CLAUSE_H
#define KODA_CLAUSE_H

#include <koda/error.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Enumerator, name as printed, whether it contains (Auto needs it enforced) or only limits. */
#define KODA_CLAUSES(X)                                                                            \
	X(WRITE_OUTSIDE, "write_outside", true)     /* nothing outside allow_write is written */   \
	X(WRITE_PROTECTED, "write_protected", true) /* denies inside allow_write, the floor */     \
	X(MISSING_NAMES, "missing_names", true)     /* protected names that do not exist yet */    \
	X(LINK_NAMES, "link_names", true)           /* protected names that are links */           \
	X(HIDDEN_READS, "hidden_reads", true)       /* deny_read */                                \
	X(PRIVATE_DIRS, "private_dirs", true)       /* own /tmp, /run, /dev, /dev/shm */           \
	X(SOCKETS, "sockets", true)                 /* the host's Unix sockets are out of reach */ \
	X(PROCESSES, "processes", true)             /* the host's processes are out of reach */    \
	X(PRIVILEGES, "privileges", true)           /* no capabilities, no set-user-id, no keys */ \
	X(SYSTEM_CALLS, "system_calls", true)       /* the filter */                               \
	X(SECOND_LAYER, "second_layer", true)       /* Landlock repeats what the view says */      \
	X(NETWORK, "network", true)                 /* no connection but through the proxy */      \
	X(LOCAL_BINDING, "local_binding", true)     /* allow_local_binding */                      \
	X(END_OF_TREE, "end_of_tree", true)         /* nothing survives the command */             \
	X(WALL_TIME, "wall_time", false)                                                           \
	X(OUTPUT, "output", false)                                                                 \
	X(MEMORY, "memory", false)                                                                 \
	X(PROCESS_COUNT, "process_count", false)                                                   \
	X(OPEN_FILES, "open_files", false)                                                         \
	X(FILE_SIZE, "file_size", false)                                                           \
	X(CPU_TIME, "cpu_time", false)                                                             \
	X(CORE_DUMPS, "core_dumps", false)                                                         \
	X(CACHES, "caches", false) /* package caches are copies on write */

enum koda_clause {
#define KODA_CLAUSE_ENUM(name, text, contains) KODA_CLAUSE_##name,
	KODA_CLAUSES(KODA_CLAUSE_ENUM)
#undef KODA_CLAUSE_ENUM
	KODA_CLAUSE_COUNT
};

/* How a clause is held. */
enum koda_grip {
	KODA_GRIP_REFUSED = 0, /* not at all */
	KODA_GRIP_EMULATED,    /* by watching, or only in part */
	KODA_GRIP_ENFORCED     /* by the kernel */
};

struct koda_finding {
	enum koda_grip grip;
	const char *why;    /* static; "" if there is nothing to say */
	const char *remedy; /* static; what would make it better, or "" */
};

/* One finding per clause. Later releases may have more of those, and of older ones nobody looks at
 * the rest. */
#define KODA_CLAUSE_MAX 64
struct koda_findings {
	struct koda_finding of[KODA_CLAUSE_MAX];
};

/* "write_outside" and so on; never NULL. */
KODA_API const char *koda_clause_name(enum koda_clause clause);
/* The clause of that name. Fails: INVALID. */
KODA_API KODA_CHECK int koda_clause_parse(const char *text, enum koda_clause *ret_clause,
					  struct koda_error *err);
/* "enforced", "emulated", "refused". */
KODA_API const char *koda_grip_name(enum koda_grip grip);
/* Is it part of the containment, and not a mere limit? */
KODA_API bool koda_clause_contains(enum koda_clause clause);

#ifdef __cplusplus
}
#endif

#endif
