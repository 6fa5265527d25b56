/* SPDX-License-Identifier: MIT */
/* T-03. Policy text that is wrong: each kind is refused with its place, and nothing comes back. */
#include "koda_test.h"

#include "policy/policy.h"

/* The call fails with code at field, and the caller's pointer is untouched. */
static void expect_refusal(const char *name, const char *text, size_t len, int code,
			   const char *field)
{
	struct koda_policy *untouched = (struct koda_policy *)(uintptr_t)8;
	struct koda_policy *policy = untouched;
	struct koda_error err = { 0 };
	int r = koda_policy_parse(text, len, &policy, &err);

	if (r != code || err.code != code || strcmp(err.field, field) != 0 || !err.message[0])
		fail_msg("%s: %s at '%s' (%s), expected %s at '%s'", name, koda_code_name(r),
			 err.field, err.message, koda_code_name(code), field);
	KODA_EXPECT(name, policy == untouched);
	KODA_EXPECT(name, !strpbrk(err.message, "\n\r\x1b") && !strpbrk(err.field, "\n\r\x1b"));
	KODA_EXPECT(name, koda_policy_parse(text, len, &policy, NULL) == code);
}

/* The same for text in which ' stands for a quote. */
static void expect_quoted(const char *name, const char *text, int code, const char *field)
{
	char *json = strdup(text);

	assert_non_null(json);
	for (char *c = json; *c; c++)
		if (*c == '\'')
			*c = '"';
	expect_refusal(name, json, strlen(json), code, field);
	free(json);
}

static void text_that_is_no_json(void **state)
{
	static const struct {
		const char *name;
		const char *text;
		const char *field;
	} rows[] = {
		{ "empty", "", "1:1" },
		{ "blank", "\n\n ", "3:1" },
		{ "cut short", "{'fs':{'deny_read':['/a'", "1:24" },
		{ "trailing bytes", "{}{}", "1:3" },
		{ "trailing comma", "{'fs':{},}", "1:10" },
		{ "line comment", "{}\n// done", "2:1" },
		{ "block comment", "{/* none */}", "1:2" },
		{ "duplicate top key", "{'trust':'auto',\n'trust':'auto'}", "2:7" },
		{ "duplicate fs key", "{'fs':{'deny_read':[],'deny_read':[]}}", "1:33" },
		{ "duplicate net key", "{'net':{'mitm':null,'mitm':null}}", "1:26" },
		{ "duplicate mitm key", "{'net':{'mitm':{'ca_bundle':'/a','ca_bundle':'/a'}}}",
		  "1:44" },
		{ "duplicate limit", "{'limits':{'max_open_fds':1,'max_open_fds':1}}", "1:42" },
		{ "escaped NUL in a path", "{'fs':{'deny_read':['/a\\u0000b']}}", "1:31" },
		{ "escaped NUL in a host", "{'net':{'denied_domains':['a.org\\u0000']}}", "1:39" },
		{ "escaped NUL in a key", "{'fs\\u0000':{}}", "1:11" },
		{ "lone high surrogate", "{'fs':{'deny_read':['/\\ud800']}}", "1:29" },
		{ "lone low surrogate", "{'fs':{'deny_read':['/\\udfff']}}", "1:29" },
		{ "raw byte that is not UTF-8", "{'fs':{'deny_read':['/\xff']}}", "1:22" },
		{ "raw surrogate", "{'fs':{'deny_read':['/\xed\xa0\x80']}}", "1:22" },
		{ "overlong slash", "{'fs':{'deny_read':['\xc0\xaf']}}", "1:21" },
		{ "limit over int64", "{'limits':{'max_rss_bytes':9223372036854775808}}", "1:46" },
		{ "limit of u64", "{'limits':{'max_rss_bytes':18446744073709551615}}", "1:47" },
		{ "limit under int64", "{'limits':{'max_rss_bytes':-9223372036854775809}}",
		  "1:47" },
		{ "limit over a double", "{'limits':{'max_rss_bytes':1e999}}", "1:32" },
	};

	(void)state;
	KODA_EACH(row, rows)
		expect_quoted(row->name, row->text, KODA_E_POLICY, row->field);
	expect_refusal("no text at all", NULL, 0, KODA_E_POLICY, "1:1");
	expect_refusal("trailing NUL", "{}\0", 3, KODA_E_POLICY, "1:3");
}

