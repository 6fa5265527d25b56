/* SPDX-License-Identifier: MIT */
/*
 * T-02 composition never widens. Seeded random policies over a small world of paths and hosts, so
 * that rules overlap all the time, and the laws of a meet checked on random accesses.
 */
#include "koda_test.h"

#include "policy/policy.h"

#include <koda/koda.h>
#include <koda/rules.h>

#define CASES    3000
#define ACCESSES 40

static const struct koda_place nowhere = { .size = sizeof(nowhere) };

static const char *const names[] = { "a", "b", "ab" };

static const char *const patterns[] = {
	"x.com",      "x.com:443",      "*.x.com",         "*.x.com:443",    "a.x.com",
	"a.x.com:80", "*.a.x.com",      "b.a.x.com",       "y.org",          "*.y.org",
	"8.8.8.8",    "8.8.0.0/16",     "8.8.0.0/16:443",  "127.0.0.1",      "127.0.0.0/8",
	"10.0.0.0/8", "10.1.0.0/16",    "10.1.2.3:80",     "169.254.0.0/16", "0.0.0.0/0",
	"::1",        "2001:4860::/32", "169.254.169.254", "x.com#public",   "a.x.com:80#public",
};

static const char *const hosts[] = {
	"x.com",    "a.x.com", "b.a.x.com",    "c.x.com",         "y.org",       "z.y.org",
	"8.8.8.8",  "8.8.4.4", "9.9.9.9",      "127.0.0.1",       "127.0.0.2",   "10.1.2.3",
	"10.2.0.1", "::1",     "2001:4860::8", "169.254.169.254", "169.254.1.1",
};

static const struct koda_addr addresses[] = {
	{ .family = 4, .bytes = { 8, 8, 8, 8 } },  { .family = 4, .bytes = { 127, 0, 0, 1 } },
	{ .family = 4, .bytes = { 10, 1, 2, 3 } }, { .family = 4, .bytes = { 169, 254, 169, 254 } },
	{ .family = 6, .bytes = { [15] = 1 } },
};

static const uint16_t ports[] = { 80, 443, 22 };

#define PICK(rng, table) (table)[koda_rng_below(rng, sizeof(table) / sizeof((table)[0]))]

static void random_path(struct koda_rng *rng, char out[32])
{
	size_t depth = koda_rng_below(rng, 5);

	(void)snprintf(out, 32, "%s", depth ? "" : "/");
	for (size_t i = 0; i < depth; i++) {
		size_t used = strlen(out);

		(void)snprintf(out + used, 32 - used, "/%s", PICK(rng, names));
	}
}

static void fill_list(struct koda_rng *rng, struct koda_policy *policy, enum koda_list list)
{
	struct koda_error err = { 0 };
	size_t count = koda_rng_below(rng, 5);

	for (size_t i = 0; i < count; i++) {
		char path[32];
		const char *entry = path;
		int r;

		if (koda_list_is_paths(list))
			random_path(rng, path);
		else if (list == KODA_LIST_DENIED_DOMAINS && koda_rng_one_in(rng, 12))
			entry = "*";
		else
			entry = PICK(rng, patterns);
		r = koda_policy_add(policy, list, entry, strlen(entry), &err);
		if (r < 0 && !strstr(entry, "#public"))
			fail_msg("%s: %s", entry, err.message);
	}
}

static struct koda_policy *random_policy(struct koda_rng *rng)
{
	struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_policy_new(&policy, &err), err);
	for (int list = 0; list < KODA_LIST_COUNT; list++)
		if (!koda_rng_one_in(rng, 3))
			fill_list(rng, policy, (enum koda_list)list);
	if (koda_rng_one_in(rng, 6))
		koda_policy_state_allow_write(policy, true);
	for (int flag = 0; flag < KODA_FLAG_COUNT; flag++)
		if (!koda_rng_one_in(rng, 3))
			koda_policy_set_flag(policy, (enum koda_flag)flag, koda_rng_one_in(rng, 2));
	for (int limit = 0; limit < KODA_LIMIT_POLICY_COUNT; limit++)
		if (koda_rng_one_in(rng, 2))
			KODA_ASSERT_OK(koda_policy_set_limit(policy, (enum koda_limit)limit,
							     koda_rng_below(rng, 4), &err),
				       err);
	if (!koda_rng_one_in(rng, 3))
		koda_policy_set_search_depth(policy, (uint8_t)koda_rng_below(rng, 6));
	koda_policy_set_ask(policy, (enum koda_ask)koda_rng_below(rng, 3));
	if (koda_rng_one_in(rng, 4))
		KODA_ASSERT_OK(koda_policy_set_ca_bundle(policy, "/ca.pem", 7, &err), err);
	return policy;
}

static struct koda_policy *compose(const struct koda_policy *parent,
				   const struct koda_policy *child)
{
	struct koda_policy *out = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_policy_compose(parent, child, &out, &err), err);
	return out;
}

