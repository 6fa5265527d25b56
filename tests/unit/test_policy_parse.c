/* SPDX-License-Identifier: MIT */
/* Decoding policy text that is right. What is wrong is in test_policy_parse_bad.c. */
#include "koda_test.h"

#include "policy/policy.h"

/* Quotes are written as ' to keep the tables readable. */
static struct koda_policy *parse(const char *text)
{
	struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };
	char *json = strdup(text);

	assert_non_null(json);
	for (char *c = json; *c; c++)
		if (*c == '\'')
			*c = '"';
	if (koda_policy_parse(json, strlen(json), &policy, &err) < 0)
		fail_msg("%s: %s: %s", json, err.field, err.message);
	free(json);
	return policy;
}

static void every_field_arrives(void **state)
{
	koda_auto_policy struct koda_policy *policy = parse(
		"{'fs':{'deny_read':['/dr'],'allow_read_within_deny':['/ar'],'allow_write':['/aw'],"
		"'deny_write_within_allow':['/dw'],'allow_git_config':true,"
		"'mandatory_deny_search_depth':9},"
		"'net':{'allowed_domains':['a.org:443'],'denied_domains':['*.b.org'],"
		"'allow_local_binding':true,"
		"'mitm':{'socket_map':[['c.org','/s1'],['d.org','/s2']],'ca_bundle':'/ca'},"
		"'weaker_macos_isolation':true},"
		"'limits':{'cpu_time_secs':1,'wall_time_secs':2,'max_rss_bytes':3,'max_open_fds':4,"
		"'max_output_bytes':5},'trust':'require'}");
	static const char *const entries[KODA_LIST_COUNT] = {
		[KODA_LIST_DENY_READ] = "/dr",
		[KODA_LIST_ALLOW_READ_WITHIN_DENY] = "/ar",
		[KODA_LIST_ALLOW_WRITE] = "/aw",
		[KODA_LIST_DENY_WRITE_WITHIN_ALLOW] = "/dw",
		[KODA_LIST_ALLOWED_DOMAINS] = "a.org:443",
		[KODA_LIST_DENIED_DOMAINS] = "*.b.org",
	};
	struct koda_span domain, path;
	uint64_t value = 0;

	(void)state;
	for (int list = 0; list < KODA_LIST_COUNT; list++) {
		assert_int_equal(koda_policy_count(policy, (enum koda_list)list), 1);
		KODA_ASSERT_SPAN(koda_policy_get(policy, (enum koda_list)list, 0), entries[list]);
	}
	for (int flag = 0; flag < KODA_FLAG_COUNT; flag++)
		assert_true(koda_policy_flag(policy, (enum koda_flag)flag));
	for (int limit = 0; limit < KODA_LIMIT_POLICY_COUNT; limit++) {
		assert_true(koda_policy_limit(policy, (enum koda_limit)limit, &value));
		assert_int_equal(value, limit + 1);
	}
	assert_int_equal(policy->search_depth, 9);
	assert_int_equal(koda_policy_ask(policy), KODA_ASK_REQUIRE);
	KODA_ASSERT_SPAN(koda_policy_ca_bundle(policy), "/ca");
	assert_int_equal(koda_policy_socket_map_count(policy), 2);
	koda_policy_get_socket_map(policy, 1, &domain, &path);
	KODA_ASSERT_SPAN(domain, "d.org");
	KODA_ASSERT_SPAN(path, "/s2");
}

static void path_pattern_serde_is_transparent(void **state)
{
	static const enum koda_list lists[] = { KODA_LIST_DENY_READ,
						KODA_LIST_ALLOW_READ_WITHIN_DENY,
						KODA_LIST_ALLOW_WRITE,
						KODA_LIST_DENY_WRITE_WITHIN_ALLOW };

	(void)state;
	KODA_EACH(list, lists) {
		koda_auto_policy struct koda_policy *policy = NULL;
		char text[128];

		(void)snprintf(text, sizeof(text), "{'fs':{'%s':['/home/ada']}}",
			       koda_policy_list_names[*list]);
		policy = parse(text);
		KODA_ASSERT_SPAN(koda_policy_get(policy, *list, 0), "/home/ada");
	}
}

static void domain_pattern_serde_is_transparent(void **state)
{
	koda_auto_policy struct koda_policy *policy =
		parse("{'net':{'allowed_domains':['api.example.org'],"
		      "'denied_domains':['*.example.net']}}");

	(void)state;
	KODA_ASSERT_SPAN(koda_policy_get(policy, KODA_LIST_ALLOWED_DOMAINS, 0), "api.example.org");
	KODA_ASSERT_SPAN(koda_policy_get(policy, KODA_LIST_DENIED_DOMAINS, 0), "*.example.net");
}

