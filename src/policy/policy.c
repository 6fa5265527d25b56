/* SPDX-License-Identifier: MIT */
#include "policy/policy.h"

#include "base/error.h"
#include "base/path.h"
#include "policy/hostrule.h"

const char *const koda_policy_list_names[KODA_LIST_COUNT] = {
	[KODA_LIST_DENY_READ] = "deny_read",
	[KODA_LIST_ALLOW_READ_WITHIN_DENY] = "allow_read_within_deny",
	[KODA_LIST_ALLOW_WRITE] = "allow_write",
	[KODA_LIST_DENY_WRITE_WITHIN_ALLOW] = "deny_write_within_allow",
	[KODA_LIST_ALLOWED_DOMAINS] = "allowed_domains",
	[KODA_LIST_DENIED_DOMAINS] = "denied_domains",
};

const char *const koda_policy_flag_names[KODA_FLAG_COUNT] = {
	[KODA_FLAG_ALLOW_GIT_CONFIG] = "allow_git_config",
	[KODA_FLAG_ALLOW_LOCAL_BINDING] = "allow_local_binding",
	[KODA_FLAG_WEAKER_MACOS_ISOLATION] = "weaker_macos_isolation",
};

const char *const koda_policy_limit_names[KODA_LIMIT_POLICY_COUNT] = {
	[KODA_LIMIT_CPU_TIME] = "cpu_time_secs",  [KODA_LIMIT_WALL_TIME] = "wall_time_secs",
	[KODA_LIMIT_MEMORY] = "max_rss_bytes",    [KODA_LIMIT_OPEN_FILES] = "max_open_fds",
	[KODA_LIMIT_OUTPUT] = "max_output_bytes",
};

const char *const koda_policy_ask_names[KODA_ASK_AUTO + 1] = {
	[KODA_ASK_FORBID] = "forbid",
	[KODA_ASK_REQUIRE] = "require",
	[KODA_ASK_AUTO] = "auto",
};

int koda_policy_new(struct koda_policy **ret_policy, struct koda_error *err)
{
	struct koda_policy *policy = calloc(1, sizeof(*policy));

	if (!policy)
		return koda_fail_nomem(err);
	for (size_t i = 0; i < KODA_LIST_COUNT; i++)
		policy->lists[i] = (struct koda_set)KODA_SET_INIT(KODA_LIST_BYTES_MAX);
	policy->map_domains = (struct koda_set)KODA_SET_INIT(KODA_LIST_BYTES_MAX);
	policy->scratch = (struct koda_buf)KODA_BUF_INIT(KODA_PATH_MAX);
	policy->search_depth = KODA_SEARCH_DEPTH_DEFAULT;
	policy->ask = KODA_ASK_AUTO;
	*ret_policy = policy;
	return KODA_OK;
}

void koda_policy_free(struct koda_policy *policy)
{
	if (!policy)
		return;
	for (size_t i = 0; i < KODA_LIST_COUNT; i++)
		koda_set_clear(&policy->lists[i]);
	for (size_t i = 0; i < policy->map_domains.count; i++)
		free(policy->map_sockets[i]);
	free(policy->map_sockets);
	koda_set_clear(&policy->map_domains);
	free(policy->ca_bundle);
	koda_buf_clear(&policy->scratch);
	free(policy);
}

void koda_policy_free_ptr(struct koda_policy **policy)
{
	koda_policy_free(*policy);
	*policy = NULL;
}

int koda_policy_add_canonical(struct koda_policy *policy, enum koda_list list,
			      struct koda_span entry, struct koda_error *err)
{
	int r = koda_set_add(&policy->lists[list], entry, NULL);

	if (r < 0)
		return koda_fail_room(err, r, "the list");
	if (list == KODA_LIST_ALLOW_WRITE)
		policy->allow_write_stated = true;
	return KODA_OK;
}

int koda_policy_add(struct koda_policy *policy, enum koda_list list, const char *entry, size_t len,
		    struct koda_error *err)
{
	struct koda_buf *canonical = &policy->scratch;
	struct koda_span raw = { entry, len };
	int r;