static struct koda_rules *compile(const struct koda_policy *policy)
{
	struct koda_rules *rules = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_rules_new(policy, &nowhere, &rules, &err), err);
	return rules;
}

/* A policy as it stands, and as a child's voice: there an unset allow_write says nothing about
 * writing, so it is asked as if everything were writable. */
struct voice {
	const struct koda_policy *policy;
	struct koda_rules *rules;
	struct koda_rules *as_child;
};

static struct voice voice_of(const struct koda_policy *policy)
{
	struct voice v = { .policy = policy, .rules = compile(policy) };
	struct koda_policy *open = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_policy_copy(policy, &open, &err), err);
	if (!koda_policy_has_allow_write(open))
		KODA_ASSERT_OK(koda_policy_add(open, KODA_LIST_ALLOW_WRITE, "/", 1, &err), err);
	v.as_child = compile(open);
	koda_policy_free(open);
	return v;
}

static void voice_end(struct voice *v)
{
	koda_rules_free(v->rules);
	koda_rules_free(v->as_child);
}

static bool reads(const struct voice *v, const char *path)
{
	return koda_rules_read(v->rules, path, strlen(path)).answer == KODA_ALLOW;
}

static bool writes(const struct koda_rules *rules, const char *path)
{
	return koda_rules_write(rules, path, strlen(path)).answer == KODA_ALLOW;
}

static bool connects(const struct voice *v, const char *host, uint16_t port)
{
	return koda_rules_connect(v->rules, host, strlen(host), port).answer == KODA_ALLOW;
}

static bool reaches(const struct voice *v, const char *host, uint16_t port,
		    const struct koda_addr *addr)
{
	return koda_rules_address(v->rules, host, strlen(host), port, addr).answer == KODA_ALLOW;
}

/* A child without allowed_domains says nothing about hosts, the guarded ones included; its denies
 * still count. */
static bool tolerates(const struct voice *child, const char *host, uint16_t port,
		      const struct koda_addr *addr)
{
	struct koda_verdict v =
		addr ? koda_rules_address(child->rules, host, strlen(host), port, addr)
		     : koda_rules_connect(child->rules, host, strlen(host), port);

	if (koda_policy_count(child->policy, KODA_LIST_ALLOWED_DOMAINS) == 0)
		return v.reason != KODA_REASON_HOST_DENIED;
	return v.answer == KODA_ALLOW;
}

/* Special literals stand apart: an empty list speaks differently for a parent (every public host)
 * than for a child (nothing), so for them only "never wider" is promised. */
static bool is_special(const char *host)
{
	static const char *const special[] = { "127.", "10.", "::1", "169.254." };

	KODA_EACH(prefix, special)
		if (strncmp(host, *prefix, strlen(*prefix)) == 0)
			return true;
	return false;
}

static void check_meet(struct koda_rng *rng, const struct voice *a, const struct voice *b,
		       const struct voice *ab)
{
	for (int i = 0; i < ACCESSES; i++) {
		const char *host = PICK(rng, hosts);
		uint16_t port = PICK(rng, ports);
		const struct koda_addr *addr = &PICK(rng, addresses);
		char path[32];

		random_path(rng, path);
		KODA_EXPECT(path, reads(ab, path) == (reads(a, path) && reads(b, path)));
		KODA_EXPECT(path, writes(ab->rules, path) ==
					  (writes(a->rules, path) && writes(b->as_child, path)));
		if (connects(ab, host, port))
			KODA_EXPECT(host,
				    connects(a, host, port) && tolerates(b, host, port, NULL));
		else if (!is_special(host))
			KODA_EXPECT(host, !connects(a, host, port) || !connects(b, host, port));
		if (reaches(ab, host, port, addr))
			KODA_EXPECT(host,
				    reaches(a, host, port, addr) && tolerates(b, host, port, addr));
	}
}

static void check_scalars(const struct koda_policy *a, const struct koda_policy *b,
			  const struct koda_policy *ab)
{
	for (int i = 0; i < KODA_LIMIT_POLICY_COUNT; i++) {
		uint64_t la = UINT64_MAX;
		uint64_t lb = UINT64_MAX;
		uint64_t lab = UINT64_MAX;

		(void)koda_policy_limit(a, (enum koda_limit)i, &la);
		(void)koda_policy_limit(b, (enum koda_limit)i, &lb);
		(void)koda_policy_limit(ab, (enum koda_limit)i, &lab);
		assert_true(lab == (la < lb ? la : lb));
	}
	for (int i = 0; i < KODA_FLAG_COUNT; i++)
		assert_true(ab->flags[i].on ==
			    (a->flags[i].on && (b->flags[i].on || !b->flags[i].stated)));
	assert_int_equal(ab->ask, a->ask < b->ask ? a->ask : b->ask);
	if (b->depth_stated && b->search_depth > a->search_depth)
		assert_int_equal(ab->search_depth, b->search_depth);
	else
		assert_int_equal(ab->search_depth, a->search_depth);
}

