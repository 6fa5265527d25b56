/* SPDX-License-Identifier: MIT */
/* Entries of allowed_domains and denied_domains: what parses, to what, and in which list. */
#include "koda_test.h"

#include "policy/hostrule.h"

static int parse(const char *text, struct koda_hostrule *rule)
{
	struct koda_error err = { 0 };
	int r = koda_hostrule_parse((struct koda_span){ text, strlen(text) }, rule, &err);

	if (r < 0 && (r != KODA_E_POLICY || err.code != r || !err.message[0]))
		fail_msg("%s: %d, recorded %d \"%s\"", text, r, err.code, err.message);
	return r;
}

/* The canonical text, in a static buffer. */
static const char *format(const struct koda_hostrule *rule)
{
	static char text[512];
	koda_auto_buf struct koda_buf buf = KODA_BUF_INIT(sizeof(text) - 1);
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_hostrule_format(rule, &buf, &err), err);
	memcpy(text, buf.ptr, buf.len + 1);
	return text;
}

static bool equal(const struct koda_hostrule *a, const struct koda_hostrule *b)
{
	return a->kind == b->kind && a->prefix == b->prefix && a->public_only == b->public_only &&
	       a->port == b->port && a->host.is_addr == b->host.is_addr &&
	       (!a->host.is_addr || koda_addr_equal(&a->host.addr, &b->host.addr)) &&
	       a->host.len == b->host.len && memcmp(a->host.name, b->host.name, a->host.len) == 0;
}

static const struct {
	const char *text;
	const char *canonical;
	enum koda_hostrule_kind kind;
	uint16_t port;
	uint8_t prefix;
	bool public_only;
} good[] = {
	{ "example.org", "example.org", KODA_HOSTRULE_NAME, 0, 0, false },
	{ "EXAMPLE.org.", "example.org", KODA_HOSTRULE_NAME, 0, 0, false },
	{ " \texample.org\t ", "example.org", KODA_HOSTRULE_NAME, 0, 0, false },
	{ "example.org:443", "example.org:443", KODA_HOSTRULE_NAME, 443, 0, false },
	{ "example.org.:00443", "example.org:443", KODA_HOSTRULE_NAME, 443, 0, false },
	{ "localhost", "localhost", KODA_HOSTRULE_NAME, 0, 0, false },
	{ "com", "com", KODA_HOSTRULE_NAME, 0, 0, false },
	{ "bücher.example", "xn--bcher-kva.example", KODA_HOSTRULE_NAME, 0, 0, false },
	{ "*.example.org", "*.example.org", KODA_HOSTRULE_BELOW, 0, 0, false },
	{ "*.EXAMPLE.org.:80", "*.example.org:80", KODA_HOSTRULE_BELOW, 80, 0, false },
	{ "*.bücher.example", "*.xn--bcher-kva.example", KODA_HOSTRULE_BELOW, 0, 0, false },
	{ "*.com", "*.com", KODA_HOSTRULE_BELOW, 0, 0, false },
	{ "My_Bucket.example.org", "my_bucket.example.org", KODA_HOSTRULE_NAME, 0, 0, false },
	{ "*._tcp.example.org", "*._tcp.example.org", KODA_HOSTRULE_BELOW, 0, 0, false },
	{ "a_.org", "a_.org", KODA_HOSTRULE_NAME, 0, 0, false },
	{ "_", "_", KODA_HOSTRULE_NAME, 0, 0, false },
	{ "a._1", "a._1", KODA_HOSTRULE_NAME, 0, 0, false },
	{ "a.0x_1", "a.0x_1", KODA_HOSTRULE_NAME, 0, 0, false },
	{ "*", "*", KODA_HOSTRULE_ANY, 0, 0, false },
	{ " * ", "*", KODA_HOSTRULE_ANY, 0, 0, false },
	{ "*:25", "*:25", KODA_HOSTRULE_ANY, 25, 0, false },
	{ "10.0.0.1", "10.0.0.1", KODA_HOSTRULE_NET, 0, 32, false },
	{ "10.0.0.1:8080", "10.0.0.1:8080", KODA_HOSTRULE_NET, 8080, 32, false },
	{ "10.0.0.1/32", "10.0.0.1", KODA_HOSTRULE_NET, 0, 32, false },
	{ "10.0.0.0/8", "10.0.0.0/8", KODA_HOSTRULE_NET, 0, 8, false },
	{ "10.0.0.0/8:443", "10.0.0.0/8:443", KODA_HOSTRULE_NET, 443, 8, false },
	{ "0.0.0.0/0", "0.0.0.0/0", KODA_HOSTRULE_NET, 0, 0, false },
	{ "2130706433", "127.0.0.1", KODA_HOSTRULE_NET, 0, 32, false },
	{ "0x7f.0.0.0/8", "127.0.0.0/8", KODA_HOSTRULE_NET, 0, 8, false },
	{ "1２7.0.0.1", "127.0.0.1", KODA_HOSTRULE_NET, 0, 32, false },
	{ "::1", "::1", KODA_HOSTRULE_NET, 0, 128, false },
	{ "[::1]", "::1", KODA_HOSTRULE_NET, 0, 128, false },
	{ "[::1]:443", "[::1]:443", KODA_HOSTRULE_NET, 443, 128, false },
	{ "FE80::/10", "fe80::/10", KODA_HOSTRULE_NET, 0, 10, false },
	{ "[fe80::/10]", "fe80::/10", KODA_HOSTRULE_NET, 0, 10, false },
	{ "[fe80::/10]:22", "[fe80::/10]:22", KODA_HOSTRULE_NET, 22, 10, false },
	{ "::/0", "::/0", KODA_HOSTRULE_NET, 0, 0, false },
	{ "::ffff:10.0.0.1", "10.0.0.1", KODA_HOSTRULE_NET, 0, 32, false },
	{ "[::ffff:10.0.0.1]:80", "10.0.0.1:80", KODA_HOSTRULE_NET, 80, 32, false },
	{ "example.org#public", "example.org#public", KODA_HOSTRULE_NAME, 0, 0, true },
	{ "Example.ORG:443#public ", "example.org:443#public", KODA_HOSTRULE_NAME, 443, 0, true },
};