static void trust_preference_lowercase_serde(void **state)
{
	static const struct {
		const char *text;
		enum koda_ask ask;
	} rows[] = { { "{'trust':'auto'}", KODA_ASK_AUTO },
		     { "{'trust':'require'}", KODA_ASK_REQUIRE },
		     { "{'trust':'forbid'}", KODA_ASK_FORBID } };

	(void)state;
	KODA_EACH(row, rows) {
		koda_auto_policy struct koda_policy *policy = parse(row->text);

		KODA_EXPECT(row->text, koda_policy_ask(policy) == row->ask);
	}
}

static void policy_accepts_partial_json_via_serde_default(void **state)
{
	/* Each says no more than the default, or one thing that is looked for below. */
	static const char *const defaults[] = {
		"{}",
		" \t\r\n{ } \n",
		"{'fs':{}}",
		"{'net':{}}",
		"{'limits':{}}",
		"{'trust':'auto'}",
		"{'fs':{},'net':{},'limits':{}}",
		"{'fs':{'allow_write':null}}",
		"{'fs':{'deny_read':[],'allow_git_config':false,'mandatory_deny_search_depth':3}}",
		"{'net':{'mitm':null,'allowed_domains':[],'denied_domains':[]}}",
		"{'limits':{'cpu_time_secs':null,'wall_time_secs':null,'max_rss_bytes':null}}",
		"{'limits':{'max_open_fds':null,'max_output_bytes':null}}",
	};
	koda_auto_policy struct koda_policy *standard = NULL;
	koda_auto_policy struct koda_policy *partial = parse("{'limits':{'wall_time_secs':5}}");
	struct koda_error err = { 0 };
	uint64_t value = 0;

	(void)state;
	KODA_ASSERT_OK(koda_policy_new(&standard, &err), err);
	KODA_EACH(text, defaults) {
		koda_auto_policy struct koda_policy *policy = parse(*text);

		KODA_EXPECT(*text, koda_policy_equal(policy, standard));
	}
	assert_true(koda_policy_limit(partial, KODA_LIMIT_WALL_TIME, &value));
	assert_int_equal(value, 5);
	koda_policy_unset_limit(partial, KODA_LIMIT_WALL_TIME);
	assert_true(koda_policy_equal(partial, standard));
}

static void null_and_empty_allow_write_differ(void **state)
{
	koda_auto_policy struct koda_policy *null = parse("{'fs':{'allow_write':null}}");
	koda_auto_policy struct koda_policy *empty = parse("{'fs':{'allow_write':[]}}");

	(void)state;
	assert_false(koda_policy_has_allow_write(null));
	assert_true(koda_policy_has_allow_write(empty));
	assert_int_equal(koda_policy_count(empty, KODA_LIST_ALLOW_WRITE), 0);
}

static void paths_are_bytes_in_plain_and_percent_form(void **state)
{
	static const struct {
		const char *json;
		const char *path;
	} rows[] = {
		{ "/", "/" },
		{ "//a///b/./c/", "/a/b/c" },
		{ "/...", "/..." },
		{ "/..a/a../.a", "/..a/a../.a" },
		{ "/100%", "/100%" },
		{ "/%41", "/%41" },
		{ "%/100%25", "/100%" },
		{ "%/%41%2Fb", "/A/b" },
		{ "%/%ff%FE%fe", "/\xff\xfe\xfe" },
		{ "%%2fa", "/a" },
		{ "%/%2e/x", "/x" },
		{ "/\\u00e9", "/\xc3\xa9" },
		{ "/\\ud83d\\ude00", "/\xf0\x9f\x98\x80" },
		{ "/\\n\\t\\u0001\\\\\\u0022", "/\n\t\x01\\\"" },
		{ "/*", "/*" },
		{ "/ ", "/ " },
		{ "/\xef\xbf\xbf", "/\xef\xbf\xbf" },
	};

	(void)state;
	KODA_EACH(row, rows) {
		koda_auto_policy struct koda_policy *policy = NULL;
		char text[128];

		(void)snprintf(text, sizeof(text), "{'fs':{'deny_read':['%s']}}", row->json);
		policy = parse(text);
		KODA_ASSERT_SPAN(koda_policy_get(policy, KODA_LIST_DENY_READ, 0), row->path);
	}
}

/* The longest path and the longest component; one byte more is in test_policy_parse_bad.c. */
static void long_paths_fit(void **state)
{
	koda_auto_policy struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };
	char text[5000] = "{\"fs\":{\"deny_read\":[\"";
	size_t start = strlen(text);
	struct koda_span got;

	(void)state;
	memset(text + start, 'a', 4095);
	for (size_t i = 0; i < 4095; i += 256)
		text[start + i] = '/';
	memcpy(text + start + 4095, "\"]}}", 5);
	KODA_ASSERT_OK(koda_policy_parse(text, strlen(text), &policy, &err), err);
	got = koda_policy_get(policy, KODA_LIST_DENY_READ, 0);
	assert_int_equal(got.len, 4095);
	assert_memory_equal(got.ptr, text + start, 4095);
}

