/* SPDX-License-Identifier: MIT */
/* Hints: what they say for each rule, how they are read, applied and merged. */
#include "koda_test.h"

#include "base/macros.h"
#include "policy/hint.h"

#include <koda/koda.h>

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

#define WRITABLE "{\"fs\":{\"allow_write\":[\"/a\"]"

static void paths(void **state)
{
	static const struct {
		const char *policy;
		enum koda_violation kind;
		const char *path;
		const char *hint; /* NULL: none */
	} rows[] = {
		{ WRITABLE "}}", KODA_VIOLATION_FILE_WRITE, "/a/x", NULL },
		{ WRITABLE "}}", KODA_VIOLATION_FILE_WRITE, "/srv/x",
		  "{\"fs\":{\"allow_write\":[\"/srv/x\"]}}" },
		{ "{}", KODA_VIOLATION_FILE_WRITE, "/srv/x",
		  "{\"fs\":{\"allow_write\":[\"/srv/x\"]}}" },
		{ WRITABLE ",\"deny_write_within_allow\":[\"/a/x\",\"/a\"]}}",
		  KODA_VIOLATION_FILE_WRITE, "/a/x/y",
		  "{\"remove\":{\"fs\":{\"deny_write_within_allow\":[\"/a/x\",\"/a\"]}}}" },
		{ "{\"fs\":{\"deny_write_within_allow\":[\"/b\"]}}", KODA_VIOLATION_FILE_WRITE,
		  "/b/c",
		  "{\"fs\":{\"allow_write\":[\"/b/c\"]},"
		  "\"remove\":{\"fs\":{\"deny_write_within_allow\":[\"/b\"]}}}" },
		{ "{\"fs\":{\"deny_read\":[\"/s\"]}}", KODA_VIOLATION_FILE_READ, "/s/k",
		  "{\"fs\":{\"allow_read_within_deny\":[\"/s/k\"]}}" },
		{ "{\"fs\":{\"deny_read\":[\"/s\"]}}", KODA_VIOLATION_EXEC, "/s/tool",
		  "{\"fs\":{\"allow_read_within_deny\":[\"/s/tool\"]}}" },
		{ "{\"fs\":{\"deny_read\":[\"/s/k\",\"/s\"]}}", KODA_VIOLATION_FILE_READ, "/s/k",
		  "{\"fs\":{\"allow_read_within_deny\":[\"/s/k\"]},"
		  "\"remove\":{\"fs\":{\"deny_read\":[\"/s/k\"]}}}" },
		{ WRITABLE "}}", KODA_VIOLATION_FILE_WRITE, "/a/.mcp.json",
		  "{\"floor\":\"floor.project\"}" },
		{ WRITABLE "}}", KODA_VIOLATION_FILE_WRITE, "/home/me/.ssh/id",
		  "{\"floor\":\"floor.credentials\"}" },
		{ "{}", KODA_VIOLATION_FILE_WRITE, "/sys/power/state",
		  "{\"floor\":\"floor.kernel\"}" },
		{ WRITABLE "}}", KODA_VIOLATION_FILE_WRITE, "/a/.git/hooks/pre-commit",
		  "{\"floor\":\"floor.git\"}" },
		{ WRITABLE "}}", KODA_VIOLATION_FILE_WRITE, "/a/.git/config",
		  "{\"fs\":{\"allow_git_config\":true}}" },
		/* Writable, but not to be removed: a name in it, or its directory. */
		{ WRITABLE ",\"deny_write_within_allow\":[\"/a/x/y\"]}}", KODA_VIOLATION_FILE_WRITE,
		  "/a/x", "{\"remove\":{\"fs\":{\"deny_write_within_allow\":[\"/a/x/y\"]}}}" },
		{ "{\"fs\":{\"allow_write\":[\"/srv/x\"]}}", KODA_VIOLATION_FILE_WRITE, "/srv/x",
		  "{\"fs\":{\"allow_write\":[\"/srv\"]}}" },
		/* Directories with credentials below. */
		{ WRITABLE "}}", KODA_VIOLATION_FILE_WRITE, "/", NULL },
		{ WRITABLE "}}", KODA_VIOLATION_FILE_WRITE, "/home/me", NULL },
		{ "{\"fs\":{\"deny_read\":[\"/home\"]}}", KODA_VIOLATION_FILE_READ, "/home/me",
		  NULL },
		{ "{\"fs\":{\"deny_read\":[\"/home\"]}}", KODA_VIOLATION_FILE_READ, "/home/me/x",
		  "{\"fs\":{\"allow_read_within_deny\":[\"/home/me/x\"]}}" },
		{ WRITABLE "}}", KODA_VIOLATION_FILE_WRITE, "/srv/../etc/x", NULL },
		{ WRITABLE "}}", KODA_VIOLATION_FILE_WRITE, "x", NULL },
		{ WRITABLE "}}", KODA_VIOLATION_FILE_WRITE, "/srv/\xff\"%",
		  "{\"fs\":{\"allow_write\":[\"%/srv/%FF\\\"%25\"]}}" },
	};

	(void)state;
	KODA_EACH(row, rows) {
		struct koda_policy *policy = policy_of(row->policy);
		struct koda_rules *rules = compile(policy);
		koda_auto_free char *hint = NULL;
		struct koda_error err = { 0 };

		KODA_ASSERT_OK(
			koda_hint_path(rules, row->kind, row->path, strlen(row->path), &hint, &err),
			err);
		if ((hint == NULL) != (row->hint == NULL) || (hint && strcmp(hint, row->hint) != 0))
			fail_msg("%s in %s: %s", row->path, row->policy, hint ? hint : "none");
		koda_rules_free(rules);
		koda_policy_free(policy);
	}
}

