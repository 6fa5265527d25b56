/* SPDX-License-Identifier: MIT */
/* The host index against a model that looks at every rule. */
#include "koda_test.h"

#include "policy/hostindex.h"

#define RULES   400
#define QUERIES 10000

static struct koda_hostrule rule_of(const char *text)
{
	struct koda_hostrule rule;
	struct koda_error err = { 0 };

	if (koda_hostrule_parse((struct koda_span){ text, strlen(text) }, &rule, &err) < 0)
		fail_msg("%s: %s", text, err.message);
	return rule;
}

/* Which tags were seen, and how often see() was called. */
struct sight {
	unsigned char seen[RULES];
	size_t count;
	size_t stop_after; /* 0: never */
	struct koda_hostmark last;
};

static bool see(void *ctx, const struct koda_hostmark *mark)
{
	struct sight *sight = ctx;

	assert_true(mark->tag < RULES);
	sight->seen[mark->tag]++;
	sight->last = *mark;
	return ++sight->count == sight->stop_after;
}

static bool covering(const struct koda_hostindex *index, const struct koda_hostrule *rule,
		     struct sight *sight)
{
	return koda_hostindex_covering(index,
				       &(struct koda_hostquery){ .kind = rule->kind,
								 .prefix = rule->prefix,
								 .host = &rule->host },
				       see, sight);
}

/* The definition: do cover's hosts include all of rule's? */
static bool covers(const struct koda_hostrule *cover, const struct koda_hostrule *rule)
{
	size_t dot;

	switch (cover->kind) {
	case KODA_HOSTRULE_ANY:
		return true;
	case KODA_HOSTRULE_NET:
		return rule->kind == KODA_HOSTRULE_NET && rule->prefix >= cover->prefix &&
		       koda_addr_in_net(&rule->host.addr, &cover->host.addr, cover->prefix);
	case KODA_HOSTRULE_NAME:
		return rule->kind == KODA_HOSTRULE_NAME &&
		       strcmp(rule->host.name, cover->host.name) == 0;
	case KODA_HOSTRULE_BELOW:
		break;
	}
	if (rule->kind == KODA_HOSTRULE_BELOW && strcmp(rule->host.name, cover->host.name) == 0)
		return true;
	if (rule->kind != KODA_HOSTRULE_NAME && rule->kind != KODA_HOSTRULE_BELOW)
		return false;
	if (rule->host.len <= cover->host.len + 1)
		return false;
	dot = rule->host.len - cover->host.len - 1;
	return rule->host.name[dot] == '.' &&
	       strcmp(rule->host.name + dot + 1, cover->host.name) == 0;
}

static void an_empty_index_covers_nothing(void **state)
{
	koda_auto_hostindex struct koda_hostindex index = KODA_HOSTINDEX_INIT;
	struct koda_hostrule rule = rule_of("example.org");
	struct sight sight = { .count = 0 };

	(void)state;
	assert_false(covering(&index, &rule, &sight));
	assert_int_equal(sight.count, 0);
}

static void rules_cover_what_they_say(void **state)
{
	static const struct {
		const char *cover;
		const char *rule;
		bool covered;
	} rows[] = {
		{ "*", "example.org", true },
		{ "*", "*.example.org", true },
		{ "*", "10.0.0.0/8", true },
		{ "*", "*", true },
		{ "example.org", "example.org", true },
		{ "example.org:80", "example.org:443", true }, /* ports are the caller's */
		{ "example.org", "a.example.org", false },
		{ "example.org", "*.example.org", false },
		{ "example.org", "*", false },
		{ "example.org", "org", false },
		{ "*.example.org", "example.org", false },
		{ "*.example.org", "a.example.org", true },
		{ "*.example.org", "a.b.example.org", true },
		{ "*.example.org", "*.example.org", true },
		{ "*.example.org", "*.a.example.org", true },
		{ "*.example.org", "*.org", false },
		{ "*.example.org", "badexample.org", false },
		{ "*.example.org", "example.org.evil.net", false },
		{ "*.a.example.org", "*.example.org", false },
		{ "*.org", "a.b.c.org", true },
		{ "10.0.0.0/8", "10.1.2.3", true },
		{ "10.0.0.0/8", "10.1.0.0/16", true },
		{ "10.0.0.0/8", "10.0.0.0/8", true },
		{ "10.0.0.0/8", "10.0.0.0/7", false },
		{ "10.0.0.0/8", "11.0.0.1", false },
		{ "10.0.0.0/8", "::10.0.0.1", false },
		{ "10.0.0.0/8", "::ffff:10.0.0.1", true },
		{ "0.0.0.0/0", "255.255.255.255", true },
		{ "0.0.0.0/0", "::1", false },
		{ "::/0", "0.0.0.0", false },
		{ "::/0", "ffff::1", true },
		{ "fd00::/64", "fd00::ffff:ffff:ffff:ffff", true },
		{ "fd00::/64", "fd00:0:0:1::", false },
		{ "fd00::1", "fd00::1", true },
		{ "fd00::1", "fd00::2", false },
		{ "10.0.0.1", "example.org", false },
		{ "example.org", "10.0.0.1", false },
	};

	(void)state;
	KODA_EACH(row, rows) {
		koda_auto_hostindex struct koda_hostindex index = KODA_HOSTINDEX_INIT;
		struct koda_hostrule cover = rule_of(row->cover);
		struct koda_hostrule rule = rule_of(row->rule);
		struct sight sight = { .count = 0 };
		struct koda_error err = { 0 };

		KODA_EXPECT(row->cover, covers(&cover, &rule) == row->covered);
		KODA_ASSERT_OK(koda_hostindex_add(&index, &cover, 7, &err), err);
		KODA_EXPECT(row->cover, !covering(&index, &rule, &sight));
		if (sight.count != (row->covered ? 1 : 0))
			fail_msg("%s covers %s: %zu", row->cover, row->rule, sight.count);
	}
}