static void composed_allows_exactly_what_both_allow(void **state)
{
	struct koda_rng rng = koda_rng_new();

	(void)state;
	for (int i = 0; i < CASES; i++) {
		struct koda_policy *a = random_policy(&rng);
		struct koda_policy *b = random_policy(&rng);
		struct koda_policy *ab = compose(a, b);
		struct voice va = voice_of(a);
		struct voice vb = voice_of(b);
		struct voice vab = voice_of(ab);

		check_meet(&rng, &va, &vb, &vab);
		check_scalars(a, b, ab);
		voice_end(&va);
		voice_end(&vb);
		voice_end(&vab);
		koda_policy_free(a);
		koda_policy_free(b);
		koda_policy_free(ab);
	}
}

static void same_effects(struct koda_rng *rng, const struct koda_policy *p,
			 const struct koda_policy *q)
{
	struct voice vp = voice_of(p);
	struct voice vq = voice_of(q);

	for (int i = 0; i < ACCESSES; i++) {
		const char *host = PICK(rng, hosts);
		uint16_t port = PICK(rng, ports);
		char path[32];

		random_path(rng, path);
		KODA_EXPECT(path, reads(&vp, path) == reads(&vq, path));
		KODA_EXPECT(path, writes(vp.rules, path) == writes(vq.rules, path));
		if (!is_special(host))
			KODA_EXPECT(host, connects(&vp, host, port) == connects(&vq, host, port));
	}
	voice_end(&vp);
	voice_end(&vq);
}

static void composition_is_commutative_and_associative_on_effects(void **state)
{
	struct koda_rng rng = koda_rng_new();

	(void)state;
	for (int i = 0; i < CASES; i++) {
		struct koda_policy *a = random_policy(&rng);
		struct koda_policy *b = random_policy(&rng);
		struct koda_policy *c = random_policy(&rng);
		struct koda_policy *ab;
		struct koda_policy *ba;
		struct koda_policy *bc;
		struct koda_policy *ab_c;
		struct koda_policy *a_bc;

		/* "Unset" means one thing in a parent and another in a child; these laws are
		 * about policies that say what they want. */
		koda_policy_state_allow_write(a, true);
		koda_policy_state_allow_write(b, true);
		ab = compose(a, b);
		ba = compose(b, a);
		bc = compose(b, c);
		ab_c = compose(ab, c);
		a_bc = compose(a, bc);

		same_effects(&rng, ab, ba);
		same_effects(&rng, ab_c, a_bc);
		koda_policy_free(a);
		koda_policy_free(b);
		koda_policy_free(c);
		koda_policy_free(ab);
		koda_policy_free(ba);
		koda_policy_free(bc);
		koda_policy_free(ab_c);
		koda_policy_free(a_bc);
	}
}

static char *text_of(const struct koda_policy *policy)
{
	char *text = NULL;

	assert_int_equal(koda_policy_emit(policy, &text, NULL), KODA_OK);
	return text;
}

static void expect_alike(struct koda_policy *a, struct koda_policy *b)
{
	koda_auto_free char *text_a = text_of(a);
	koda_auto_free char *text_b = text_of(b);

	assert_string_equal(text_a, text_b);
	koda_policy_free(a);
	koda_policy_free(b);
}

static void text_composes_as_what_it_was_made_of(void **state)
{
	struct koda_rng rng = koda_rng_new();

	(void)state;
	for (int i = 0; i < CASES; i++) {
		struct koda_policy *a = random_policy(&rng);
		struct koda_policy *b = random_policy(&rng);
		koda_auto_free char *text = text_of(a);
		struct koda_policy *back = NULL;

		assert_int_equal(koda_policy_parse(text, strlen(text), &back, NULL), KODA_OK);
		expect_alike(compose(a, b), compose(back, b));
		expect_alike(compose(b, a), compose(b, back));
		koda_policy_free(a);
		koda_policy_free(b);
		koda_policy_free(back);
	}
}

static void composition_is_idempotent_and_default_is_neutral(void **state)
{
	struct koda_rng rng = koda_rng_new();
	struct koda_policy *neutral = NULL;
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_OK(koda_policy_new(&neutral, &err), err);
	for (int i = 0; i < CASES; i++) {
		struct koda_policy *p = random_policy(&rng);
		struct koda_policy *pp = compose(p, p);
		struct koda_policy *pn = compose(p, neutral);

		assert_true(koda_policy_equal(p, pp));
		assert_true(koda_policy_hash(p) == koda_policy_hash(pp));
		assert_true(koda_policy_equal(p, pn));
		koda_policy_free(p);
		koda_policy_free(pp);
		koda_policy_free(pn);
	}
	koda_policy_free(neutral);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(composed_allows_exactly_what_both_allow),
		cmocka_unit_test(composition_is_commutative_and_associative_on_effects),
		cmocka_unit_test(text_composes_as_what_it_was_made_of),
		cmocka_unit_test(composition_is_idempotent_and_default_is_neutral),
	};

	return KODA_TEST_RUN(tests);
}
