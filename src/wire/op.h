/* SPDX-License-Identifier: MIT */
/*
 * The sealed plan: what the launcher does, as a flat list of ops. The planner writes it, the
 * launcher maps it and walks it without copying. Every op has the same form (two numbers, two
 * byte strings), so one table describes what each kind needs, and one decoder checks it.
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

/* What a text field must be. */
enum koda_op_text {
	KODA_TEXT_NONE = 0, /* empty */
	KODA_TEXT_PATH,     /* absolute, in normal form, no NUL */
	KODA_TEXT_WORD,     /* no NUL */
	KODA_TEXT_BYTES     /* anything */
};

/* Kind, name in listings, what text1 and text2 are. Order matters nowhere but in the enum. */
#define KODA_OPS(X)                                                                                \
	/* on the host, before any namespace; removed again by the guardian */                     \
	X(HOLD, "hold", PATH, NONE) /* a node that nobody can use, at a protected name */          \
	X(HOLD_FILE, "hold-file", PATH, BYTES) /* a neutral file with contents text2 */            \
	/* the mount view; n1, n2: device and inode that the path had when planned, or 0 */        \
	X(WRITABLE, "writable", PATH, NONE)  /* the tree at text1 onto itself, writable */         \
	X(READONLY, "read-only", PATH, NONE) /* the tree at text1 onto itself, read-only */        \
	X(PIN, "pin", PATH, NONE)            /* a symbolic link onto itself */                     \
	X(MASK, "mask", PATH, NONE)          /* empty, mode 000, read-only */                      \
	X(VEIL, "veil", PATH, NONE)          /* a mask that can be walked through to a hole */     \
	X(HOLE, "hole", PATH, NONE)          /* the tree at text1, read-only, inside a veil */     \
	X(TMPFS, "tmpfs", PATH, NONE)        /* n1: bytes, n2: mode */                             \
	X(OVERLAY, "overlay", PATH, PATH)    /* text1 copied on write into a slot below text2 */   \
	X(FILE, "file", PATH, BYTES) /* contents text2, n1: mode; never in a host's tree */        \
	X(DEV, "dev", NONE, NONE)    /* a minimal /dev */                                          \
	X(PROC, "proc", NONE, NONE)  /* a fresh /proc */                                           \
	/* without namespaces; made and removed by the guardian, refused by init */                \
	X(SCRATCH, "scratch", PATH, NONE) /* the command's temporary directory */                  \
	X(SOCKET, "socket", PATH, NONE)   /* nobody connects to it; n1, n2: as in the view */      \
	/* lock-down */                                                                            \
	X(LANDLOCK, "landlock", PATH, NONE)         /* n1: rights below text1, n2: inode or 0 */   \
	X(RLIMIT, "rlimit", NONE, NONE)             /* flags: resource, n1: soft, n2: hard */      \
	X(FILTER, "filter", BYTES, NONE)            /* the seccomp program */                      \
	X(DENIED_WRITE, "denied-write", PATH, NONE) /* canary: creating below text1 fails */       \
	X(DENIED_READ, "denied-read", PATH, NONE)   /* canary: opening text1 fails */              \
	/* the command */                                                                          \
	X(CWD, "cwd", PATH, NONE)                                                                  \
	X(ENV, "env", WORD, NONE)                                                                  \
	X(ARG, "arg", WORD, NONE)                                                                  \
	X(TERMINAL, "terminal", BYTES, NONE) /* a struct koda_terminal_state */                    \
	X(NET, "net", NONE, NONE) /* n1: port of the way out or 0, n2: no TCP binding */           \
	/* on the host again, removed by the guardian */                                           \
	X(CGROUP, "cgroup", PATH, NONE) /* a group below text1; n1: bytes, n2: processes */        \
	/* the command again */                                                                    \
	X(DESCRIPTOR, "descriptor", NONE, NONE) /* one that the host hands over; n1: its number */

enum koda_op_kind {
#define KODA_OP_ENUM(name, text, t1, t2) KODA_OP_##name,
	KODA_OPS(KODA_OP_ENUM)
#undef KODA_OP_ENUM
	KODA_OP_COUNT
};

/* One op, borrowed from the plan. Texts are NUL-terminated. */
struct koda_op {
	enum koda_op_kind kind;
	uint32_t flags;
	uint64_t n1;
	uint64_t n2;
	struct koda_span text1;
	struct koda_span text2;
};

/* Flag of a mount op: the tree is cloned when its turn comes, from the view made so far; what is
 * missing there is made, if it is in a file system of the sandbox's own. */
#define KODA_OP_LATE 1U
/* Flag of a mask: what it hides may be gone by then, which is as good. */
#define KODA_OP_FLEETING 4U
/* Size of a cache that cannot be a copy and is an empty directory in memory instead. */
#define KODA_OP_CACHE_BYTES (1024ULL << 20)
/* Flag of a Landlock rule: for this very place, never for where a link leads. */
#define KODA_OP_EXACT 32U
/* Flag of a filter: init is asked about some calls, and does them itself. */
#define KODA_OP_ASKED 16U
/* Flag of a tmpfs: read-only once everything is in place. */
#define KODA_OP_CLOSED 2U

/* Flag of a mask: what it hides was a directory when planned. */
#define KODA_OP_DIRECTORY 8U
/* Flag of a mount op: it is never bubblewrap's to make (plan/bwrap.h). */
#define KODA_OP_ONLY_INSIDE 32U

/* Flag of a placeholder: it is no further name of another one. */
#define KODA_OP_ALONE 64U

/* As they lie in the plan: header, then records of 8-byte alignment, texts behind each record. */
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

/* Bytes a record takes with its texts. */
static inline uint64_t koda_op_size(uint32_t len1, uint32_t len2)
{
	return (sizeof(struct koda_op_record) + (uint64_t)len1 + 1 + len2 + 1 + 7) & ~7ULL;
}

const char *koda_op_name(enum koda_op_kind kind);

/* Is the whole plan well-formed? Every kind known, every text what its kind needs. */
bool koda_ops_are_sound(const void *plan, size_t len);

/* Walks a sound plan: *at starts at 0. False at the end. */
bool koda_ops_next(const void *plan, size_t *at, struct koda_op *ret_step);

#endif
