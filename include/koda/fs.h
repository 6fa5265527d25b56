/* SPDX-License-Identifier: MIT */
/*
 * Reads, writes, edits and searches that a model chose, carried out by a process of their own. This
 * file worker is started in a sandbox like a command, with the same view of the files and the same
 * limits by the kernel, so that even one that was taken over can do no more than a command.
 *
 *	koda_fs_open -> koda_fs_call -> koda_fs_close
 *
 * or with many requests on their way,
 *
 *	koda_fs_open -> koda_fs_send -> koda_fs_fd -> koda_fs_step, until no request is left
 *	             -> koda_fs_close
 *
 * Requests are carried out in the order in which they were sent. One thread at a time may use a
 * file worker; a second thread, or a callback of a request, gets KODA_E_INVALID. A callback may
 *call koda_fs_close, which takes effect when the function that called it returns.
 */
#ifndef KODA_FS_H
#define KODA_FS_H

#include <koda/error.h>
#include <koda/rules.h>
#include <koda/sandbox.h>
#include <koda/span.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of requests: name, bit. KODA_FS_OPS says which request accepts which.
 *
 *   PARENTS      missing directories above the path are made
 *   NEW          fails if the path exists
 *   IN_PLACE     the file itself is written, not replaced: for further links, other owners
 *   EXPECT       the file must have the SHA-256 in expect
 *   ALL          edit: every match is replaced
 *   RECURSIVE    remove: directories with all below
 *   FOLLOW       stat: of the file that a symbolic link leads to
 *   LITERAL      grep: the pattern is no regular expression
 *   IGNORE_CASE  grep
 *   HIDDEN       glob, grep: also names that begin with a dot
 *   NO_IGNORE    glob, grep: ignore files do not count
 *   HASH         the reply has the SHA-256 of the content that was read or written */
#define KODA_FS_FLAGS(X)                                                                           \
	X(PARENTS, 2)                                                                              \
	X(NEW, 3)                                                                                  \
	X(IN_PLACE, 4)                                                                             \
	X(EXPECT, 5)                                                                               \
	X(ALL, 6)                                                                                  \
	X(RECURSIVE, 7)                                                                            \
	X(FOLLOW, 8)                                                                               \
	X(LITERAL, 9)                                                                              \
	X(IGNORE_CASE, 10)                                                                         \
	X(HIDDEN, 11)                                                                              \
	X(NO_IGNORE, 12)                                                                           \
	X(HASH, 13)

enum koda_fs_flag {
	KODA_FS_NO_FLAGS = 0,
#define KODA_FS_FLAG_ENUM(name, bit) KODA_FS_##name = 1 << (bit),
	KODA_FS_FLAGS(KODA_FS_FLAG_ENUM)
#undef KODA_FS_FLAG_ENUM
};

#define KODA_FS_WALK (KODA_FS_HIDDEN | KODA_FS_NO_IGNORE)

/* Requests: name, name for people, what path, text and text2 must be (PATH: 1 to 4095 bytes without
 * NUL; BYTES: any; NONE: empty), accepted flags, how many numbers the worker's protocol uses for
 * it.
 *
 *   request  path, text, text2           max       count of the reply, and what comes with it
 *   READ     file                        bytes     bytes; stat.size is the file's; content
 *   WRITE    file                                  bytes; stat.mode
 *   EDIT     file, old, new                        replacements; with AMBIGUOUS the matches; with
 *                                                  NO_MATCH line and message: the nearest line
 *   STAT     path                                  stat; link: where a symbolic link leads
 *   LIST     directory                   entries   entries; items
 *   GLOB     directory, pattern          paths     paths; items
 *   GREP     directory, pattern, names   hits      hits; items. names: a pattern that the names of
 *                                                  files must match; empty: all
 *   GETENV   names, NUL behind each one            names; items
 *   MKDIR, REMOVE: path.  RENAME: path, new path.  PING: to see whether the worker answers.
 *   SHUTDOWN: the worker ends.
 *
 * Paths are absolute, or relative to the first root. Entries, paths and hits are sorted by bytes,
 * component by component. Paths of GLOB and GREP are relative to the directory. */
