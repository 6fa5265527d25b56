/* SPDX-License-Identifier: MIT */
/* The canonical text: golden for known policies, and a lossless round trip for random ones. */
#include "koda_test.h"

#include "base/path.h"
#include "policy/policy.h"

#define CASES 2000

static struct koda_policy *policy_new(void)
{
	struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_policy_new(&policy, &err), err);
	return policy;
}

static char *emit(const struct koda_policy *policy)
{
	struct koda_error err = { 0 };
	char *text = NULL;

	KODA_ASSERT_OK(koda_policy_emit(policy, &text, &err), err);
	assert_non_null(text);
	return text;
}

static void add(struct koda_policy *policy, enum koda_list list, const char *entry, size_t len)
{
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_policy_add(policy, list, entry, len, &err), err);
}

/* emit, parse, compare: equal policies, equal hashes, the same text again. */
static void expect_round_trip(const struct koda_policy *policy)
{
	koda_auto_policy struct koda_policy *back = NULL;
	struct koda_error err = { 0 };
	char *text = emit(policy);
	char *again;

	KODA_ASSERT_OK(koda_policy_parse(text, strlen(text), &back, &err), err);
	KODA_EXPECT(text, koda_policy_equal(policy, back));
	KODA_EXPECT(text, koda_policy_hash(policy) == koda_policy_hash(back));
	again = emit(back);
	assert_string_equal(text, again);
	free(text);
	free(again);
}

static void the_default_policy_in_full(void **state)
{
	koda_auto_policy struct koda_policy *policy = policy_new();
	char *text = emit(policy);

	(void)state;
	assert_string_equal(text, "{\n"
				  "  \"fs\": {\n"
				  "    \"deny_read\": [],\n"
				  "    \"allow_read_within_deny\": [],\n"
				  "    \"allow_write\": null,\n"
				  "    \"deny_write_within_allow\": [],\n"
				  "    \"allow_git_config\": null,\n"
				  "    \"mandatory_deny_search_depth\": null\n"
				  "  },\n"
				  "  \"net\": {\n"
				  "    \"allowed_domains\": [],\n"
				  "    \"denied_domains\": [],\n"
				  "    \"allow_local_binding\": null,\n"
				  "    \"mitm\": null,\n"
				  "    \"weaker_macos_isolation\": null\n"
				  "  },\n"
				  "  \"limits\": {\n"
				  "    \"cpu_time_secs\": null,\n"
				  "    \"wall_time_secs\": null,\n"
				  "    \"max_rss_bytes\": null,\n"
				  "    \"max_open_fds\": null,\n"
				  "    \"max_output_bytes\": null\n"
				  "  },\n"
				  "  \"trust\": \"auto\"\n"
				  "}\n");
	free(text);
}

static void a_full_policy_in_full(void **state)
{
	static const char source[] =
		"{\"trust\":\"forbid\",\"limits\":{\"max_output_bytes\":5,\"max_open_fds\":4,"
		"\"max_rss_bytes\":9223372036854775807,\"wall_time_secs\":2,\"cpu_time_secs\":0},"
		"\"net\":{\"weaker_macos_isolation\":true,\"mitm\":{\"socket_map\":[[\"C.org\",\"/"
		"s\"],"
		"[\"*.d.org:443\",\"%/%FF\"]],\"ca_bundle\":\"/ca\"},\"allow_local_binding\":true,"
		"\"denied_domains\":[\"*\"],\"allowed_domains\":[\"[::1]:80\",\"a.org#public\"]},"
		"\"fs\":{\"mandatory_deny_search_depth\":255,\"allow_git_config\":true,"
		"\"deny_write_within_allow\":[\"/w/x\"],\"allow_write\":[\"/w\",\"/v\"],"
		"\"allow_read_within_deny\":[],\"deny_read\":[\"/\\\"\\\\\\n\"]}}";
	koda_auto_policy struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };
	char *text;

	(void)state;
	KODA_ASSERT_OK(koda_policy_parse(source, strlen(source), &policy, &err), err);
	text = emit(policy);
	assert_string_equal(text, "{\n"
				  "  \"fs\": {\n"
				  "    \"deny_read\": [\n"
				  "      \"/\\\"\\\\\\u000A\"\n"
				  "    ],\n"
				  "    \"allow_read_within_deny\": [],\n"
				  "    \"allow_write\": [\n"
				  "      \"/w\",\n"
				  "      \"/v\"\n"
				  "    ],\n"
				  "    \"deny_write_within_allow\": [\n"
				  "      \"/w/x\"\n"
				  "    ],\n"
				  "    \"allow_git_config\": true,\n"
				  "    \"mandatory_deny_search_depth\": 255\n"
				  "  },\n"
				  "  \"net\": {\n"
				  "    \"allowed_domains\": [\n"
				  "      \"[::1]:80\",\n"
				  "      \"a.org#public\"\n"
				  "    ],\n"
				  "    \"denied_domains\": [\n"
				  "      \"*\"\n"
				  "    ],\n"
				  "    \"allow_local_binding\": true,\n"
				  "    \"mitm\": {\n"
				  "      \"ca_bundle\": \"/ca\",\n"
				  "      \"socket_map\": [\n"
				  "        [\"c.org\", \"/s\"],\n"
				  "        [\"*.d.org:443\", \"%/%FF\"]\n"
				  "      ]\n"
				  "    },\n"
				  "    \"weaker_macos_isolation\": true\n"
				  "  },\n"
				  "  \"limits\": {\n"
				  "    \"cpu_time_secs\": 0,\n"
				  "    \"wall_time_secs\": 2,\n"
				  "    \"max_rss_bytes\": 9223372036854775807,\n"
				  "    \"max_open_fds\": 4,\n"
				  "    \"max_output_bytes\": 5\n"
				  "  },\n"
				  "  \"trust\": \"forbid\"\n"
				  "}\n");
	free(text);
}

