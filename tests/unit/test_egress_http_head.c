/* SPDX-License-Identifier: MIT */
/* T-70. Each thing that two readers could understand differently is refused, and next to it stands
 * a request that differs in just that and is accepted. */
#include "koda_test.h"

#include "base/buf.h"
#include "proto/http_head.h"

#define TEXT(literal) (literal), sizeof(literal) - 1
#define HOST          "Host: a.example\r\n"
#define GET           "GET http://a.example/ HTTP/1.1\r\n"
#define POST          "POST http://a.example/ HTTP/1.1\r\n" HOST
#define END           "\r\n"

struct row {
	const char *name;
	const char *text;
	size_t len;
	int status;       /* 0: accepted */
	const char *code; /* of the refusal */
};

struct result {
	enum egress_parse parse;
	size_t len;
	struct egress_refusal why;
};

/* Feeds the first cut bytes, then (step bytes at a time) the rest. */
static struct result feed(const char *text, size_t len, size_t cut, size_t step)
{
	struct egress_head_scan scan = { 0 };
	struct result result = { .parse = EGRESS_MORE };
	size_t have = cut;

	for (;;) {
		/* Another place each time: nothing may point into the bytes of the last call. */
		char *copy = malloc(have + 1);

		assert_non_null(copy);
		memcpy(copy, text, have);
		result.parse = egress_head_find(&scan, (struct koda_span){ copy, have },
						&result.len, &result.why);
		free(copy);
		if (result.parse != EGRESS_MORE || have == len)
			break;
		have = have + step < len ? have + step : len;
	}
	/* The last answer is the last, also to a head that is good. */
	if (result.parse != EGRESS_MORE) {
		struct egress_refusal why;
		size_t again = 0;

		assert_int_equal(egress_head_find(&scan,
						  koda_span_of("GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
						  &again, &why),
				 result.parse);
		assert_true(result.parse == EGRESS_BAD || again == result.len);
	}
	return result;
}

static void same_result(const char *name, struct result a, struct result b)
{
	KODA_EXPECT(name, a.parse == b.parse);
	if (a.parse == EGRESS_DONE)
		KODA_EXPECT(name, a.len == b.len);
	if (a.parse == EGRESS_BAD)
		KODA_EXPECT(name,
			    a.why.status == b.why.status && strcmp(a.why.code, b.why.code) == 0);
}

/* Whole, in two pieces at every place, and byte by byte. */
static struct result feed_all_ways(const char *name, const char *text, size_t len)
{
	struct result whole = feed(text, len, len, 1);