	if ((unsigned int)list >= KODA_LIST_COUNT)
		return koda_fail(err, KODA_E_INVALID, 0, "no such list");
	canonical->len = 0;
	if (koda_list_is_paths(list)) {
		r = koda_path_normalise(raw, canonical, err);
	} else {
		struct koda_hostrule rule;

		r = koda_hostrule_parse(raw, &rule, err);
		if (r == KODA_OK)
			r = list == KODA_LIST_ALLOWED_DOMAINS
				    ? koda_hostrule_check_allow(&rule, err)
				    : koda_hostrule_check_deny(&rule, err);
		if (r == KODA_OK)
			r = koda_hostrule_format(&rule, canonical, err);
	}
	if (r < 0)
		return r;
	return koda_policy_add_canonical(policy, list, koda_buf_span(canonical), err);
}

size_t koda_policy_count(const struct koda_policy *policy, enum koda_list list)
{
	return (unsigned int)list < KODA_LIST_COUNT ? policy->lists[list].count : 0;
}

struct koda_span koda_policy_get(const struct koda_policy *policy, enum koda_list list, size_t i)
{
	if ((unsigned int)list >= KODA_LIST_COUNT)
		return (struct koda_span){ NULL, 0 };
	return koda_set_get(&policy->lists[list], i);
}

bool koda_policy_has_allow_write(const struct koda_policy *policy)
{
	return policy->allow_write_stated;
}

void koda_policy_state_allow_write(struct koda_policy *policy, bool stated)
{
	policy->allow_write_stated = stated;
	if (!stated)
		koda_set_clear(&policy->lists[KODA_LIST_ALLOW_WRITE]);
}

bool koda_policy_flag(const struct koda_policy *policy, enum koda_flag flag)
{
	return (unsigned int)flag < KODA_FLAG_COUNT && policy->flags[flag].on;
}

void koda_policy_set_flag(struct koda_policy *policy, enum koda_flag flag, bool value)
{
	if ((unsigned int)flag < KODA_FLAG_COUNT)
		policy->flags[flag] = (struct koda_grant){ .stated = true, .on = value };
}

bool koda_policy_limit(const struct koda_policy *policy, enum koda_limit limit, uint64_t *ret_value)
{
	if ((unsigned int)limit >= KODA_LIMIT_POLICY_COUNT || !policy->limits[limit].stated)
		return false;
	*ret_value = policy->limits[limit].max;
	return true;
}

int koda_policy_set_limit(struct koda_policy *policy, enum koda_limit limit, uint64_t value,
			  struct koda_error *err)
{
	if ((unsigned int)limit >= KODA_LIMIT_POLICY_COUNT)
		return koda_fail(err, KODA_E_INVALID, 0, "no such limit");
	if (value > KODA_LIMIT_MAX)
		return koda_fail(err, KODA_E_LIMIT, 0, "the limit is larger than %lld",
				 (long long)KODA_LIMIT_MAX);
	policy->limits[limit] = (struct koda_cap){ .stated = true, .max = value };
	return KODA_OK;
}

void koda_policy_unset_limit(struct koda_policy *policy, enum koda_limit limit)
{
	if ((unsigned int)limit < KODA_LIMIT_POLICY_COUNT)
		policy->limits[limit] = (struct koda_cap){ .stated = false };
}

uint8_t koda_policy_search_depth(const struct koda_policy *policy)
{
	if (policy->search_depth < KODA_SEARCH_DEPTH_MIN)
		return KODA_SEARCH_DEPTH_MIN;
	return policy->search_depth < KODA_SEARCH_DEPTH_MAX ? policy->search_depth
							    : KODA_SEARCH_DEPTH_MAX;
}

uint8_t koda_policy_stated_search_depth(const struct koda_policy *policy)
{
	return policy->search_depth;
}

void koda_policy_set_search_depth(struct koda_policy *policy, uint8_t depth)
{
	policy->depth_stated = true;
	policy->search_depth = depth;
}

enum koda_ask koda_policy_ask(const struct koda_policy *policy)
{
	return policy->ask;
}

void koda_policy_set_ask(struct koda_policy *policy, enum koda_ask ask)
{
	policy->ask = ask == KODA_ASK_AUTO || ask == KODA_ASK_REQUIRE ? ask : KODA_ASK_FORBID;
}

bool koda_policy_has_network(const struct koda_policy *policy)
{
	return koda_set_find(&policy->lists[KODA_LIST_DENIED_DOMAINS], koda_span_of("*")) ==
	       KODA_SET_NONE;
}
