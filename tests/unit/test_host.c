/* SPDX-License-Identifier: MIT */
/* T-08. One canonical form for every host, or none. */
#include "koda_test.h"

#include "policy/host.h"

struct row {
	const char *name;
	const char *text;
	const char *canonical; /* a name or address; NULL: refused */
};

static bool parse(const char *text, size_t len, char out[static KODA_HOST_NAME_MAX + 1])
{
	struct koda_error err = { 0 };
	struct koda_host host;
	int r = koda_host_parse((struct koda_span){ text, len }, &host, &err);

	if (r < 0) {
		assert_int_equal(r, KODA_E_POLICY);
		assert_int_equal(err.code, KODA_E_POLICY);
		assert_true(err.message[0] != '\0');
		assert_int_equal(koda_host_parse((struct koda_span){ text, len }, &host, NULL), r);
		return false;
	}
	if (host.is_addr) {
		assert_int_equal(host.len, 0);
		assert_string_equal(host.name, "");
		koda_addr_format(&host.addr, out);
	} else {
		assert_int_equal(host.len, strlen(host.name));
		assert_int_equal(host.addr.family, 0);
		memcpy(out, host.name, host.len + 1);
	}
	return true;
}

/* What is accepted must also be a fixed point: its canonical form parses to itself. */
static void check(const struct row *row)
{
	char canonical[KODA_HOST_NAME_MAX + 1] = "";
	char again[KODA_HOST_NAME_MAX + 1] = "";
	bool ok = parse(row->text, strlen(row->text), canonical);

	if (!row->canonical) {
		if (ok)
			fail_msg("%s: accepted as %s", row->name, canonical);
		return;
	}
	if (!ok || strcmp(canonical, row->canonical) != 0)
		fail_msg("%s: %s, expected %s", row->name, ok ? canonical : "refused",
			 row->canonical);
	KODA_EXPECT(row->name, parse(canonical, strlen(canonical), again));
	KODA_EXPECT(row->name, strcmp(canonical, again) == 0);
}

static void ascii_names(void **state)
{
	static const struct row rows[] = {
		{ "plain", "example.org", "example.org" },
		{ "upper case", "EXAMPLE.Org", "example.org" },
		{ "one label", "localhost", "localhost" },
		{ "trailing dot", "example.org.", "example.org" },
		{ "digits first", "3com.com", "3com.com" },
		{ "number before the last label", "1.2.3.4.in-addr.arpa", "1.2.3.4.in-addr.arpa" },
		{ "inner hyphens", "a-b--c.org", "a-b--c.org" },
		{ "hexadecimal letters", "dead.beef", "dead.beef" },
		{ "0x and more than digits", "a.0xyz", "a.0xyz" },
		{ "empty", "", NULL },
		{ "root", ".", NULL },
		{ "two trailing dots", "example.org..", NULL },
		{ "leading dot", ".org", NULL },
		{ "empty label", "a..org", NULL },
		{ "leading hyphen", "-a.org", NULL },
		{ "leading hyphen in the last label", "a.-org", NULL },
		{ "trailing hyphen", "a-.org", NULL },
		{ "trailing hyphen at the end", "a.org-", NULL },
		{ "only a hyphen", "-", NULL },
		{ "leading underscore", "_dmarc.Example.org", "_dmarc.example.org" },
		{ "inner underscore", "My_Bucket.s3.example.org", "my_bucket.s3.example.org" },
		{ "space", "a b.org", NULL },
		{ "leading space", " a.org", NULL },
		{ "tab", "a\t.org", NULL },
		{ "newline", "a.org\n", NULL },
		{ "carriage return", "a.org\r", NULL },
		{ "star", "*.org", NULL },
		{ "user", "user@a.org", NULL },
		{ "fragment", "a.org#b", NULL },
		{ "query", "a.org?b", NULL },
		{ "path", "a.org/b", NULL },
		{ "backslash", "a.org\\b", NULL },
		{ "percent", "a%2eorg", NULL },
		{ "percent NUL", "a.org%00", NULL },
		{ "comma", "a,b", NULL },
		{ "control byte", "a\x01.org", NULL },
		{ "DEL", "a\x7f.org", NULL },
		{ "port", "a.org:80", NULL },
		{ "scheme", "http://a.org", NULL },
	};

	(void)state;
	KODA_EACH(row, rows)
		check(row);
}

