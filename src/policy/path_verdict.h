/* SPDX-License-Identifier: MIT */
/* The verdicts on paths, from an index that policy and floor have marked (rules.c says how). */
#ifndef KODA_POLICY_PATH_VERDICT_H
#define KODA_POLICY_PATH_VERDICT_H

#include "policy/pathindex.h"

#include <koda/rules.h>

struct koda_verdict koda_path_verdict_read(const struct koda_pathindex *index,
					   struct koda_span path);
struct koda_verdict koda_path_verdict_write(const struct koda_pathindex *index,
					    struct koda_span path);
/* Returns both verdicts of one walk. */
void koda_path_verdict_both(const struct koda_pathindex *index, struct koda_span path,
			    struct koda_verdict *ret_read, struct koda_verdict *ret_write);

/* Returns the verdict of koda_rules_replace. */
struct koda_verdict koda_path_verdict_replace(const struct koda_pathindex *index,
					      struct koda_span path);

/* Finds the marked paths that change nothing: their verdicts are those of the parent directory, and
 * files of the host are not writable there. ret_idle has room for index->texts.count. Takes one
 * step per path instead of a walk. Fails: NOMEM. */
KODA_CHECK int koda_path_verdict_idle(const struct koda_pathindex *index, bool *ret_idle,
				      struct koda_error *err);

#endif
