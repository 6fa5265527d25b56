/* SPDX-License-Identifier: MIT */
/* Addresses as text and bits: every spelling, one canonical text, masks and nets. */
#include "koda_test.h"

#include "policy/addr.h"

static struct koda_span span(const char *text)
{
	return (struct koda_span){ text, strlen(text) };
}

static struct koda_addr addr_of(const char *text)
{
	struct koda_addr addr = { 0 };

	if (!koda_addr_parse4(span(text), &addr) && !koda_addr_parse6(span(text), &addr))
		fail_msg("%s is no address", text);
	return addr;
}

static void inet_aton_spellings(void **state)
{
	static const struct {
		const char *text;
		const char *canonical; /* NULL: refused */
	} rows[] = {
		{ "127.0.0.1", "127.0.0.1" },
		{ "0.0.0.0", "0.0.0.0" },
		{ "255.255.255.255", "255.255.255.255" },
		{ "2130706433", "127.0.0.1" },
		{ "0x7f000001", "127.0.0.1" },
		{ "0X7F000001", "127.0.0.1" },
		{ "017700000001", "127.0.0.1" },
		{ "0177.0.0.1", "127.0.0.1" },
		{ "0x7f.0.0.0x1", "127.0.0.1" },
		{ "127.1", "127.0.0.1" },
		{ "127.0.1", "127.0.0.1" },
		{ "127.65535", "127.0.255.255" },
		{ "127.16777215", "127.255.255.255" },
		{ "1.2.65535", "1.2.255.255" },
		{ "0", "0.0.0.0" },
		{ "00", "0.0.0.0" },
		{ "4294967295", "255.255.255.255" },
		{ "0xffffffff", "255.255.255.255" },
		{ "037777777777", "255.255.255.255" },
		{ "0000000000000000000001", "0.0.0.1" },
		{ "", NULL },
		{ ".", NULL },
		{ "1.", NULL },
		{ ".1", NULL },
		{ "1..2", NULL },
		{ "1.2.3.4.", NULL },
		{ "1.2.3.4.5", NULL },
		{ "1.2.3.256", NULL },
		{ "256.0.0.1", NULL },
		{ "1.256.3", NULL },
		{ "1.2.65536", NULL },
		{ "127.16777216", NULL },
		{ "4294967296", NULL },
		{ "0x100000000", NULL },
		{ "040000000000", NULL },
		{ "99999999999999999999999999", NULL },
		{ "09", NULL },
		{ "08", NULL },
		{ "1.2.3.08", NULL },
		{ "0x", NULL },
		{ "0x.1", NULL },
		{ "0xg", NULL },
		{ "1.2.3.0x", NULL },
		{ "1 .2.3.4", NULL },
		{ " 1.2.3.4", NULL },
		{ "1.2.3.4 ", NULL },
		{ "+1.2.3.4", NULL },
		{ "-1", NULL },
		{ "1e3", NULL },
		{ "a", NULL },
		{ "ff", NULL },
		{ "1.2.3.4/8", NULL },
		{ "::1", NULL },
	};

	(void)state;
	KODA_EACH(row, rows) {
		struct koda_addr addr = { .family = 9 };
		char text[KODA_ADDR_TEXT];
		bool ok = koda_addr_parse4(span(row->text), &addr);

		KODA_EXPECT(row->text, ok == (row->canonical != NULL));
		KODA_EXPECT(row->text, addr.family == (ok ? 4 : 9));
		if (ok) {
			koda_addr_format(&addr, text);
			assert_string_equal(text, row->canonical);
		}
	}
}

