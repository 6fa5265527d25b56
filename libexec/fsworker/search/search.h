/* SPDX-License-Identifier: MIT */
/*
 * Searching a tree: names that match a glob, lines that match an expression. Nothing outside the
 * directory given is reached: no symbolic link is followed, directories are opened one below the
 * other with O_NOFOLLOW, and only regular files are read. Results are passed on as they are found,
 * sorted by bytes, component by component. Memory does not grow with the number of results.
 *
 * openat2 does not exist inside the sandbox (seccomp, ENOSYS): walk with openat, fd by fd.
 */
#ifndef FSWORKER_SEARCH_SEARCH_H
#define FSWORKER_SEARCH_SEARCH_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* What a search asks of its caller. Every ctx is that of struct fsworker_search. */

/* Returns whether the policy lets path be read; path is absolute. Asked for every file before it is
 * opened and for every directory before it is entered; of what may not be read, nothing is told. */
typedef bool fsworker_search_may_read_fn(void *ctx, struct koda_span path);

/* Takes a result. path is relative to the directory, any bytes but NUL. Of glob, line is 0 and text
 * is empty; of grep, line counts from 1 and text is the line without its newline. Returns false if
 * the search is to end: the ceiling is reached, or the client is gone. */
typedef bool fsworker_search_emit_fn(void *ctx, struct koda_span path, uint64_t line,
				     struct koda_span text);

/* Returns true if the search is to end: it was cancelled or its deadline passed. Cheap; asked at
 * least once for every file and every 64 KiB of a file. */
typedef bool fsworker_search_cancelled_fn(void *ctx);

struct fsworker_search {
	int dir;               /* the directory, open for reading (not O_PATH); borrowed */
	struct koda_span path; /* its absolute path, in normal form, no links */
	struct koda_span root; /* the root it lies in: ignore files above path count up to here */
	int root_dir;          /* the root, O_PATH; borrowed */
	struct koda_span pattern; /* glob: such as "src/" "**" "/x.c"; grep: PCRE2, or literal */
	struct koda_span include; /* grep: glob of the file names to look at; empty: all */
	uint32_t flags; /* of enum koda_fs_flag: LITERAL, IGNORE_CASE, HIDDEN, NO_IGNORE */
	fsworker_search_may_read_fn *may_read;
	fsworker_search_emit_fn *emit;
	fsworker_search_cancelled_fn *cancelled;
	void *ctx;
};

/* Prepares what must not be allocated later, such as the JIT stack of expressions. Called once at
 * start, before the worker's own system-call filter is installed. Fails: NOMEM. */
KODA_CHECK int fsworker_search_init(void);

/* Runs the search until it is complete, cancelled, or emit has said no: KODA_OK in all three cases.
 * Directories and files that cannot be read, or go away meanwhile, are passed over. Fails: INVALID
 * for a pattern that is wrong, with a sentence that tells where; NOMEM, LIMIT. */
KODA_CHECK int fsworker_search_glob(const struct fsworker_search *search, struct koda_error *err);
KODA_CHECK int fsworker_search_grep(const struct fsworker_search *search, struct koda_error *err);

#endif