static void nul_is_never_part_of_a_host(void **state)
{
	static const struct {
		const char *text;
		size_t len;
	} rows[] = { { "a.org\0", 6 },   { "a.org\0.evil.org", 15 }, { "\0", 1 },
		     { "1.2.3.4\0", 8 }, { "[::1]\0", 6 },           { "b\xc3\xbc\0.org", 8 } };
	char out[KODA_HOST_NAME_MAX + 1];

	(void)state;
	KODA_EACH(row, rows)
		assert_false(parse(row->text, row->len, out));
	assert_false(parse(NULL, 0, out));
}

static void address_spellings(void **state)
{
	static const struct row rows[] = {
		{ "dotted quad", "127.0.0.1", "127.0.0.1" },
		{ "trailing dot", "127.0.0.1.", "127.0.0.1" },
		{ "decimal", "2130706433", "127.0.0.1" },
		{ "hexadecimal", "0x7f000001", "127.0.0.1" },
		{ "hexadecimal, upper case", "0X7F.1", "127.0.0.1" },
		{ "octal", "0177.0.0.1", "127.0.0.1" },
		{ "short", "127.1", "127.0.0.1" },
		{ "wide digits and dots", "１２７．０．０．１", "127.0.0.1" },
		{ "ideographic full stops", "127。0。0。1", "127.0.0.1" },
		{ "circled digits", "①②⑦.0.0.1", "127.0.0.1" },
		{ "wide x", "0ｘ7f.1", "127.0.0.1" },
		{ "superscript", "127.0.0.¹", "127.0.0.1" },
		{ "over a byte", "1.2.3.256", NULL },
		{ "no octal digit", "09", NULL },
		{ "no octal digit at the end", "1.2.3.09", NULL },
		{ "five parts", "1.2.3.4.5", NULL },
		{ "over 32 bits", "4294967296", NULL },
		{ "name with a number last", "example.1", NULL },
		{ "name with hexadecimal last", "example.0xff", NULL },
		{ "nothing behind 0x", "0x", NULL },
		{ "two trailing dots", "1.2.3.4..", NULL },
		{ "IPv6", "::1", "::1" },
		{ "IPv6 in brackets", "[::1]", "::1" },
		{ "IPv6 in full", "2001:0DB8:0:0:0:0:0:1", "2001:db8::1" },
		{ "mapped", "[::ffff:10.0.0.1]", "10.0.0.1" },
		{ "mapped in hexadecimal", "::ffff:a00:1", "10.0.0.1" },
		{ "compatible", "::10.0.0.1", "::10.0.0.1" },
		{ "6to4", "2002:7f00:1::", "2002:7f00:1::" },
		{ "NAT64", "64:ff9b::a9fe:a9fe", "64:ff9b::a9fe:a9fe" },
		{ "ISATAP", "fe80::5efe:10.0.0.1", "fe80::5efe:a00:1" },
		{ "zone", "fe80::1%eth0", NULL },
		{ "escaped zone", "fe80::1%25eth0", NULL },
		{ "zone in brackets", "[fe80::1%25eth0]", NULL },
		{ "IPv4 in brackets", "[1.2.3.4]", NULL },
		{ "name in brackets", "[a.org]", NULL },
		{ "empty brackets", "[]", NULL },
		{ "open bracket", "[::1", NULL },
		{ "lone bracket", "[", NULL },
		{ "closing bracket", "::1]", NULL },
		{ "double brackets", "[[::1]]", NULL },
		{ "bracket and port", "[::1]:80", NULL },
		{ "lone colon", ":", NULL },
		{ "IPv6 with a trailing dot", "::1.", NULL },
		{ "future address", "[v1.fe80::a+en1]", NULL },
	};

	(void)state;
	KODA_EACH(row, rows)
		check(row);
}

