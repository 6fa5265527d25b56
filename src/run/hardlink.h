/* SPDX-License-Identifier: MIT */
/* Protected files that have more than one name. */
#ifndef KODA_RUN_HARDLINK_H
#define KODA_RUN_HARDLINK_H

#include "base/macros.h"

#include <stdbool.h>
#include <sys/stat.h>

struct koda_policy;
struct koda_site;

/* Has the file at name below dir another name, or, if it is a directory, a file in it (of those
 * that are read first)? st is what is known of it, without following links. */
bool koda_hardlink_is_shared(int dir, const char *name, const struct stat *st);

/* Looks for the other names of protected files, if site->shared says that there are any or if the
 * policy's own entries have some, and adds them to what the site guards and hides. Comes after
 * everything else that is noted. Fails: DENIED if a file that is to be hidden has a name that is
 * not found, or if one cannot be looked at that a command may have closed, LIMIT, SYS, NOMEM. */
KODA_CHECK int koda_site_note_hardlinks(struct koda_site *site, const struct koda_policy *policy,
					struct koda_error *err);

#endif