static void objects_with_keys_nobody_knows(void **state)
{
	static const struct {
		const char *text;
		const char *field;
	} rows[] = {
		{ "{'version':1}", "/version" },
		{ "{'':1}", "/" },
		{ "{'FS':{}}", "/FS" },
		{ "{'fs ':{}}", "/fs " },
		{ "{'a/b~c':1}", "/a~1b~0c" },
		{ "{'\\u001b[31m':1}", "/\\x1b[31m" },
		{ "{'fs':{'deny_reads':[]}}", "/fs/deny_reads" },
		{ "{'fs':{'allowed_domains':[]}}", "/fs/allowed_domains" },
		{ "{'net':{'deny_read':[]}}", "/net/deny_read" },
		{ "{'net':{'mitm':{'ca_bundle':'/a','x':1}}}", "/net/mitm/x" },
		{ "{'limits':{'max_processes':1}}", "/limits/max_processes" },
	};

	(void)state;
	KODA_EACH(row, rows)
		expect_quoted(row->text, row->text, KODA_E_POLICY, row->field);
}

/* Every field with every type it cannot have. */
static void wrong_type_for_every_field(void **state)
{
	enum kind {
		OBJECT = 1,
		LIST = 2,
		STRING = 4,
		NUMBER = 8,
		REAL = 16,
		BOOL = 32,
		NIL = 64
	};
	static const struct {
		enum kind kind;
		const char *text;
	} values[] = { { OBJECT, "{}" }, { LIST, "[]" },   { STRING, "'x'" }, { NUMBER, "1" },
		       { REAL, "1.5" },  { BOOL, "true" }, { NIL, "null" } };
	static const struct {
		const char *before;
		const char *after;
		const char *field;
		unsigned int accepts; /* enum kind */
	} fields[] = {
		{ "{'fs':", "}", "/fs", OBJECT },
		{ "{'net':", "}", "/net", OBJECT },
		{ "{'limits':", "}", "/limits", OBJECT },
		{ "{'trust':", "}", "/trust", 0 },
		{ "{'fs':{'deny_read':", "}}", "/fs/deny_read", LIST },
		{ "{'fs':{'allow_read_within_deny':", "}}", "/fs/allow_read_within_deny", LIST },
		{ "{'fs':{'allow_write':", "}}", "/fs/allow_write", LIST | NIL },
		{ "{'fs':{'deny_write_within_allow':", "}}", "/fs/deny_write_within_allow", LIST },
		{ "{'fs':{'allow_git_config':", "}}", "/fs/allow_git_config", BOOL | NIL },
		{ "{'fs':{'mandatory_deny_search_depth':", "}}", "/fs/mandatory_deny_search_depth",
		  NUMBER | NIL },
		{ "{'fs':{'deny_read':['/a',", "]}}", "/fs/deny_read/1", 0 },
		{ "{'fs':{'allow_write':[", "]}}", "/fs/allow_write/0", 0 },
		{ "{'net':{'allowed_domains':", "}}", "/net/allowed_domains", LIST },
		{ "{'net':{'denied_domains':", "}}", "/net/denied_domains", LIST },
		{ "{'net':{'allowed_domains':[", "]}}", "/net/allowed_domains/0", STRING },
		{ "{'net':{'denied_domains':['a.org','b.org',", "]}}", "/net/denied_domains/2",
		  STRING },
		{ "{'net':{'allow_local_binding':", "}}", "/net/allow_local_binding", BOOL | NIL },
		{ "{'net':{'weaker_macos_isolation':", "}}", "/net/weaker_macos_isolation",
		  BOOL | NIL },
		{ "{'net':{'mitm':", "}}", "/net/mitm", OBJECT | NIL },
		{ "{'net':{'mitm':{'ca_bundle':", "}}}", "/net/mitm/ca_bundle", 0 },
		{ "{'net':{'mitm':{'ca_bundle':'/a','socket_map':", "}}}", "/net/mitm/socket_map",
		  LIST },
		{ "{'net':{'mitm':{'ca_bundle':'/a','socket_map':[", "]}}}",
		  "/net/mitm/socket_map/0", 0 },
		{ "{'net':{'mitm':{'ca_bundle':'/a','socket_map':[['a.org',", "]]}}}",
		  "/net/mitm/socket_map/0/1", 0 },
		{ "{'net':{'mitm':{'ca_bundle':'/a','socket_map':[[", ",'/s']]}}}",
		  "/net/mitm/socket_map/0/0", STRING },
		{ "{'limits':{'cpu_time_secs':", "}}", "/limits/cpu_time_secs", NUMBER | NIL },
		{ "{'limits':{'wall_time_secs':", "}}", "/limits/wall_time_secs", NUMBER | NIL },
		{ "{'limits':{'max_rss_bytes':", "}}", "/limits/max_rss_bytes", NUMBER | NIL },
		{ "{'limits':{'max_open_fds':", "}}", "/limits/max_open_fds", NUMBER | NIL },
		{ "{'limits':{'max_output_bytes':", "}}", "/limits/max_output_bytes",
		  NUMBER | NIL },
	};

	(void)state;
	KODA_EACH(field, fields) {
		KODA_EACH(value, values) {
			char text[160];

			if (field->accepts & value->kind)
				continue;
			(void)snprintf(text, sizeof(text), "%s%s%s", field->before, value->text,
				       field->after);
			expect_quoted(text, text, KODA_E_POLICY, field->field);
		}
	}
}