static void connections(void **state)
{
	static const struct koda_addr loopback = { 4, { 127, 0, 0, 1 } };
	static const struct {
		const char *policy;
		const char *host;
		const struct koda_addr *addr;
		const char *hint;
	} rows[] = {
		{ "{\"net\":{\"allowed_domains\":[\"x.com\"]}}", "x.com", NULL, NULL },
		{ "{\"net\":{\"allowed_domains\":[\"x.com\"]}}", "y.com", NULL,
		  "{\"net\":{\"allowed_domains\":[\"y.com:443\"]}}" },
		{ "{\"net\":{\"denied_domains\":[\"*.com\",\"y.com\"]}}", "y.com", NULL,
		  "{\"remove\":{\"net\":{\"denied_domains\":[\"*.com\",\"y.com\"]}}}" },
		{ "{\"net\":{\"denied_domains\":[\"*\"]}}", "y.com", NULL,
		  "{\"net\":{\"allowed_domains\":[\"y.com:443\"]},"
		  "\"remove\":{\"net\":{\"denied_domains\":[\"*\"]}}}" },
		{ "{\"net\":{\"allowed_domains\":[\"*.x.com\"]}}", "a.x.com", &loopback,
		  "{\"net\":{\"allowed_domains\":[\"a.x.com:443\"]}}" },
		{ "{\"net\":{\"allowed_domains\":[\"x.com\"]}}", "::1", NULL,
		  "{\"net\":{\"allowed_domains\":[\"[::1]:443\"]}}" },
		{ "{}", "not a host", NULL, NULL },
		{ "{}", "", NULL, NULL },
	};

	(void)state;
	KODA_EACH(row, rows) {
		struct koda_policy *policy = policy_of(row->policy);
		koda_auto_free char *hint = NULL;
		struct koda_error err = { 0 };

		KODA_ASSERT_OK(koda_hint_connect(policy, row->host, strlen(row->host), 443,
						 row->addr, &hint, &err),
			       err);
		if ((hint == NULL) != (row->hint == NULL) || (hint && strcmp(hint, row->hint) != 0))
			fail_msg("%s in %s: %s", row->host, row->policy, hint ? hint : "none");
		koda_policy_free(policy);
	}
}

static void limits(void **state)
{
	static const struct {
		enum koda_limit which;
		uint64_t value;
		uint64_t ceiling;
		const char *hint;
	} rows[] = {
		{ KODA_LIMIT_WALL_TIME, 60, 300, "{\"limits\":{\"wall_time_secs\":120}}" },
		{ KODA_LIMIT_WALL_TIME, 200, 300, "{\"limits\":{\"wall_time_secs\":300}}" },
		{ KODA_LIMIT_WALL_TIME, 300, 300, "{\"floor\":\"limits.wall_time\"}" },
		{ KODA_LIMIT_MEMORY, 1 << 20, UINT64_MAX,
		  "{\"limits\":{\"max_rss_bytes\":2097152}}" },
		{ KODA_LIMIT_MEMORY, UINT64_MAX, UINT64_MAX, "{\"floor\":\"limits.memory\"}" },
		{ KODA_LIMIT_CPU_TIME, 0, UINT64_MAX, "{\"limits\":{\"cpu_time_secs\":1}}" },
		{ KODA_LIMIT_PROCESSES, 512, UINT64_MAX, "{\"floor\":\"limits.processes\"}" },
	};

	(void)state;
	KODA_EACH(row, rows) {
		koda_auto_free char *hint = NULL;
		struct koda_error err = { 0 };

		KODA_ASSERT_OK(koda_hint_limit(row->which, row->value, row->ceiling, &hint, &err),
			       err);
		assert_string_equal(hint, row->hint);
	}
}

