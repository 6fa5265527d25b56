/* SPDX-License-Identifier: MIT */
/*
 * Small files of git's that name a place. A command may have written them, or have put something
 * else where they belong. So none is read through a link, and no error has text from one: it names
 * the file that said so.
 */
#ifndef KODA_RUN_POINTER_H
#define KODA_RUN_POINTER_H

#include "base/macros.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

/* Is it only not there, or out of reach for the command as well? */
bool koda_pointer_is_nothing(int error);

/* The text of a regular file, whose directory is free of links, without the end of its line; owned
 * by the caller. NULL if it is none, has more than max bytes, or is not text. is_link (may be NULL)
 * is set if it is a link. Fails: DENIED if its directory is closed, SYS, NOMEM. */
KODA_CHECK int koda_pointer_read(const char *file, size_t max, char **ret_text, bool *is_link,
				 struct koda_error *err);

/* Where path leads; NULL if nowhere. Links on the way are appended to links (may be NULL). Fails:
 * DENIED if a directory on the way is closed, SYS, NOMEM. */
KODA_CHECK int koda_pointer_trace(const char *path, char **ret_path, struct koda_strv *links,
				  struct koda_error *err);
/* The same of the text of a file, seen from the directory that this is in. */
KODA_CHECK int koda_pointer_follow(const char *file, const char *text, char **ret_path,
				   struct koda_strv *links, struct koda_error *err);

/* Fails as inner says, of the file and without what it says. */
KODA_CHECK int koda_pointer_fail(const char *file, const struct koda_error *inner,
				 struct koda_error *err);

/* Everything before the last slash; owned by the caller. */
char *koda_pointer_parent(const char *path);

#endif
