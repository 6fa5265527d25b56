/* SPDX-License-Identifier: MIT */
/*
 * Reads git's small files that contain a path, and follows it. A command may have written such a
 * file, or put something else in its place. So none is read through a link, and error messages name
 * the file and never quote its text.
 */
#ifndef KODA_RUN_PROJECT_GIT_POINTER_H
#define KODA_RUN_PROJECT_GIT_POINTER_H

#include "base/buf.h"
#include "base/macros.h"
#include "base/strv.h"

#include <stdbool.h>
#include <stddef.h>

/* Tells whether an errno means that the path is missing, or out of reach for the command too. */
bool koda_git_pointer_is_nothing(int error);

/* Returns the text of a regular file without its last newline, owned by the caller. The path of its
 * directory must be free of links. NULL if it is not a regular file, has more than max bytes, or is
 * not text. is_link (may be NULL) is set for a link. Fails: DENIED if its directory is closed, SYS,
 * NOMEM. */
KODA_CHECK int koda_git_pointer_read(const char *file, size_t max, char **ret_text, bool *is_link,
				     struct koda_error *err);

/* Reads the bytes of such a file, text or not; none if it does not exist. Fails: LIMIT at the
 * ceiling of the buffer, and as koda_git_pointer_read. */
KODA_CHECK int koda_git_pointer_load(const char *file, struct koda_buf *text, bool *is_link,
				     struct koda_error *err);

/* Resolves path; NULL if its target does not exist. Links on the way are appended to links (may be
 * NULL). Fails: DENIED if a directory on the way is closed, SYS, NOMEM. */
KODA_CHECK int koda_git_pointer_trace(const char *path, char **ret_path, struct koda_strv *links,
				      struct koda_error *err);
/* Resolves the text of a pointer file, relative to the directory of that file. */
KODA_CHECK int koda_git_pointer_follow(const char *file, const char *text, char **ret_path,
				       struct koda_strv *links, struct koda_error *err);

/* Fails with the code of inner, naming the file instead of its text. */
KODA_CHECK int koda_git_pointer_fail(const char *file, const struct koda_error *inner,
				     struct koda_error *err);

/* Returns the path up to the last slash, owned by the caller; NULL: out of memory. */
char *koda_git_pointer_parent(const char *path);

#endif