static void application(void **state)
{
	static const char good[] =
		"{\"fs\":{\"allow_write\":[\"/b\"]},\"limits\":{\"wall_time_secs\""
		":120},\"remove\":{\"fs\":{\"deny_read\":[\"/s\"]}}}";
	static const struct {
		const char *hint;
		int code;
	} bad[] = {
		{ "", KODA_E_POLICY },
		{ "[]", KODA_E_POLICY },
		{ "{\"floor\":\"floor.git\"}", KODA_E_DENIED },
		{ "{\"floor\":\"\"}", KODA_E_POLICY },
		{ "{\"trust\":\"auto\"}", KODA_E_POLICY },
		{ "{\"remove\":{\"limits\":{}}}", KODA_E_POLICY },
		{ "{\"remove\":{\"remove\":{}}}", KODA_E_POLICY },
		{ "{\"fs\":{\"allow_write\":[\"x\"]}}", KODA_E_POLICY },
		{ "{\"fs\":{\"allow_write\":[[[\"/x\"]]]}}", KODA_E_LIMIT },
	};
	struct koda_policy *policy = policy_of("{\"fs\":{\"deny_read\":[\"/s\",\"/t\"]}}");
	struct koda_policy *changed = NULL;
	struct koda_error err = { 0 };
	uint64_t seconds = 0;

	(void)state;
	KODA_ASSERT_OK(koda_hint_apply(policy, good, sizeof(good) - 1, &changed, &err), err);
	assert_int_equal(koda_policy_count(changed, KODA_LIST_DENY_READ), 1);
	KODA_ASSERT_SPAN(koda_policy_get(changed, KODA_LIST_DENY_READ, 0), "/t");
	KODA_ASSERT_SPAN(koda_policy_get(changed, KODA_LIST_ALLOW_WRITE, 0), "/b");
	assert_true(koda_policy_limit(changed, KODA_LIMIT_WALL_TIME, &seconds) && seconds == 120);
	koda_policy_free(changed);
	KODA_EACH(row, bad)
		KODA_ASSERT_FAILS(
			row->code,
			koda_hint_apply(policy, row->hint, strlen(row->hint), &changed, &err), err);
	koda_policy_free(policy);
}

static void merging(void **state)
{
	static const char first[] = "{\"fs\":{\"allow_write\":[\"/x\"]}}";
	static const char second[] =
		"{\"fs\":{\"allow_write\":[\"/y\",\"/x\"]},\"remove\":{\"net\":{"
		"\"denied_domains\":[\"y.com\"]}}}";
	static const char floor[] = "{\"floor\":\"floor.git\"}";
	koda_auto_hint struct koda_hint hint = { .floor = "" };
	koda_auto_hint struct koda_hint other = { .floor = "" };
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(1024);
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_OK(koda_hint_parse(koda_span_of(first), &hint, &err), err);
	KODA_ASSERT_OK(koda_hint_parse(koda_span_of(second), &other, &err), err);
	KODA_ASSERT_OK(koda_hint_merge(&hint, &other, &err), err);
	assert_int_equal(koda_hint_emit(&hint, &text), KODA_OK);
	KODA_ASSERT_SPAN(koda_buf_span(&text),
			 "{\"fs\":{\"allow_write\":[\"/x\",\"/y\"]},\"remove\":{\"net\":{"
			 "\"denied_domains\":[\"y.com\"]}}}");
	KODA_ASSERT_OK(koda_hint_parse(koda_span_of(floor), &other, &err), err);
	KODA_ASSERT_OK(koda_hint_merge(&hint, &other, &err), err);
	text.len = 0;
	assert_int_equal(koda_hint_emit(&hint, &text), KODA_OK);
	KODA_ASSERT_SPAN(koda_buf_span(&text), floor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths),   cmocka_unit_test(connections),
		cmocka_unit_test(limits),  cmocka_unit_test(application),
		cmocka_unit_test(merging),
	};

	return KODA_TEST_RUN(tests);
}
