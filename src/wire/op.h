/* SPDX-License-Identifier: MIT */
/*
 * The sealed plan: a flat list of operations. The planner writes it, the launcher maps it and walks
 * it without copying. Every operation has two numbers, two byte strings and flags, so one table
 * (KODA_OPS) describes what each kind needs, and one decoder checks it.
 *
 * This half needs libc only: it is linked into the launcher.
 */
#ifndef KODA_WIRE_OP_H
#define KODA_WIRE_OP_H

#include <koda/span.h>
#include <stdbool.h>
#include <stdint.h>

#define KODA_OP_PLAN_MAX ((size_t)16 << 20) /* bytes of a whole plan */
#define KODA_OP_MAGIC    0x6b6f6461U

/* What a text must be. */
enum koda_op_text {
	KODA_TEXT_NONE = 0, /* empty */
	KODA_TEXT_PATH,     /* absolute, in normal form, no NUL */
	KODA_TEXT_WORD,     /* no NUL */
	KODA_TEXT_BYTES     /* anything */
};

/* Which process carries an operation out, and when. */
enum koda_op_stage {
	KODA_STAGE_RESERVE = 0, /* the guardian, while init begins the view; it removes them */
	KODA_STAGE_VIEW,        /* init, in its mount namespace */
	KODA_STAGE_LANDLOCK,    /* backend landlock only: the guardian and the broker in init */
	KODA_STAGE_LOCKDOWN,    /* the command's process, before execve */
	KODA_STAGE_COMMAND,     /* init and the command's process: what is executed, and how */
	KODA_STAGE_GUARDIAN     /* the guardian, while the command runs and afterwards */
};

/* Flags: name, bit, name in plan --json. KODA_OPS says which kind accepts which.
 *
 *   LATE         the tree is cloned in its turn, from the view made so far; a path that is missing
 *                there is made, if it lies in a file system of the sandbox
 *   CLOSED       a tmpfs that becomes read-only once everything is in place
 *   FLEETING     the path of a mask may be missing by then, which needs no mask
 *   DIRECTORY    the path of a mask was a directory when planned
 *   NOTIFY       a filter that has init perform some calls (SECCOMP_RET_USER_NOTIF)
 *   EXACT        a Landlock rule for this very path, which must be no symbolic link
 *   ALONE        a placeholder file with an inode of its own, shared with no other placeholder
 *   NOTED        a placeholder that later runs may not reserve too, so it is in the journal as long
 *                as it exists
 *   EMPTY        a mask that is a readable directory without entries
 *   HIDDEN       a placeholder that the view hides, whatever file has taken its place
 *   NESTED       the path lies right below a writable mount of the plan, and is cloned from there
 *                in its turn
 *   ONLY_INSIDE  a mount that init makes and never bubblewrap (plan/bwrap.h) */
#define KODA_OP_FLAGS(X)                                                                           \
	X(LATE, 0, "late")                                                                         \
	X(CLOSED, 1, "closed")                                                                     \
	X(FLEETING, 2, "fleeting")                                                                 \
	X(DIRECTORY, 3, "directory")                                                               \
	X(NOTIFY, 4, "asked")                                                                      \
	X(EXACT, 5, "exact")                                                                       \
	X(ALONE, 6, "alone")                                                                       \
	X(NOTED, 7, "noted")                                                                       \
	X(EMPTY, 8, "empty")                                                                       \
	X(HIDDEN, 9, "hidden")                                                                     \
	X(NESTED, 10, "nested")                                                                    \
	X(ONLY_INSIDE, 11, "only-inside")

enum koda_op_flag {
	KODA_OP_NO_FLAGS = 0,
#define KODA_OP_FLAG_ENUM(name, bit, text) KODA_OP_##name = 1U << (bit),
	KODA_OP_FLAGS(KODA_OP_FLAG_ENUM)
#undef KODA_OP_FLAG_ENUM
};

/* The flags of an RLIMIT are no flags but a resource of setrlimit(2), 0 to 15. */
#define KODA_OP_RESOURCES 15U

/* What the kinds of a mount accept. */
#define KODA_OP_BIND_FLAGS (KODA_OP_LATE | KODA_OP_NESTED | KODA_OP_ONLY_INSIDE)
#define KODA_OP_MASK_FLAGS                                                                         \
	(KODA_OP_LATE | KODA_OP_FLEETING | KODA_OP_DIRECTORY | KODA_OP_EMPTY | KODA_OP_ONLY_INSIDE)