#define KODA_FS_OPS(X)                                                                             \
	X(PING, "ping", NONE, NONE, NONE, 0, 0)                                                    \
	X(SHUTDOWN, "shutdown", NONE, NONE, NONE, 0, 0)                                            \
	X(READ, "read", PATH, NONE, NONE, KODA_FS_HASH, 3)                                         \
	X(WRITE, "write", PATH, NONE, NONE,                                                        \
	  KODA_FS_PARENTS | KODA_FS_NEW | KODA_FS_IN_PLACE | KODA_FS_EXPECT | KODA_FS_HASH, 6)     \
	X(EDIT, "edit", PATH, BYTES, BYTES,                                                        \
	  KODA_FS_ALL | KODA_FS_IN_PLACE | KODA_FS_EXPECT | KODA_FS_HASH, 6)                       \
	X(GLOB, "glob", PATH, BYTES, NONE, KODA_FS_WALK, 2)                                        \
	X(GREP, "grep", PATH, BYTES, BYTES, KODA_FS_WALK | KODA_FS_LITERAL | KODA_FS_IGNORE_CASE,  \
	  2)                                                                                       \
	X(STAT, "stat", PATH, NONE, NONE, KODA_FS_FOLLOW, 2)                                       \
	X(GETENV, "get_env", BYTES, NONE, NONE, 0, 2)                                              \
	X(LIST, "list", PATH, NONE, NONE, 0, 2)                                                    \
	X(MKDIR, "mkdir", PATH, NONE, NONE, KODA_FS_PARENTS, 2)                                    \
	X(REMOVE, "remove", PATH, NONE, NONE, KODA_FS_RECURSIVE, 2)                                \
	X(RENAME, "rename", PATH, PATH, NONE, KODA_FS_NEW, 2)

enum koda_fs_op {
#define KODA_FS_OP_ENUM(name, text, t0, t1, t2, flags, numbers) KODA_FS_OP_##name,
	KODA_FS_OPS(KODA_FS_OP_ENUM)
#undef KODA_FS_OP_ENUM
	KODA_FS_OP_COUNT
};

/* How a request ended: name, text. All but OK changed nothing, unless the text says so. */
#define KODA_FS_STATUSES(X)                                                                        \
	X(OK, "done")                                                                              \
	X(DENIED, "the policy refuses it")                                                         \
	X(OUTSIDE, "the path leads out of the roots")                                              \
	X(MISSING, "there is no such file or directory")                                           \
	X(EXISTS, "the path exists")                                                               \
	X(NOT_FILE, "not a regular file")                                                          \
	X(NOT_DIR, "not a directory")                                                              \
	X(NOT_EMPTY, "the directory is not empty")                                                 \
	X(LINK, "a symbolic link that leads nowhere, or too many of them")                         \
	X(LINKED, "the file has further links; ask for in_place to write it")                      \
	X(FOREIGN, "the file is another user's; ask for in_place to write it")                     \
	X(CHANGED, "the file is not the one that was expected")                                    \
	X(NO_MATCH, "the old text is not in the file")                                             \
	X(AMBIGUOUS, "the old text is in the file more than once")                                 \
	X(PATTERN, "the pattern is wrong")                                                         \
	X(TOO_LARGE, "something is larger than allowed")                                           \
	X(BUSY, "too many files are being written at a time")                                      \
	X(CANCELLED, "cancelled")                                                                  \
	X(TIMEOUT, "the deadline passed")                                                          \
	X(INVALID, "the request is malformed")                                                     \
	X(NO_SPACE, "no space is left")                                                            \
	X(READ_ONLY, "the file system is read-only")                                               \
	X(NO_MEMORY, "out of memory")                                                              \
	X(SYSTEM, "a system call failed")                                                          \
	X(PARTIAL, "it failed halfway: a file written in place, or a directory removed in part")   \
	X(CRASHED, "the file worker ended while it was at it")

