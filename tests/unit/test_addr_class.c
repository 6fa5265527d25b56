/* SPDX-License-Identifier: MIT */
/* Address classes: both edges of every special range, and IPv4 inside IPv6. */
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

/* Both edges of each range, with the address just outside on either side. */
static const struct {
	const char *text;
	enum koda_addr_class class_;
	unsigned int bits;
} edges[] = {
	{ "0.0.0.0", KODA_ADDR_UNSPECIFIED, 8 },
	{ "0.255.255.255", KODA_ADDR_UNSPECIFIED, 8 },
	{ "1.0.0.0", KODA_ADDR_PUBLIC, 0 },
	{ "9.255.255.255", KODA_ADDR_PUBLIC, 0 },
	{ "10.0.0.0", KODA_ADDR_PRIVATE, 8 },
	{ "10.255.255.255", KODA_ADDR_PRIVATE, 8 },
	{ "11.0.0.0", KODA_ADDR_PUBLIC, 0 },
	{ "100.63.255.255", KODA_ADDR_PUBLIC, 0 },
	{ "100.64.0.0", KODA_ADDR_SHARED, 10 },
	{ "100.100.100.199", KODA_ADDR_SHARED, 10 },
	{ "100.100.100.200", KODA_ADDR_METADATA, 32 },
	{ "100.100.100.201", KODA_ADDR_SHARED, 10 },
	{ "100.127.255.255", KODA_ADDR_SHARED, 10 },
	{ "100.128.0.0", KODA_ADDR_PUBLIC, 0 },
	{ "126.255.255.255", KODA_ADDR_PUBLIC, 0 },
	{ "127.0.0.0", KODA_ADDR_LOOPBACK, 8 },
	{ "127.255.255.255", KODA_ADDR_LOOPBACK, 8 },
	{ "128.0.0.0", KODA_ADDR_PUBLIC, 0 },
	{ "168.63.129.15", KODA_ADDR_PUBLIC, 0 },
	{ "168.63.129.16", KODA_ADDR_METADATA, 32 },
	{ "168.63.129.17", KODA_ADDR_PUBLIC, 0 },
	{ "169.253.255.255", KODA_ADDR_PUBLIC, 0 },
	{ "169.254.0.0", KODA_ADDR_LINK_LOCAL, 16 },
	{ "169.254.169.253", KODA_ADDR_LINK_LOCAL, 16 },
	{ "169.254.169.254", KODA_ADDR_METADATA, 32 },
	{ "169.254.170.2", KODA_ADDR_METADATA, 32 },
	{ "169.254.255.255", KODA_ADDR_LINK_LOCAL, 16 },
	{ "169.255.0.0", KODA_ADDR_PUBLIC, 0 },
	{ "172.15.255.255", KODA_ADDR_PUBLIC, 0 },
	{ "172.16.0.0", KODA_ADDR_PRIVATE, 12 },
	{ "172.31.255.255", KODA_ADDR_PRIVATE, 12 },
	{ "172.32.0.0", KODA_ADDR_PUBLIC, 0 },
	{ "191.255.255.255", KODA_ADDR_PUBLIC, 0 },
	{ "192.0.0.0", KODA_ADDR_RESERVED, 24 },
	{ "192.0.0.192", KODA_ADDR_METADATA, 32 },
	{ "192.0.0.255", KODA_ADDR_RESERVED, 24 },
	{ "192.0.1.0", KODA_ADDR_PUBLIC, 0 },
	{ "192.0.2.0", KODA_ADDR_RESERVED, 24 },
	{ "192.0.2.255", KODA_ADDR_RESERVED, 24 },
	{ "192.0.3.0", KODA_ADDR_PUBLIC, 0 },
	{ "192.88.98.255", KODA_ADDR_PUBLIC, 0 },
	{ "192.88.99.0", KODA_ADDR_RESERVED, 24 },
	{ "192.88.100.0", KODA_ADDR_PUBLIC, 0 },
	{ "192.167.255.255", KODA_ADDR_PUBLIC, 0 },
	{ "192.168.0.0", KODA_ADDR_PRIVATE, 16 },
	{ "192.168.255.255", KODA_ADDR_PRIVATE, 16 },
	{ "192.169.0.0", KODA_ADDR_PUBLIC, 0 },
	{ "198.17.255.255", KODA_ADDR_PUBLIC, 0 },
	{ "198.18.0.0", KODA_ADDR_RESERVED, 15 },
	{ "198.19.255.255", KODA_ADDR_RESERVED, 15 },
	{ "198.20.0.0", KODA_ADDR_PUBLIC, 0 },
	{ "198.51.99.255", KODA_ADDR_PUBLIC, 0 },
	{ "198.51.100.0", KODA_ADDR_RESERVED, 24 },
	{ "198.51.101.0", KODA_ADDR_PUBLIC, 0 },
	{ "203.0.112.255", KODA_ADDR_PUBLIC, 0 },
	{ "203.0.113.255", KODA_ADDR_RESERVED, 24 },
	{ "203.0.114.0", KODA_ADDR_PUBLIC, 0 },
	{ "223.255.255.255", KODA_ADDR_PUBLIC, 0 },
	{ "224.0.0.0", KODA_ADDR_MULTICAST, 4 },
	{ "239.255.255.255", KODA_ADDR_MULTICAST, 4 },
	{ "240.0.0.0", KODA_ADDR_RESERVED, 4 },
	{ "255.255.255.255", KODA_ADDR_RESERVED, 4 },
	{ "::", KODA_ADDR_UNSPECIFIED, 128 },
	{ "::1", KODA_ADDR_LOOPBACK, 128 },
	{ "2001::", KODA_ADDR_RESERVED, 23 },
	{ "2001:1ff:ffff::", KODA_ADDR_RESERVED, 23 },
	{ "2001:200::", KODA_ADDR_PUBLIC, 0 },
	{ "2001:db7:ffff::", KODA_ADDR_PUBLIC, 0 },
	{ "2001:db8::", KODA_ADDR_RESERVED, 32 },
	{ "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", KODA_ADDR_RESERVED, 32 },
	{ "2001:db9::", KODA_ADDR_PUBLIC, 0 },
	{ "2606:4700::1111", KODA_ADDR_PUBLIC, 0 },
	{ "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", KODA_ADDR_PUBLIC, 0 },
	{ "3fff::", KODA_ADDR_RESERVED, 20 },
	{ "3fff:fff:ffff::", KODA_ADDR_RESERVED, 20 },
	{ "64:ff9b:1::", KODA_ADDR_PRIVATE, 48 },
	{ "64:ff9b:1:ffff::", KODA_ADDR_PRIVATE, 48 },
	{ "fc00::", KODA_ADDR_PRIVATE, 7 },
	{ "fd00:ec2::253", KODA_ADDR_PRIVATE, 7 },
	{ "fd00:ec2::254", KODA_ADDR_METADATA, 128 },
	{ "fd20:ce::254", KODA_ADDR_METADATA, 128 },
	{ "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", KODA_ADDR_PRIVATE, 7 },
	{ "fe80::", KODA_ADDR_LINK_LOCAL, 10 },
	{ "febf:ffff::", KODA_ADDR_LINK_LOCAL, 10 },
	{ "fec0::", KODA_ADDR_PRIVATE, 10 },
	{ "feff:ffff::", KODA_ADDR_PRIVATE, 10 },
	{ "ff00::", KODA_ADDR_MULTICAST, 8 },
	{ "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", KODA_ADDR_MULTICAST, 8 },
};

