/* SPDX-License-Identifier: MIT */
/*
 * Copies, compares and hashes whole policies. Every field takes part, so that a hash can be a cache
 * key. Whether a flag or the search depth was stated does not: it matters for a child policy only,
 * and the canonical text does not show it.
 */
#include "policy/policy.h"

#include "base/error.h"
#include "base/hash.h"

int koda_policy_copy(const struct koda_policy *policy, struct koda_policy **ret_policy,
		     struct koda_error *err)
{
	koda_auto_policy struct koda_policy *copy = NULL;
	int r = koda_policy_new(&copy, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < KODA_LIST_COUNT; i++)
		if (koda_set_copy(&copy->lists[i], &policy->lists[i]) < 0)
			return koda_fail_nomem(err);
	copy->allow_write_stated = policy->allow_write_stated;
	memcpy(copy->flags, policy->flags, sizeof(copy->flags));
	memcpy(copy->limits, policy->limits, sizeof(copy->limits));
	copy->depth_stated = policy->depth_stated;
	copy->search_depth = policy->search_depth;
	copy->ask = policy->ask;
	r = koda_policy_copy_mitm(copy, policy, err);
	if (r < 0)
		return r;
	*ret_policy = KODA_TAKE(copy);
	return KODA_OK;
}

int koda_policy_add_union(struct koda_policy *out, enum koda_list list, const struct koda_policy *a,
			  const struct koda_policy *b, struct koda_error *err)
{
	const struct koda_policy *sides[] = { a, b };
	int r = KODA_OK;

	for (size_t s = 0; s < KODA_ARRAY_LEN(sides); s++)
		for (size_t i = 0; i < sides[s]->lists[list].count && r == KODA_OK; i++)
			r = koda_policy_add_canonical(out, list,
						      koda_set_get(&sides[s]->lists[list], i), err);
	return r;
}

static bool caps_equal(const struct koda_cap *a, const struct koda_cap *b)
{
	return a->stated == b->stated && (!a->stated || a->max == b->max);
}

static bool mitm_equal(const struct koda_policy *a, const struct koda_policy *b)
{
	if (!a->ca_bundle || !b->ca_bundle)
		return a->ca_bundle == b->ca_bundle;
	if (strcmp(a->ca_bundle, b->ca_bundle) != 0 ||
	    !koda_set_equal(&a->map_domains, &b->map_domains))
		return false;
	for (size_t i = 0; i < a->map_domains.count; i++)
		if (strcmp(a->map_sockets[i], b->map_sockets[i]) != 0)
			return false;
	return true;
}

bool koda_policy_equal(const struct koda_policy *a, const struct koda_policy *b)
{
	for (size_t i = 0; i < KODA_LIST_COUNT; i++)
		if (!koda_set_equal(&a->lists[i], &b->lists[i]))
			return false;
	for (size_t i = 0; i < KODA_LIMIT_POLICY_COUNT; i++)
		if (!caps_equal(&a->limits[i], &b->limits[i]))
			return false;
	for (size_t i = 0; i < KODA_FLAG_COUNT; i++)
		if (a->flags[i].on != b->flags[i].on)
			return false;
	return a->allow_write_stated == b->allow_write_stated &&
	       a->search_depth == b->search_depth && a->ask == b->ask && mitm_equal(a, b);
}

/* Folds bytes into a running hash; the previous value becomes part of the key. */
static void fold(struct koda_hash_key *state, uint32_t what, struct koda_span bytes)
{
	uint64_t h = koda_hash(state, what, bytes);

	state->k0 ^= h;
	state->k1 += h;
}

static void fold_number(struct koda_hash_key *state, uint32_t what, uint64_t number)
{
	fold(state, what, (struct koda_span){ (const char *)&number, sizeof(number) });
}

static void fold_set(struct koda_hash_key *state, uint32_t what, const struct koda_set *set)
{
	fold_number(state, what, set->count);
	for (size_t i = 0; i < set->count; i++)
		fold(state, what, koda_set_get(set, i));
}

uint64_t koda_policy_hash(const struct koda_policy *policy)
{
	struct koda_hash_key state = { 0, 0 }; /* fixed: the same policy hashes the same anywhere */

	for (uint32_t i = 0; i < KODA_LIST_COUNT; i++)
		fold_set(&state, i, &policy->lists[i]);
	for (uint32_t i = 0; i < KODA_FLAG_COUNT; i++)
		fold_number(&state, i, policy->flags[i].on);
	for (uint32_t i = 0; i < KODA_LIMIT_POLICY_COUNT; i++) {
		fold_number(&state, i, policy->limits[i].stated);
		if (policy->limits[i].stated)
			fold_number(&state, i, policy->limits[i].max);
	}
	fold_number(&state, 0, policy->allow_write_stated);
	fold_number(&state, 1, policy->search_depth);
	fold_number(&state, 2, (uint64_t)policy->ask);
	fold_number(&state, 3, policy->ca_bundle != NULL);
	if (policy->ca_bundle)
		fold(&state, 4, koda_span_of(policy->ca_bundle));
	fold_set(&state, 5, &policy->map_domains);
	for (size_t i = 0; i < policy->map_domains.count; i++)
		fold(&state, 6, koda_span_of(policy->map_sockets[i]));
	return koda_hash(&state, 7, koda_span_of(""));
}