static void ipv6_spellings(void **state)
{
	static const struct {
		const char *text;
		const char *canonical; /* NULL: refused */
	} rows[] = {
		{ "::", "::" },
		{ "::1", "::1" },
		{ "0:0:0:0:0:0:0:1", "::1" },
		{ "2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1" },
		{ "2001:0db8::0001", "2001:db8::1" },
		{ "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8" },
		{ "1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304" },
		{ "::ffff:10.0.0.1", "10.0.0.1" },
		{ "::FFFF:a00:1", "10.0.0.1" },
		{ "0:0:0:0:0:ffff:0a00:0001", "10.0.0.1" },
		{ "::10.0.0.1", "::10.0.0.1" },
		{ "::ffff:0:10.0.0.1", "::ffff:0:a00:1" },
		{ "64:ff9b::a9fe:a9fe", "64:ff9b::a9fe:a9fe" },
		{ "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255",
		  "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
		{ "", NULL },
		{ ":", NULL },
		{ ":::", NULL },
		{ "1::2::3", NULL },
		{ "1:2:3:4:5:6:7", NULL },
		{ "1:2:3:4:5:6:7:8:9", NULL },
		{ "12345::", NULL },
		{ "g::", NULL },
		{ "::1 ", NULL },
		{ " ::1", NULL },
		{ "[::1]", NULL },
		{ "::1/128", NULL },
		{ "fe80::1%eth0", NULL },
		{ "fe80::1%25eth0", NULL },
		{ "::127.1", NULL },
		{ "::0x7f.0.0.1", NULL },
		{ "::1.2.3.256", NULL },
		{ "1.2.3.4", NULL },
		{ "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000", NULL },
	};
	struct koda_addr addr;

	(void)state;
	KODA_EACH(row, rows) {
		char text[KODA_ADDR_TEXT];
		bool ok = koda_addr_parse6(span(row->text), &addr);

		KODA_EXPECT(row->text, ok == (row->canonical != NULL));
		if (ok) {
			koda_addr_format(&addr, text);
			assert_string_equal(text, row->canonical);
		}
	}
	assert_false(koda_addr_parse6((struct koda_span){ "::1\0", 4 }, &addr));
	assert_false(koda_addr_parse6((struct koda_span){ "::\0:1", 5 }, &addr));
}

static void only_mapped_addresses_are_unmapped(void **state)
{
	static const struct {
		const char *text;
		uint8_t family;
	} rows[] = { { "::ffff:0.0.0.0", 4 }, { "::ffff:255.255.255.255", 4 },
		     { "::fffe:1.2.3.4", 6 }, { "::1:ffff:1.2.3.4", 6 },
		     { "::1.2.3.4", 6 },      { "1::ffff:1.2.3.4", 6 } };
	struct koda_addr v4 = addr_of("1.2.3.4");
	struct koda_addr same = koda_addr_unmap(&v4);

	(void)state;
	KODA_EACH(row, rows)
		KODA_EXPECT(row->text, addr_of(row->text).family == row->family);
	assert_true(koda_addr_equal(&v4, &same));
}

static void masks_keep_the_leading_bits(void **state)
{
	static const struct {
		const char *text;
		unsigned int prefix;
		const char *net;
	} rows[] = {
		{ "255.255.255.255", 0, "0.0.0.0" },
		{ "255.255.255.255", 1, "128.0.0.0" },
		{ "255.255.255.255", 7, "254.0.0.0" },
		{ "255.255.255.255", 8, "255.0.0.0" },
		{ "255.255.255.255", 9, "255.128.0.0" },
		{ "255.255.255.255", 31, "255.255.255.254" },
		{ "255.255.255.255", 32, "255.255.255.255" },
		{ "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 0, "::" },
		{ "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 65, "ffff:ffff:ffff:ffff:8000::" },
		{ "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 127,
		  "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe" },
		{ "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 128,
		  "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
	};

	(void)state;
	KODA_EACH(row, rows) {
		struct koda_addr addr = addr_of(row->text);
		struct koda_addr net = addr_of(row->net);
		struct koda_addr masked = koda_addr_mask(&addr, row->prefix);

		KODA_EXPECT(row->net, koda_addr_equal(&masked, &net));
		KODA_EXPECT(row->net, koda_addr_in_net(&addr, &net, row->prefix));
	}
}

static void nets_hold_their_own_family_and_bits(void **state)
{
	static const struct {
		const char *addr;
		const char *net;
		unsigned int prefix;
		bool inside;
	} rows[] = {
		{ "10.255.255.255", "10.0.0.0", 8, true },
		{ "11.0.0.0", "10.0.0.0", 8, false },
		{ "1.2.3.4", "0.0.0.0", 0, true },
		{ "1.2.3.4", "1.2.3.4", 32, true },
		{ "1.2.3.5", "1.2.3.4", 32, false },
		{ "1.2.3.5", "1.2.3.4", 31, true },
		{ "::1", "::", 0, true },
		{ "::1", "0.0.0.0", 0, false },
		{ "0.0.0.1", "::", 0, false },
		{ "fdff::1", "fc00::", 7, true },
		{ "fe00::1", "fc00::", 7, false },
	};
	struct koda_addr four = addr_of("0.0.0.0");
	struct koda_addr six = addr_of("::");

	(void)state;
	KODA_EACH(row, rows) {
		struct koda_addr addr = addr_of(row->addr);
		struct koda_addr net = addr_of(row->net);

		KODA_EXPECT(row->addr, koda_addr_in_net(&addr, &net, row->prefix) == row->inside);
	}
	assert_false(koda_addr_equal(&four, &six));
	assert_int_equal(koda_addr_bits(&four), 32);
	assert_int_equal(koda_addr_bits(&six), 128);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inet_aton_spellings),
		cmocka_unit_test(ipv6_spellings),
		cmocka_unit_test(only_mapped_addresses_are_unmapped),
		cmocka_unit_test(masks_keep_the_leading_bits),
		cmocka_unit_test(nets_hold_their_own_family_and_bits),
	};

	return KODA_TEST_RUN(tests);
}
