/* SPDX-License-Identifier: MIT */
/* A rule set, as the planner uses it. */
#ifndef KODA_POLICY_RULES_H
#define KODA_POLICY_RULES_H

#include "policy/pathindex.h"

#include <koda/rules.h>

/* Takes a further reference; each is released by koda_rules_free. Safe from any thread. */
struct koda_rules *koda_rules_share(struct koda_rules *rules);

/* Returns the paths with their marks, borrowed. */
const struct koda_pathindex *koda_rules_paths(const struct koda_rules *rules);

/* Returns every path that a rule or the floor names, in normal form. Borrowed. */
static inline const struct koda_strlist *koda_rules_marked(const struct koda_rules *rules)
{
	return &koda_rules_paths(rules)->texts;
}

/* Appends the paths and marks, for a process of its own: policy/pathindex_blob.h. Fails: LIMIT,
 * NOMEM. */
KODA_CHECK int koda_rules_blob_add(const struct koda_rules *rules, struct koda_buf *out);

/* Finds those that change nothing, see koda_path_verdict_idle. Fails: NOMEM. */
KODA_CHECK int koda_rules_idle(const struct koda_rules *rules, bool *ret_idle,
			       struct koda_error *err);

/* Returns true if a rule or the floor names path or a path below it. */
bool koda_rules_lead_to(const struct koda_rules *rules, struct koda_span path);

/* Returns true if there is an allow_read_within_deny entry. */
bool koda_rules_have_holes(const struct koda_rules *rules);

/* Returns the verdicts of koda_rules_read and koda_rules_write in one walk. */
void koda_rules_both(const struct koda_rules *rules, struct koda_span path,
		     struct koda_verdict *ret_read, struct koda_verdict *ret_write);

#endif
