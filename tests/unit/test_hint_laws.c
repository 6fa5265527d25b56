/* SPDX-License-Identifier: MIT */
/*
 * Hints over random policies: a policy changed by a hint allows what was denied, no deny is taken
 * away without need, and a floor stays one under the widest policy.
 */
#include "koda_test.h"

#include "base/macros.h"
#include "policy/hint.h"

#include <koda/koda.h>

#define CASES 4000

static const struct koda_place place = { .size = sizeof(place), .root = "/a", .home = "/home/me" };

static struct koda_rules *compile(const struct koda_policy *policy)
{
	struct koda_rules *rules = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_rules_new(policy, &place, &rules, &err), err);
	return rules;
}

static struct koda_policy *policy_of(const char *text)
{
	struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_policy_parse(text, strlen(text), &policy, &err), err);
	return policy;
}

static const char *const names[] = { "a", "b", "ab", ".mcp.json", ".git" };
static const char *const patterns[] = { "x.com",      "*.x.com",     "a.x.com:80",        "y.org",
					"8.8.0.0/16", "127.0.0.0/8", "a.x.com:443#public" };
static const char *const hosts[] = { "x.com", "a.x.com", "y.org", "8.8.8.8", "127.0.0.1", "::1" };
static const struct koda_addr addresses[] = { { 4, { 8, 8, 8, 8 } }, { 4, { 127, 0, 0, 1 } } };

#define PICK(rng, table) (table)[koda_rng_below(rng, sizeof(table) / sizeof((table)[0]))]

static void random_path(struct koda_rng *rng, char out[64])
{
	size_t depth = koda_rng_below(rng, 4);

	(void)snprintf(out, 64, "%s", depth ? "" : "/");
	for (size_t i = 0; i < depth; i++) {
		size_t used = strlen(out);

		(void)snprintf(out + used, 64 - used, "/%s", PICK(rng, names));
	}
}

static struct koda_policy *random_policy(struct koda_rng *rng)
{
	struct koda_policy *policy = policy_of("{}");

	for (int list = 0; list < KODA_LIST_COUNT; list++) {
		for (size_t i = koda_rng_below(rng, 4); i > 0; i--) {
			char path[64];
			const char *entry = path;

			random_path(rng, path);
			if (!koda_list_is_paths((enum koda_list)list))
				entry = list == KODA_LIST_DENIED_DOMAINS && koda_rng_one_in(rng, 6)
						? "*"
						: PICK(rng, patterns);
			/* Some patterns cannot be denied. */
			(void)!koda_policy_add(policy, (enum koda_list)list, entry, strlen(entry),
					       NULL);
		}
	}
	return policy;
}

/* One access, of any kind. */
struct access {
	bool connects;
	bool replaces; /* of a write: the file can be written, but not be renamed or removed */
	enum koda_violation kind;
	char path[64];
	const char *host;
	const struct koda_addr *addr;
};

static enum koda_answer answer_of(const struct koda_policy *policy, const struct access *access)
{
	struct koda_rules *rules = compile(policy);
	const char *path = access->path;
	enum koda_answer answer;

	if (access->connects && access->addr)
		answer = koda_rules_address(rules, access->host, strlen(access->host), 443,
					    access->addr)
				 .answer;
	else if (access->connects)
		answer = koda_rules_connect(rules, access->host, strlen(access->host), 443).answer;
	else if (access->replaces)
		answer = koda_rules_replace(rules, path, strlen(path)).answer;
	else if (access->kind == KODA_VIOLATION_FILE_WRITE)
		answer = koda_rules_write(rules, path, strlen(path)).answer;
	else
		answer = koda_rules_read(rules, path, strlen(path)).answer;
	koda_rules_free(rules);
	return answer;
}

