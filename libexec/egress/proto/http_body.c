/* SPDX-License-Identifier: MIT */
/* T-70. Refuses a chunked body that two parsers could end at different places. */
#include "proto/http_body.h"

#include "base/ascii.h"
#include "proto/http_parse.h"

enum state {
	DATA = 0,   /* left bytes of length or chunk; for CLOSE: any number */
	SIZE_FIRST, /* first digit of a chunk size */
	SIZE,       /* more digits, extension or CR */
	EXTENSION,  /* up to CR */
	SIZE_LF,    /* LF after a chunk size */
	DATA_CR,    /* CR after a chunk */
	DATA_LF,
	TRAILER_FIRST, /* first byte of a trailer line, or the CR of the empty line */
	TRAILER_NAME,
	TRAILER_VALUE,
	TRAILER_LF,
	LAST_LF, /* LF of the empty line that ends the body */
	ENDED
};

/* Bytes before a chunk's data for its size and CRLF. */
#define SIZE_ROOM 8

static const char last_chunk[] = { '0', '\r', '\n', '\r', '\n' };

_Static_assert(EGRESS_BLOCK_MAX < 0x100000 &&
		       SIZE_ROOM + 2 + sizeof(last_chunk) <= EGRESS_BLOCK_EXTRA,
	       "five digits of size, two line ends and the last chunk fit");

void egress_body_init(struct egress_body *body, enum egress_framing framing, uint64_t length)
{
	*body = (struct egress_body){ .framing = framing, .left = length, .state = DATA };
	switch (framing) {
	case EGRESS_BODY_NONE:
		body->state = ENDED;
		break;
	case EGRESS_BODY_LENGTH:
		if (length == 0)
			body->state = ENDED;
		break;
	case EGRESS_BODY_CHUNKED:
		body->state = SIZE_FIRST;
		break;
	case EGRESS_BODY_CLOSE:
		break;
	}
	if (body->state == ENDED)
		(void)egress_latch_fall(&body->latch, EGRESS_DONE);
}

/* Handles a digit of the size, the beginning of an extension, or CR. */
static bool size_byte(struct egress_body *body, char c)
{
	int digit = koda_ascii_hex(c);

	if (digit >= 0) {
		/* Two bits stay free, so that no parser's number overflows or becomes negative. */
		if (body->line == EGRESS_CHUNK_DIGITS || body->left >> 58)
			return false;
		body->left = body->left << 4 | (uint64_t)digit;
		body->line++;
		body->state = SIZE;
		return true;
	}
	if (body->state == SIZE_FIRST)
		return false;
	body->line = 0;
	if (c == '\r')
		body->state = SIZE_LF;
	else if (c == ';')
		body->state = EXTENSION;
	else
		return false;
	return true;
}

static bool extension_byte(struct egress_body *body, char c)
{
	if (c == '\r') {
		body->state = SIZE_LF;
		return true;
	}
	return ++body->line < EGRESS_CHUNK_EXT_MAX && egress_http_is(c, EGRESS_IS_VALUE) &&
	       (unsigned char)c < 0x80;
}

/* Accepts one byte only. */
static bool only_byte(struct egress_body *body, char c, char wanted, enum state next)
{
	if (c != wanted)
		return false;
	body->state = (uint8_t)next;
	return true;
}

/* Refuses trailers that some parsers would treat as headers. */
static bool may_trail(struct koda_span name)
{
	return egress_http_field_name(name) == EGRESS_NAME_OTHER;
}

static bool trailer_byte(struct egress_body *body, char c)
{
	if (++body->trailer > EGRESS_TRAILER_MAX)
		return false;
	if (body->state == TRAILER_VALUE) {
		if (c == '\r')
			body->state = TRAILER_LF;
		else if (!egress_http_is(c, EGRESS_IS_VALUE))
			return false;
		return true;
	}
	if (body->state == TRAILER_FIRST) {
		body->line = 0;
		if (c == '\r') {
			body->state = LAST_LF;
			return true;
		}
		body->state = TRAILER_NAME;
	}
	if (c == ':') {
		if (body->line == 0 || !may_trail((struct koda_span){ body->name, body->line }))
			return false;
		body->state = TRAILER_VALUE;
		return true;
	}
	if (body->line == EGRESS_TRAILER_NAME || !egress_http_is(c, EGRESS_IS_TOKEN))
		return false;
	body->name[body->line++] = c;
	return true;
}