static void tops_that_are_no_object(void **state)
{
	static const char *const texts[] = { "[]", "[{}]", "[['fs',{}]]" };

	(void)state;
	KODA_EACH(text, texts)
		expect_quoted(*text, *text, KODA_E_POLICY, "");
	expect_quoted("bare string", "'auto'", KODA_E_POLICY, "1:6");
	expect_quoted("bare null", "null", KODA_E_POLICY, "1:4");
}

/* In every field that holds a path. */
static void paths_that_are_none(void **state)
{
	static const struct {
		const char *before;
		const char *after;
		const char *field;
	} fields[] = {
		{ "{'fs':{'deny_read':['", "']}}", "/fs/deny_read/0" },
		{ "{'fs':{'allow_read_within_deny':['/ok','", "']}}",
		  "/fs/allow_read_within_deny/1" },
		{ "{'fs':{'allow_write':['", "']}}", "/fs/allow_write/0" },
		{ "{'fs':{'deny_write_within_allow':['", "']}}", "/fs/deny_write_within_allow/0" },
		{ "{'net':{'mitm':{'ca_bundle':'", "'}}}", "/net/mitm/ca_bundle" },
		{ "{'net':{'mitm':{'ca_bundle':'/a','socket_map':[['a.org','", "']]}}}",
		  "/net/mitm/socket_map/0/1" },
	};
	static const char *const paths[] = {
		"",         "a",        "./a",    "~",     "~/a",       "a/b",
		" /a",      "..",       "/..",    "/a/..", "/a/../b",   "/../a",
		"//..//",   "%",        "%a",     "%%",    "%/%",       "%/%4",
		"%/%4g",    "%/%g4",    "%/a%00", "%%00",  "%/a%00/b",  "%/%2e%2e/a",
		"%/a/%2E.", "%/%u0041", "%/% 1",  "C:/a",  "file:///a", "\\\\a",
	};

	(void)state;
	KODA_EACH(field, fields) {
		KODA_EACH(path, paths) {
			char text[160];

			(void)snprintf(text, sizeof(text), "%s%s%s", field->before, *path,
				       field->after);
			expect_quoted(text, text, KODA_E_POLICY, field->field);
		}
	}
}

/* Puts "/" and count copies of piece, plain or in "%" form, into deny_read. */
static char *long_path(bool percent, const char *piece, size_t count)
{
	size_t size = 64 + strlen(piece) * count;
	char *text = malloc(size);
	size_t used;

	assert_non_null(text);
	used = (size_t)snprintf(text, size, "{\"fs\":{\"deny_read\":[\"%s/", percent ? "%" : "");
	for (size_t i = 0; i < count; i++)
		used += (size_t)snprintf(text + used, size - used, "%s", piece);
	(void)snprintf(text + used, size - used, "\"]}}");
	return text;
}

static void paths_that_are_too_long(void **state)
{
	static const struct {
		const char *name;
		bool percent;
		const char *piece;
		size_t count;
		int code;
	} rows[] = {
		{ "4096 bytes", false, "a/b/c", 819, KODA_E_LIMIT },
		{ "4096 bytes that normalise to fewer", false, "/////", 819, KODA_E_LIMIT },
		{ "4096 bytes in % form", true, "%61/b/c", 819, KODA_E_LIMIT },
		{ "64 KiB", false, "abcdefgh", 8192, KODA_E_LIMIT },
		{ "a component of 256", false, "a", 256, KODA_E_POLICY },
		{ "a component of 256 in % form", true, "%ff", 256, KODA_E_POLICY },
	};

	(void)state;
	KODA_EACH(row, rows) {
		char *text = long_path(row->percent, row->piece, row->count);

		expect_refusal(row->name, text, strlen(text), row->code, "/fs/deny_read/0");
		free(text);
	}
}

