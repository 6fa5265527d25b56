/* SPDX-License-Identifier: MIT */
/*
 * What the library and the file worker say to each other: frames on an inherited stream
 * socket. Every frame has the same header of fixed size, which says how long the frame is, and up
 * to three texts of any bytes. One table (KODA_FS_OPS) says what each request needs, and one
 * decoder checks it. Nothing here is ever text that has to be parsed.
 *
 * Both sides are of one release and run on one machine, so numbers are in its byte order. The first
 * frame of each side is a HELLO, which carries the version; a peer of another version is not spoken
 * to. Requests are carried out in the order in which they came, and any number may be outstanding.
 *
 *	client                          worker
 *	HELLO                           HELLO
 *	REQUEST id [DATA id ... LAST]   [DATA id ...] REPLY id
 *	CANCEL id
 *
 * Contents of any size pass as DATA frames. Where the framing is lost, the connection ends.
 *
 * This needs libc only: it is linked into the worker.
 */
#ifndef KODA_WIRE_FS_FRAME_H
#define KODA_WIRE_FS_FRAME_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define KODA_FS_MAGIC   0x6b6f6673U
#define KODA_FS_VERSION 1U

/* The worker's descriptors besides 0-2. */
#define KODA_FS_SOCKET_FD 3
#define KODA_FS_RULES_FD  4 /* the roots and rules, sealed: wire/fs_setup.h */
#define KODA_FS_SELF_FD   5 /* the worker's own program, sealed; it closes this */

/* Ceilings. Texts of a frame together; bytes of a DATA frame; requests of one client whose contents
 * are being written at a time. */
#define KODA_FS_TEXT_MAX    ((size_t)1 << 20)
#define KODA_FS_CHUNK       ((size_t)64 << 10)
#define KODA_FS_UPLOADS_MAX 16
#define KODA_FS_EDIT_MAX    ((size_t)64 << 20) /* of a file that edit changes */

#define KODA_FS_NUMBERS 6
#define KODA_FS_TEXTS   3

enum koda_fs_kind {
	KODA_FS_HELLO = 1,
	KODA_FS_REQUEST, /* code: enum koda_fs_op */
	KODA_FS_DATA,    /* text 0: bytes of a content or records of a result */
	KODA_FS_CANCEL,
	KODA_FS_REPLY, /* code: enum koda_fs_status; ends a request */
	KODA_FS_KIND_COUNT
};

/* What a text of a request must be. */
enum koda_fs_text {
	KODA_FS_NONE = 0, /* empty */
	KODA_FS_PATH,     /* 1 to 4095 bytes, no NUL */
	KODA_FS_BYTES     /* any bytes, also none */
};

/* Flags: name and bit. KODA_FS_OPS says which request accepts which.
 *
 *   LAST         of DATA: nothing follows. Every WRITE has one such frame; it may be empty
 *   TRUNCATED    of REPLY: the result goes on, but the ceiling that was asked for is reached
 *   PARENTS      missing directories above the path are made
 *   NEW          fails if the path exists
 *   IN_PLACE     the file itself is written, not replaced: for further links, other owners
 *   EXPECT       numbers 2 to 5 are the SHA-256 that the file must have, in its byte order
 *   ALL          edit: every match is replaced
 *   RECURSIVE    remove: directories with all below
 *   FOLLOW       stat: of the file that a symbolic link leads to
 *   LITERAL      grep: the pattern is no regular expression
 *   IGNORE_CASE  grep
 *   HIDDEN       glob, grep: also names that begin with a dot
 *   NO_IGNORE    glob, grep: ignore files do not count
 *   HASH         read, write, stat: numbers 2 to 5 of the reply are the SHA-256 of the content */
#define KODA_FS_FLAGS(X)                                                                           \
	X(LAST, 0)                                                                                 \
	X(TRUNCATED, 1)                                                                            \
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