static void international_names(void **state)
{
	static const struct row rows[] = {
		{ "lower case", "bücher.example", "xn--bcher-kva.example" },
		{ "upper case", "BÜCHER.Example", "xn--bcher-kva.example" },
		{ "A-label", "xn--bcher-kva.example", "xn--bcher-kva.example" },
		{ "A-label, upper case", "XN--BCHER-KVA.EXAMPLE", "xn--bcher-kva.example" },
		{ "A-label with wide x", "ｘn--bcher-kva.example", "xn--bcher-kva.example" },
		{ "decomposed", "mu\xcc\x88ller.example", "xn--mller-kva.example" },
		{ "sharp s stays", "straße.example", "xn--strae-oqa.example" },
		{ "final sigma stays", "βόλος.example", "xn--nxasmm1c.example" },
		{ "Kelvin sign", "\xe2\x84\xaa.example", "k.example" },
		{ "long s", "ſ.example", "s.example" },
		{ "wide letters", "ＧＩＴＨＵＢ．ｃｏｍ", "github.com" },
		{ "ideographic full stop", "a。example", "a.example" },
		{ "trailing ideographic full stop", "a.example。", "a.example" },
		{ "right-to-left label", "א1.example", "xn--1-zhc.example" },
		{ "Cyrillic that looks Latin", "аррӏе.example", "xn--80ak6aa92e.example" },
		{ "soft hyphen", "git\xc2\xadhub.com", "github.com" },
		{ "zero-width space", "git\xe2\x80\x8bhub.com", "github.com" },
		{ "word joiner", "git\xe2\x81\xa0hub.com", "github.com" },
		{ "byte order mark", "\xef\xbb\xbfgithub.com", "github.com" },
		{ "zero-width joiner", "git\xe2\x80\x8dhub.com", NULL },
		{ "zero-width non-joiner", "git\xe2\x80\x8chub.com", NULL },
		{ "nothing but zero width", "\xe2\x80\x8b", NULL },
		{ "label of zero width", "a.\xe2\x80\x8b.com", NULL },
		{ "right-to-left override", "\xe2\x80\xaegithub.com", NULL },
		{ "isolate", "\xe2\x81\xa6github.com", NULL },
		{ "mixed directions", "aא.example", NULL },
		{ "wide @", "a＠b.example", NULL },
		{ "wide #", "a＃b.example", NULL },
		{ "wide ?", "a？b.example", NULL },
		{ "wide /", "a／b.example", NULL },
		{ "wide backslash", "a＼b.example", NULL },
		{ "wide :", "a：b.example", NULL },
		{ "wide %", "a％b.example", NULL },
		{ "wide *", "＊.example", NULL },
		{ "wide _", "a＿b.example", "a_b.example" },
		{ "account of", "℀.example", NULL },
		{ "one full stop", "⒈example", NULL },
		{ "no-break space", "a\xc2\xa0z.example", NULL },
		{ "ideographic space", "a　b.example", NULL },
		{ "ASCII @ next to Unicode", "ü@b.example", NULL },
		{ "ASCII _ next to Unicode", "ü_b.example", NULL },
		{ "ASCII space next to Unicode", "ü b.example", NULL },
		{ "ASCII / next to Unicode", "ü/b.example", NULL },
		{ "ASCII * next to Unicode", "ü*b.example", NULL },
		{ "emoji", "\xf0\x9f\x91\x8d.example", NULL },
		{ "emoji as A-label", "xn--yp8h.example", NULL },
		{ "snowman as A-label", "xn--n3h.example", NULL },
		{ "A-label of ASCII", "xn--abc-.example", NULL },
		{ "A-label of nothing", "xn--.example", NULL },
		{ "A-label that is no Punycode", "xn--a.example", NULL },
		{ "A-label of an upper-case letter", "xn--bcher-2pa.example", NULL },
		{ "A-label of wide letters", "xn--vh7ce7a.example", NULL },
		{ "A-label of zero width", "xn--ab-g1t.example", NULL },
		{ "A-label of a decomposed letter", "xn--ux-uub.example", NULL },
		{ "A-label of mixed directions", "xn--a-0hc.example", NULL },
		{ "A-label of a circled digit", "xn--orh.example", NULL },
		{ "A-label of a full stop", "xn--ab-r13a.example", NULL },
		{ "leading combining mark", "\xcc\x88z.example", NULL },
		{ "leading hyphen", "-ü.example", NULL },
		{ "private use", "\xee\x80\x80.example", NULL },
		{ "no character", "\xef\xbf\xbf.example", NULL },
		{ "replacement character", "\xef\xbf\xbd.example", NULL },
		{ "not UTF-8", "\xff.example", NULL },
		{ "overlong dot", "a\xc0\xaez", NULL },
		{ "raw surrogate", "\xed\xa0\x80.example", NULL },
		{ "cut sequence", "a.example\xc3", NULL },
	};

	(void)state;
	KODA_EACH(row, rows)
		check(row);
}

/* count labels of size letters, joined by dots; the last is "x" so that no number ends it. */
static size_t labels(char *out, size_t count, size_t size)
{
	size_t len = 0;

	for (size_t i = 0; i < count; i++) {
		memset(out + len, 'a', size);
		len += size;
		out[len++] = '.';
	}
	out[len - 1] = '\0';
	return len - 1;
}

