/* SPDX-License-Identifier: MIT */
/* T-70. Where bodies end, however their bytes are cut into pieces. */
#include "koda_test.h"

#include "base/buf.h"
#include "proto/http_body.h"

#define TEXT(literal) (literal), sizeof(literal) - 1

struct outcome {
	enum egress_parse parse;
	size_t used;
	bool may_end;
	char data[256]; /* payload that was given out */
	size_t len;
};

/* A refusal, and an end, is final: whatever comes now, again or anew, is not looked at. */
static void feed_on(struct egress_body *body, const struct outcome *outcome, const char *text,
		    size_t len)
{
	const char *const offers[] = { text, text + outcome->used, "0\r\n\r\n", "\n", "\r\n", "X" };
	size_t offered[] = { len, len - outcome->used, 5, 1, 2, 1 };

	for (size_t i = 0; i < KODA_ARRAY_LEN(offers); i++) {
		struct koda_span in = { offers[i], offered[i] };
		struct koda_span data;

		assert_int_equal(egress_body_read(body, &in, SIZE_MAX, &data), outcome->parse);
		assert_true(in.ptr == offers[i] && in.len == offered[i] && data.len == 0);
	}
	assert_int_equal(egress_body_may_end(body), outcome->may_end);
}

/* The first piece is cut bytes long, the others step. */
static struct outcome feed(enum egress_framing framing, uint64_t length, const char *text,
			   size_t len, size_t cut, size_t step)
{
	struct outcome outcome = { .parse = EGRESS_MORE };
	struct egress_body body;
	size_t end = cut;

	egress_body_init(&body, framing, length);
	for (;;) {
		struct koda_span in = { text + outcome.used, end - outcome.used };
		struct koda_span data;

		outcome.parse = egress_body_read(&body, &in, step, &data);
		assert_true(data.len <= step);
		if (data.len && outcome.len + data.len <= sizeof(outcome.data))
			memcpy(outcome.data + outcome.len, data.ptr, data.len);
		outcome.len += data.len;
		outcome.used = end - in.len;
		if (outcome.parse != EGRESS_MORE)
			break;
		if (in.len > 0) {
			assert_true(data.len > 0);
			continue;
		}
		if (end == len)
			break;
		end = end + step < len ? end + step : len;
	}
	outcome.may_end = egress_body_may_end(&body);
	if (outcome.parse != EGRESS_MORE)
		feed_on(&body, &outcome, text, len);
	return outcome;
}

static bool same(struct outcome a, struct outcome b)
{
	return a.parse == b.parse && a.used == b.used && a.may_end == b.may_end && a.len == b.len &&
	       memcmp(a.data, b.data, a.len) == 0;
}

/* Whole, byte by byte, and in two pieces wherever they may be cut. */
static struct outcome feed_all_ways(const char *name, enum egress_framing framing, uint64_t length,
				    const char *text, size_t len)
{
	struct outcome whole = feed(framing, length, text, len, len, len);

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
	{ "bare CR after the chunk", TEXT("3\r\nabc\r0\r\n\r\n"), EGRESS_BAD, 7 },
	{ "another byte after the chunk", TEXT("3\r\nabcX\n0\r\n\r\n"), EGRESS_BAD, 6 },
	{ "extension that ends in CR", TEXT("5;\rX\r\nabcde\r\n0\r\n\r\n"), EGRESS_BAD, 3 },
	{ "bare CR at the end", TEXT("0\r\n\rX"), EGRESS_BAD, 4 },
	{ "bare CR after a trailer", TEXT("0\r\nX: 1\rY: 2\r\n\r\n"), EGRESS_BAD, 8 },
	{ "connection as a trailer", TEXT("0\r\nConnection: x\r\n\r\n"), EGRESS_BAD, 13 },
	{ "blank before a trailer's colon", TEXT("0\r\nX : 1\r\n\r\n"), EGRESS_BAD, 4 },
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

static struct koda_span rechunk(struct egress_body *body, const char *text, size_t most,
				char *block, enum egress_parse wanted)
{
	struct koda_span in = koda_span_of(text);
	struct koda_span chunk;
	size_t len;

	assert_int_equal(egress_body_rechunk(body, &in, most, block, &chunk, &len), wanted);
	assert_true(chunk.ptr >= block && len <= most &&
		    chunk.ptr + chunk.len <= block + most + EGRESS_BLOCK_EXTRA);
	return chunk;
}

/* What goes on is framed by us: runs are joined, sizes are written anew, extensions and trailers
 * are gone, and of input with a mistake in it nothing goes on. */
static void writes_chunks(void **state)
{
	char block[64 + EGRESS_BLOCK_EXTRA];
	struct egress_body body;

	(void)state;
	egress_body_init(&body, EGRESS_BODY_CHUNKED, 0);
	assert_true(koda_span_is(
		rechunk(&body, "003;x=y\r\nabc\r\n00010\r\n0123456789abc", 64, block, EGRESS_MORE),
		"10\r\nabc0123456789abc\r\n"));
	assert_true(
		koda_span_is(rechunk(&body, "def\r\n", 64, block, EGRESS_MORE), "3\r\ndef\r\n"));
	assert_int_equal(rechunk(&body, "0", 64, block, EGRESS_MORE).len, 0);
	assert_int_equal(rechunk(&body, "\r\nX-Sum: 1\r\n\r", 64, block, EGRESS_MORE).len, 0);
	assert_true(koda_span_is(rechunk(&body, "\nNEXT", 64, block, EGRESS_DONE), "0\r\n\r\n"));
	assert_int_equal(rechunk(&body, "NEXT", 64, block, EGRESS_DONE).len, 0);

	egress_body_init(&body, EGRESS_BODY_CHUNKED, 0);
	assert_true(
		koda_span_is(rechunk(&body, "a\r\n0123456789\r\n0\r\n\r\n", 4, block, EGRESS_MORE),
			     "4\r\n0123\r\n"));
	assert_int_equal(rechunk(&body, "456789\rX", 64, block, EGRESS_BAD).len, 0);
	assert_int_equal(rechunk(&body, "\n0\r\n\r\n", 64, block, EGRESS_BAD).len, 0);
	assert_int_equal(rechunk(&body, "", 64, block, EGRESS_BAD).len, 0);
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
		cmocka_unit_test(writes_chunks),
		cmocka_unit_test(bounds_overhead),
		cmocka_unit_test(reads_lengths),
	};

	return KODA_TEST_RUN(tests);
}