/* Requests: name, name for people, texts 0 to 2, accepted flags, how many of the numbers it uses
 * (number 1 is the deadline of every request: CLOCK_MONOTONIC nanoseconds, 0: none).
 *
 *   request  texts                   number 0        data          numbers of the reply
 *   READ     path                    bytes, at most  content       0 bytes sent, 1 size
 *   WRITE    path                    mode if new     content, in   0 bytes, 1 mode
 *   EDIT     path, old, new                                        0 replacements; with NO_MATCH
 *                                                                  1 line of the nearest miss,
 *                                                                  whose text is text 2; with
 *                                                                  AMBIGUOUS 0 matches
 *   STAT     path                                                  0 size, 1 mode, 2 mtime in ns,
 *                                                                  3 links, 4 uid, 5 gid; text 1:
 *                                                                  where a symbolic link leads
 *   LIST     path                    entries, most   type, name,   0 entries
 *                                                    NUL
 *   GLOB     directory, pattern      paths, at most  path, NUL     0 paths
 *   GREP     directory, pattern,     hits, at most   struct        0 hits
 *            names to search                         koda_fs_hit
 *   GETENV   names, NUL-terminated                   "1" value NUL 0 names
 *                                                    or "0" NUL
 *
 * READ starts at the offset in number 2. Entries, paths and hits are sorted by bytes, component by
 * component. The type of an entry is one of "dflpsbc?": directory, file, symbolic link, FIFO,
 * socket, block or character device. Paths of GLOB and GREP are relative to the directory. */
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

/* One frame, borrowed from the bytes it was read from. A REPLY has as texts the deciding rule, a
 * path (the one that was decided about, or a link's target) and a sentence for people. */
struct koda_fs_frame {
	enum koda_fs_kind kind;
	uint32_t code; /* of enum koda_fs_op or enum koda_fs_status */
	uint32_t flags;
	uint32_t reason;    /* REPLY: an enum koda_reason with DENIED */
	uint32_t sys_errno; /* REPLY: of the system call that failed, or 0 */
	uint64_t id;        /* the client's choice, unique among outstanding requests; 0: HELLO */
	uint64_t n[KODA_FS_NUMBERS];
	struct koda_span text[KODA_FS_TEXTS];
};

/* The layout of a frame: this, then the texts. */
struct koda_fs_header {
	uint32_t magic;
	uint32_t bytes; /* of the whole frame */
	uint16_t kind;
	uint16_t code;
	uint32_t flags;
	uint32_t reason;
	uint32_t sys_errno;
	uint64_t id;
	uint64_t n[KODA_FS_NUMBERS];
	uint32_t len[KODA_FS_TEXTS];
	uint32_t unused; /* 0 */
};

#define KODA_FS_FRAME_MAX (sizeof(struct koda_fs_header) + KODA_FS_TEXT_MAX)

/* A hit of GREP, in DATA frames: this, then the path (relative to the directory), then the line
 * without its newline. Records are not aligned; one may go on in the next frame. */
struct koda_fs_hit {
	uint64_t line; /* from 1 */
	uint32_t path_len;
	uint32_t text_len;
};

/* Which side a frame comes from. */
enum koda_fs_side {
	KODA_FS_CLIENT,
	KODA_FS_WORKER
};

/* Returns "read" and so on; "?" for an unknown one. */
const char *koda_fs_op_name(uint32_t op);
/* Returns the sentence for a status; "?" for an unknown one. */
const char *koda_fs_status_text(uint32_t status);

/* Appends a frame, which the decoder accepts if its parts are what they should be. Fails: LIMIT,
 * NOMEM. */
KODA_CHECK int koda_fs_frame_add(struct koda_buf *out, const struct koda_fs_frame *frame);
/* Writes the header alone, for a caller that sends the texts itself. */
struct koda_fs_header koda_fs_frame_header(const struct koda_fs_frame *frame);

/* What the decoder found. */
enum koda_fs_found {
	KODA_FS_FOUND_MORE = 0, /* the frame is not complete yet */
	KODA_FS_FOUND_FRAME,
	KODA_FS_FOUND_WRONG, /* a whole frame, but a request that is malformed; its id is known */
	KODA_FS_FOUND_LOST   /* no frame of this protocol: the connection cannot go on */
};

/* Reads a frame that side has sent from the start of bytes. *ret_len is its length, or with MORE
 * how many bytes are needed to go on. */
enum koda_fs_found koda_fs_frame_read(struct koda_span bytes, enum koda_fs_side side,
				      struct koda_fs_frame *ret_frame, size_t *ret_len);

#endif
