/* SPDX-License-Identifier: MIT */
/* Starts the file worker for a root, with the policy of KODA_FS_WORKER_POLICY. */
#ifndef FSCOMPAT_START_H
#define FSCOMPAT_START_H

#include <koda/fs.h>

/* Starts the worker in a sandbox of its own. The root is writable, as far as the policy does not
 * deny that; there is no network. The worker's environment is what a command would get, and the
 * variables for proxies and certificates that the older client sets. Fails: as
 * koda_project_open, koda_policy_parse, koda_sandbox_open and koda_fs_open. */
KODA_CHECK int fscompat_start(const char *root, const char *const *environment,
			      struct koda_fs **ret_fs, struct koda_error *err);

#endif