enum koda_fs_status {
#define KODA_FS_STATUS_ENUM(name, text) KODA_FS_STATUS_##name,
	KODA_FS_STATUSES(KODA_FS_STATUS_ENUM)
#undef KODA_FS_STATUS_ENUM
	KODA_FS_STATUS_COUNT
};

/* What stat tells. */
struct koda_fs_stat {
	uint64_t size;
	uint32_t mode; /* type and permission bits, as in struct stat */
	int64_t mtime_ns;
	uint64_t links;
	uint64_t uid; /* as seen inside the sandbox */
	uint64_t gid;
};

/* One entry, path, hit or variable. Borrowed for the call. */
struct koda_fs_item {
	char type;             /* LIST: one of "dflpsbc?": directory, file, symbolic link, FIFO,
				* socket, block or character device. GETENV: '1' if it is set, '0' */
	struct koda_span name; /* name, path, or the variable's value */
	uint64_t line;         /* GREP: from 1 */
	struct koda_span text; /* GREP: the line without its newline */
};

/* How a request ended. Everything in it is borrowed until the file worker is used again, for
 * on_done until that returns. Texts may hold any bytes. */
struct koda_fs_reply {
	uint64_t id;
	enum koda_fs_op op;
	enum koda_fs_status status;
	int sys_errno;            /* of the system call that failed, or 0 */
	enum koda_reason reason;  /* DENIED: what decided */
	struct koda_span rule;    /* DENIED: the deciding rule; may be empty */
	struct koda_span path;    /* the path that was decided about; may be empty */
	struct koda_span link;    /* STAT: where a symbolic link leads */
	struct koda_span message; /* a sentence for people, or with NO_MATCH the nearest line */
	uint64_t count;           /* as KODA_FS_OPS says */
	uint64_t line;            /* NO_MATCH: the number of the nearest line; 0: there is none */
	bool truncated;           /* there was more, but max was reached */
	struct koda_fs_stat stat;
	bool has_hash;
	unsigned char hash[32];
	struct koda_span content; /* READ without on_content */
};

/* Takes bytes of a file as they come. Anything but 0 cancels the request. */
typedef int koda_fs_content_fn(void *ctx, const char *bytes, size_t len);
/* Takes an entry, path, hit or variable as it comes. Anything but 0 cancels the request. */
typedef int koda_fs_item_fn(void *ctx, const struct koda_fs_item *item);
/* Fills bytes with up to size bytes of the content to be written. Returns how many; 0: that was
 * all; less: the request is cancelled, and the file stays as it was. */
typedef ptrdiff_t koda_fs_source_fn(void *ctx, char *bytes, size_t size);
/* Takes the reply of a request that was sent. */
typedef void koda_fs_done_fn(void *ctx, const struct koda_fs_reply *reply);

struct koda_fs_request {
	size_t size; /* sizeof(struct koda_fs_request) */
	enum koda_fs_op op;
	struct koda_span path;
	struct koda_span text;
	struct koda_span text2;
	uint32_t flags;            /* enum koda_fs_flag */
	uint64_t max;              /* 0: no ceiling */
	uint64_t offset;           /* READ: where it starts */
	uint32_t mode;             /* WRITE: permission bits of a new file; 0: 0666 */
	unsigned char expect[32];  /* with KODA_FS_EXPECT */
	uint64_t timeout_ms;       /* 0: none */
	struct koda_span content;  /* WRITE: borrowed until the reply, unless there is a source */
	koda_fs_source_fn *source; /* WRITE */
	koda_fs_content_fn *on_content; /* READ; NULL: the reply has the content */
	koda_fs_item_fn *on_item;       /* LIST, GLOB, GREP, GETENV; NULL: only the count */
	koda_fs_done_fn *on_done;       /* of koda_fs_send; may be NULL */
	void *ctx;                      /* for the callbacks */
};