static void patterns_have_one_canonical_text(void **state)
{
	(void)state;
	KODA_EACH(row, good) {
		struct koda_hostrule rule, again;

		KODA_EXPECT(row->text, parse(row->text, &rule) == KODA_OK);
		KODA_EXPECT(row->text, rule.kind == row->kind);
		KODA_EXPECT(row->text, rule.port == row->port);
		KODA_EXPECT(row->text, rule.prefix == row->prefix);
		KODA_EXPECT(row->text, rule.public_only == row->public_only);
		assert_string_equal(format(&rule), row->canonical);
		KODA_EXPECT(row->text, parse(row->canonical, &again) == KODA_OK);
		KODA_EXPECT(row->text, equal(&rule, &again));
		assert_string_equal(format(&again), row->canonical);
	}
}

static const char *const bad[] = {
	"",
	"  ",
	":443",
	".",
	"a..org",
	"-a.org",
	"_-.org",
	"a b.org",
	"a.org\n",
	"\ra.org",
	"http://a.org",
	"a.org/",
	"a.org/8",
	"a.org:443/x",
	"user@a.org",
	"a.org?q",
	"a.org\\x",
	"a.org:",
	"a.org:0",
	"a.org:65536",
	"a.org:000443",
	"a.org:80:80",
	"a.org:+80",
	"a.org: 80",
	"*.",
	"*.:80",
	"**",
	"*.*",
	"*.*.org",
	"a.*.org",
	"a*.org",
	"*a.org",
	"org.*",
	"*..org",
	"*.-a.org",
	"*.10.0.0.1",
	"*.2130706433",
	"*.::1",
	"*.[::1]",
	"*/8",
	"*.a.org/8",
	"＊.a.org",
	"1.2.3.256",
	"09",
	"1.2.3.4.5",
	"example.123",
	"10.0.0.1/8",
	"10.0.0.0/33",
	"10.0.0.0/-1",
	"10.0.0.0/",
	"10.0.0.0/a",
	"10.0.0.0/8/8",
	"10.0.0.0/ 8",
	"10.0.0.0/0008",
	"10.0.0.0/255.0.0.0",
	"10.0.0.0/999",
	"/8",
	"::1/129",
	"::1/64",
	"fe80::/10:22",
	"[fe80::]/10",
	"[fe80::/10",
	"fe80::1%eth0",
	"[fe80::1%25eth0]:80",
	"[::1]443",
	"[]",
	"[a.org]",
	"[1.2.3.4]",
	"::ffff:10.0.0.0/104",
	"#public",
	" #public",
	"a.org #public",
	"a.org#PUBLIC",
	"a.org#private",
	"a.org#",
	"a.org#public:443",
	"a.org#public#public",
	"*#public",
	"*.a.org#public",
	"10.0.0.1#public",
	"10.0.0.0/8#public",
	"[::1]:80#public",
};