static void numbers_reach_their_ends(void **state)
{
	static const struct {
		const char *text;
		uint64_t limit;
		uint8_t depth;
	} rows[] = {
		{ "{'limits':{'max_rss_bytes':0},'fs':{'mandatory_deny_search_depth':0}}", 0, 0 },
		{ "{'limits':{'max_rss_bytes':-0},'fs':{'mandatory_deny_search_depth':255}}", 0,
		  255 },
		{ "{'limits':{'max_rss_bytes':9223372036854775807}}", INT64_MAX, 3 },
		{ "{'limits':{'max_rss_bytes':4294967296}}", 4294967296, 3 },
	};

	(void)state;
	KODA_EACH(row, rows) {
		koda_auto_policy struct koda_policy *policy = parse(row->text);
		uint64_t value = 1;

		KODA_EXPECT(row->text, koda_policy_limit(policy, KODA_LIMIT_MEMORY, &value));
		KODA_EXPECT(row->text, value == row->limit);
		KODA_EXPECT(row->text, policy->search_depth == row->depth);
	}
}

static void repeated_entries_count_once(void **state)
{
	koda_auto_policy struct koda_policy *policy =
		parse("{'fs':{'deny_read':['/a','/b','/a/','//b']},"
		      "'net':{'denied_domains':['A.org','a.org.','a.org:80','*']}}");

	(void)state;
	assert_int_equal(koda_policy_count(policy, KODA_LIST_DENY_READ), 2);
	assert_int_equal(koda_policy_count(policy, KODA_LIST_DENIED_DOMAINS), 3);
	assert_false(koda_policy_has_network(policy));
}

/* White space up to the last byte that is allowed; one more is in test_policy_parse_bad.c. */
static void exactly_one_mebibyte_is_decoded(void **state)
{
	koda_auto_policy struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };
	char *text = malloc(KODA_POLICY_TEXT_MAX);

	(void)state;
	assert_non_null(text);
	memset(text, ' ', KODA_POLICY_TEXT_MAX);
	memcpy(text + KODA_POLICY_TEXT_MAX - 18, "{\"trust\":\"forbid\"}", 18);
	KODA_ASSERT_OK(koda_policy_parse(text, KODA_POLICY_TEXT_MAX, &policy, &err), err);
	assert_int_equal(koda_policy_ask(policy), KODA_ASK_FORBID);
	free(text);
}

/* The text is a span: the byte behind it is never looked at. */
static void no_terminator_is_needed(void **state)
{
	static const char source[] = "{\"trust\":\"forbid\"}";
	koda_auto_policy struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };
	size_t len = sizeof(source) - 1;
	char *text = malloc(len);

	(void)state;
	assert_non_null(text);
	memcpy(text, source, len);
	KODA_ASSERT_OK(koda_policy_parse(text, len, &policy, &err), err);
	assert_int_equal(koda_policy_ask(policy), KODA_ASK_FORBID);
	free(text);
}

static void ten_thousand_entries_keep_their_order(void **state)
{
	koda_auto_policy struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };
	size_t size = 20000 * 16;
	char *text = malloc(size);
	size_t used = 0;

	(void)state;
	assert_non_null(text);
	used += (size_t)snprintf(text, size, "{\"fs\":{\"deny_read\":[\"/first\"");
	for (int i = 0; i < 10000; i++)
		used += (size_t)snprintf(text + used, size - used, ",\"/d/%d\"", i);
	used += (size_t)snprintf(text + used, size - used, "]}}");
	KODA_ASSERT_OK(koda_policy_parse(text, used, &policy, &err), err);
	assert_int_equal(koda_policy_count(policy, KODA_LIST_DENY_READ), 10001);
	KODA_ASSERT_SPAN(koda_policy_get(policy, KODA_LIST_DENY_READ, 0), "/first");
	KODA_ASSERT_SPAN(koda_policy_get(policy, KODA_LIST_DENY_READ, 7778), "/d/7777");
	KODA_ASSERT_SPAN(koda_policy_get(policy, KODA_LIST_DENY_READ, 10000), "/d/9999");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_arrives),
		cmocka_unit_test(path_pattern_serde_is_transparent),
		cmocka_unit_test(domain_pattern_serde_is_transparent),
		cmocka_unit_test(trust_preference_lowercase_serde),
		cmocka_unit_test(policy_accepts_partial_json_via_serde_default),
		cmocka_unit_test(null_and_empty_allow_write_differ),
		cmocka_unit_test(paths_are_bytes_in_plain_and_percent_form),
		cmocka_unit_test(long_paths_fit),
		cmocka_unit_test(numbers_reach_their_ends),
		cmocka_unit_test(repeated_entries_count_once),
		cmocka_unit_test(exactly_one_mebibyte_is_decoded),
		cmocka_unit_test(no_terminator_is_needed),
		cmocka_unit_test(ten_thousand_entries_keep_their_order),
	};

	return KODA_TEST_RUN(tests);
}
