/* SPDX-License-Identifier: MIT */
/* The host's file system, as the planner asks about it. */
#ifndef KODA_RUN_PROJECT_FS_VIEW_H
#define KODA_RUN_PROJECT_FS_VIEW_H

#include "plan/plan.h"

extern const struct koda_fs_ops koda_fs_view_host;

#endif
