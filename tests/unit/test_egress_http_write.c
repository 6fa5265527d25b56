/* SPDX-License-Identifier: MIT */
/* T-70. What was understood of a head, its limits, and what of it goes to the next hop. */
#include "koda_test.h"

#include "base/buf.h"
#include "proto/http_head.h"

#define CEILING (EGRESS_HEAD_MAX + EGRESS_HEAD_EXTRA)

static void read_request(const char *text, struct egress_head *head)
{
	struct egress_refusal why;

	if (!egress_head_request(koda_span_of(text), head, &why))
		fail_msg("refused: %s: %s", why.code, text);
}

static void understands_requests(void **state)
{
	struct egress_head head;

	(void)state;
	read_request("POST http://A.Example:8080/p?q HTTP/1.1\r\nHost: a.example:8080\r\n"
		     "Content-Length: 007\r\nExpect: 100-Continue\r\nX-Y:  z \r\n\r\n",
		     &head);
	KODA_ASSERT_SPAN(head.method, "POST");
	KODA_ASSERT_SPAN(head.path, "/p?q");
	assert_string_equal(head.host.name, "a.example");
	assert_int_equal(head.port, 8080);
	assert_int_equal(head.form, EGRESS_FORM_ABSOLUTE);
	assert_int_equal(head.framing, EGRESS_BODY_LENGTH);
	assert_int_equal(head.length, 7);
	assert_true(head.expect && !head.close && !head.upgrade && !head.tls);
	assert_int_equal(head.count, 4);
	KODA_ASSERT_SPAN(head.headers[3].value, "z");
	read_request("CONNECT [::ffff:1.2.3.4]:443 HTTP/1.0\r\n\r\n", &head);
	assert_int_equal(head.form, EGRESS_FORM_AUTHORITY);
	assert_true(head.host.is_addr && head.host.addr.family == 4 && head.close);
	read_request("GET / HTTP/1.1\r\nHost: x.example\r\n\r\n", &head);
	assert_true(head.has_host && head.port == 0);
	read_request("GET / HTTP/1.0\r\n\r\n", &head);
	assert_false(head.has_host);
}

static const struct {
	const char *name;
	const char *in;
	bool proxy;
	bool close;
	const char *out;
} requests[] = {
	{ "origin form, one Host, port left out",
	  "GET http://A.example:80/p?q HTTP/1.1\r\nX: 1\r\nHost: a.EXAMPLE\r\nY: 2\r\n\r\n", false,
	  false, "GET /p?q HTTP/1.1\r\nHost: a.example\r\nX: 1\r\nY: 2\r\n\r\n" },
	{ "no path", "GET http://a.example:81 HTTP/1.1\r\nHost: a.example:81\r\n\r\n", false, false,
	  "GET / HTTP/1.1\r\nHost: a.example:81\r\n\r\n" },
	{ "query only", "GET http://a.example?q HTTP/1.1\r\nHost: a.example\r\n\r\n", false, false,
	  "GET /?q HTTP/1.1\r\nHost: a.example\r\n\r\n" },
	{ "OPTIONS for the whole server",
	  "OPTIONS http://a.example HTTP/1.1\r\nHost: a.example\r\n\r\n", false, false,
	  "OPTIONS * HTTP/1.1\r\nHost: a.example\r\n\r\n" },
	{ "hop-by-hop headers",
	  "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nConnection: keep-alive, X-Hop\r\n"
	  "Keep-Alive: 5\r\nProxy-Connection: keep-alive\r\nProxy-Authorization: Basic eA==\r\n"
	  "Proxy-Authenticate: x\r\nTE: trailers\r\nTrailer: x\r\nx-HOP: 1\r\nX-End: 2\r\n"
	  "Upgrade: websocket\r\nHTTP2-Settings: x\r\n\r\n",
	  false, false, "GET / HTTP/1.1\r\nHost: a.example\r\nX-End: 2\r\n\r\n" },
	{ "upgrade",
	  "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade\r\n"
	  "Upgrade: websocket\r\nSec-WebSocket-Key: k\r\n\r\n",
	  false, false,
	  "GET / HTTP/1.1\r\nHost: a.example\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\n"
	  "Connection: Upgrade\r\n\r\n" },
	{ "no upgrade to HTTP/2",
	  "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n"
	  "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n",
	  false, false, "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n" },
	{ "no upgrade to HTTP/2 behind another",
	  "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade\r\n"
	  "Upgrade: websocket, H2C\r\n\r\n",
	  false, false, "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n" },
	{ "length anew",
	  "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\ncontent-length: 0012\r\n\r\n",
	  false, true,
	  "POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 12\r\nConnection: close\r\n\r\n" },
	{ "coding anew",
	  "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\ntransfer-encoding: "
	  "CHUNKED\r\n\r\n",
	  false, false,
	  "POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n" },
	{ "upstream proxy", "GET http://[::1]:81/p HTTP/1.1\r\nHost: [0:0::1]:81\r\n\r\n", true,
	  false,
	  "GET http://[::1]:81/p HTTP/1.1\r\nHost: [::1]:81\r\n"
	  "Proxy-Authorization: Basic dTpw\r\n\r\n" },
	{ "upstream proxy, OPTIONS", "OPTIONS http://a.example HTTP/1.1\r\nHost: a.example\r\n\r\n",
	  true, false,
	  "OPTIONS http://a.example/ HTTP/1.1\r\nHost: a.example\r\n"
	  "Proxy-Authorization: Basic dTpw\r\n\r\n" },
	{ "1.0", "GET http://a.example/ HTTP/1.0\r\n\r\n", false, true,
	  "GET / HTTP/1.0\r\nHost: a.example\r\nConnection: close\r\n\r\n" },
};

