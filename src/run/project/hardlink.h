/* SPDX-License-Identifier: MIT */
/* T-42. Protected files that have hard links. */
#ifndef KODA_RUN_PROJECT_HARDLINK_H
#define KODA_RUN_PROJECT_HARDLINK_H

#include "base/macros.h"

#include <stdbool.h>
#include <sys/stat.h>

struct koda_policy;
struct koda_site;

/* Tells whether a file has hard links. Placeholders of other runs, which share an inode, do not
 * count. */
bool koda_hardlink_has_names(const struct stat *st);
/* Tells whether the file name in dir has hard links, or, if it is a directory, one of its first
 * entries has. st: its lstat() result. */
bool koda_hardlink_is_shared(int dir, const char *name, const struct stat *st);
/* Like koda_hardlink_is_shared; *ret_links tells whether a directory may contain symbolic links. */
bool koda_hardlink_look(int dir, const char *name, const struct stat *st, bool *ret_links);

/* Finds the other names of protected files, if site->has_hardlinks is set or entries of the policy
 * have hard links, and adds them to readonly_aliases and hidden of the site. Comes last in a
 * survey. Fails: DENIED if a name of a hidden file is not found, or if a directory that a command
 * may have closed cannot be searched, LIMIT, SYS, NOMEM. */
KODA_CHECK int koda_hardlink_note(struct koda_site *site, const struct koda_policy *policy,
				  struct koda_error *err);

#endif
