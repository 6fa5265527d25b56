/* SPDX-License-Identifier: MIT */
/* The real file system: as the planner asks for it (listing.c), and what repositories are in it. */
#ifndef KODA_RUN_WORLD_H
#define KODA_RUN_WORLD_H

#include "base/str.h"
#include "plan/plan.h"

#include <stdbool.h>

extern const struct koda_world koda_world_here;

/* Where a scan puts what it finds; the lists are the caller's. */
struct koda_found {
	struct koda_strv *git_dirs;  /* git directories, of submodules and worktrees too */
	struct koda_strv *git_files; /* .git pointer files, and links on the way they lead */
	struct koda_strv *closed;    /* the user's own directories that could not be looked into */
	bool *shared;                /* may be NULL; set if a pointer file has another name */
};

/* Looks for repositories below root, at most depth directories down, and follows their pointers and
 * those of what the lists hold already, wherever they lead. Costs a few microseconds per
 * directory and nothing per file where the file system counts subdirectories. Fails: LIMIT when
 * there are too many directories to look at, DENIED if one was closed meanwhile, or the way to a
 * git directory is, SYS, NOMEM. */
KODA_CHECK int koda_world_scan(const char *root, unsigned int depth, const struct koda_found *found,
			       struct koda_error *err);

#endif
