/* SPDX-License-Identifier: MIT */
/*
 * The clauses of a policy, and how this machine enforces each of them. A sandbox whose backend
 * cannot enforce a clause says so before anything runs.
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

/* How a clause is enforced. */
enum koda_enforcement {
	KODA_ENFORCEMENT_REFUSED = 0, /* not at all */
	KODA_ENFORCEMENT_EMULATED,    /* by watching, or only in part */
	KODA_ENFORCEMENT_ENFORCED     /* by the kernel */
};

struct koda_finding {
	enum koda_enforcement enforcement;
	const char *reason; /* static; "" if there is nothing to say */
	const char *remedy; /* static; what would make it better, or "" */
};

/* One finding per clause. Entries at and above KODA_CLAUSE_COUNT are unused. */
#define KODA_CLAUSE_MAX 64
struct koda_findings {
	struct koda_finding clause[KODA_CLAUSE_MAX];
};

/* Returns "write_outside" and so on; never NULL. */
KODA_API const char *koda_clause_name(enum koda_clause clause);
/* Reads the name of a clause. Fails: INVALID. */
KODA_API KODA_CHECK int koda_clause_parse(const char *text, enum koda_clause *ret_clause,
					  struct koda_error *err);
/* Returns "enforced", "emulated" or "refused". */
KODA_API const char *koda_enforcement_name(enum koda_enforcement enforcement);
/* Returns whether the clause is part of the containment, and not only a limit. */
KODA_API bool koda_clause_contains(enum koda_clause clause);

#ifdef __cplusplus
}
#endif

#endif
