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

	assert_int_equal(egress_guess_http(&whole, (struct koda_span){ text, len }), wanted);
	for (size_t n = 0; n <= len && now == EGRESS_GUESS_MORE; n++)
		now = egress_guess_http(&piece, (struct koda_span){ text, n });
	assert_int_equal(now, wanted);
}

#define HTTP(text)  expect(text, sizeof(text) - 1, EGRESS_GUESS_HTTP)
#define OTHER(text) expect(text, sizeof(text) - 1, EGRESS_GUESS_OTHER)
#define MORE(text)  expect(text, sizeof(text) - 1, EGRESS_GUESS_MORE)

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
}

static void test_other(void **state)
{
	(void)state;
	OTHER("SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n");
	OTHER("SSH-2.0-x\r\n");
	OTHER("EHLO somewhere.test\r\n");
	OTHER("PING\r\n");
	OTHER("*1\r\n$4\r\nPING\r\n");
	OTHER("003egit-upload-pack /project.git\0host=a.test\0");
	OTHER("<policy-file-request/>\0");
	OTHER("{\"id\": \"HTTP/1.1\"}\n");
	OTHER("G{T /\r\n");
	OTHER("\0\0\0\10\4\322\26\57");
	OTHER("AMQP\0\0\11\1");
	OTHER("\377\375\30");
	OTHER("USER a 0 * :Somebody\r\n");
}

static void test_undecided(void **state)
{
	static char line[EGRESS_GUESS_MAX];

	(void)state;
	MORE("");
	MORE("GET");
	MORE("GET / HTTP/1.1");
	MORE("x");
	MORE("ls -la");
	MORE("\r\n");
	memset(line, 'x', sizeof(line));
	memcpy(line, "GET ", 4);
	expect(line, sizeof(line) - 1, EGRESS_GUESS_MORE);
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
		cmocka_unit_test(test_http),
		cmocka_unit_test(test_other),
		cmocka_unit_test(test_undecided),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