static void a_mark_carries_what_the_rule_said(void **state)
{
	koda_auto_hostindex struct koda_hostindex index = KODA_HOSTINDEX_INIT;
	struct koda_hostrule named = rule_of("example.org:443#public");
	struct koda_hostrule net = rule_of("[fd00::/8]:22");
	struct sight sight = { .count = 0 };
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_OK(koda_hostindex_add(&index, &named, 3, &err), err);
	KODA_ASSERT_OK(koda_hostindex_add(&index, &net, 4, &err), err);
	(void)covering(&index, &named, &sight);
	assert_int_equal(sight.count, 1);
	assert_int_equal(sight.last.tag, 3);
	assert_int_equal(sight.last.port, 443);
	assert_int_equal(sight.last.kind, KODA_HOSTRULE_NAME);
	assert_true(sight.last.public_only);
	net = rule_of("fd12::1");
	(void)covering(&index, &net, &sight);
	assert_int_equal(sight.count, 2);
	assert_int_equal(sight.last.tag, 4);
	assert_int_equal(sight.last.port, 22);
	assert_int_equal(sight.last.prefix, 8);
	assert_int_equal(sight.last.kind, KODA_HOSTRULE_NET);
	assert_false(sight.last.public_only);
}

/* Five rules cover the query; stopping after n shows exactly n. */
static void seeing_enough_ends_the_walk(void **state)
{
	static const char *const texts[] = { "*", "*.org", "*.example.org", "a.example.org",
					     "a.example.org:80" };
	koda_auto_hostindex struct koda_hostindex index = KODA_HOSTINDEX_INIT;
	struct koda_hostrule query = rule_of("a.example.org");
	struct koda_error err = { 0 };
	uint32_t tag = 0;

	(void)state;
	KODA_EACH(text, texts) {
		struct koda_hostrule rule = rule_of(*text);

		KODA_ASSERT_OK(koda_hostindex_add(&index, &rule, tag++, &err), err);
	}
	for (size_t n = 1; n <= 6; n++) {
		struct sight sight = { .stop_after = n };

		assert_true(covering(&index, &query, &sight) == (n <= 5));
		assert_int_equal(sight.count, n <= 5 ? n : 5);
		/* Least specific first; the two for the very name come in any order. */
		if (n <= 3)
			assert_int_equal(sight.last.tag, n - 1);
	}
}

static void a_cleared_index_starts_again(void **state)
{
	koda_auto_hostindex struct koda_hostindex index = KODA_HOSTINDEX_INIT;
	struct koda_hostrule rule = rule_of("example.org");
	struct sight sight = { .count = 0 };
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_OK(koda_hostindex_add(&index, &rule, 0, &err), err);
	koda_hostindex_clear(&index);
	assert_false(covering(&index, &rule, &sight));
	assert_int_equal(sight.count, 0);
	KODA_ASSERT_OK(koda_hostindex_add(&index, &rule, 1, &err), err);
	(void)covering(&index, &rule, &sight);
	assert_int_equal(sight.count, 1);
}

/* A small world, so that rules and queries meet often. */
static struct koda_hostrule random_rule(struct koda_rng *rng)
{
	static const char *const names[] = { "a", "b", "c", "aa", "ab" };
	char text[128];
	size_t len = 0;

