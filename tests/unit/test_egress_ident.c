/* SPDX-License-Identifier: MIT */
/* T-70. The identification lines of SSH, whole and in pieces. */
#include "koda_test.h"

#include "proto/ident.h"

static void test_client(void **state)
{
	static const struct {
		const char *text;
		enum egress_ident wanted;
		size_t len;
	} rows[] = {
		{ "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\nrest", EGRESS_IDENT_YES, 32 },
		{ "SSH-2.0-x\nrest", EGRESS_IDENT_YES, 10 },
		{ "SSH-2.0-\r\n", EGRESS_IDENT_YES, 10 },
		{ "", EGRESS_IDENT_MORE, 0 },
		{ "SSH", EGRESS_IDENT_MORE, 0 },
		{ "SSH-2.0-", EGRESS_IDENT_MORE, 0 },
		{ "SSH-2.0-x\r", EGRESS_IDENT_MORE, 0 },
		{ "SSH-2.1-x\r\n", EGRESS_IDENT_NO, 0 },
		{ "SSH-1.99-x\r\n", EGRESS_IDENT_NO, 0 },
		{ "ssh-2.0-x\r\n", EGRESS_IDENT_NO, 0 },
		{ "x", EGRESS_IDENT_NO, 0 },
		{ "SSH-2.0-x\ry", EGRESS_IDENT_NO, 0 },
		{ "SSH-2.0-\x80\r\n", EGRESS_IDENT_NO, 0 },
		{ "SSH-2.0-\t\r\n", EGRESS_IDENT_NO, 0 },
	};
	char line[EGRESS_IDENT_MAX + 1];
	size_t len = 0;

	(void)state;
	KODA_EACH(row, rows) {
		len = 0;
		KODA_EXPECT(row->text,
			    egress_ident_client(koda_span_of(row->text), &len) == row->wanted);
		KODA_EXPECT(row->text, len == row->len);
		/* No piece of one says anything else. */
		for (size_t n = 0; row->wanted == EGRESS_IDENT_YES && n < row->len; n++)
			KODA_EXPECT(row->text,
				    egress_ident_client((struct koda_span){ row->text, n }, &len) ==
					    EGRESS_IDENT_MORE);
	}
	memset(line, 'x', sizeof(line));
	memcpy(line, "SSH-2.0-", 8);
	memcpy(line + EGRESS_IDENT_MAX - 2, "\r\n", 2);
	assert_int_equal(egress_ident_client((struct koda_span){ line, sizeof(line) }, &len),
			 EGRESS_IDENT_YES);
	assert_int_equal(len, EGRESS_IDENT_MAX);
	memcpy(line + EGRESS_IDENT_MAX - 2, "x\r\n", 3);
	assert_int_equal(egress_ident_client((struct koda_span){ line, sizeof(line) }, &len),
			 EGRESS_IDENT_NO);
}

static void test_server(void **state)
{
	static const struct {
		const char *text;
		enum egress_ident wanted;
	} rows[] = {
		{ "SSH-2.0-x\r\n", EGRESS_IDENT_YES },
		{ "SSH-1.99-x\r\n", EGRESS_IDENT_YES },
		{ "", EGRESS_IDENT_MORE },
		{ "SSH-", EGRESS_IDENT_MORE },
		{ "SSH-1.9", EGRESS_IDENT_MORE },
		{ "SSH-1.5-x", EGRESS_IDENT_NO },
		{ "HTTP/1.1", EGRESS_IDENT_NO },
		{ "\r\nSSH-2.0-x", EGRESS_IDENT_NO },
	};

	(void)state;
	KODA_EACH(row, rows)
		KODA_EXPECT(row->text, egress_ident_server(koda_span_of(row->text)) == row->wanted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_client),
		cmocka_unit_test(test_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