/* The most of a content that a reply has; more is TOO_LARGE. Files of any size pass by on_content.
 */
#define KODA_FS_CONTENT_MAX ((size_t)64 << 20)
/* The most roots. */
#define KODA_FS_ROOTS_MAX ((size_t)16)

struct koda_fs_options {
	size_t size; /* sizeof(struct koda_fs_options) */
	const char *const
		*roots;            /* NULL-terminated, absolute, without links; nothing outside is
				    * reached. NULL: the project, and all else that the policy gives */
	const char *const *env;    /* NULL, or NULL-terminated NAME=VALUE: all that the worker's
				    * environment has, and what GETENV tells */
	uint64_t max_memory_bytes; /* of the worker; 0: 1 GiB. It only narrows. */
	bool approved;             /* as in struct koda_command_options */
	const char *id;            /* of events; as in struct koda_command_options */
	void *user;
};

struct koda_fs;

/* Starts a file worker in sandbox and waits until it answers. For events it is a command with the
 * name koda-fs-worker; it has no wall time. The sandbox may be closed before it. options may be
 * NULL. Fails: as koda_sandbox_start and koda_command_wait; CHILD, TIMEOUT. */
KODA_API KODA_CHECK int koda_fs_open(struct koda_sandbox *sandbox,
				     const struct koda_fs_options *options, struct koda_fs **ret_fs,
				     struct koda_error *err);
/* Ends the worker at once, with SIGKILL. Requests that have no reply yet are dropped: on_done is
 * not called. NULL is fine. */
KODA_API void koda_fs_close(struct koda_fs *fs);

/* Carries out a request and waits for its reply, and so for those sent before it, whose callbacks
 * are called. Success: the status is OK. ret_reply may be NULL; *ret_reply is NULL if there is no
 * reply. Fails: DENIED (also OUTSIDE), INVALID (also PATTERN), LIMIT (TOO_LARGE, BUSY), TIMEOUT,
 * CHILD if the worker has crashed, NOMEM; SYS for every other status. */
KODA_API KODA_CHECK int koda_fs_call(struct koda_fs *fs, const struct koda_fs_request *request,
				     const struct koda_fs_reply **ret_reply,
				     struct koda_error *err);
/* Sends a request without waiting; *ret_id (NULL is fine) is its id. Fails: INVALID, CHILD if the
 * worker has ended, NOMEM. on_done is not called then, and for every other request exactly once. */
KODA_API KODA_CHECK int koda_fs_send(struct koda_fs *fs, const struct koda_fs_request *request,
				     uint64_t *ret_id, struct koda_error *err);
/* Has the worker stop carrying out a request, which still gets a reply: CANCELLED, or what it had
 * come to. Fails: INVALID if there is no such request. */
KODA_API KODA_CHECK int koda_fs_cancel(struct koda_fs *fs, uint64_t id, struct koda_error *err);
/* Returns a descriptor that is readable when koda_fs_step has something to do. It belongs to fs.
 * Fails: SYS. */
KODA_API KODA_CHECK int koda_fs_fd(struct koda_fs *fs, struct koda_error *err);
/* Does what can be done without waiting: sends, receives, calls callbacks. Returns 1 if no request
 * is left, else 0. Fails: CHILD if the worker has ended; its requests then have the status CRASHED.
 */
KODA_API KODA_CHECK int koda_fs_step(struct koda_fs *fs, struct koda_error *err);
/* Starts a new worker in the place of one that has ended, or ends it first. Requests that have no
 * reply get the status CRASHED and are not sent again: what became of them is unknown. Fails: as
 * koda_fs_open. */
KODA_API KODA_CHECK int koda_fs_restart(struct koda_fs *fs, struct koda_error *err);

/* Returns "read" and so on; "?" for an unknown one. */
KODA_API const char *koda_fs_op_name(uint32_t op);
/* Returns the sentence for a status; "?" for an unknown one. */
KODA_API const char *koda_fs_status_text(uint32_t status);

#ifdef __cplusplus
}
#endif

#endif