	switch (koda_rng_below(rng, 8)) {
	case 0:
		(void)snprintf(text, sizeof(text), "10.%zu.%zu.%zu", koda_rng_below(rng, 2),
			       koda_rng_below(rng, 2) * 128, koda_rng_below(rng, 4));
		return rule_of(text);
	case 1: {
		struct koda_hostrule rule = rule_of("10.1.128.3");

		rule.prefix = (uint8_t)koda_rng_below(rng, 33);
		rule.host.addr = koda_addr_mask(&rule.host.addr, rule.prefix);
		return rule;
	}
	case 2: {
		struct koda_hostrule rule = rule_of("fd00:a:b:c:d:e:8000:1");

		rule.prefix = (uint8_t)koda_rng_below(rng, 129);
		rule.host.addr = koda_addr_mask(&rule.host.addr, rule.prefix);
		return rule;
	}
	case 3:
		if (koda_rng_one_in(rng, 8))
			return rule_of("*");
		break;
	default:
		break;
	}
	if (koda_rng_one_in(rng, 3))
		len = (size_t)snprintf(text, sizeof(text), "*.");
	for (size_t depth = 1 + koda_rng_below(rng, 4); depth > 0; depth--)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
					names[koda_rng_below(rng, 5)], depth > 1 ? "." : "");
	if (koda_rng_one_in(rng, 4))
		(void)snprintf(text + len, sizeof(text) - len, ":%zu", 1 + koda_rng_below(rng, 3));
	return rule_of(text);
}

static void agrees_with_a_model_that_looks_at_every_rule(void **state)
{
	koda_auto_hostindex struct koda_hostindex index = KODA_HOSTINDEX_INIT;
	static struct koda_hostrule rules[RULES];
	struct koda_rng rng = koda_rng_new();
	struct koda_error err = { 0 };
	size_t hits = 0;

	(void)state;
	for (uint32_t i = 0; i < RULES; i++) {
		rules[i] = random_rule(&rng);
		KODA_ASSERT_OK(koda_hostindex_add(&index, &rules[i], i, &err), err);
	}
	for (size_t q = 0; q < QUERIES; q++) {
		struct koda_hostrule query = random_rule(&rng);
		struct sight sight = { .count = 0 };

		assert_false(covering(&index, &query, &sight));
		for (size_t i = 0; i < RULES; i++) {
			unsigned char want = covers(&rules[i], &query) ? 1 : 0;

			hits += want;
			if (sight.seen[i] != want)
				fail_msg("rule %zu (%s/%u) for %s/%u: seen %d times, expected %d",
					 i, rules[i].host.name, rules[i].prefix, query.host.name,
					 query.prefix, sight.seen[i], want);
		}
	}
	assert_true(hits > QUERIES);
}

struct tally {
	size_t seen;
	uint32_t last;
};

static bool count(void *ctx, const struct koda_hostmark *mark)
{
	struct tally *tally = ctx;

	tally->seen++;
	tally->last = mark->tag;
	return false;
}

static struct tally ask_port(const struct koda_hostindex *index, uint16_t port)
{
	const struct koda_hostrule rule = rule_of("a.example");
	const struct koda_hostquery query = { .kind = rule.kind, .port = port, .host = &rule.host };
	struct tally tally = { 0, 0 };

	(void)koda_hostindex_covering(index, &query, count, &tally);
	return tally;
}

/* Every port of one host: a question about one of them does not look at the others. */
static void a_host_with_many_ports_is_asked_by_port(void **state)
{
	koda_auto_hostindex struct koda_hostindex index = KODA_HOSTINDEX_INIT;
	struct koda_hostrule rule = rule_of("a.example:1");
	struct koda_error err = { 0 };

	(void)state;
	for (uint32_t port = 1; port <= UINT16_MAX; port++) {
		rule.port = (uint16_t)port;
		KODA_ASSERT_OK(koda_hostindex_add(&index, &rule, port, &err), err);
	}
	for (uint32_t port = 1; port <= UINT16_MAX; port += 97) {
		struct tally tally = ask_port(&index, (uint16_t)port);

		assert_int_equal(tally.seen, 1);
		assert_int_equal(tally.last, port);
	}
	assert_int_equal(ask_port(&index, 0).seen, UINT16_MAX);
	rule.port = 0;
	KODA_ASSERT_OK(koda_hostindex_add(&index, &rule, 0, &err), err);
	assert_int_equal(ask_port(&index, 443).seen, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_index_covers_nothing),
		cmocka_unit_test(rules_cover_what_they_say),
		cmocka_unit_test(a_mark_carries_what_the_rule_said),
		cmocka_unit_test(seeing_enough_ends_the_walk),
		cmocka_unit_test(a_cleared_index_starts_again),
		cmocka_unit_test(agrees_with_a_model_that_looks_at_every_rule),
		cmocka_unit_test(a_host_with_many_ports_is_asked_by_port),
	};

	return KODA_TEST_RUN(tests);
}