static void writes_requests(void **state)
{
	(void)state;
	KODA_EACH(row, requests) {
		koda_auto_buf struct koda_buf out = KODA_BUF_INIT(CEILING);
		struct egress_route route = { row->proxy, koda_span_of("Basic dTpw") };
		struct egress_head head;

		read_request(row->in, &head);
		assert_int_equal(egress_head_write_request(&head, &route, row->close, &out), 0);
		if (!koda_span_is(koda_buf_span(&out), row->out))
			fail_msg("%s: %s", row->name, out.ptr);
	}
}

static const struct {
	const char *in;
	bool to_head;
	bool close;
	enum egress_framing framing;
	const char *out;
} responses[] = {
	{ "HTTP/1.0 200 Fine\r\nContent-Length: 5\r\nConnection: x\r\nX: 1\r\n\r\n", false, false,
	  EGRESS_BODY_LENGTH, "HTTP/1.1 200 Fine\r\nContent-Length: 5\r\n\r\n" },
	{ "HTTP/1.1 200\r\nKeep-Alive: 5\r\n\r\n", false, true, EGRESS_BODY_CLOSE,
	  "HTTP/1.1 200 \r\nConnection: close\r\n\r\n" },
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", true, false, EGRESS_BODY_NONE,
	  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" },
	{ "HTTP/1.1 204 None\r\nContent-Length: 5\r\n\r\n", false, false, EGRESS_BODY_NONE,
	  "HTTP/1.1 204 None\r\n\r\n" },
	{ "HTTP/1.1 304 Same\r\nContent-Length: 5\r\n\r\n", false, false, EGRESS_BODY_NONE,
	  "HTTP/1.1 304 Same\r\nContent-Length: 5\r\n\r\n" },
	{ "HTTP/1.1 100 Go on\r\nTransfer-Encoding: chunked\r\n\r\n", false, false,
	  EGRESS_BODY_NONE, "HTTP/1.1 100 Go on\r\n\r\n" },
	{ "HTTP/1.1 101 Yes\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n", false, false,
	  EGRESS_BODY_NONE,
	  "HTTP/1.1 101 Yes\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n" },
	{ "HTTP/1.1 426 No\r\nConnection: upgrade\r\nUpgrade: websocket\r\nContent-Length: "
	  "0\r\n\r\n",
	  false, true, EGRESS_BODY_LENGTH,
	  "HTTP/1.1 426 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" },
};