static void numbers_out_of_range(void **state)
{
	static const char *const depths[] = {
		"-1",  "256", "257", "65536", "9223372036854775807", "-9223372036854775808",
		"3.0", "3e0", "1e3"
	};
	static const char *const limits[] = {
		"-1", "-9223372036854775808", "1.0", "1e3", "-0.0", "0.5", "1E+2"
	};
	char text[160];
	char field[64];

	(void)state;
	KODA_EACH(depth, depths) {
		(void)snprintf(text, sizeof(text), "{'fs':{'mandatory_deny_search_depth':%s}}",
			       *depth);
		expect_quoted(text, text, KODA_E_POLICY, "/fs/mandatory_deny_search_depth");
	}
	for (size_t i = 0; i < KODA_LIMIT_POLICY_COUNT; i++) {
		KODA_EACH(limit, limits) {
			(void)snprintf(text, sizeof(text), "{'limits':{'%s':%s}}",
				       koda_policy_limit_names[i], *limit);
			(void)snprintf(field, sizeof(field), "/limits/%s",
				       koda_policy_limit_names[i]);
			expect_quoted(text, text, KODA_E_POLICY, field);
		}
	}
}

static void values_that_mean_nothing(void **state)
{
	static const struct {
		const char *text;
		const char *field;
	} rows[] = {
		{ "{'trust':''}", "/trust" },
		{ "{'trust':'Auto'}", "/trust" },
		{ "{'trust':'auto '}", "/trust" },
		{ "{'trust':'safe'}", "/trust" },
		{ "{'net':{'allowed_domains':['*']}}", "/net/allowed_domains/0" },
		{ "{'net':{'allowed_domains':['*:443']}}", "/net/allowed_domains/0" },
		{ "{'net':{'allowed_domains':['a.org','*.com']}}", "/net/allowed_domains/1" },
		{ "{'net':{'allowed_domains':['']}}", "/net/allowed_domains/0" },
		{ "{'net':{'allowed_domains':['http://a.org/']}}", "/net/allowed_domains/0" },
		{ "{'net':{'denied_domains':['']}}", "/net/denied_domains/0" },
		{ "{'net':{'denied_domains':['a b']}}", "/net/denied_domains/0" },
		{ "{'net':{'denied_domains':['a.org#public']}}", "/net/denied_domains/0" },
		{ "{'net':{'denied_domains':['a.org:0']}}", "/net/denied_domains/0" },
		{ "{'net':{'mitm':{}}}", "/net/mitm/ca_bundle" },
		{ "{'net':{'mitm':{'socket_map':[['a.org','/s']]}}}", "/net/mitm/ca_bundle" },
		{ "{'net':{'mitm':{'ca_bundle':'/a','socket_map':[[]]}}}",
		  "/net/mitm/socket_map/0" },
		{ "{'net':{'mitm':{'ca_bundle':'/a','socket_map':[['a.org']]}}}",
		  "/net/mitm/socket_map/0" },
		{ "{'net':{'mitm':{'ca_bundle':'/a','socket_map':[['a.org','/s','/t']]}}}",
		  "/net/mitm/socket_map/0" },
		{ "{'net':{'mitm':{'ca_bundle':'/a','socket_map':[['*','/s']]}}}",
		  "/net/mitm/socket_map/0" },
		{ "{'net':{'mitm':{'ca_bundle':'/a','socket_map':[['a.org','/s'],['A.org','/"
		  "t']]}}}",
		  "/net/mitm/socket_map/1" },
	};

	(void)state;
	KODA_EACH(row, rows)
		expect_quoted(row->text, row->text, KODA_E_POLICY, row->field);
}

static void text_that_is_too_much(void **state)
{
	size_t size = KODA_POLICY_TEXT_MAX + 1;
	char *text = malloc(size);

	(void)state;
	assert_non_null(text);
	memset(text, ' ', size);
	memcpy(text, "{}", 2);
	expect_refusal("1 MiB and one byte", text, size, KODA_E_LIMIT, "");
	memset(text, '[', size);
	expect_refusal("depth bomb of lists", text, 100000, KODA_E_LIMIT, "1:17");
	memcpy(text, "{\"fs\":", 6);
	expect_refusal("depth bomb in fs", text, 100000, KODA_E_LIMIT, "1:22");
	for (size_t i = 0; i + 5 <= 100000; i += 5)
		memcpy(text + i, "{\"a\":", 5);
	expect_refusal("depth bomb of objects", text, 100000, KODA_E_LIMIT, "1:81");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_that_is_no_json),
		cmocka_unit_test(objects_with_keys_nobody_knows),
		cmocka_unit_test(wrong_type_for_every_field),
		cmocka_unit_test(tops_that_are_no_object),
		cmocka_unit_test(paths_that_are_none),
		cmocka_unit_test(paths_that_are_too_long),
		cmocka_unit_test(numbers_out_of_range),
		cmocka_unit_test(values_that_mean_nothing),
		cmocka_unit_test(text_that_is_too_much),
	};

	return KODA_TEST_RUN(tests);
}