/* Handles one byte that is not data. */
static bool framing_byte(struct egress_body *body, char c)
{
	switch ((enum state)body->state) {
	case SIZE_FIRST:
	case SIZE:
		return size_byte(body, c);
	case EXTENSION:
		return extension_byte(body, c);
	case SIZE_LF:
		body->line = 0;
		return only_byte(body, c, '\n', body->left ? DATA : TRAILER_FIRST);
	case DATA_CR:
		return only_byte(body, c, '\r', DATA_LF);
	case DATA_LF:
		return only_byte(body, c, '\n', SIZE_FIRST);
	case TRAILER_FIRST:
	case TRAILER_NAME:
	case TRAILER_VALUE:
		return trailer_byte(body, c);
	case TRAILER_LF:
		return only_byte(body, c, '\n', TRAILER_FIRST);
	case LAST_LF:
		return only_byte(body, c, '\n', ENDED);
	case DATA:
	case ENDED:
		break;
	}
	return false;
}

/* Returns how many of the available bytes are data. */
static size_t take_data(struct egress_body *body, size_t available)
{
	size_t len = available < body->left ? available : (size_t)body->left;

	if (body->framing == EGRESS_BODY_CLOSE)
		return available;
	body->left -= len;
	if (body->left == 0)
		body->state = body->framing == EGRESS_BODY_LENGTH ? ENDED : DATA_CR;
	return len;
}

/* Reads framing and then one run of data. Returns false if a byte is invalid. */
static bool read_run(struct egress_body *body, struct koda_span *in, size_t most,
		     struct koda_span *ret_data)
{
	size_t len;

	while (in->len > 0 && body->state != DATA && body->state != ENDED) {
		if (!framing_byte(body, in->ptr[0]))
			return false;
		*in = koda_span_skip(*in, 1);
	}
	if (body->state != DATA)
		return true;
	len = take_data(body, in->len < most ? in->len : most);
	*ret_data = (struct koda_span){ in->ptr, len };
	*in = koda_span_skip(*in, len);
	return true;
}

enum egress_parse egress_body_read(struct egress_body *body, struct koda_span *in, size_t most,
				   struct koda_span *ret_data)
{
	*ret_data = (struct koda_span){ in->ptr, 0 };
	if (body->latch.fallen)
		return (enum egress_parse)body->latch.answer;
	if (!read_run(body, in, most, ret_data))
		return (enum egress_parse)egress_latch_fall(&body->latch, EGRESS_BAD);
	if (body->state == ENDED)
		return (enum egress_parse)egress_latch_fall(&body->latch, EGRESS_DONE);
	return EGRESS_MORE;
}

/* Writes the size right before the data. Returns the beginning of the line. */
static char *put_size(char *data, size_t len)
{
	char *at = data;

	*--at = '\n';
	*--at = '\r';
	do {
		*--at = "0123456789abcdef"[len % 16];
		len /= 16;
	} while (len > 0);
	return at;
}

enum egress_parse egress_body_rechunk(struct egress_body *body, struct koda_span *in, size_t most,
				      char *block, struct koda_span *ret_chunk, size_t *ret_len)
{
	enum egress_parse parse =
		body->latch.fallen ? (enum egress_parse)body->latch.answer : EGRESS_MORE;
	char *const data = block + SIZE_ROOM;
	bool ends = parse == EGRESS_MORE;
	char *start = data;
	char *end = data;

	if (most > EGRESS_BLOCK_MAX)
		most = EGRESS_BLOCK_MAX;
	while (parse == EGRESS_MORE && in->len > 0 && (size_t)(end - data) < most) {
		struct koda_span run;

		parse = egress_body_read(body, in, most - (size_t)(end - data), &run);
		if (run.len)
			memcpy(end, run.ptr, run.len);
		end += run.len;
	}
	if (parse == EGRESS_BAD)
		end = data;
	*ret_len = (size_t)(end - data);
	if (*ret_len > 0) {
		start = put_size(data, *ret_len);
		memcpy(end, "\r\n", 2);
		end += 2;
	}
	if (parse == EGRESS_DONE && ends) {
		memcpy(end, last_chunk, sizeof(last_chunk));
		end += sizeof(last_chunk);
	}
	*ret_chunk = (struct koda_span){ start, (size_t)(end - start) };
	return parse;
}

bool egress_body_is_done(const struct egress_body *body)
{
	return body->latch.fallen && body->latch.answer == EGRESS_DONE;
}

bool egress_body_may_end(const struct egress_body *body)
{
	return egress_body_is_done(body) ||
	       (body->framing == EGRESS_BODY_CLOSE && !body->latch.fallen);
}