static char *hint_of(const struct koda_policy *policy, const struct access *access)
{
	struct koda_rules *rules = compile(policy);
	struct koda_error err = { 0 };
	char *hint = NULL;

	if (access->connects)
		KODA_ASSERT_OK(koda_hint_connect(policy, access->host, strlen(access->host), 443,
						 access->addr, &hint, &err),
			       err);
	else
		KODA_ASSERT_OK(koda_hint_path(rules, access->kind, access->path,
					      strlen(access->path), &hint, &err),
			       err);
	koda_rules_free(rules);
	return hint;
}

/* Returns the policy as the hint changes it. */
static struct koda_policy *changed_by(const struct koda_policy *policy, const char *hint)
{
	struct koda_policy *changed = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_hint_apply(policy, hint, strlen(hint), &changed, &err), err);
	return changed;
}

/* Returns true if a path could only be allowed by opening "/", which has the home below it. */
static bool needs_top(const struct access *access)
{
	return !access->connects &&
	       (strcmp(access->path, "/") == 0 ||
		(access->replaces && strrchr(access->path, '/') == access->path));
}

/* Every deny that the hint takes away is needed: put back, the access is denied. */
static void check_narrow(const struct koda_policy *policy, const struct access *access,
			 const char *text)
{
	static const enum koda_list denies[] = { KODA_LIST_DENY_READ,
						 KODA_LIST_DENY_WRITE_WITHIN_ALLOW,
						 KODA_LIST_DENIED_DOMAINS };
	koda_auto_hint struct koda_hint hint = { .floor = "" };
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_hint_parse(koda_span_of(text), &hint, &err), err);
	KODA_EACH(list, denies) {
		for (size_t i = 0; i < koda_policy_count(hint.remove, *list); i++) {
			struct koda_span entry = koda_policy_get(hint.remove, *list, i);
			struct koda_policy *changed = changed_by(policy, text);

			KODA_ASSERT_OK(koda_policy_add(changed, *list, entry.ptr, entry.len, &err),
				       err);
			if (answer_of(changed, access) == KODA_ALLOW)
				fail_msg("%s: %s need not be removed", text, entry.ptr);
			koda_policy_free(changed);
		}
	}
}

static void check_one(struct koda_rng *rng)
{
	struct access access = { .connects = koda_rng_one_in(rng, 3),
				 .kind = koda_rng_one_in(rng, 2) ? KODA_VIOLATION_FILE_READ
								 : KODA_VIOLATION_FILE_WRITE,
				 .host = PICK(rng, hosts),
				 .addr = &PICK(rng, addresses) };
	struct koda_policy *policy = random_policy(rng);
	struct koda_policy *changed;
	koda_auto_free char *hint = NULL;

	/* A literal is its own address. */
	if (!strstr(access.host, ".com") && !strstr(access.host, ".org"))
		access.addr = NULL;
	random_path(rng, access.path);
	access.replaces = !access.connects && access.kind == KODA_VIOLATION_FILE_WRITE &&
			  answer_of(policy, &access) == KODA_ALLOW;
	hint = hint_of(policy, &access);
	if (!hint) {
		if (answer_of(policy, &access) == KODA_DENY && !needs_top(&access))
			fail_msg("%s %s: no hint", access.path, access.host);
	} else if (strstr(hint, "floor")) {
		changed = policy_of("{\"fs\":{\"allow_write\":[\"/\"],\"allow_git_config\":true}}");
		if (answer_of(changed, &access) == KODA_ALLOW)
			fail_msg("%s: %s is no floor", access.path, hint);
		koda_policy_free(changed);
	} else {
		changed = changed_by(policy, hint);
		if (answer_of(policy, &access) == KODA_ALLOW ||
		    answer_of(changed, &access) == KODA_DENY)
			fail_msg("%s %s: %s", access.path, access.host, hint);
		koda_policy_free(changed);
		check_narrow(policy, &access, hint);
	}
	koda_policy_free(policy);
}

static void random_policies(void **state)
{
	struct koda_rng rng = koda_rng_new();

	(void)state;
	for (int i = 0; i < CASES; i++)
		check_one(&rng);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(random_policies) };

	return KODA_TEST_RUN(tests);
}
