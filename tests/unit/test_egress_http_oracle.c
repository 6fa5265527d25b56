/* SPDX-License-Identifier: MIT */
/* T-70. A second opinion: whatever our parser accepts, http-parser accepts as well, and it sees the
 * same method, target, headers and framing. Requests are made from a grammar with mistakes. And of
 * bodies that go through an exchange it sees one message with their payload, or one without end. */
#include "koda_test.h"

#define RIG_CHECK(condition) KODA_EXPECT("rig", condition)
#include "../lib/bodies.h"
#include "../lib/exchange_rig.h"

#include "base/buf.h"
#include "proto/http_head.h"

#include <http_parser.h>
#include <strings.h>

#define ROUNDS 200000
/* So many have to be accepted, or the comparison says nothing. */
#define ACCEPTED_MIN (ROUNDS / 20)

struct seen {
	struct koda_buf target;
	struct koda_buf names[EGRESS_HEADERS_MAX];
	struct koda_buf values[EGRESS_HEADERS_MAX];
	size_t count;
	bool in_value;
	bool complete;
	uint64_t content_length;
	bool chunked;
	int method;
	int minor;
	bool upgrade;
};

static void append(struct koda_buf *buf, const char *at, size_t len)
{
	buf->max = EGRESS_HEAD_MAX;
	assert_int_equal(koda_buf_add(buf, at, len), 0);
}

static int on_url(http_parser *parser, const char *at, size_t len)
{
	struct seen *seen = parser->data;

	append(&seen->target, at, len);
	return 0;
}

static int on_field(http_parser *parser, const char *at, size_t len)
{
	struct seen *seen = parser->data;

	if (seen->in_value || seen->count == 0) {
		seen->count++;
		seen->in_value = false;
	}
	append(&seen->names[seen->count - 1], at, len);
	return 0;
}

static int on_value(http_parser *parser, const char *at, size_t len)
{
	struct seen *seen = parser->data;

	seen->in_value = true;
	append(&seen->values[seen->count - 1], at, len);
	return 0;
}

static int on_headers_complete(http_parser *parser)
{
	struct seen *seen = parser->data;

	seen->complete = true;
	seen->content_length = parser->content_length;
	seen->chunked = (parser->flags & F_CHUNKED) != 0;
	seen->method = (int)parser->method;
	seen->minor = parser->http_minor;
	return 0;
}

static void seen_clear(struct seen *seen)
{
	koda_buf_clear(&seen->target);
	for (size_t i = 0; i < seen->count; i++) {
		koda_buf_clear(&seen->names[i]);
		koda_buf_clear(&seen->values[i]);
	}
}

static bool same_text(const struct koda_buf *buf, struct koda_span span)
{
	struct koda_span theirs = koda_buf_span(buf);

	/* It leaves blanks at the end of a value where they are. */
	while (theirs.len &&
	       (theirs.ptr[theirs.len - 1] == ' ' || theirs.ptr[theirs.len - 1] == '\t'))
		theirs.len--;
	return koda_span_eq(theirs, span);
}

static void compare(const struct egress_head *head, struct koda_span text)
{
	static const http_parser_settings settings = {
		.on_url = on_url,
		.on_header_field = on_field,
		.on_header_value = on_value,
		.on_headers_complete = on_headers_complete,
	};
	struct seen seen = { .count = 0 };
	const char *shown = text.ptr;
	http_parser parser;

	http_parser_init(&parser, HTTP_REQUEST);
	parser.data = &seen;
	(void)http_parser_execute(&parser, &settings, text.ptr, text.len);
	KODA_EXPECT(shown, HTTP_PARSER_ERRNO(&parser) == HPE_OK && seen.complete);
	KODA_EXPECT(shown,
		    koda_span_is(head->method, http_method_str((enum http_method)seen.method)));
	KODA_EXPECT(shown, koda_span_eq(koda_buf_span(&seen.target), head->target));
	KODA_EXPECT(shown, seen.minor == (int)head->minor && seen.count == head->count);
	for (size_t i = 0; i < seen.count; i++) {
		KODA_EXPECT(shown,
			    koda_span_eq(koda_buf_span(&seen.names[i]), head->headers[i].name));
		KODA_EXPECT(shown, same_text(&seen.values[i], head->headers[i].value));
	}
	KODA_EXPECT(shown, seen.chunked == (head->framing == EGRESS_BODY_CHUNKED));
	/* No length is the largest number there. */
	KODA_EXPECT(shown,
		    (seen.content_length != UINT64_MAX) == (head->framing == EGRESS_BODY_LENGTH));
	if (head->framing == EGRESS_BODY_LENGTH)
		KODA_EXPECT(shown, seen.content_length == head->length);
	seen_clear(&seen);
}

/* One of the words, and now and then something else in its place. */
static void put(struct koda_rng *rng, struct koda_buf *out, const char *const *words, size_t count)
{
	static const char odd[] = "\r\n \t\0:;,\"\\\x7f\x80\xff#%@/[]{}()<>=?+-0Az";
	const char *word = words[koda_rng_below(rng, count)];

	for (; *word; word++) {
		if (koda_rng_one_in(rng, 400))
			append(out, odd + koda_rng_below(rng, sizeof(odd) - 1), 1);
		if (!koda_rng_one_in(rng, 800))
			append(out, word, 1);
	}
	out->max = EGRESS_HEAD_MAX;
}

#define PUT(words) put(rng, out, (words), sizeof(words) / sizeof((words)[0]))

