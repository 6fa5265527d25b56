/* SPDX-License-Identifier: MIT */
/*
 * T-70. Bodies. The first byte chooses the framing, the second the size of the pieces and the room.
 * The reader gives out one payload however a body is cut, and its last answer is the last. A
 * chunked body also goes through an exchange, in both directions, as it does in the program: what
 * comes out is framed by us, has the payload that a second reader sees, and is a whole message only
 * if that reader says so.
 */
#include "target.h"

#define RIG_CHECK(condition) CHECK(condition)
#include "../lib/exchange_rig.h"

#define SIZE_LIMIT ((size_t)32768)
#define POST       "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n"
#define GET        "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n"
#define ANSWER     "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define CHUNKS     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

struct outcome {
	enum egress_parse parse;
	size_t used;
	size_t len;
	char payload[SIZE_LIMIT];
};

static void read_in(struct egress_body *body, const char *text, size_t size, size_t piece,
		    struct outcome *outcome)
{
	size_t have = 0;

	outcome->parse = EGRESS_MORE;
	outcome->used = 0;
	outcome->len = 0;
	while (outcome->parse == EGRESS_MORE && outcome->used < size) {
		struct koda_span in;
		struct koda_span data;

		if (have == outcome->used)
			have = size - have < piece ? size : have + piece;
		in = (struct koda_span){ text + outcome->used, have - outcome->used };
		outcome->parse = egress_body_read(body, &in, piece, &data);
		CHECK(data.len <= piece && in.len <= have - outcome->used);
		CHECK(outcome->parse != EGRESS_MORE || in.len == 0 || data.len > 0);
		if (data.len)
			memcpy(outcome->payload + outcome->len, data.ptr, data.len);
		outcome->len += data.len;
		outcome->used = have - in.len;
	}
}

/* Nothing is read behind the last answer, not even what would be good. */
static void check_final(struct egress_body *body, const char *text, const struct outcome *outcome)
{
	struct koda_span offers[] = { { text + outcome->used, 0 },
				      { "\n", 1 },
				      { "0\r\n\r\n", 5 } };
	struct koda_span data;

	for (size_t i = 0; i < KODA_ARRAY_LEN(offers); i++) {
		struct koda_span in = offers[i];

		CHECK(egress_body_read(body, &in, SIZE_MAX, &data) == outcome->parse);
		CHECK(in.len == offers[i].len && data.len == 0);
	}
	CHECK(egress_body_is_done(body) == (outcome->parse == EGRESS_DONE));
}

static void check_reader(enum egress_framing framing, uint64_t length, const char *text,
			 size_t size, size_t piece)
{
	static struct outcome whole;
	static struct outcome pieces;
	struct egress_body body;

	egress_body_init(&body, framing, length);
	read_in(&body, text, size, SIZE_LIMIT, &whole);
	if (whole.parse != EGRESS_MORE)
		check_final(&body, text, &whole);
	egress_body_init(&body, framing, length);
	read_in(&body, text, size, piece, &pieces);
	CHECK(pieces.parse == whole.parse && pieces.used == whole.used);
	CHECK(pieces.len == whole.len && memcmp(pieces.payload, whole.payload, whole.len) == 0);
}

static void check_message(struct koda_span sent, const struct oracle_body *want)
{
	static struct oracle_message got;

	oracle_message(sent.ptr, sent.len, &got);
	CHECK(got.head_len > 0 && got.body.is != ORACLE_BAD && got.body.len <= want->len);
	CHECK((got.body.is == ORACLE_WHOLE) == (want->is == ORACLE_WHOLE));
	CHECK(want->is != ORACLE_WHOLE || got.body.len == want->len);
	CHECK(memcmp(got.body.payload, want->payload, got.body.len) == 0);
}

static void check_exchange(const char *text, size_t size, size_t piece, size_t room)
{
	static char message[sizeof(POST) + SIZE_LIMIT];
	static struct oracle_body want;
	struct rig up = { .origin = koda_span_of(ANSWER), .client_closes = true };
	struct rig down = { .client = koda_span_of(GET), .origin_closes = true };

	oracle_chunked(text, size, &want);
	up.piece = down.piece = piece;
	up.room = down.room = room;
	memcpy(message, POST, sizeof(POST) - 1);
	memcpy(message + sizeof(POST) - 1, text, size);
	up.client = (struct koda_span){ message, sizeof(POST) - 1 + size };
	rig_play(&up);
	CHECK(up.over && up.log_count > 0);
	/* What follows a whole body is a request of its own. */
	CHECK(up.answered >= (want.is == ORACLE_WHOLE) && up.answered <= up.asked);
	if (up.answered <= 1)
		check_message(koda_buf_span(&up.to_origin), &want);
	CHECK(want.is == ORACLE_WHOLE || (up.cut && up.asked == 1 && up.logs[0].status == 400));
	rig_clear(&up);

	memcpy(message, CHUNKS, sizeof(CHUNKS) - 1);
	memcpy(message + sizeof(CHUNKS) - 1, text, size);
	down.origin = (struct koda_span){ message, sizeof(CHUNKS) - 1 + size };
	rig_play(&down);
	CHECK(down.asked == 1 && down.log_count == 1 && !down.connected);
	CHECK((down.logs[0].code == NULL) == (want.is == ORACLE_WHOLE));
	check_message(koda_buf_span(&down.to_client), &want);
	rig_clear(&down);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum egress_framing framing;
	const char *text = (const char *)data + 2;
	size_t piece;

	if (size < 2 || size > SIZE_LIMIT)
		return 0;
	framing = (enum egress_framing)(data[0] % 4);
	piece = data[1] % 64 + 1;
	check_reader(framing, data[0], text, size - 2, piece);
	if (framing == EGRESS_BODY_CHUNKED) {
		check_exchange(text, size - 2, piece, data[1] / 4 + 1);
		check_exchange(text, size - 2, SIZE_LIMIT, SIZE_LIMIT);
	}
	return 0;
}