static void patterns_that_are_refused(void **state)
{
	(void)state;
	KODA_EACH(text, bad) {
		struct koda_hostrule rule;

		KODA_EXPECT(*text, parse(*text, &rule) == KODA_E_POLICY);
	}
}

static void nul_and_length_are_refused(void **state)
{
	struct koda_hostrule rule;
	char text[2000];

	(void)state;
	memset(text, 'a', sizeof(text));
	assert_int_equal(koda_hostrule_parse((struct koda_span){ text, sizeof(text) }, &rule, NULL),
			 KODA_E_POLICY);
	memset(text, ' ', sizeof(text));
	assert_int_equal(koda_hostrule_parse((struct koda_span){ text, sizeof(text) }, &rule, NULL),
			 KODA_E_POLICY);
	assert_int_equal(koda_hostrule_parse((struct koda_span){ "a.org\0", 6 }, &rule, NULL),
			 KODA_E_POLICY);
	assert_int_equal(koda_hostrule_parse((struct koda_span){ "a.org:8\0", 8 }, &rule, NULL),
			 KODA_E_POLICY);
	assert_int_equal(koda_hostrule_parse((struct koda_span){ "*.a\0.org", 8 }, &rule, NULL),
			 KODA_E_POLICY);
	assert_int_equal(koda_hostrule_parse((struct koda_span){ NULL, 0 }, &rule, NULL),
			 KODA_E_POLICY);
}

/* Each refusal of a wildcard has a twin that is allowed. */
static void public_suffixes_cannot_be_allowed_as_a_whole(void **state)
{
	static const struct {
		const char *refused;
		const char *twin;
	} rows[] = {
		{ "*.com", "*.example.com" },
		{ "*.COM.", "com" },
		{ "*.com:443", "*.example.com:443" },
		{ "*.co.uk", "*.example.co.uk" },
		{ "*.uk", "*.parliament.uk" },
		{ "*.foo.ck", "*.www.ck" },
		{ "*.kawasaki.jp", "*.city.kawasaki.jp" },
		{ "*.公司.cn", "*.example.公司.cn" },
		{ "*.xn--55qx5d.cn", "*.a.xn--55qx5d.cn" },
		{ "*.рф", "*.пример.рф" },
		{ "*.arpa", "*.home.arpa" },
		{ "*.xyzzy", "*.plugh.xyzzy" },
		{ "*.internals", "*.internal" },
		{ "*.locals", "*.local" },
		{ "*.ｃｏｍ", "*.localhost" },
		{ "*", "*.githubusercontent.com" },
		{ "*:443", "*.github.io" },
	};

	(void)state;
	KODA_EACH(row, rows) {
		struct koda_hostrule rule;
		struct koda_error err = { 0 };

		KODA_EXPECT(row->refused, parse(row->refused, &rule) == KODA_OK);
		KODA_ASSERT_FAILS(KODA_E_POLICY, koda_hostrule_check_allow(&rule, &err), err);
		KODA_ASSERT_OK(koda_hostrule_check_deny(&rule, &err), err);
		KODA_EXPECT(row->twin, parse(row->twin, &rule) == KODA_OK);
		KODA_ASSERT_OK(koda_hostrule_check_allow(&rule, &err), err);
	}
}