static void paths_are_written_as_text_if_they_are_text(void **state)
{
	static const struct {
		const char *path;
		const char *json;
	} rows[] = {
		{ "/", "\"/\"" },
		{ "/a b", "\"/a b\"" },
		{ "/100%", "\"/100%\"" },
		{ "/\xc3\xa9\xf0\x9f\x98\x80", "\"/\xc3\xa9\xf0\x9f\x98\x80\"" },
		{ "/\x01\x1f\x7f\t\r", "\"/\\u0001\\u001F\\u007F\\u0009\\u000D\"" },
		{ "/'\"\\", "\"/'\\\"\\\\\"" },
		/* What is text and still deceives a reader. */
		{ "/\xc2\x80\xc2\x9f\xc2\xa0", "\"/\\u0080\\u009F\xc2\xa0\"" },
		{ "/\xc2\xad\xd8\x9c\xef\xbb\xbf", "\"/\\u00AD\\u061C\\uFEFF\"" },
		{ "/\xe2\x80\x8b\xe2\x80\x8f\xe2\x80\x90", "\"/\\u200B\\u200F\xe2\x80\x90\"" },
		{ "/\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xae", "\"/\xe2\x80\xa7\\u2028\\u202E\"" },
		{ "/\xe2\x81\xa0\xe2\x81\xaf\xe2\x81\xb0", "\"/\\u2060\\u206F\xe2\x81\xb0\"" },
		{ "/\xf3\xa0\x80\x81\xf3\xa0\x81\xbf", "\"/\\uDB40\\uDC01\\uDB40\\uDC7F\"" },
		{ "/\xff", "\"%/%FF\"" },
		{ "/100%\xff", "\"%/100%25%FF\"" },
		{ "/\xc3\xa9\xc3", "\"%/%C3%A9%C3\"" },
		{ "/\xff\n\x7f\"\\ ~", "\"%/%FF%0A%7F\\\"\\\\ ~\"" },
		{ "/\xed\xa0\x80", "\"%/%ED%A0%80\"" },
		{ "/\xc0\xaf", "\"%/%C0%AF\"" },
		{ "/\xf4\x90\x80\x80", "\"%/%F4%90%80%80\"" },
	};

	(void)state;
	KODA_EACH(row, rows) {
		koda_auto_policy struct koda_policy *policy = policy_new();
		char *text;

		add(policy, KODA_LIST_DENY_READ, row->path, strlen(row->path));
		text = emit(policy);
		KODA_EXPECT(row->json, strstr(text, row->json) != NULL);
		free(text);
		expect_round_trip(policy);
	}
}

/* Every byte a path can hold, alone and before and after others. */
static void every_byte_survives(void **state)
{
	(void)state;
	for (int byte = 1; byte < 256; byte++) {
		koda_auto_policy struct koda_policy *policy = policy_new();
		const char paths[3][4] = { { '/', 'a', (char)byte, 'b' },
					   { '/', (char)byte, (char)0x80, 'b' },
					   { '/', (char)0xc3, (char)byte, '%' } };

		for (size_t i = 0; i < 3; i++)
			add(policy, KODA_LIST_ALLOW_WRITE, paths[i], sizeof(paths[i]));
		expect_round_trip(policy);
	}
}

