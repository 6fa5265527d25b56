/* SPDX-License-Identifier: MIT */
/*
 * T-70. Bodies through a whole exchange, in both directions, however they are cut into pieces and
 * however little room there is. What goes on is framed by the proxy and has the payload that a
 * second reader sees; what is refused never becomes a whole message, and nothing behind it goes on.
 */
#include "koda_test.h"

#define RIG_CHECK(condition) KODA_EXPECT(rig_shown, condition)
static const char *rig_shown = "";

#include "../lib/bodies.h"
#include "../lib/exchange_rig.h"

#define POST   "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n"
#define GET    "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n"
#define ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define CHUNKS "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

static const struct {
	size_t piece;
	size_t room;
} ways[] = {
	{ SIZE_MAX, SIZE_MAX },
	{ 1, SIZE_MAX },
	{ SIZE_MAX, 1 },
	{ 1, 1 },
	{ 2, 3 },
	{ 7, 5 },
	{ 64, 17 },
};

static struct koda_span join(char *out, const char *head, const char *body, size_t len)
{
	memcpy(out, head, strlen(head));
	memcpy(out + strlen(head), body, len);
	return (struct koda_span){ out, strlen(head) + len };
}

/* What went on is a message whose payload is that of the body, or without cut a part of it. */
static void expect_payload(const char *text, size_t len, const struct oracle_body *want)
{
	static struct oracle_message got;

	oracle_message(text, len, &got);
	RIG_CHECK(got.head_len > 0 && got.body.is != ORACLE_BAD);
	RIG_CHECK((got.body.is == ORACLE_WHOLE) == (want->is == ORACLE_WHOLE));
	RIG_CHECK(want->is == ORACLE_WHOLE ? got.body.len == want->len : got.body.len <= want->len);
	RIG_CHECK(memcmp(got.body.payload, want->payload, got.body.len) == 0);
}

static void send_body(const char *body, size_t len, size_t piece, size_t room,
		      const struct oracle_body *want)
{
	char text[sizeof(POST) + BODY_MAX];
	struct rig rig = { .client = join(text, POST, body, len),
			   .client_closes = true,
			   .origin = koda_span_of(ANSWER),
			   .piece = piece,
			   .room = room };

	rig_play(&rig);
	RIG_CHECK(rig.over && rig.asked == 1 && rig.log_count >= 1);
	expect_payload(rig.to_origin.ptr, rig.to_origin.len, want);
	if (want->is == ORACLE_WHOLE) {
		RIG_CHECK(rig.answered == 1 && !rig.cut && !rig.logs[0].code);
		RIG_CHECK(rig.logs[0].status == 200 && rig.logs[0].sent == want->len);
	} else {
		RIG_CHECK(rig.answered == 0 && rig.cut && rig.log_count == 1);
		RIG_CHECK(rig.logs[0].status == 400 && rig.logs[0].code);
		RIG_CHECK(strcmp(rig.logs[0].code,
				 want->is == ORACLE_BAD ? "bad_chunk" : "truncated") == 0);
		RIG_CHECK(rig.logs[0].sent <= want->len);
		RIG_CHECK(memmem(rig.to_client.ptr, rig.to_client.len, "HTTP/1.1 400 ", 13));
	}
	rig_clear(&rig);
}

static void answer_body(const char *body, size_t len, size_t piece, size_t room,
			const struct oracle_body *want)
{
	char text[sizeof(CHUNKS) + BODY_MAX];
	struct rig rig = { .client = koda_span_of(GET),
			   .origin = join(text, CHUNKS, body, len),
			   .origin_closes = true,
			   .piece = piece,
			   .room = room };

	rig_play(&rig);
	RIG_CHECK(rig.asked == 1 && rig.answered == 1 && rig.log_count == 1);
	RIG_CHECK(rig.logs[0].status == 200 && !rig.cut && !rig.connected);
	expect_payload(rig.to_client.ptr, rig.to_client.len, want);
	RIG_CHECK((rig.logs[0].code == NULL) == (want->is == ORACLE_WHOLE));
	RIG_CHECK(rig.over == (want->is != ORACLE_WHOLE));
	/* What an origin says behind its answer is an answer to nothing. */
	RIG_CHECK(rig.to_client.len == 0 ||
		  !memmem(rig.to_client.ptr, rig.to_client.len, "HTTP/1.1 4", 10));
	rig_clear(&rig);
}

static void frames_bodies_anew(void **state)
{
	static struct oracle_body want;
	char body[BODY_MAX];
	size_t counts[3] = { 0 };
	size_t len;

	(void)state;
	for (size_t n = 0; bodies_get(n, body, &len); n++) {
		rig_shown = body;
		oracle_chunked(body, len, &want);
		counts[want.is]++;
		KODA_EACH(way, ways) {
			send_body(body, len, way->piece, way->room, &want);
			answer_body(body, len, way->piece, way->room, &want);
		}
	}
	printf("# %zu bad, %zu cut short, %zu whole\n", counts[ORACLE_BAD], counts[ORACLE_SHORT],
	       counts[ORACLE_WHOLE]);
	assert_true(counts[ORACLE_BAD] > 300 && counts[ORACLE_WHOLE] > 50);
}

/* Two pieces, cut at every place: the border is where a refusal could be forgotten. */
static void refuses_at_every_border(void **state)
{
	static struct oracle_body want;
	char body[BODY_MAX];
	size_t len;

	(void)state;
	for (size_t n = 0; n < sizeof(body_table) / sizeof(body_table[0]); n++) {
		(void)bodies_get(n, body, &len);
		rig_shown = body;
		oracle_chunked(body, len, &want);
		for (size_t cut = 1; cut < len; cut++) {
			send_body(body, len, sizeof(POST) - 1 + cut, SIZE_MAX, &want);
			answer_body(body, len, sizeof(CHUNKS) - 1 + cut, SIZE_MAX, &want);
		}
	}
}

/* Much goes on in chunks of a bounded size, whatever sizes the client has. */
static void bounds_chunks(void **state)
{
	static struct oracle_message got;
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(RIG_TEXT);
	struct rig rig = { .origin = koda_span_of(ANSWER), .piece = 40000, .room = SIZE_MAX };

	(void)state;
	rig_shown = "much";
	assert_int_equal(koda_buf_add(&text, POST "c350\r\n", sizeof(POST) - 1 + 6), 0);
	for (int i = 0; i < 50000; i++)
		assert_int_equal(koda_buf_add(&text, &"0123456789"[i % 10], 1), 0);
	assert_int_equal(koda_buf_add(&text, "\r\n0\r\n\r\n", 7), 0);
	rig.client = koda_buf_span(&text);
	rig_play(&rig);
	oracle_message(rig.to_origin.ptr, rig.to_origin.len, &got);
	assert_true(got.body.is == ORACLE_WHOLE && got.body.len == 50000);
	assert_memory_equal(got.body.payload, text.ptr + sizeof(POST) - 1 + 6, 50000);
	assert_memory_equal(rig.to_origin.ptr + got.head_len, "8000\r\n", 6);
	assert_true(rig.logs[0].status == 200 && rig.logs[0].sent == 50000);
	rig_clear(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_bodies_anew),
		cmocka_unit_test(refuses_at_every_border),
		cmocka_unit_test(bounds_chunks),
	};

	return KODA_TEST_RUN(tests);
}