static void special_ranges_end_where_they_should(void **state)
{
	(void)state;
	KODA_EACH(row, edges) {
		struct koda_addr addr = addr_of(row->text);
		unsigned int bits = 999;

		KODA_EXPECT(row->text, koda_addr_classify(&addr, &bits) == row->class_);
		KODA_EXPECT(row->text, bits == row->bits);
		KODA_EXPECT(row->text, koda_addr_classify(&addr, NULL) == row->class_);
	}
}

/* T-07 an IPv4 address inside an IPv6 form is judged as what it leads to. */
static void embedded_addresses_lead_where_they_lead(void **state)
{
	static const struct {
		const char *text;
		enum koda_addr_class class_;
		unsigned int bits;
	} rows[] = {
		{ "::ffff:127.0.0.1", KODA_ADDR_LOOPBACK, 8 },
		{ "::ffff:8.8.8.8", KODA_ADDR_PUBLIC, 0 },
		{ "::10.0.0.1", KODA_ADDR_PRIVATE, 104 },
		{ "::169.254.169.254", KODA_ADDR_METADATA, 128 },
		{ "::8.8.8.8", KODA_ADDR_RESERVED, 96 },
		{ "::ffff:0:10.0.0.1", KODA_ADDR_PRIVATE, 104 },
		{ "::ffff:0:8.8.8.8", KODA_ADDR_RESERVED, 96 },
		{ "64:ff9b::127.0.0.1", KODA_ADDR_LOOPBACK, 104 },
		{ "64:ff9b::a9fe:a9fe", KODA_ADDR_METADATA, 128 },
		{ "64:ff9b::8.8.8.8", KODA_ADDR_PUBLIC, 0 },
		{ "2002:7f00:1::", KODA_ADDR_LOOPBACK, 24 },
		{ "2002:a00:1::1", KODA_ADDR_PRIVATE, 24 },
		{ "2002:c0a8:101::1", KODA_ADDR_PRIVATE, 32 },
		{ "2002:a9fe:a9fe:ffff::", KODA_ADDR_METADATA, 48 },
		{ "2002:808:808::1", KODA_ADDR_RESERVED, 16 },
		{ "2606:4700::5efe:10.0.0.1", KODA_ADDR_PRIVATE, 104 },
		{ "2606:4700::200:5efe:127.0.0.1", KODA_ADDR_LOOPBACK, 104 },
		{ "2606:4700::5efe:8.8.8.8", KODA_ADDR_RESERVED, 96 },
		{ "2606:4700::100:5efe:10.0.0.1", KODA_ADDR_PUBLIC, 0 },
		{ "fe80::5efe:8.8.8.8", KODA_ADDR_LINK_LOCAL, 10 },
	};

	(void)state;
	KODA_EACH(row, rows) {
		struct koda_addr addr = addr_of(row->text);
		unsigned int bits = 999;

		KODA_EXPECT(row->text, koda_addr_classify(&addr, &bits) == row->class_);
		KODA_EXPECT(row->text, bits == row->bits);
	}
}