static void lengths_end_where_dns_ends(void **state)
{
	char out[KODA_HOST_NAME_MAX + 1];
	char name[2048];
	size_t len;

	(void)state;
	assert_true(parse(name, labels(name, 1, 63), out));
	assert_false(parse(name, labels(name, 1, 64), out));
	assert_true(parse(name, labels(name, 3, 63), out));
	/* 127 labels of one letter: 253 bytes, the longest name there is. */
	len = labels(name, 127, 1);
	assert_int_equal(len, 253);
	assert_true(parse(name, len, out));
	assert_int_equal(strlen(out), 253);
	name[len] = '.';
	assert_true(parse(name, len + 1, out));
	name[len + 1] = 'a';
	assert_false(parse(name, len + 2, out));
	/* 4 * 63 + 3 = 255 */
	assert_false(parse(name, labels(name, 4, 63), out));
	memset(name, 'a', sizeof(name));
	assert_false(parse(name, 1024, out));
	assert_false(parse(name, 1025, out));
	assert_false(parse(name, sizeof(name), out));
	/* A U-label that is short as UTF-8 and too long as A-label. */
	for (size_t i = 0; i < 60; i++)
		memcpy(name + 2 * i, "\xc3\xbc", 2);
	assert_false(parse(name, 120, out));
	assert_true(parse(name, 40, out));
}

static void split_takes_the_port_off(void **state)
{
	static const struct {
		const char *text;
		const char *host; /* NULL: refused */
		uint16_t port;
	} rows[] = {
		{ "a.org", "a.org", 0 },
		{ "a.org:1", "a.org", 1 },
		{ "a.org:443", "a.org", 443 },
		{ "a.org:65535", "a.org", 65535 },
		{ "1.2.3.4:80", "1.2.3.4", 80 },
		{ "[::1]", "[::1]", 0 },
		{ "[::1]:80", "[::1]", 80 },
		{ "::1", "::1", 0 },
		{ "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8", 0 },
		{ "", "", 0 },
		{ ":80", "", 80 },
		{ "a.org:", NULL, 0 },
		{ "a.org:0", NULL, 0 },
		{ "a.org:00000", NULL, 0 },
		{ "a.org:65536", NULL, 0 },
		{ "a.org:99999", NULL, 0 },
		{ "a.org:100000", NULL, 0 },
		{ "a.org:4294967376", NULL, 0 },
		{ "a.org:-1", NULL, 0 },
		{ "a.org:+80", NULL, 0 },
		{ "a.org: 80", NULL, 0 },
		{ "a.org:80 ", NULL, 0 },
		{ "a.org:0x50", NULL, 0 },
		{ "a.org:http", NULL, 0 },
		{ "a.org:８０", NULL, 0 },
		{ "[::1]80", NULL, 0 },
		{ "[::1]:", NULL, 0 },
		{ "[::1]:0", NULL, 0 },
		{ "[::1", NULL, 0 },
		{ "[", NULL, 0 },
		{ "https://a.org", NULL, 0 },
		{ "https://a.org:443/path", NULL, 0 },
	};

	(void)state;
	KODA_EACH(row, rows) {
		struct koda_span host = { NULL, 0 };
		struct koda_error err = { 0 };
		uint16_t port = 7;
		int r = koda_host_split((struct koda_span){ row->text, strlen(row->text) }, &host,
					&port, &err);

		KODA_EXPECT(row->text, r == (row->host ? KODA_OK : KODA_E_POLICY));
		KODA_EXPECT(row->text, err.code == r);
		if (row->host) {
			KODA_ASSERT_SPAN(host, row->host);
			KODA_EXPECT(row->text, port == row->port);
		}
	}
}

static void public_suffixes(void **state)
{
	static const char *const suffixes[] = {
		"com",
		"uk",
		"co.uk",
		"ck",
		"foo.ck",
		"kawasaki.jp",
		"foo.kawasaki.jp",
		"xn--p1ai",
		"arpa",
		"xn--55qx5d.cn",
		"xyzzy",
		"onion",
		"example",
		"internals",
	};
	static const char *const others[] = {
		"example.com", "example.co.uk", "www.ck",    "city.kawasaki.jp",      "a.xyzzy",
		"github.io",   "internal",      "local",     "githubusercontent.com", "localhost",
		"test",        "corp",          "lan",       "s3.amazonaws.com",      "home",
		"intranet",    "private",       "home.arpa",
	};

	(void)state;
	KODA_EACH(name, suffixes)
		KODA_EXPECT(*name, koda_host_is_public_suffix(*name));
	KODA_EACH(name, others)
		KODA_EXPECT(*name, !koda_host_is_public_suffix(*name));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ascii_names),
		cmocka_unit_test(nul_is_never_part_of_a_host),
		cmocka_unit_test(address_spellings),
		cmocka_unit_test(international_names),
		cmocka_unit_test(lengths_end_where_dns_ends),
		cmocka_unit_test(split_takes_the_port_off),
		cmocka_unit_test(public_suffixes),
	};

	return KODA_TEST_RUN(tests);
}
