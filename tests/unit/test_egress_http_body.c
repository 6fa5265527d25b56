/* SPDX-License-Identifier: MIT */
/* T-70. Where bodies end, however their bytes are cut into pieces. */
#include "koda_test.h"

#include "base/buf.h"
#include "http_body.h"

#define TEXT(literal) (literal), sizeof(literal) - 1

struct outcome {
	enum egress_parse parse;
	size_t used;
	bool may_end;
};

static struct outcome feed(enum egress_framing framing, uint64_t length, const char *text,
			   size_t len, size_t cut, size_t step)
{
	struct outcome outcome = { .parse = EGRESS_MORE };
	struct egress_body body;
	size_t end = cut;

	egress_body_init(&body, framing, length);
	for (;;) {
		size_t used = 0;

		outcome.parse = egress_body_feed(
			&body, (struct koda_span){ text + outcome.used, end - outcome.used },
			&used);
		outcome.used += used;
		assert_true(outcome.used <= end);
		if (outcome.parse != EGRESS_MORE)
			break;
		assert_int_equal(outcome.used, end);
		if (end == len)
			break;
		end = end + step < len ? end + step : len;
	}
	outcome.may_end = egress_body_may_end(&body);
	return outcome;
}

static bool same(struct outcome a, struct outcome b)
{
	return a.parse == b.parse && a.used == b.used && a.may_end == b.may_end;
}

static struct outcome feed_all_ways(const char *name, enum egress_framing framing, uint64_t length,
				    const char *text, size_t len)
{
	struct outcome whole = feed(framing, length, text, len, len, 1);

	KODA_EXPECT(name, same(whole, feed(framing, length, text, len, 0, 1)));
	for (size_t cut = 0; cut <= len; cut++)
		KODA_EXPECT(name, same(whole, feed(framing, length, text, len, cut, len)));
	return whole;
}

static const struct {
	const char *name;
	const char *text;
	size_t len;
	enum egress_parse parse;
	size_t used;
} chunked[] = {
	{ "empty", TEXT("0\r\n\r\nNEXT"), EGRESS_DONE, 5 },
	{ "one chunk", TEXT("3\r\nabc\r\n0\r\n\r\nNEXT"), EGRESS_DONE, 13 },
	{ "hexadecimal size", TEXT("00A\r\n0123456789\r\n0\r\n\r\n"), EGRESS_DONE, 22 },
	{ "many zeros", TEXT("0000000000000000\r\n\r\n"), EGRESS_DONE, 20 },
	{ "too many zeros", TEXT("00000000000000000\r\n\r\n"), EGRESS_BAD, 16 },
	{ "largest size", TEXT("3ffffffffffffff\r\nx"), EGRESS_MORE, 18 },
	{ "size that overflows", TEXT("fffffffffffffffff\r\n"), EGRESS_BAD, 15 },
	{ "extension", TEXT("3;a=b;c=\"d e\"\r\nabc\r\n0;x\r\n\r\n"), EGRESS_DONE, 27 },
	{ "extension with a bare LF", TEXT("3;a\nabc\r\n"), EGRESS_BAD, 3 },
	{ "extension with a bare CR", TEXT("3;a\rb\r\n"), EGRESS_BAD, 4 },
	{ "extension with a control", TEXT("3;a\0\r\n"), EGRESS_BAD, 3 },
	{ "blank after the size", TEXT("3 \r\nabc\r\n"), EGRESS_BAD, 1 },
	{ "blank before the size", TEXT(" 3\r\nabc\r\n"), EGRESS_BAD, 0 },
	{ "0x", TEXT("0x3\r\nabc\r\n"), EGRESS_BAD, 1 },
	{ "sign", TEXT("+3\r\nabc\r\n"), EGRESS_BAD, 0 },
	{ "no size", TEXT("\r\nabc\r\n"), EGRESS_BAD, 0 },
	{ "bare LF after the size", TEXT("3\nabc\r\n"), EGRESS_BAD, 1 },
	{ "bare CR after the size", TEXT("3\rabc\r\n"), EGRESS_BAD, 2 },
	{ "bare LF after the chunk", TEXT("3\r\nabc\n0\r\n\r\n"), EGRESS_BAD, 6 },
	{ "chunk longer than its size", TEXT("3\r\nabcd\r\n"), EGRESS_BAD, 6 },
	{ "trailer", TEXT("0\r\nX-Sum: 1\r\nY:\r\n\r\nNEXT"), EGRESS_DONE, 19 },
	{ "trailer without name", TEXT("0\r\n: 1\r\n\r\n"), EGRESS_BAD, 3 },
	{ "folded trailer", TEXT("0\r\nX: 1\r\n 2\r\n\r\n"), EGRESS_BAD, 9 },
	{ "trailer with bare LF", TEXT("0\r\nX: 1\n\r\n"), EGRESS_BAD, 7 },
	{ "trailer without colon", TEXT("0\r\nX\r\n\r\n"), EGRESS_BAD, 4 },
	{ "bare LF at the end", TEXT("0\r\n\n"), EGRESS_BAD, 3 },
	{ "length as a trailer", TEXT("0\r\nContent-Length: 1\r\n\r\n"), EGRESS_BAD, 17 },
	{ "coding as a trailer", TEXT("0\r\nTransfer-Encoding: x\r\n\r\n"), EGRESS_BAD, 20 },
	{ "Host as a trailer", TEXT("0\r\nhOst: x\r\n\r\n"), EGRESS_BAD, 7 },
	{ "not complete", TEXT("3\r\nab"), EGRESS_MORE, 5 },
};