	same_result(name, whole, feed(text, len, 0, 1));
	for (size_t cut = 0; cut <= len; cut++)
		same_result(name, whole, feed(text, len, cut, len));
	return whole;
}

static void check_row(const struct row *row, bool response)
{
	struct result found = feed_all_ways(row->name, row->text, row->len);
	struct egress_head head;
	bool ok = false;

	if (found.parse == EGRESS_DONE) {
		struct koda_span bytes = { row->text, found.len };

		KODA_EXPECT(row->name, found.len == row->len);
		ok = response ? egress_head_response(bytes, &head, &found.why)
			      : egress_head_request(bytes, &head, &found.why);
	}
	KODA_EXPECT(row->name, found.parse != EGRESS_MORE);
	if (row->status == 0) {
		if (!ok)
			fail_msg("%s: refused: %s", row->name, found.why.code);
		return;
	}
	KODA_EXPECT(row->name, !ok);
	if (found.why.status != row->status || strcmp(found.why.code, row->code) != 0)
		fail_msg("%s: %d %s, expected %d %s", row->name, found.why.status, found.why.code,
			 row->status, row->code);
	KODA_EXPECT(row->name, found.why.text && found.why.text[0]);
}

static const struct row lines[] = {
	{ "plain", TEXT(GET HOST END), 0, NULL },
	{ "bare LF after the request line", TEXT("GET http://a.example/ HTTP/1.1\n" HOST END), 400,
	  "bare_lf" },
	{ "bare LF after a header", TEXT(GET "Host: a.example\n" END), 400, "bare_lf" },
	{ "bare LF as the empty line", TEXT(GET HOST "\n"), 400, "bare_lf" },
	{ "LF only", TEXT("\n"), 400, "bare_lf" },
	{ "bare CR in a value", TEXT(GET HOST "X: a\rb\r\n" END), 400, "bare_cr" },
	{ "bare CR before CRLF", TEXT(GET HOST "X: a\r\r\n" END), 400, "bare_cr" },
	{ "bare CR as a line", TEXT(GET HOST "\r\r\n" END), 400, "bare_cr" },
	{ "CR in a name", TEXT(GET HOST "X\r: a\r\n" END), 400, "bad_header" },
	{ "empty first line", TEXT("\r\n" GET HOST END), 400, "empty_line" },
	{ "folded with a blank", TEXT(GET HOST "X: a\r\n b\r\n" END), 400, "obs_fold" },
	{ "folded with a tab", TEXT(GET HOST "X: a\r\n\tb\r\n" END), 400, "obs_fold" },
	{ "blank before the first header", TEXT(GET " " HOST END), 400, "obs_fold" },
	{ "two headers instead of a folded one", TEXT(GET HOST "X: a\r\nY: b\r\n" END), 0, NULL },
	{ "NUL in a value", TEXT(GET HOST "X: a\0b\r\n" END), 400, "bad_header" },
	{ "NUL in a name", TEXT(GET HOST "X\0Y: a\r\n" END), 400, "bad_header" },
	{ "control in a value",
	  TEXT(GET HOST "X: a\x01"
			"b\r\n" END),
	  400, "bad_header" },
	{ "DEL in a value", TEXT(GET HOST "X: a\x7f\r\n" END), 400, "bad_header" },
	{ "tab and obs-text in a value", TEXT(GET HOST "X: a\tb\xe4\r\n" END), 0, NULL },
	{ "blank before the colon", TEXT(GET HOST "X : a\r\n" END), 400, "bad_header" },
	{ "tab before the colon", TEXT(GET HOST "X\t: a\r\n" END), 400, "bad_header" },
	{ "blanks after the colon", TEXT(GET HOST "X: \t a \t\r\n" END), 0, NULL },
	{ "no blank after the colon", TEXT(GET HOST "X:a\r\n" END), 0, NULL },
	{ "empty value", TEXT(GET HOST "X:\r\n" END), 0, NULL },
	{ "empty name", TEXT(GET HOST ": a\r\n" END), 400, "bad_header" },
	{ "no colon", TEXT(GET HOST "X\r\n" END), 400, "bad_header" },
	{ "name that is no token", TEXT(GET HOST "X(Y: a\r\n" END), 400, "bad_header" },
	{ "obs-text in a name", TEXT(GET HOST "X\xe4: a\r\n" END), 400, "bad_header" },
	{ "odd token as a name", TEXT(GET HOST "!#$%&'*+-.^_`|~9Z: a\r\n" END), 0, NULL },
};

static const struct row request_lines[] = {
	{ "unknown method", TEXT("BREW http://a.example/ HTTP/1.1\r\n" HOST END), 0, NULL },
	{ "method with a parenthesis", TEXT("G(T http://a.example/ HTTP/1.1\r\n" HOST END), 400,
	  "bad_request_line" },
	{ "no method", TEXT(" http://a.example/ HTTP/1.1\r\n" HOST END), 400, "bad_request_line" },
	{ "method of 24 bytes",
	  TEXT("ABCDEFGHIJKLMNOPQRSTUVWX http://a.example/ HTTP/1.1\r\n" HOST END), 0, NULL },
	{ "method of 25 bytes",
	  TEXT("ABCDEFGHIJKLMNOPQRSTUVWXY http://a.example/ HTTP/1.1\r\n" HOST END), 400,
	  "bad_request_line" },
	{ "two blanks before the target", TEXT("GET  http://a.example/ HTTP/1.1\r\n" HOST END), 400,
	  "bad_target" },
	{ "two blanks before the version", TEXT("GET http://a.example/  HTTP/1.1\r\n" HOST END),
	  400, "bad_version" },
	{ "tab instead of a blank", TEXT("GET\thttp://a.example/ HTTP/1.1\r\n" HOST END), 400,
	  "bad_request_line" },
	{ "blank after the version", TEXT("GET http://a.example/ HTTP/1.1 \r\n" HOST END), 400,
	  "bad_version" },
	{ "HTTP/0.9", TEXT("GET http://a.example/\r\n" END), 400, "bad_request_line" },
	{ "version 0.9", TEXT("GET http://a.example/ HTTP/0.9\r\n" HOST END), 400, "bad_version" },
	{ "version 2.0", TEXT("GET http://a.example/ HTTP/2.0\r\n" HOST END), 400, "bad_version" },
	{ "version 1.2", TEXT("GET http://a.example/ HTTP/1.2\r\n" HOST END), 400, "bad_version" },
	{ "version 1.10", TEXT("GET http://a.example/ HTTP/1.10\r\n" HOST END), 400,
	  "bad_version" },
	{ "version in lower case", TEXT("GET http://a.example/ http/1.1\r\n" HOST END), 400,
	  "bad_version" },
	{ "version 1.0", TEXT("GET http://a.example/ HTTP/1.0\r\n" HOST END), 0, NULL },
	{ "HTTP/2 preface", TEXT("PRI * HTTP/2.0\r\n\r\n"), 400, "bad_version" },
};

static const struct row targets[] = {
	{ "origin form", TEXT("GET /x?y=z HTTP/1.1\r\n" HOST END), 0, NULL },
	{ "asterisk", TEXT("OPTIONS * HTTP/1.1\r\n" HOST END), 0, NULL },
	{ "asterisk for GET", TEXT("GET * HTTP/1.1\r\n" HOST END), 400, "bad_target" },
	{ "authority", TEXT("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n" END), 0,
	  NULL },
	{ "authority without port", TEXT("CONNECT a.example HTTP/1.1\r\n" HOST END), 400,
	  "bad_target" },
	{ "authority with port 0", TEXT("CONNECT a.example:0 HTTP/1.1\r\n" HOST END), 400,
	  "bad_host" },
	{ "authority with a long port", TEXT("CONNECT a.example:65536 HTTP/1.1\r\n" HOST END), 400,
	  "bad_host" },
	{ "authority for GET", TEXT("GET a.example:443 HTTP/1.1\r\n" HOST END), 400, "bad_target" },
	{ "URL for CONNECT", TEXT("CONNECT http://a.example/ HTTP/1.1\r\n" HOST END), 400,
	  "bad_host" },
	{ "CONNECT with a length",
	  TEXT("CONNECT a.example:443 HTTP/1.1\r\n" HOST "Content-Length: 3\r\n" END), 400,
	  "bad_framing" },
	{ "https", TEXT("GET https://a.example/ HTTP/1.1\r\n" HOST END), 0, NULL },
	{ "another scheme", TEXT("GET ftp://a.example/ HTTP/1.1\r\n" HOST END), 400, "bad_target" },
	{ "no path", TEXT("GET http://a.example HTTP/1.1\r\n" HOST END), 0, NULL },
	{ "query without path", TEXT("GET http://a.example?q HTTP/1.1\r\n" HOST END), 0, NULL },
	{ "no host", TEXT("GET http:/// HTTP/1.1\r\nHost:\r\n" END), 400, "bad_host" },
	{ "user", TEXT("GET http://u@a.example/ HTTP/1.1\r\n" HOST END), 400, "bad_target" },
	{ "user and password", TEXT("GET http://u:p@a.example/ HTTP/1.1\r\n" HOST END), 400,
	  "bad_target" },
	{ "at sign in the path", TEXT("GET http://a.example/u@b HTTP/1.1\r\n" HOST END), 0, NULL },
	{ "user for CONNECT", TEXT("CONNECT u@a.example:1 HTTP/1.1\r\n" HOST END), 400,
	  "bad_target" },
	{ "fragment", TEXT("GET http://a.example/#x HTTP/1.1\r\n" HOST END), 400, "bad_target" },
	{ "backslash", TEXT("GET http://a.example\\b/ HTTP/1.1\r\n" HOST END), 400, "bad_target" },
	{ "control", TEXT("GET http://a.example/\x01 HTTP/1.1\r\n" HOST END), 400, "bad_target" },
	{ "NUL", TEXT("GET http://a.example/\0 HTTP/1.1\r\n" HOST END), 400, "bad_target" },
	{ "raw UTF-8", TEXT("GET http://a.example/\xc3\xa4 HTTP/1.1\r\n" HOST END), 400,
	  "bad_target" },
	{ "escaped UTF-8", TEXT("GET http://a.example/%C3%A4 HTTP/1.1\r\n" HOST END), 0, NULL },
	{ "braces and bars", TEXT("GET http://a.example/{a}|[b] HTTP/1.1\r\n" HOST END), 0, NULL },
	{ "escape in the host", TEXT("GET http://a%2eexample/ HTTP/1.1\r\n" HOST END), 400,
	  "bad_host" },
	{ "underscore host", TEXT("GET http://a_b.example/ HTTP/1.1\r\nHost: a_b.example\r\n" END),
	  0, NULL },
	{ "underscore in one only",
	  TEXT("GET http://a_b.example/ HTTP/1.1\r\nHost: ab.example\r\n" END), 400,
	  "host_mismatch" },
	{ "IPv6", TEXT("GET http://[::1]:81/ HTTP/1.1\r\nHost: [::1]:81\r\n" END), 0, NULL },
	{ "IPv6 without brackets", TEXT("CONNECT ::1:443 HTTP/1.1\r\nHost: ::1:443\r\n" END), 400,
	  "bad_host" },
	{ "zone", TEXT("GET http://[fe80::1%25lo]/ HTTP/1.1\r\nHost: [fe80::1%25lo]\r\n" END), 400,
	  "bad_host" },
	{ "name in brackets", TEXT("GET http://[a.example]/ HTTP/1.1\r\n" HOST END), 400,
	  "bad_host" },
	{ "empty port", TEXT("GET http://a.example:/ HTTP/1.1\r\n" HOST END), 400, "bad_host" },
};

static const struct row hosts[] = {
	{ "no Host", TEXT(GET END), 400, "bad_host" },
	{ "no Host in 1.0", TEXT("GET http://a.example/ HTTP/1.0\r\n" END), 0, NULL },
	{ "two Hosts", TEXT(GET HOST HOST END), 400, "bad_host" },
	{ "two Hosts in 1.0", TEXT("GET http://a.example/ HTTP/1.0\r\n" HOST HOST END), 400,
	  "bad_host" },
	{ "another Host", TEXT(GET "Host: b.example\r\n" END), 400, "host_mismatch" },
	{ "another Host in 1.0", TEXT("GET http://a.example/ HTTP/1.0\r\nHost: b.example\r\n" END),
	  400, "host_mismatch" },
	{ "another port", TEXT(GET "Host: a.example:81\r\n" END), 400, "host_mismatch" },
	{ "the same port spelt out", TEXT(GET "Host: a.example:80\r\n" END), 0, NULL },
	{ "another case", TEXT(GET "hOST: A.Example\r\n" END), 0, NULL },
	{ "trailing dot", TEXT(GET "Host: a.example.\r\n" END), 0, NULL },
	{ "two values", TEXT(GET "Host: a.example, b.example\r\n" END), 400, "bad_host" },
	{ "empty Host", TEXT(GET "Host:\r\n" END), 400, "bad_host" },
	{ "user in Host", TEXT(GET "Host: u@a.example\r\n" END), 400, "bad_target" },
	{ "CONNECT, Host without port",
	  TEXT("CONNECT a.example:8443 HTTP/1.1\r\nHost: a.example\r\n" END), 0, NULL },
	{ "CONNECT, another Host",
	  TEXT("CONNECT a.example:443 HTTP/1.1\r\nHost: b.example:443\r\n" END), 400,
	  "host_mismatch" },
	{ "CONNECT, another port",
	  TEXT("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:80\r\n" END), 400,
	  "host_mismatch" },
};

static const struct row framings[] = {
	{ "length", TEXT(POST "Content-Length: 12\r\n" END), 0, NULL },
	{ "length in 1.0",
	  TEXT("POST http://a.example/ HTTP/1.0\r\n" HOST "Content-Length: 12\r\n" END), 0, NULL },
	{ "chunked", TEXT(POST "Transfer-Encoding: chunked\r\n" END), 0, NULL },
	{ "chunked in capitals", TEXT(POST "TRANSFER-ENCODING: Chunked\r\n" END), 0, NULL },
	{ "length, then coding",
	  TEXT(POST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n" END), 400,
	  "bad_framing" },
	{ "coding, then length",
	  TEXT(POST "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n" END), 400,
	  "bad_framing" },
	{ "equal lengths", TEXT(POST "Content-Length: 1\r\nContent-Length: 1\r\n" END), 400,
	  "bad_framing" },
	{ "different lengths", TEXT(POST "Content-Length: 1\r\nContent-Length: 2\r\n" END), 400,
	  "bad_framing" },
	{ "a list of lengths", TEXT(POST "Content-Length: 1, 1\r\n" END), 400, "bad_framing" },
	{ "no length", TEXT(POST "Content-Length:\r\n" END), 400, "bad_framing" },
	{ "signed length", TEXT(POST "Content-Length: +1\r\n" END), 400, "bad_framing" },
	{ "negative length", TEXT(POST "Content-Length: -1\r\n" END), 400, "bad_framing" },
	{ "hexadecimal length", TEXT(POST "Content-Length: 0x1\r\n" END), 400, "bad_framing" },
	{ "length with a blank", TEXT(POST "Content-Length: 1 1\r\n" END), 400, "bad_framing" },
	{ "tab behind the length", TEXT(POST "Content-Length: 1 \t\r\n" END), 400, "bad_framing" },
	{ "blanks around the length", TEXT(POST "Content-Length:  1  \r\n" END), 0, NULL },
	{ "tab behind the coding", TEXT(POST "Transfer-Encoding: chunked\t\r\n" END), 400,
	  "bad_framing" },
	{ "length of 18 digits", TEXT(POST "Content-Length: 999999999999999999\r\n" END), 0, NULL },
	{ "length that overflows", TEXT(POST "Content-Length: 18446744073709551617\r\n" END), 400,
	  "bad_framing" },
	{ "chunked in 1.0",
	  TEXT("POST http://a.example/ HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n" END),
	  400, "bad_framing" },
	{ "gzip", TEXT(POST "Transfer-Encoding: gzip\r\n" END), 400, "bad_framing" },
	{ "gzip, chunked", TEXT(POST "Transfer-Encoding: gzip, chunked\r\n" END), 400,
	  "bad_framing" },
	{ "chunked, identity", TEXT(POST "Transfer-Encoding: chunked, identity\r\n" END), 400,
	  "bad_framing" },
	{ "chunked twice",
	  TEXT(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n" END), 400,
	  "bad_framing" },
	{ "xchunked", TEXT(POST "Transfer-Encoding: xchunked\r\n" END), 400, "bad_framing" },
	{ "vertical tab before chunked",
	  TEXT(POST "Transfer-Encoding: \x0b"
		    "chunked\r\n" END),
	  400, "bad_header" },
	{ "Connection names the length",
	  TEXT(POST "Content-Length: 1\r\nConnection: content-length\r\n" END), 400,
	  "bad_framing" },
	{ "Connection names Host", TEXT(POST "Connection: close, Host\r\n" END), 400,
	  "bad_framing" },
	{ "Connection names another", TEXT(POST "Connection: close, X\r\n" END), 0, NULL },
	{ "Connection with a non-token", TEXT(POST "Connection: a b\r\n" END), 400, "bad_header" },
};

static const struct row responses[] = {
	{ "200", TEXT("HTTP/1.1 200 OK\r\n" END), 0, NULL },
	{ "no reason", TEXT("HTTP/1.1 200 \r\n" END), 0, NULL },
	{ "no blank and reason", TEXT("HTTP/1.1 200\r\n" END), 0, NULL },
	{ "1.0", TEXT("HTTP/1.0 200 OK\r\nContent-Length: 3\r\n" END), 0, NULL },
	{ "two digits", TEXT("HTTP/1.1 20 OK\r\n" END), 502, "bad_status_line" },
	{ "four digits", TEXT("HTTP/1.1 2000 OK\r\n" END), 502, "bad_status_line" },
	{ "below 100", TEXT("HTTP/1.1 099 OK\r\n" END), 502, "bad_status_line" },
	{ "version 2", TEXT("HTTP/2 200 OK\r\nX: yyyyyyy\r\n" END), 502, "bad_status_line" },
	{ "control in the reason", TEXT("HTTP/1.1 200 O\x01K\r\n" END), 502, "bad_status_line" },
	{ "not HTTP", TEXT("SSH-2.0-OpenSSH_9.2p1\r\n\r\n"), 502, "bad_status_line" },
	{ "two lengths", TEXT("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n" END),
	  502, "bad_framing" },
	{ "length and coding",
	  TEXT("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n" END), 502,
	  "bad_framing" },
	{ "folded", TEXT("HTTP/1.1 200 OK\r\nX: a\r\n b\r\n" END), 502, "obs_fold" },
};

static void judges_lines(void **state)
{
	(void)state;
	KODA_EACH(row, lines)
		check_row(row, false);
	KODA_EACH(row, request_lines)
		check_row(row, false);
}

static void judges_targets(void **state)
{
	(void)state;
	KODA_EACH(row, targets)
		check_row(row, false);
	KODA_EACH(row, hosts)
		check_row(row, false);
}

static void judges_framing(void **state)
{
	(void)state;
	KODA_EACH(row, framings)
		check_row(row, false);
	KODA_EACH(row, responses)
		check_row(row, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(judges_lines),
		cmocka_unit_test(judges_targets),
		cmocka_unit_test(judges_framing),
	};

	return KODA_TEST_RUN(tests);
}
