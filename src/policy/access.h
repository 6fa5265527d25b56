/* SPDX-License-Identifier: MIT */
/* The verdicts on paths, from an index that policy and floor have marked (rules.c says how). */
#ifndef KODA_POLICY_ACCESS_H
#define KODA_POLICY_ACCESS_H

#include "policy/pathindex.h"

#include <koda/rules.h>

struct koda_verdict koda_access_read(const struct koda_pathindex *index, struct koda_span path);
struct koda_verdict koda_access_write(const struct koda_pathindex *index, struct koda_span path);
/* Both in one walk. */
void koda_access_both(const struct koda_pathindex *index, struct koda_span path,
		      struct koda_verdict *ret_read, struct koda_verdict *ret_write);

/* Which of the marked paths change nothing: what may be done there may be done in the directory
 * above, and writing the host's files is no part of it. ret_idle has room for index->texts.count.
 * One step for each, where asking about each would be a walk. Fails: NOMEM. */
KODA_CHECK int koda_access_idle(const struct koda_pathindex *index, bool *ret_idle,
				struct koda_error *err);

#endif
