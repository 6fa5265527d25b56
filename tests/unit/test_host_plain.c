/* SPDX-License-Identifier: MIT */
/* The short way to read a host against the long one. */
#include "koda_test.h"

#include "policy/host.h"

/* What is plain is read as the long way reads it; whatever is not is left to that. */
static void plain_hosts_are_read_at_once(void **state)
{
	static const struct {
		const char *text;
		bool plain;
	} rows[] = {
		{ "a", true },
		{ "a.example", true },
		{ "A-b.EXAMPLE:443", true },
		{ "a.example:00080", true },
		{ "1.2.3.4a:65535", true },
		{ "0x.example:1", true },
		{ "", false },
		{ ":80", false },
		{ "a.example.", false },
		{ "a.example.:80", false },
		{ "a..example", false },
		{ "-a.example", false },
		{ "a.example:", false },
		{ "a.example:0", false },
		{ "a.example:65536", false },
		{ "a.example:000080", false },
		{ "a.example:8o", false },
		{ "a.example:80:80", false },
		{ "a.xn--p1ai", false },
		{ "caf\xc3\xa9.example", false },
		{ "a_b", true },
		{ "_a.example:80", true },
		{ "*.example", false },
		{ "10.0.0.0/8", false },
		{ "10.0.0.1", false },
		{ "10.0.0.1:80", false },
		{ "a.0x7f", false },
		{ "::1", false },
		{ "[::1]:80", false },
	};

	(void)state;
	KODA_EACH(row, rows) {
		struct koda_span text = { row->text, strlen(row->text) };
		struct koda_span name = { NULL, 0 };
		struct koda_host plain = { .is_addr = true };
		struct koda_host host;
		struct koda_error err = { 0 };
		uint16_t plain_port = 7;
		uint16_t port = 0;

		KODA_EXPECT(row->text,
			    koda_host_read_plain(text, &plain, &plain_port) == row->plain);
		KODA_EXPECT(row->text, row->plain || plain_port == 7);
		if (!row->plain)
			continue;
		KODA_ASSERT_OK(koda_host_split(text, &name, &port, &err), err);
		KODA_ASSERT_OK(koda_host_parse(name, &host, &err), err);
		KODA_EXPECT(row->text, !plain.is_addr && !host.is_addr && plain_port == port);
		KODA_EXPECT(row->text, plain.addr.family == 0 && plain.len == host.len);
		assert_string_equal(plain.name, host.name);
	}
}

static void formats(void **state)
{
	static const struct {
		const char *text;
		const char *want;
	} rows[] = {
		{ "Example.COM.", "example.com" },
		{ "0x7f.1", "127.0.0.1" },
		{ "[2001:DB8::0:1]", "2001:db8::1" },
	};
	char out[KODA_HOST_NAME_MAX + 1];

	(void)state;
	KODA_EACH(row, rows) {
		struct koda_error err = { 0 };
		struct koda_host host;

		KODA_ASSERT_OK(koda_host_parse((struct koda_span){ row->text, strlen(row->text) },
					       &host, &err),
			       err);
		koda_host_format(&host, out);
		assert_string_equal(out, row->want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats),
		cmocka_unit_test(plain_hosts_are_read_at_once),
	};

	return KODA_TEST_RUN(tests);
}