static void make_request(struct koda_rng *rng, struct koda_buf *out)
{
	static const char *const methods[] = { "GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE" };
	static const char *const targets[] = {
		"http://a.example/",    "http://a.example/p?q=1", "/", "/x/%20y",
		"http://A.EXAMPLE:80/", "http://a.example",       "*", "http://[::1]/"
	};
	static const char *const versions[] = { "HTTP/1.1\r\n", "HTTP/1.1\r\n", "HTTP/1.0\r\n" };
	static const char *const host[] = { "Host: a.example\r\n", "host:a.example\r\n",
					    "Host: a.example:80 \r\n", "Host: [::1]\r\n" };
	static const char *const others[] = {
		"X: y\r\n",
		"Accept: */*\r\n",
		"Content-Length: 5\r\n",
		"Content-Length: 0\r\n",
		"Transfer-Encoding: chunked\r\n",
		"Transfer-Encoding: gzip, chunked\r\n",
		"Connection: close\r\n",
		"Connection: keep-alive, X\r\n",
		"Cookie: a=b; c=\"d\"\r\n",
		"Upgrade: websocket\r\n",
		"Empty:\r\n",
		"Blank:  \t x  \r\n",
		"Expect: 100-continue\r\n",
		"Host: a.example\r\n",
	};

	PUT(methods);
	append(out, " ", 1);
	PUT(targets);
	append(out, " ", 1);
	PUT(versions);
	PUT(host);
	for (size_t i = koda_rng_below(rng, 5); i > 0; i--)
		PUT(others);
	append(out, "\r\n", 3);
	out->len--; /* a terminator, for messages */
}

/* It refuses methods that it does not know. */
static bool is_known(struct koda_span method)
{
#define KNOWN(number, name, string)                                                                \
	if (koda_span_is(method, #string))                                                         \
		return true;
	HTTP_METHOD_MAP(KNOWN)
#undef KNOWN
	return false;
}

/* Its mistake: "Transfer-EncodingX" counts as Transfer-Encoding until the X. */
static bool is_misread(const struct egress_head *head)
{
	static const char name[] = "transfer-encoding";

	for (size_t i = 0; i < head->count; i++)
		if (head->headers[i].name.len > sizeof(name) - 1 &&
		    strncasecmp(head->headers[i].name.ptr, name, sizeof(name) - 1) == 0)
			return true;
	return false;
}

static void agrees_with_another_parser(void **state)
{
	struct koda_rng rng = koda_rng_new();
	size_t accepted = 0;

	(void)state;
	for (size_t i = 0; i < ROUNDS; i++) {
		koda_auto_buf struct koda_buf text = KODA_BUF_INIT(EGRESS_HEAD_MAX);
		struct egress_head_scan scan = { 0 };
		struct egress_refusal why;
		struct egress_head head;
		size_t len;

		make_request(&rng, &text);
		if (egress_head_find(&scan, koda_buf_span(&text), &len, &why) != EGRESS_DONE ||
		    !egress_head_request((struct koda_span){ text.ptr, len }, &head, &why))
			continue;
		if (!is_known(head.method) || is_misread(&head))
			continue;
		accepted++;
		compare(&head, (struct koda_span){ text.ptr, len });
	}
	printf("# %zu of %d accepted\n", accepted, ROUNDS);
	assert_true(accepted >= ACCEPTED_MIN);
}

#define POST "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n"

struct read {
	struct koda_buf payload;
	size_t begun;
	size_t complete;
};

static int on_begin(http_parser *parser)
{
	((struct read *)parser->data)->begun++;
	return 0;
}

static int on_body(http_parser *parser, const char *at, size_t len)
{
	append(&((struct read *)parser->data)->payload, at, len);
	return 0;
}

static int on_complete(http_parser *parser)
{
	((struct read *)parser->data)->complete++;
	return 0;
}

static void agrees_about_bodies(void **state)
{
	static const http_parser_settings settings = {
		.on_message_begin = on_begin,
		.on_body = on_body,
		.on_message_complete = on_complete,
	};
	static struct oracle_body want;
	char text[sizeof(POST) + BODY_MAX] = POST;
	char *body = text + sizeof(POST) - 1;
	size_t len;

	(void)state;
	for (size_t n = 0; bodies_get(n, body, &len); n++) {
		struct rig rig = { .client = { text, sizeof(POST) - 1 + len },
				   .client_closes = true,
				   .piece = n % 9 + 1,
				   .room = n % 7 + 1 };
		struct read read = { .begun = 0 };
		http_parser parser;

		rig_play(&rig);
		oracle_chunked(body, len, &want);
		http_parser_init(&parser, HTTP_REQUEST);
		parser.data = &read;
		(void)http_parser_execute(&parser, &settings, rig.to_origin.ptr, rig.to_origin.len);
		KODA_EXPECT(body, HTTP_PARSER_ERRNO(&parser) == HPE_OK && read.begun == 1);
		KODA_EXPECT(body, read.complete == (want.is == ORACLE_WHOLE));
		KODA_EXPECT(body, read.payload.len <= want.len);
		KODA_EXPECT(body, !read.complete || read.payload.len == want.len);
		KODA_EXPECT(body, read.payload.len == 0 || memcmp(read.payload.ptr, want.payload,
								  read.payload.len) == 0);
		koda_buf_clear(&read.payload);
		rig_clear(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(agrees_with_another_parser),
					    cmocka_unit_test(agrees_about_bodies) };

	return KODA_TEST_RUN(tests);
}
