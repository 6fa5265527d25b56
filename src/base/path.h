/* SPDX-License-Identifier: MIT */
/*
 * Paths are byte strings. The lexical half works on text alone; the kernel half resolves beneath a
 * directory descriptor, so that check and use cannot differ.
 */
#ifndef KODA_BASE_PATH_H
#define KODA_BASE_PATH_H

#include "base/buf.h"
#include "base/macros.h"
#include "base/strv.h"

#include <stdbool.h>

/* Longest path (without terminator) and longest component that a rule may have. */
#define KODA_PATH_MAX ((size_t)4095)
#define KODA_NAME_MAX 255

enum koda_step {
	KODA_STEP_END = 0,
	KODA_STEP_NAME, /* an ordinary component */
	KODA_STEP_BAD   /* "..", a NUL byte, an over-long component */
};

/* Takes the next component off *rest; empty ones and "." are passed over. */
enum koda_step koda_path_next(struct koda_span *rest, struct koda_span *ret_name);

/* Appends the normal form of an absolute path to out: no empty or "." components, no trailing
 * slash (but "/" itself). Relative paths, "..", NUL and over-long names are refused.
 * Fails: POLICY, LIMIT, NOMEM. */
KODA_CHECK int koda_path_normalise(struct koda_span path, struct koda_buf *out,
				   struct koda_error *err);

/* Returns true if path is absolute, at most KODA_PATH_MAX bytes and in normal form. */
bool koda_path_is_normal(struct koda_span path);

/* Returns true if path is dir or lies below it; both in normal form. */
bool koda_path_covers(struct koda_span dir, struct koda_span path);

/* Joins a directory in normal form and a relative name; owned by the caller. Fails: NOMEM. */
KODA_CHECK int koda_path_join(const char *dir, const char *name, char **ret_path,
			      struct koda_error *err);

/* Makes path absolute against the working directory and folds "." and ".." by spelling, as the
 * user reads it; owned by the caller. Fails: SYS, LIMIT, NOMEM. */
KODA_CHECK int koda_path_absolute(const char *path, char **ret_path, struct koda_error *err);

/* Follows symbolic links as far as the path exists, dangling ones included; components
 * that do not exist, or cannot be examined, are kept as spelt. A relative path starts at the
 * working directory, and ".." goes up from the target of a link, as in the kernel. Fails: SYS (a
 * loop), LIMIT, NOMEM. */
KODA_CHECK int koda_path_resolve(const char *path, char **ret_path, struct koda_error *err);

/* Like koda_path_resolve, and appends the path of every link on the way; the directories of those
 * paths have no links. One walk does both, so a link that changes during it is either followed and
 * listed, or neither. */
KODA_CHECK int koda_path_trace(const char *path, char **ret_path, struct koda_strv *links,
			       struct koda_error *err);

/* Opens rel (relative, no escape by "..", absolute links or magic links possible) beneath dirfd.
 * flags gets O_CLOEXEC. Fails: SYS, UNSUPPORTED without openat2. */
KODA_CHECK int koda_path_open_beneath(int dirfd, const char *rel, int flags, unsigned int mode,
				      int *ret_fd, struct koda_error *err);

#endif