static void reads_chunks(void **state)
{
	(void)state;
	KODA_EACH(row, chunked) {
		struct outcome got =
			feed_all_ways(row->name, EGRESS_BODY_CHUNKED, 0, row->text, row->len);

		if (got.parse != row->parse || got.used != row->used)
			fail_msg("%s: %d after %zu, expected %d after %zu", row->name, got.parse,
				 got.used, row->parse, row->used);
		KODA_EXPECT(row->name, got.may_end == (row->parse == EGRESS_DONE));
	}
}

/* The bounds on what is not data: reached, and passed by one byte. */
static void bounds_overhead(void **state)
{
	char text[EGRESS_TRAILER_MAX + 64];
	size_t len;

	(void)state;
	for (size_t over = 0; over < 2; over++) {
		size_t ext = EGRESS_CHUNK_EXT_MAX - 1 + over;

		memset(text, 'x', sizeof(text));
		memcpy(text, "0;", 2);
		memcpy(text + 2 + ext, "\r\n\r\n", 4);
		assert_int_equal(feed(EGRESS_BODY_CHUNKED, 0, text, 6 + ext, 6 + ext, 1).parse,
				 over ? EGRESS_BAD : EGRESS_DONE);

		memset(text, 'x', sizeof(text));
		memcpy(text, "0\r\n", 3);
		text[3 + EGRESS_TRAILER_NAME + over] = ':';
		len = 3 + EGRESS_TRAILER_NAME + over + 1;
		memcpy(text + len, "\r\n\r\n", 4);
		assert_int_equal(feed(EGRESS_BODY_CHUNKED, 0, text, len + 4, len + 4, 1).parse,
				 over ? EGRESS_BAD : EGRESS_DONE);

		/* The CR of the empty line counts too, line feeds do not. */
		memset(text, 'x', sizeof(text));
		memcpy(text, "0\r\nX:", 5);
		len = 3 + EGRESS_TRAILER_MAX - 2 + over;
		memcpy(text + len, "\r\n\r\n", 4);
		assert_int_equal(feed(EGRESS_BODY_CHUNKED, 0, text, len + 4, len + 4, 1).parse,
				 over ? EGRESS_BAD : EGRESS_DONE);
	}
}

static void reads_lengths(void **state)
{
	struct outcome got;

	(void)state;
	got = feed_all_ways("length", EGRESS_BODY_LENGTH, 3, TEXT("abcNEXT"));
	assert_true(got.parse == EGRESS_DONE && got.used == 3 && got.may_end);
	got = feed_all_ways("short", EGRESS_BODY_LENGTH, 3, TEXT("ab"));
	assert_true(got.parse == EGRESS_MORE && got.used == 2 && !got.may_end);
	got = feed_all_ways("zero", EGRESS_BODY_LENGTH, 0, TEXT("NEXT"));
	assert_true(got.parse == EGRESS_DONE && got.used == 0 && got.may_end);
	got = feed_all_ways("none", EGRESS_BODY_NONE, 0, TEXT("NEXT"));
	assert_true(got.parse == EGRESS_DONE && got.used == 0 && got.may_end);
	got = feed_all_ways("until close", EGRESS_BODY_CLOSE, 0, TEXT("all\r\n\r\n of it"));
	assert_true(got.parse == EGRESS_MORE && got.used == 13 && got.may_end);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_chunks),
		cmocka_unit_test(bounds_overhead),
		cmocka_unit_test(reads_lengths),
	};

	return KODA_TEST_RUN(tests);
}
