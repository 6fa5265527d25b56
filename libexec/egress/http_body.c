/* SPDX-License-Identifier: MIT */
/* T-70. A chunked body that two readers could end at different places is refused. */
#include "http_body.h"

#include "base/str.h"
#include "http_parse.h"

enum state {
	DATA = 0,   /* left bytes of length or chunk; for CLOSE: whatever comes */
	SIZE_FIRST, /* first digit of a chunk size */
	SIZE,       /* more digits, extension or CR */
	EXTENSION,  /* up to CR */
	SIZE_LF,    /* LF after a chunk size */
	DATA_CR,    /* CR after a chunk */
	DATA_LF,
	TRAILER_FIRST, /* first byte of a trailer line, or the CR of the empty one */
	TRAILER_NAME,
	TRAILER_VALUE,
	TRAILER_LF,
	LAST_LF, /* LF of the empty line that ends everything */
	ENDED
};

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
}

/* A digit of the size, an extension or the end of the line. */
static bool size_byte(struct egress_body *body, char c)
{
	int digit = koda_ascii_hex(c);

	if (digit >= 0) {
		/* Two bits stay free, so that no reader's number overflows or turns negative. */
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

/* Trailers that a careless reader would take for headers of the message or of the next one. */
static bool may_trail(struct koda_span name)
{
	return egress_head_name(name) == EGRESS_NAME_OTHER;
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
		body->state = TRAILER_VALUE;
		return body->line > 0 && may_trail((struct koda_span){ body->name, body->line });
	}
	if (body->line == EGRESS_TRAILER_NAME || !egress_http_is(c, EGRESS_IS_TOKEN))
		return false;
	body->name[body->line++] = c;
	return true;
}

/* One byte that is not data. */
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
		body->state = body->left ? DATA : TRAILER_FIRST;
		return c == '\n';
	case DATA_CR:
		body->state = DATA_LF;
		return c == '\r';
	case DATA_LF:
		body->state = SIZE_FIRST;
		return c == '\n';
	case TRAILER_FIRST:
	case TRAILER_NAME:
	case TRAILER_VALUE:
		return trailer_byte(body, c);
	case TRAILER_LF:
		body->state = TRAILER_FIRST;
		return c == '\n';
	case LAST_LF:
		body->state = ENDED;
		return c == '\n';
	case DATA:
	case ENDED:
		break;
	}
	return false;
}

/* As much data as there is. */
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

enum egress_parse egress_body_feed(struct egress_body *body, struct koda_span in, size_t *ret_used)
{
	size_t used = 0;

	while (used < in.len && body->state != ENDED) {
		if (body->state == DATA) {
			used += take_data(body, in.len - used);
		} else if (framing_byte(body, in.ptr[used])) {
			used++;
		} else {
			*ret_used = used;
			return EGRESS_BAD;
		}
	}
	*ret_used = used;
	return body->state == ENDED ? EGRESS_DONE : EGRESS_MORE;
}

bool egress_body_may_end(const struct egress_body *body)
{
	return body->state == ENDED || body->framing == EGRESS_BODY_CLOSE;
}
