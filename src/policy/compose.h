/* SPDX-License-Identifier: MIT */
/* The network part of koda_policy_compose. */
#ifndef KODA_POLICY_COMPOSE_H
#define KODA_POLICY_COMPOSE_H

#include "base/macros.h"

#include <koda/policy.h>

/* Fills both domain lists of out. Fails: NOMEM. */
KODA_CHECK int koda_compose_net(struct koda_policy *out, const struct koda_policy *parent,
				const struct koda_policy *child, struct koda_error *err);

#endif
