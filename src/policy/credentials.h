/* SPDX-License-Identifier: MIT */
/* The credential stores of the floor, which are readable unless a policy hides them. */
#ifndef KODA_POLICY_CREDENTIALS_H
#define KODA_POLICY_CREDENTIALS_H

#include "base/macros.h"

#include <koda/error.h>

struct koda_policy;

/* Adds every store below home, and below config_home besides home/.config, to deny_read. Either may
 * be NULL. Fails: POLICY for a path that is not absolute, LIMIT, NOMEM. */
KODA_CHECK int koda_credentials_hide(struct koda_policy *policy, const char *home,
				     const char *config_home, struct koda_error *err);

#endif