/* Kind, name in listings, text1, text2, stage, accepted flags. The order is that of the enum only.
 *
 *   PLACEHOLDER       an empty directory at a protected or hidden name
 *   PLACEHOLDER_FILE  a file with contents text2, in a git directory
 *
 * The view. n1, n2: device and inode of the path when planned, or 0.
 *   WRITABLE, READONLY  the tree at text1 bound onto itself
 *   PIN                 a symbolic link bound onto itself
 *   MASK                an empty file or directory of mode 000, read-only
 *   VEIL                a mask with holes: it cannot be listed, but passed through
 *   HOLE                the tree at text1, read-only, inside a veil
 *   TMPFS               n1: bytes, n2: mode
 *   OVERLAY             the tree at text1, copied on write into a slot below text2
 *   FILE                contents text2, n1: mode; never in a tree of the host
 *   DEV, PROC           a minimal /dev, a fresh /proc
 *
 * Backend landlock.
 *   SCRATCH  the command's temporary directory
 *   SOCKET   a socket that the command cannot connect to; n1, n2: device and inode
 *
 * Lock-down.
 *   LANDLOCK      n1: rights below text1, n2: inode or 0
 *   RLIMIT        flags: resource, n1: soft, n2: hard
 *   FILTER        a seccomp program
 *   DENIED_WRITE  self-check: creating a file in text1 fails
 *   DENIED_READ   self-check: opening text1 fails
 *
 * The command.
 *   TERMINAL    a struct koda_terminal_state
 *   NET         n1: port of the egress proxy or 0, n2: no TCP binding
 *   DESCRIPTOR  a descriptor that the host passes; n1: its number
 *
 * The guardian.
 *   CGROUP   a control group below text1; n1: bytes, n2: processes
 *   JOURNAL  list of placeholders that other runs remove
 *   STORE    where the directories of placeholders are kept */
#define KODA_OPS(X)                                                                                \
	X(PLACEHOLDER, "placeholder", PATH, NONE, RESERVE, KODA_OP_NOTED | KODA_OP_HIDDEN)         \
	X(PLACEHOLDER_FILE, "placeholder-file", PATH, BYTES, RESERVE,                              \
	  KODA_OP_NOTED | KODA_OP_ALONE)                                                           \
	X(WRITABLE, "writable", PATH, NONE, VIEW, KODA_OP_BIND_FLAGS)                              \
	X(READONLY, "read-only", PATH, NONE, VIEW, KODA_OP_BIND_FLAGS)                             \
	X(PIN, "pin", PATH, NONE, VIEW, KODA_OP_NESTED)                                            \
	X(MASK, "mask", PATH, NONE, VIEW, KODA_OP_MASK_FLAGS)                                      \
	X(VEIL, "veil", PATH, NONE, VIEW, KODA_OP_ONLY_INSIDE)                                     \
	X(HOLE, "hole", PATH, NONE, VIEW, KODA_OP_ONLY_INSIDE)                                     \
	X(TMPFS, "tmpfs", PATH, NONE, VIEW, KODA_OP_CLOSED)                                        \
	X(OVERLAY, "overlay", PATH, PATH, VIEW, KODA_OP_ONLY_INSIDE)                               \
	X(FILE, "file", PATH, BYTES, VIEW, KODA_OP_NO_FLAGS)                                       \
	X(DEV, "dev", NONE, NONE, VIEW, KODA_OP_NO_FLAGS)                                          \
	X(PROC, "proc", NONE, NONE, VIEW, KODA_OP_NO_FLAGS)                                        \
	X(SCRATCH, "scratch", PATH, NONE, LANDLOCK, KODA_OP_NO_FLAGS)                              \
	X(SOCKET, "socket", PATH, NONE, LANDLOCK, KODA_OP_NO_FLAGS)                                \
	X(LANDLOCK, "landlock", PATH, NONE, LOCKDOWN, KODA_OP_EXACT)                               \
	X(RLIMIT, "rlimit", NONE, NONE, LOCKDOWN, KODA_OP_RESOURCES)                               \
	X(FILTER, "filter", BYTES, NONE, LOCKDOWN, KODA_OP_NOTIFY)                                 \
	X(DENIED_WRITE, "denied-write", PATH, NONE, LOCKDOWN, KODA_OP_NO_FLAGS)                    \
	X(DENIED_READ, "denied-read", PATH, NONE, LOCKDOWN, KODA_OP_NO_FLAGS)                      \
	X(CWD, "cwd", PATH, NONE, COMMAND, KODA_OP_NO_FLAGS)                                       \
	X(ENV, "env", WORD, NONE, COMMAND, KODA_OP_NO_FLAGS)                                       \
	X(ARG, "arg", WORD, NONE, COMMAND, KODA_OP_NO_FLAGS)                                       \
	X(TERMINAL, "terminal", BYTES, NONE, COMMAND, KODA_OP_NO_FLAGS)                            \
	X(NET, "net", NONE, NONE, COMMAND, KODA_OP_NO_FLAGS)                                       \
	X(CGROUP, "cgroup", PATH, NONE, GUARDIAN, KODA_OP_NO_FLAGS)                                \
	X(DESCRIPTOR, "descriptor", NONE, NONE, COMMAND, KODA_OP_NO_FLAGS)                         \
	X(JOURNAL, "journal", PATH, NONE, GUARDIAN, KODA_OP_NO_FLAGS)                              \
	X(STORE, "store", PATH, NONE, GUARDIAN, KODA_OP_NO_FLAGS)