/* A component of 1 to 12 bytes from one of several alphabets, never "." or "..". */
static size_t random_name(struct koda_rng *rng, char *out)
{
	static const char awkward[] = "%%%\"\\\n\r\t \x01\x7f.{}[]:,u0041*~";
	size_t len = 1 + koda_rng_below(rng, 12);
	size_t kind = koda_rng_below(rng, 4);

	for (size_t i = 0; i < len; i++) {
		unsigned int c = 0;

		if (kind == 0)
			c = 'a' + (unsigned int)koda_rng_below(rng, 26);
		else if (kind == 1)
			c = (unsigned char)awkward[koda_rng_below(rng, sizeof(awkward) - 1)];
		else if (kind == 2)
			c = 1 + (unsigned int)koda_rng_below(rng, 255);
		else
			c = 0x80 + (unsigned int)koda_rng_below(rng, 0x80);
		out[i] = c == '/' ? 'x' : (char)c;
	}
	if (kind == 2 && koda_rng_one_in(rng, 2))
		len = (size_t)snprintf(out, 13, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
	if (out[0] == '.')
		out[0] = '_';
	return len;
}

static size_t random_path(struct koda_rng *rng, char out[static 64])
{
	size_t parts = koda_rng_below(rng, 5);
	size_t len = 0;

	out[len++] = '/';
	for (size_t i = 0; i < parts; i++) {
		if (i > 0)
			out[len++] = '/';
		len += random_name(rng, out + len);
	}
	return len;
}

static size_t random_host(struct koda_rng *rng, char out[static 64])
{
	static const struct {
		const char *before;
		const char *after;
		bool hex;
	} forms[] = {
		{ "h", ".example.org", false },
		{ "*.h", ".example.org", false },
		{ "H", ".Example.ORG.", false },
		{ "h", ".example.org:80", false },
		{ "h", ".org#public", false },
		{ "h", ".org:443#public", false },
		{ "\xc3\xbc", ".example", false },
		{ "*.b\xc3\xbc.h", ".org:22", false },
		{ "10.0.", ".0/24", false },
		{ "10.", "", false },
		{ "0x7f", "", true },
		{ "fd00::", "", true },
		{ "[fd00:", "::/32]:443", true },
	};
	unsigned int number = (unsigned int)koda_rng_below(rng, 256);
	size_t i = koda_rng_below(rng, sizeof(forms) / sizeof(forms[0]));

	return (size_t)(forms[i].hex ? snprintf(out, 64, "%s%x%s", forms[i].before, number,
						forms[i].after)
				     : snprintf(out, 64, "%s%u%s", forms[i].before, number,
						forms[i].after));
}

static void random_mitm(struct koda_rng *rng, struct koda_policy *policy)
{
	struct koda_error err = { 0 };
	char path[65];
	char domain[32];

	KODA_ASSERT_OK(koda_policy_set_ca_bundle(policy, path, random_path(rng, path), &err), err);
	for (size_t i = koda_rng_below(rng, 4); i > 0; i--) {
		path[random_path(rng, path)] = '\0';
		(void)snprintf(domain, sizeof(domain), "m%zu.example.org", i);
		KODA_ASSERT_OK(koda_policy_add_socket_map(policy, domain, path, &err), err);
	}
}

static struct koda_policy *random_policy(struct koda_rng *rng)
{
	struct koda_policy *policy = policy_new();
	struct koda_error err = { 0 };
	char entry[64];

	for (int list = 0; list < KODA_LIST_COUNT; list++) {
		bool paths = koda_list_is_paths((enum koda_list)list);

		for (size_t i = koda_rng_below(rng, 5); i > 0; i--) {
			size_t len = paths ? random_path(rng, entry) : random_host(rng, entry);

			/* Not every form may stand in every list; those that may not are left out.
			 */
			(void)!koda_policy_add(policy, (enum koda_list)list, entry, len, NULL);
		}
	}
	if (koda_rng_one_in(rng, 3))
		koda_policy_state_allow_write(policy, koda_rng_one_in(rng, 2));
	if (koda_rng_one_in(rng, 8))
		add(policy, KODA_LIST_DENIED_DOMAINS, "*", 1);
	for (int flag = 0; flag < KODA_FLAG_COUNT; flag++)
		koda_policy_set_flag(policy, (enum koda_flag)flag, koda_rng_one_in(rng, 2));
	for (int limit = 0; limit < KODA_LIMIT_POLICY_COUNT; limit++)
		if (koda_rng_one_in(rng, 2))
			KODA_ASSERT_OK(koda_policy_set_limit(policy, (enum koda_limit)limit,
							     koda_rng_next(rng) >>
								     (1 + koda_rng_below(rng, 63)),
							     &err),
				       err);
	koda_policy_set_search_depth(policy, (uint8_t)koda_rng_below(rng, 256));
	koda_policy_set_ask(policy, (enum koda_ask)koda_rng_below(rng, 3));
	if (koda_rng_one_in(rng, 2))
		random_mitm(rng, policy);
	return policy;
}

static void policy_round_trips_through_json(void **state)
{
	struct koda_rng rng = koda_rng_new();
	size_t entries = 0;

	(void)state;
	for (size_t i = 0; i < CASES; i++) {
		koda_auto_policy struct koda_policy *policy = random_policy(&rng);
		koda_auto_policy struct koda_policy *copy = NULL;
		struct koda_error err = { 0 };

		for (int list = 0; list < KODA_LIST_COUNT; list++)
			entries += koda_policy_count(policy, (enum koda_list)list);
		expect_round_trip(policy);
		KODA_ASSERT_OK(koda_policy_copy(policy, &copy, &err), err);
		assert_true(koda_policy_equal(policy, copy));
		expect_round_trip(copy);
	}
	/* The generator does produce entries: about ten per policy. */
	assert_true(entries > 5 * CASES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_default_policy_in_full),
		cmocka_unit_test(a_full_policy_in_full),
		cmocka_unit_test(paths_are_written_as_text_if_they_are_text),
		cmocka_unit_test(every_byte_survives),
		cmocka_unit_test(policy_round_trips_through_json),
	};

	return KODA_TEST_RUN(tests);
}
