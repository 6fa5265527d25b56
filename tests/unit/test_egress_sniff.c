/* SPDX-License-Identifier: MIT */
/* T-70. What might be a request to some server is found, and what other protocols say is not. */
#include "koda_test.h"

#include "proto/sniff.h"

/* The answer does not depend on how the bytes are split. */
static void expect(const char *text, size_t len, enum egress_sniff wanted)
{
	struct egress_sniff_scan whole = { 0 };
	struct egress_sniff_scan piece = { 0 };
	enum egress_sniff now = EGRESS_SNIFF_MORE;

	assert_int_equal(egress_sniff_http(&whole, (struct koda_span){ text, len }, false), wanted);
	for (size_t n = 0; n <= len && now <= EGRESS_SNIFF_HOLD; n++)
		now = egress_sniff_http(&piece, (struct koda_span){ text, n }, false);
	assert_int_equal(now, wanted);
	/* Once given the answer stays, also to what would get another. */
	if (now > EGRESS_SNIFF_LONG)
		assert_int_equal(egress_sniff_http(&piece, koda_span_of("SSH-2.0-x\r\n"), true),
				 wanted);
}

#define HTTP(text)  expect(text, sizeof(text) - 1, EGRESS_SNIFF_HTTP)
#define OTHER(text) expect(text, sizeof(text) - 1, EGRESS_SNIFF_OTHER)
#define BAD(text)   expect(text, sizeof(text) - 1, EGRESS_SNIFF_BAD)
#define HOLD(text)  expect(text, sizeof(text) - 1, EGRESS_SNIFF_HOLD)
#define MORE(text)  expect(text, sizeof(text) - 1, EGRESS_SNIFF_MORE)

/* Undecided until the end, and then nothing of ours. */
static void expect_last(const char *text, size_t len)
{
	struct egress_sniff_scan scan = { 0 };

	expect(text, len, EGRESS_SNIFF_MORE);
	assert_int_equal(egress_sniff_http(&scan, (struct koda_span){ text, len }, true),
			 EGRESS_SNIFF_OTHER);
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
	HTTP("\xa0"
	     "ANY\xa0/\xa0HTTP/1.1\xa0\r\n");
}

/* Lines that some server accepts as a request, and no client sends. */
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

/* Behind bytes that some servers take for blanks a method is enough, with or without a version:
 * the answer comes with the byte behind it, before the origin could see it. */
static void test_gaps(void **state)
{
	static const char *const fronts[] = { "\xa0",     "\x85",        "\x0b",        "\x0c",
					      "\x1c",     "\x1f",        " \xa0",       "\t\x85",
					      "\r\n\xa0", "\xa0 \x1f\t", "\xe2\x80\x83" };
	static const char *const words[] = { "GET", "get", "POST", "PROPPATCH" };
	static const char *const rests[] = { " /secret\r\nHost: evil.test\r\n\r\n",
					     "\xa0/secret\r\n",
					     " /secretHTTP/1.1\r\n",
					     "\x0b/",
					     " /secret HTTP/1.1\r\n",
					     " ",
					     "\r\n" };
	char text[128];

	(void)state;
	KODA_EACH(front, fronts)
		KODA_EACH(word, words) {
			int len = snprintf(text, sizeof(text), "%s%s", *front, *word);
			struct egress_sniff_scan scan = { 0 };

			expect(text, (size_t)len, EGRESS_SNIFF_HOLD);
			KODA_EXPECT(text, egress_sniff_http(&scan, koda_span_of(text), true) ==
						  EGRESS_SNIFF_BAD);
			KODA_EACH(rest, rests) {
				(void)snprintf(text + len, sizeof(text) - (size_t)len, "%s", *rest);
				expect(text, strlen(text), EGRESS_SNIFF_BAD);
				/* In two pieces, wherever they meet. */
				for (size_t n = 0; n < strlen(text); n++) {
					scan = (struct egress_sniff_scan){ 0 };
					(void)egress_sniff_http(
						&scan, (struct koda_span){ text, n }, false);
					KODA_EXPECT(text,
						    egress_sniff_http(&scan, koda_span_of(text),
								      false) == EGRESS_SNIFF_BAD);
				}
			}
		}
	/* The twins: other words. */
	OTHER("\xa0GETS /secret\r\n");
	OTHER("\xa0G ET /secret\r\n");
	OTHER("x\xa0GET /secret\r\n");
	OTHER("\xa0PROPPATCHES /\r\n");
	OTHER("\xa0\r\nGET\r\n");
	MORE("\xa0");
	MORE("\xa0GE");
	MORE("\xa0GETS");
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
		enum egress_sniff wanted;
	} rows[] = {
		{ "GET http://other/ HTTP/1.1", EGRESS_SNIFF_HTTP },
		{ "GET", EGRESS_SNIFF_BAD },
		{ "ANY / HTTP/1.1", EGRESS_SNIFF_HTTP },
		{ "hello", EGRESS_SNIFF_OTHER },
		{ "ls -la", EGRESS_SNIFF_OTHER },
		{ "\r\n", EGRESS_SNIFF_OTHER },
		{ "", EGRESS_SNIFF_OTHER },
	};

	(void)state;
	KODA_EACH(row, rows) {
		struct egress_sniff_scan scan = { 0 };

		KODA_EXPECT(row->text,
			    egress_sniff_http(&scan, koda_span_of(row->text), true) == row->wanted);
	}
}

static void test_web_ports(void **state)
{
	(void)state;
	assert_true(egress_sniff_is_web(80));
	assert_true(egress_sniff_is_web(443));
	assert_true(egress_sniff_is_web(8080));
	assert_false(egress_sniff_is_web(22));
	assert_false(egress_sniff_is_web(9418));
}

