/* SPDX-License-Identifier: MIT */
/*
 * What the library and the file worker say to each other: frames on an inherited stream
 * socket. Every frame has the same header of fixed size, which says how long the frame is, and up
 * to three texts of any bytes. One table (KODA_FS_OPS of koda/fs.h) says what each request needs,
 * and one decoder checks it. Nothing here is ever text that has to be parsed.
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

#include <koda/fs.h>
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

/* Flags of frames that are no flags of requests, in bits that no enum koda_fs_flag has.
 *
 *   LAST       of DATA: nothing follows. Every WRITE has one such frame; it may be empty
 *   TRUNCATED  of REPLY: the result goes on, but the ceiling that was asked for is reached */
enum koda_fs_frame_flag {
	KODA_FS_LAST = 1 << 0,
	KODA_FS_TRUNCATED = 1 << 1
};

/* The numbers of KODA_FS_OPS: number 1 is the deadline of every request, CLOCK_MONOTONIC
 * nanoseconds, 0: none. Number 0 is its max, or the mode of WRITE. READ starts at the offset in
 * number 2. With EXPECT, numbers 2 to 5 are the hash. All that are not used are 0. Results:
 *
 *   request  data                numbers of the reply
 *   READ     content             0 bytes sent, 1 size; 2 to 5 with HASH
 *   WRITE    content, in         0 bytes, 1 mode; 2 to 5 with HASH
 *   EDIT                         0 replacements; 2 to 5 with HASH; with NO_MATCH 1 line of the
 *                                nearest miss, whose text is text 2; with AMBIGUOUS 0 matches
 *   STAT                         0 size, 1 mode, 2 mtime in ns, 3 links, 4 uid, 5 gid; text 1:
 *                                where a symbolic link leads
 *   LIST     type, name, NUL     0 entries
 *   GLOB     path, NUL           0 paths
 *   GREP     struct koda_fs_hit  0 hits
 *   GETENV   "1" value NUL       0 names
 *            or "0" NUL */

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
