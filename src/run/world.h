/* SPDX-License-Identifier: MIT */
/* The real file system, as the planner asks for it. */
#ifndef KODA_RUN_WORLD_H
#define KODA_RUN_WORLD_H

#include "base/str.h"
#include "plan/plan.h"

extern const struct koda_world koda_world_here;

/* Finds the repositories below root, at most depth directories down: their git directories and
 * pointer files are appended. Costs a few microseconds per directory and nothing per file where
 * the file system counts subdirectories. Fails: LIMIT when there are too many directories to look
 * at, SYS, NOMEM. */
KODA_CHECK int koda_world_scan(const char *root, unsigned int depth, struct koda_strv *git_dirs,
			       struct koda_strv *git_files, struct koda_error *err);

/* Appends the paths of the host's listening Unix sockets. Fails: NOMEM. */
KODA_CHECK int koda_world_sockets(struct koda_strv *paths, struct koda_error *err);

#endif