enum koda_op_kind {
#define KODA_OP_ENUM(name, text, t1, t2, stage, flags) KODA_OP_##name,
	KODA_OPS(KODA_OP_ENUM)
#undef KODA_OP_ENUM
	KODA_OP_COUNT
};

/* Labels of every kind that is no part of the view, for the end of a switch about the view:
 * KODA_OPS(KODA_OP_CASE_OUTSIDE_VIEW). */
#define KODA_OP_CASE_OUTSIDE_VIEW(name, text, t1, t2, stage, flags) KODA_OP_CASE_##stage(name)
#define KODA_OP_CASE_VIEW(name)
#define KODA_OP_CASE_RESERVE(name)  case KODA_OP_##name:
#define KODA_OP_CASE_LANDLOCK(name) case KODA_OP_##name:
#define KODA_OP_CASE_LOCKDOWN(name) case KODA_OP_##name:
#define KODA_OP_CASE_COMMAND(name)  case KODA_OP_##name:
#define KODA_OP_CASE_GUARDIAN(name) case KODA_OP_##name:

/* One operation, borrowed from the plan. Texts are NUL-terminated. */
struct koda_op {
	enum koda_op_kind kind;
	uint32_t flags; /* of enum koda_op_flag */
	uint64_t n1;
	uint64_t n2;
	struct koda_span text1;
	struct koda_span text2;
};

/* Size of the tmpfs in place of a cache that cannot be copied on write. */
#define KODA_OP_CACHE_BYTES (1024ULL << 20)

/* The layout of a plan: a header, then records of 8-byte alignment, each followed by its texts. */
struct koda_op_header {
	uint32_t magic;
	uint32_t count;
	uint64_t bytes; /* of the whole plan */
};

struct koda_op_record {
	uint32_t kind;
	uint32_t flags;
	uint64_t n1;
	uint64_t n2;
	uint32_t len1; /* without terminator */
	uint32_t len2;
};

/* Returns the size of a record with its texts. */
static inline uint64_t koda_op_size(uint32_t len1, uint32_t len2)
{
	return (sizeof(struct koda_op_record) + (uint64_t)len1 + 1 + len2 + 1 + 7) & ~7ULL;
}

/* Returns the name of a kind in listings; "?" for an unknown one. */
const char *koda_op_name(enum koda_op_kind kind);
/* Returns the stage of a kind, which must be known. */
enum koda_op_stage koda_op_stage(enum koda_op_kind kind);
/* Returns the flags that a kind, which must be known, accepts. */
uint32_t koda_op_accepts(enum koda_op_kind kind);

/* Returns true if the whole plan is well-formed: every kind is known, every text is what its kind
 * needs, every flag is one that its kind accepts. */
bool koda_ops_are_sound(const void *plan, size_t len);

/* Reads the next operation of a well-formed plan; *at starts at 0. Returns false at the end. */
bool koda_ops_next(const void *plan, size_t *at, struct koda_op *ret_op);

#endif