static void test_undecided(void **state)
{
	static char line[EGRESS_SNIFF_MAX];

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
	expect(line, sizeof(line) - 1, EGRESS_SNIFF_HOLD);
	expect(line, sizeof(line), EGRESS_SNIFF_BAD);
	line[0] = '{';
	expect(line, sizeof(line), EGRESS_SNIFF_LONG);
	line[0] = 'x';
	line[3] = 'x';
	expect(line, sizeof(line), EGRESS_SNIFF_BAD);
}

/* A first line that is longer than can be kept: what follows decides, in whatever pieces it comes,
 * and wherever the line has a version. */
static void test_long(void **state)
{
	static const struct {
		const char *begin; /* then x up to the longest line */
		const char *rest;
		enum egress_sniff wanted;
	} rows[] = {
		{ "{", "\r\n", EGRESS_SNIFF_OTHER },
		{ "{", " / HTTP/1.1\r\n", EGRESS_SNIFF_BAD },
		{ "{", " / HTTP/1.1\n", EGRESS_SNIFF_BAD },
		{ "{", " / hTTp/1.1 \t \n", EGRESS_SNIFF_BAD },
		{ "{", " / HHTTP/ HTTP/HTTP/ HTTP/1\n", EGRESS_SNIFF_BAD },
		{ "{", "\x85HTTP/1.1\x85\n", EGRESS_SNIFF_BAD },
		{ "{", " / HTTP/1.1 1\n", EGRESS_SNIFF_OTHER },
		{ "{", " / xHTTP/1.1\n", EGRESS_SNIFF_OTHER },
		{ "{", " / HTTP/1.1x\nGET / HTTP/1.1\r\n", EGRESS_SNIFF_OTHER },
		{ "\x01", "\x01\n", EGRESS_SNIFF_OTHER },
		{ "\x01", " HTTP/1.1\n", EGRESS_SNIFF_BAD },
		{ "ANY \x01", " HTTP/1.1 \x01x\n", EGRESS_SNIFF_BAD },
		{ "ANY \x01", " HTTP\x01/1.1\n", EGRESS_SNIFF_OTHER },
		{ "{", " HTTP/1.1", EGRESS_SNIFF_LONG },
		{ "{", " GET /secret\r\n", EGRESS_SNIFF_OTHER },
		{ "\x01", " GET /secret\r\n", EGRESS_SNIFF_OTHER },
	};
	static char line[EGRESS_SNIFF_MAX];

	(void)state;
	KODA_EACH(row, rows)
		for (size_t step = 1; step < 32; step += 6) {
			struct egress_sniff_scan scan = { 0 };
			struct koda_span rest = koda_span_of(row->rest);
			enum egress_sniff now;

			memset(line, 'x', sizeof(line));
			memcpy(line, row->begin, strlen(row->begin));
			now = egress_sniff_http(&scan, (struct koda_span){ line, sizeof(line) },
						false);
			KODA_EXPECT(row->begin, now == EGRESS_SNIFF_LONG);
			while (now == EGRESS_SNIFF_LONG && rest.len > 0) {
				size_t len = step < rest.len ? step : rest.len;

				now = egress_sniff_http(&scan, (struct koda_span){ rest.ptr, len },
							false);
				rest = koda_span_skip(rest, len);
			}
			KODA_EXPECT(row->rest, now == row->wanted);
			if (now == EGRESS_SNIFF_LONG)
				KODA_EXPECT(row->rest, egress_sniff_http(&scan, rest, true) ==
							       EGRESS_SNIFF_BAD);
		}
}

/* Nothing but gaps up to the longest line, then a method. */
static void test_long_gaps(void **state)
{
	static const struct {
		const char *text;
		enum egress_sniff wanted;
	} rows[] = {
		{ "GET /secret\r\n", EGRESS_SNIFF_BAD },
		{ "\xa0GET\xa0/secret\r\n", EGRESS_SNIFF_BAD },
		{ "GET", EGRESS_SNIFF_BAD },
		{ "GE", EGRESS_SNIFF_LONG },
		{ "GOT /secret\r\n", EGRESS_SNIFF_OTHER },
	};
	static char line[EGRESS_SNIFF_MAX];

	(void)state;
	KODA_EACH(row, rows)
		for (size_t before = 0; before < 3; before++)
			for (size_t n = 0; n <= strlen(row->text) - before; n++) {
				struct egress_sniff_scan scan = { 0 };
				struct koda_span rest = koda_span_of(row->text + before);
				enum egress_sniff now;

				/* A part of it is in what was kept. */
				memset(line, 0xa0, sizeof(line));
				memcpy(line + sizeof(line) - before, row->text, before);
				now = egress_sniff_http(
					&scan, (struct koda_span){ line, sizeof(line) }, false);
				KODA_EXPECT(row->text, now == EGRESS_SNIFF_LONG);
				(void)egress_sniff_http(&scan, (struct koda_span){ rest.ptr, n },
							false);
				now = egress_sniff_http(&scan, koda_span_skip(rest, n), false);
				KODA_EXPECT(row->text, now == row->wanted);
			}
	memcpy(line + sizeof(line) - 3, "GET", 3);
	expect(line, sizeof(line), EGRESS_SNIFF_BAD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_http),      cmocka_unit_test(test_other),
		cmocka_unit_test(test_bad),       cmocka_unit_test(test_undecided),
		cmocka_unit_test(test_ended),     cmocka_unit_test(test_web_ports),
		cmocka_unit_test(test_long),      cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_long_gaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
