/* SPDX-License-Identifier: MIT */
/* T-22. Directories of the sandbox that show nothing of the host: temporary ones, /dev, /proc. */
#ifndef KODA_PLAN_PRIVATE_DIRS_H
#define KODA_PLAN_PRIVATE_DIRS_H

#include "plan/plan.h"
#include "plan/request.h"

/* Plans fresh temporary directories and a minimal /dev. Fails: NOMEM. */
KODA_CHECK int koda_plan_private_dirs(struct koda_plan *plan,
				      const struct koda_plan_request *request,
				      struct koda_error *err);
/* Plans a fresh /proc and masks kernel files that describe the host. Fails: as fs->look, NOMEM. */
KODA_CHECK int koda_plan_private_proc(struct koda_plan *plan,
				      const struct koda_plan_request *request,
				      struct koda_error *err);
/* Returns private directory i, parents before children; NULL past the last. */
const char *koda_plan_private_dir(size_t i);
/* Returns true if path is a private directory or lies below one. */
bool koda_plan_is_private(struct koda_span path);
/* Returns true if path is a private directory, or lies below /dev or /proc, where no rule can show
 * a file of the host. */
bool koda_plan_is_all_private(struct koda_span path);

#endif