static void public_mark_can_be_allowed_and_not_denied(void **state)
{
	struct koda_error err = { 0 };
	struct koda_hostrule rule;

	(void)state;
	assert_int_equal(parse("a.org#public", &rule), KODA_OK);
	KODA_ASSERT_OK(koda_hostrule_check_allow(&rule, &err), err);
	KODA_ASSERT_FAILS(KODA_E_POLICY, koda_hostrule_check_deny(&rule, &err), err);
	assert_int_equal(parse("a.org", &rule), KODA_OK);
	KODA_ASSERT_OK(koda_hostrule_check_deny(&rule, &err), err);
}

/* format appends, and reports a buffer that is full. */
static void format_appends_within_the_ceiling(void **state)
{
	koda_auto_buf struct koda_buf roomy = KODA_BUF_INIT(64);
	koda_auto_buf struct koda_buf tight = KODA_BUF_INIT(8);
	struct koda_error err = { 0 };
	struct koda_hostrule rule;

	(void)state;
	assert_int_equal(parse("[fd00::/8]:443", &rule), KODA_OK);
	KODA_ASSERT_OK(koda_hostrule_format(&rule, &roomy, &err), err);
	KODA_ASSERT_OK(koda_hostrule_format(&rule, &roomy, &err), err);
	assert_string_equal(roomy.ptr, "[fd00::/8]:443[fd00::/8]:443");
	KODA_ASSERT_FAILS(KODA_E_LIMIT, koda_hostrule_format(&rule, &tight, &err), err);
}

/* Random bytes from an alphabet of trouble: what parses has a stable canonical text. */
static void whatever_parses_round_trips(void **state)
{
	static const char *const pieces[] = {
		"a",   "b",    "Z",    "0",         "1",    "255",  "256", ".",    ".",
		".",   "-",    "*",    "*.",        ":",    "::",   "[",   "]",    "/",
		"/8",  "/128", "%",    "#public",   "xn--", "ü",    "0x",  "ffff", "fe80",
		"org", "com",  ":443", "bcher-kva", " ",    "\xff", "１",  "。",   "example",
	};
	struct koda_rng rng = koda_rng_new();
	size_t accepted = 0;

	(void)state;
	for (size_t i = 0; i < 20000; i++) {
		struct koda_hostrule rule, again;
		char canonical[512];
		char text[256] = "";
		size_t len = 0;

		for (size_t n = 1 + koda_rng_below(&rng, 6); n > 0; n--) {
			size_t which = koda_rng_below(&rng, sizeof(pieces) / sizeof(pieces[0]));

			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s",
						pieces[which]);
		}
		if (parse(text, &rule) < 0)
			continue;
		accepted++;
		(void)snprintf(canonical, sizeof(canonical), "%s", format(&rule));
		KODA_EXPECT(text, parse(canonical, &again) == KODA_OK);
		KODA_EXPECT(text, equal(&rule, &again));
		assert_string_equal(format(&again), canonical);
	}
	assert_true(accepted > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_have_one_canonical_text),
		cmocka_unit_test(patterns_that_are_refused),
		cmocka_unit_test(nul_and_length_are_refused),
		cmocka_unit_test(public_suffixes_cannot_be_allowed_as_a_whole),
		cmocka_unit_test(public_mark_can_be_allowed_and_not_denied),
		cmocka_unit_test(format_appends_within_the_ceiling),
		cmocka_unit_test(whatever_parses_round_trips),
	};

	return KODA_TEST_RUN(tests);
}