static void writes_responses(void **state)
{
	(void)state;
	KODA_EACH(row, responses) {
		koda_auto_buf struct koda_buf out = KODA_BUF_INIT(CEILING);
		struct egress_refusal why;
		struct egress_head head;

		KODA_EXPECT(row->in, egress_head_response(koda_span_of(row->in), &head, &why));
		KODA_EXPECT(row->in,
			    egress_head_response_body(&head, row->to_head) == row->framing);
		assert_int_equal(egress_head_write_response(&head, row->close, &out), 0);
		if (!koda_span_is(koda_buf_span(&out), row->out))
			fail_msg("%s: %s", row->in, out.ptr);
	}
}

/* A head with this many header lines, the last of them padded up to size bytes in all. */
static void build(struct koda_buf *out, size_t headers, size_t size)
{
	const char *first = "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n";

	assert_int_equal(koda_buf_add(out, first, strlen(first)), 0);
	for (size_t i = 1; i < headers; i++)
		assert_int_equal(koda_buf_add(out, "X: y\r\n", 6), 0);
	if (size) {
		out->len -= 2;
		while (out->len + 4 < size)
			assert_int_equal(koda_buf_add(out, "z", 1), 0);
		assert_int_equal(koda_buf_add(out, "\r\n", 2), 0);
	}
	assert_int_equal(koda_buf_add(out, "\r\n", 2), 0);
}

static void holds_limits(void **state)
{
	static const struct {
		size_t headers;
		size_t size;
		const char *code; /* NULL: accepted */
	} rows[] = {
		{ EGRESS_HEADERS_MAX, 0, NULL },
		{ EGRESS_HEADERS_MAX + 1, 0, "too_many_headers" },
		{ 2, EGRESS_HEAD_MAX, NULL },
		{ 2, EGRESS_HEAD_MAX + 1, "head_too_large" },
		{ 2, EGRESS_HEAD_MAX + 5, "head_too_large" },
	};

	(void)state;
	KODA_EACH(row, rows) {
		koda_auto_buf struct koda_buf text = KODA_BUF_INIT(2 * EGRESS_HEAD_MAX);
		koda_auto_buf struct koda_buf out = KODA_BUF_INIT(CEILING);
		struct egress_route route = { 0 };
		struct egress_head_scan scan = { 0 };
		struct egress_refusal why = { 0 };
		struct egress_head head;
		size_t len = 0;
		enum egress_parse parse;

		build(&text, row->headers, row->size);
		if (row->size)
			assert_int_equal(text.len, row->size);
		parse = egress_head_find(&scan, koda_buf_span(&text), &len, &why);
		if (row->code) {
			assert_int_equal(parse, EGRESS_BAD);
			assert_int_equal(why.status, 431);
			assert_string_equal(why.code, row->code);
			continue;
		}
		assert_int_equal(parse, EGRESS_DONE);
		assert_int_equal(len, text.len);
		assert_true(egress_head_request(koda_buf_span(&text), &head, &why));
		assert_int_equal(head.count, row->headers);
		assert_int_equal(egress_head_write_request(&head, &route, false, &out), 0);
	}
}

/* Connection may name a few headers, not thousands: each is looked for in all the others. */
static void bounds_connection(void **state)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(EGRESS_HEAD_MAX);
	struct egress_refusal why;
	struct egress_head head;

	(void)state;
	assert_int_equal(koda_buf_addf(&text, "GET / HTTP/1.1\r\nHost: a.example\r\nConnection: a"),
			 0);
	for (int i = 0; i < 10000; i++)
		assert_int_equal(koda_buf_add(&text, ",b", 2), 0);
	assert_int_equal(koda_buf_add(&text, "\r\n\r\n", 4), 0);
	assert_false(egress_head_request(koda_buf_span(&text), &head, &why));
	assert_string_equal(why.code, "bad_header");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(understands_requests), cmocka_unit_test(writes_requests),
		cmocka_unit_test(writes_responses),     cmocka_unit_test(holds_limits),
		cmocka_unit_test(bounds_connection),
	};

	return KODA_TEST_RUN(tests);
}