/* A mapped address that nobody has unmapped yet is judged the same. */
static void classify_unmaps_by_itself(void **state)
{
	struct koda_addr raw = { .family = 6, .bytes = { [10] = 0xff, 0xff, 10, 0, 0, 1 } };

	(void)state;
	assert_int_equal(koda_addr_classify(&raw, NULL), KODA_ADDR_PRIVATE);
}

/* A net is in the narrowest range that holds all of it, whatever its first address alone is. */
static void nets_are_judged_as_a_whole(void **state)
{
	static const struct {
		const char *text;
		unsigned int bits;
		enum koda_addr_class class_;
		unsigned int prefix;
	} rows[] = {
		{ "0.0.0.0", 0, KODA_ADDR_PUBLIC, 0 },
		{ "10.0.0.0", 7, KODA_ADDR_PUBLIC, 0 },
		{ "10.0.0.0", 8, KODA_ADDR_PRIVATE, 8 },
		{ "10.0.0.0", 32, KODA_ADDR_PRIVATE, 8 },
		{ "169.254.170.2", 32, KODA_ADDR_METADATA, 32 },
		{ "169.254.170.2", 31, KODA_ADDR_LINK_LOCAL, 16 },
		{ "100.100.100.200", 29, KODA_ADDR_SHARED, 10 },
		{ "192.0.0.192", 26, KODA_ADDR_RESERVED, 24 },
		{ "168.63.129.16", 28, KODA_ADDR_PUBLIC, 0 },
		{ "::", 0, KODA_ADDR_PUBLIC, 0 },
		{ "::", 95, KODA_ADDR_RESERVED, 3 },
		{ "::", 2, KODA_ADDR_PUBLIC, 0 },
		{ "4000::1", 128, KODA_ADDR_RESERVED, 3 },
		{ "100::", 64, KODA_ADDR_RESERVED, 3 },
		{ "2606:4700::", 32, KODA_ADDR_PUBLIC, 0 },
		{ "::", 96, KODA_ADDR_RESERVED, 96 },
		{ "::", 104, KODA_ADDR_UNSPECIFIED, 104 },
		{ "::", 128, KODA_ADDR_UNSPECIFIED, 128 },
		{ "::", 127, KODA_ADDR_UNSPECIFIED, 104 },
		{ "fd00:ec2::254", 127, KODA_ADDR_PRIVATE, 7 },
		{ "64:ff9b::", 96, KODA_ADDR_PUBLIC, 0 },
		{ "64:ff9b::a00:0", 104, KODA_ADDR_PRIVATE, 104 },
		{ "2002::", 16, KODA_ADDR_RESERVED, 16 },
		{ "2002:a00::", 23, KODA_ADDR_RESERVED, 16 },
		{ "2002:a00::", 24, KODA_ADDR_PRIVATE, 24 },
	};

	(void)state;
	KODA_EACH(row, rows) {
		struct koda_addr net = addr_of(row->text);
		unsigned int prefix = 999;
		enum koda_addr_class class_ = koda_addr_classify_net(&net, row->bits, &prefix);

		if (class_ != row->class_ || prefix != row->prefix)
			fail_msg("%s/%u is %s by %u bits", row->text, row->bits,
				 koda_addr_class_name(class_), prefix);
	}
}

static void classes_have_names(void **state)
{
	static const char *const names[] = { "reserved", "unspecified", "loopback",
					     "private",  "link-local",  "shared",
					     "metadata", "multicast",   "public" };

	(void)state;
	for (int i = 0; i <= KODA_ADDR_PUBLIC; i++)
		assert_string_equal(koda_addr_class_name((enum koda_addr_class)i), names[i]);
	assert_string_equal(koda_addr_class_name((enum koda_addr_class)99), "reserved");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(special_ranges_end_where_they_should),
		cmocka_unit_test(embedded_addresses_lead_where_they_lead),
		cmocka_unit_test(classify_unmaps_by_itself),
		cmocka_unit_test(nets_are_judged_as_a_whole),
		cmocka_unit_test(classes_have_names),
	};

	return KODA_TEST_RUN(tests);
}
