/* SPDX-License-Identifier: MIT */
/* T-44. Tells where a command may write. */
#include "base/path.h"
#include "policy/policy.h"
#include "run/project/site.h"

/* Tells whether path is below dir, and not dir itself. */
static bool is_within(struct koda_span dir, struct koda_span path)
{
	return path.len > dir.len && koda_path_covers(dir, path);
}

bool koda_site_is_writable(const struct koda_site *site, const struct koda_policy *policy,
			   struct koda_span path)
{
	const struct koda_strv *open = &site->own_git_dirs;

	if (is_within(koda_span_of(site->root), path))
		return true;
	for (size_t i = 0; i < koda_policy_count(policy, KODA_LIST_ALLOW_WRITE); i++)
		if (is_within(koda_policy_get(policy, KODA_LIST_ALLOW_WRITE, i), path))
			return true;
	for (size_t i = 0; i < open->len; i++)
		if (is_within(koda_span_of(open->items[i]), path))
			return true;
	return false;
}
