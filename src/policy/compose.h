/* SPDX-License-Identifier: MIT */
/* The parts of koda_policy_compose that live in different files. */
#ifndef KODA_POLICY_COMPOSE_H
#define KODA_POLICY_COMPOSE_H

#include "base/macros.h"

#include <koda/policy.h>

/* Adds a's entries, then b's, to a list of out. Fails: NOMEM. */
KODA_CHECK int koda_compose_union(struct koda_policy *out, enum koda_list list,
				  const struct koda_policy *a, const struct koda_policy *b,
				  struct koda_error *err);

/* Fills both domain lists of out. Fails: NOMEM. */
KODA_CHECK int koda_compose_net(struct koda_policy *out, const struct koda_policy *parent,
				const struct koda_policy *child, struct koda_error *err);

#endif
