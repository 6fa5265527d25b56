/* SPDX-License-Identifier: MIT */
/* T-70. What might be a request to some server is found, and what other protocols say is not. */
#include "koda_test.h"

#include "guess.h"

/* The answer is the same whether the bytes come at once or one by one. */
static void expect(const char *text, size_t len, enum egress_guess wanted)
{
	struct egress_guess_scan whole = { 0 };
	struct egress_guess_scan piece = { 0 };
	enum egress_guess now = EGRESS_GUESS_MORE;

	assert_int_equal(egress_guess_http(&whole, (struct koda_span){ text, len }, false), wanted);
	for (size_t n = 0; n <= len && now <= EGRESS_GUESS_HOLD; n++)
		now = egress_guess_http(&piece, (struct koda_span){ text, n }, false);
	assert_int_equal(now, wanted);
}

#define HTTP(text)  expect(text, sizeof(text) - 1, EGRESS_GUESS_HTTP)
#define OTHER(text) expect(text, sizeof(text) - 1, EGRESS_GUESS_OTHER)
#define BAD(text)   expect(text, sizeof(text) - 1, EGRESS_GUESS_BAD)
#define HOLD(text)  expect(text, sizeof(text) - 1, EGRESS_GUESS_HOLD)
#define MORE(text)  expect(text, sizeof(text) - 1, EGRESS_GUESS_MORE)

/* Undecided until the end, and then nothing of ours. */
static void expect_last(const char *text, size_t len)
{
	struct egress_guess_scan scan = { 0 };

	expect(text, len, EGRESS_GUESS_MORE);
	assert_int_equal(egress_guess_http(&scan, (struct koda_span){ text, len }, true),
			 EGRESS_GUESS_OTHER);
}
#define LAST(text) expect_last(text, sizeof(text) - 1)

static void test_http(void **state)
{
	(void)state;
	HTTP("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
	HTTP("get / http/1.0\n");
	HTTP("\r\n\r\n \tGET / HTTP/1.1\r\n");
	HTTP("GET\t/\tHTTP/1.1\r\n");
	HTTP("GET   /   HTTP/1.1\r\n");
	HTTP("GET /\r\n"); /* as before HTTP/1 */
	HTTP("GET http://other/\n");
	HTTP("GET ftp://other/ HTTP/1.1\r\n");
	HTTP("GET ?x HTTP/1.1\r\n");
	HTTP("003egit-upload-pack / HTTP/1.1\r\n"); /* some take any method */
	HTTP("OPTIONS * HTTP/1.1\r\n");
	HTTP("CONNECT other:443 HTTP/1.1\r\n");
	HTTP("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
	HTTP("GET / \xff HTTP/1.1\r\n");
	HTTP("GET / HTTP/1.1\rHost: other\r\r");
	HTTP("G{T / HTTP/1.1\r\n");
	HTTP("(\xff) / http/1.0 \r\n");
	/* No version and no path: the parser says what is missing. */
	HTTP("GET x\r\nHost: other\r\n\r\n");
	HTTP("GET *\r\n");
	HTTP("OPTIONS *\r\n");
	HTTP("ANY *\r\n");
	HTTP("ANY\x85/\x85HTTP/1.1\r\n");
	HTTP("\xa0GET\xa0/\xa0HTTP/1.1\xa0\r\n");
}

/* What some server reads as a request, and nobody writes. */
static void test_bad(void **state)
{
	(void)state;
	BAD("GET\x0b/x HTTP/1.1\r\n");
	BAD("GET /x\x0cHTTP/1.1\r\n");
	BAD("GET\x1f/x\x1fHTTP/1.1\r\n");
	BAD("GET\x85/x\x85HTTP/1.1\r\n");
	BAD("get\xa0/x\xa0HTTP/1.1\r\n");
	BAD("GET /\x01 HTTP/1.1\r\n");
	BAD("GET /\x7f HTTP/1.1\r\n");
	BAD("GET /\0 HTTP/1.1\r\n");
	BAD("\x0bGET / HTTP/1.1\r\n");
	BAD("ANY\x1c/\x1cHTTP/1.1\r\n");
	BAD("ANY /\x1cHTTP/1.1\x1c\r\n");
	BAD("POST\r\n");
	BAD("PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\nGET / HTTP/1.1\r\n");
	BAD("\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c");
}

static void test_other(void **state)
{
	(void)state;
	OTHER("SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n");
	OTHER("SSH-2.0-x\r\n");
	OTHER("003egit-upload-pack /project.git\0host=a.test\0"
	      "0032want\n");
	OTHER("EHLO somewhere.test\r\n");
	OTHER("PING\r\n");
	OTHER("*1\r\n$4\r\nPING\r\n");
	LAST("003egit-upload-pack /project.git\0host=a.test\0");
	LAST("<policy-file-request/>\0");
	OTHER("{\"id\": \"HTTP/1.1\"}\n");
	OTHER("G{T /\r\n");
	LAST("\0\0\0\10\4\322\26\57");
	LAST("AMQP\0\0\11\1");
	LAST("\377\375\30");
	OTHER("USER a 0 * :Somebody\r\n");
}

/* The end is the end of a line too. */
static void test_ended(void **state)
{
	static const struct {
		const char *text;
		enum egress_guess wanted;
	} rows[] = {
		{ "GET http://other/ HTTP/1.1", EGRESS_GUESS_HTTP },
		{ "GET", EGRESS_GUESS_BAD },
		{ "ANY / HTTP/1.1", EGRESS_GUESS_HTTP },
		{ "hello", EGRESS_GUESS_OTHER },
		{ "ls -la", EGRESS_GUESS_OTHER },
		{ "\r\n", EGRESS_GUESS_OTHER },
		{ "", EGRESS_GUESS_OTHER },
	};

	(void)state;
	KODA_EACH(row, rows) {
		struct egress_guess_scan scan = { 0 };

		KODA_EXPECT(row->text,
			    egress_guess_http(&scan, koda_span_of(row->text), true) == row->wanted);
	}
}

static void test_web_ports(void **state)
{
	(void)state;
	assert_true(egress_guess_is_web(80));
	assert_true(egress_guess_is_web(443));
	assert_true(egress_guess_is_web(8080));
	assert_false(egress_guess_is_web(22));
	assert_false(egress_guess_is_web(9418));
}

static void test_undecided(void **state)
{
	static char line[EGRESS_GUESS_MAX];

	(void)state;
	MORE("");
	MORE("GET");
	HOLD("GET ");
	HOLD("GET / HTTP/1.1");
	MORE("ANY / HTTP/1.1");
	MORE("x");
	MORE("ls -la");
	MORE("\r\n");
	memset(line, 'x', sizeof(line));
	memcpy(line, "GET ", 4);
	expect(line, sizeof(line) - 1, EGRESS_GUESS_HOLD);
	expect(line, sizeof(line), EGRESS_GUESS_BAD);
	line[0] = '{';
	expect(line, sizeof(line), EGRESS_GUESS_OTHER);
	line[0] = 'x';
	line[3] = 'x';
	expect(line, sizeof(line), EGRESS_GUESS_BAD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_http),  cmocka_unit_test(test_other),
		cmocka_unit_test(test_bad),   cmocka_unit_test(test_undecided),
		cmocka_unit_test(test_ended), cmocka_unit_test(test_web_ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
