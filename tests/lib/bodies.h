/* SPDX-License-Identifier: MIT */
/*
 * Chunked bodies, good and odd, for tests that send them through the proxy. bodies_get makes the
 * nth: first those of the table, then each of a few good ones with one byte more, less or other at
 * every place.
 */
#ifndef KODA_TEST_BODIES_H
#define KODA_TEST_BODIES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define BODY_MAX 512

struct body_text {
	const char *text;
	size_t len;
};

#define BODY(literal)                                                                              \
	{                                                                                          \
		(literal), sizeof(literal) - 1                                                     \
	}
/* A whole request, for where a mistake would have it begin; it is 50 bytes long. */
#define HIDDEN       "GET /hidden HTTP/1.1\r\nHost: other.test\r\nX-H: 1\r\n\r\n"
#define FIFTY        "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee"
#define HIDDEN_CHUNK "32\r\n" HIDDEN "\r\n0\r\n\r\n"

static const struct body_text body_table[] = {
	/* By the book. */
	BODY("0\r\n\r\n"),
	BODY("5\r\nhello\r\n0\r\n\r\n"),
	BODY("1\r\nh\r\n1\r\ne\r\n1\r\nl\r\n1\r\nl\r\n1\r\no\r\n0\r\n\r\n"),
	BODY("00000005\r\nhello\r\n000\r\n\r\n"),
	BODY("A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n"),
	BODY("5;x\r\nhello\r\n0\r\n\r\n"),
	BODY("5;x=y\r\nhello\r\n0;z\r\n\r\n"),
	BODY("5;x=\"y z\";w\r\nhello\r\n0\r\n\r\n"),
	BODY("5;\r\nhello\r\n0\r\n\r\n"),
	BODY("5\r\nhello\r\n0\r\nX-Sum: 1\r\nY:\r\n\r\n"),
	BODY("2\r\n\r\n\r\n0\r\n\r\n"),
	BODY("7\r\n0\r\n\r\nab\r\n0\r\n\r\n"),
	BODY("32\r\n" HIDDEN "\r\n0\r\n\r\n"),
	BODY("5\r\n\0\1\377\r\n\r\n0\r\n\r\n"),
	/* Line ends. */
	BODY("5;\rX\r\nhello\r\n0\r\n\r\n" HIDDEN),
	BODY("5;\rX" HIDDEN),
	/* Who reads the extension up to LF has the second size in the first chunk, and the hidden
	 * request behind it; who goes on at the next byte has it in the second. */
	BODY("32;\r" FIFTY
	     "\r\n67\r\naaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeee\r\n0\r\n\r\n" HIDDEN
	     "\r\n0\r\n\r\n"),
	BODY("2;\rXX\r\n32\r\nxx\r\n0\r\n\r\n" HIDDEN),
	BODY("2;\nxx\r\n" HIDDEN_CHUNK HIDDEN),
	BODY("5\nhello\n0\n\n" HIDDEN),
	BODY("5\r\nhello\n0\r\n\r\n" HIDDEN),
	BODY("5\r\nhello\r0\r\n\r\n" HIDDEN),
	BODY("5\r\nhello\rX0\r\n\r\n" HIDDEN),
	BODY("5\r\nhelloXX0\r\n\r\n" HIDDEN),
	BODY("5\r\nhelloX\n0\r\n\r\n" HIDDEN),
	BODY("5\r\nhello\r\r\n0\r\n\r\n" HIDDEN),
	BODY("5\r\nhello\r\n\r\n0\r\n\r\n" HIDDEN),
	BODY("5\r\nhello0\r\n\r\n" HIDDEN),
	BODY("5\rXhello\r\n0\r\n\r\n" HIDDEN),
	BODY("5\r\rhello\r\n0\r\n\r\n" HIDDEN),
	BODY("0\r\n\rX" HIDDEN),
	BODY("0\r\n\n" HIDDEN),
	BODY("0\n\r\n" HIDDEN),
	BODY("0\r\n\r\r\n" HIDDEN),
	BODY("0\rX\r\n" HIDDEN),
	BODY("0\r\r\n\r\n" HIDDEN),
	BODY("0;\rX\r\n\r\n" HIDDEN),
	/* Sizes. */
	BODY("5 \r\nhello\r\n0\r\n\r\n" HIDDEN),
	BODY(" 5\r\nhello\r\n0\r\n\r\n" HIDDEN),
	BODY("5\t\r\nhello\r\n0\r\n\r\n" HIDDEN),
	BODY("0x5\r\nhello\r\n0\r\n\r\n" HIDDEN),
	BODY("+5\r\nhello\r\n0\r\n\r\n" HIDDEN),
	BODY("-5\r\nhello\r\n0\r\n\r\n" HIDDEN),
	BODY("5_\r\nhello\r\n0\r\n\r\n" HIDDEN),
	BODY("5,5\r\nhello\r\n0\r\n\r\n" HIDDEN),
	BODY("5.0\r\nhello\r\n0\r\n\r\n" HIDDEN),
	BODY("\r\n5\r\nhello\r\n0\r\n\r\n" HIDDEN),
	BODY(";x\r\nhello\r\n0\r\n\r\n" HIDDEN),
	BODY("g\r\nhello\r\n0\r\n\r\n" HIDDEN),
	BODY("5\0\r\nhello\r\n0\r\n\r\n" HIDDEN),
	BODY("10000000000000005\r\nhello\r\n0\r\n\r\n" HIDDEN),
	BODY("fffffffffffffffb\r\nhello\r\n0\r\n\r\n" HIDDEN),
	BODY("ffffffff00000005\r\nhello\r\n0\r\n\r\n" HIDDEN),
	BODY("00000000000000005\r\nhello\r\n0\r\n\r\n" HIDDEN),
	BODY("7fffffffffffffff\r\nhello\r\n0\r\n\r\n" HIDDEN),
	/* Trailers. */
	BODY("0\r\nHost: other.test\r\n\r\n" HIDDEN),
	BODY("0\r\nContent-Length: 50\r\n\r\n" HIDDEN),
	BODY("0\r\ncontent-length: 0\r\n\r\n" HIDDEN),
	BODY("0\r\nTransfer-Encoding: chunked\r\n\r\n" HIDDEN_CHUNK),
	BODY("0\r\nConnection: close\r\n\r\n" HIDDEN),
	BODY("0\r\nUpgrade: websocket\r\n\r\n" HIDDEN),
	BODY("0\r\nExpect: 100-continue\r\n\r\n" HIDDEN),
	BODY("0\r\nProxy-Authorization: x\r\n\r\n" HIDDEN),
	BODY("0\r\nX: 1\r\n 2\r\n\r\n" HIDDEN),
	BODY("0\r\n X: 1\r\n\r\n" HIDDEN),
	BODY("0\r\nX : 1\r\n\r\n" HIDDEN),
	BODY("0\r\nX\r\n\r\n" HIDDEN),
	BODY("0\r\n: 1\r\n\r\n" HIDDEN),
	BODY("0\r\nX: 1\n\r\n" HIDDEN),
	BODY("0\r\nX: 1\rY: 2\r\n\r\n" HIDDEN),
	BODY("0\r\nX: \0\r\n\r\n" HIDDEN),
	BODY("0\r\nX: 1\r\n\n" HIDDEN),
	BODY("0\r\nX: 1\r\n\rX" HIDDEN),
	/* Cut short. */
	BODY("5\r\nhell"),
	BODY("5\r\nhello"),
	BODY("5\r\nhello\r\n"),
	BODY("5\r\nhello\r\n0\r\n"),
	BODY("5\r\nhello\r\n0\r\n\r"),
	BODY("5\r\nhello\r\n0\r\nX: 1\r\n"),
	BODY("5"),
	BODY(""),
};

/* Framing of all kinds, with bodies to go by: what follows the first line of a request and its
 * Host.
 */
static const char *const body_heads[] = {
	"Content-Length: 5\r\n\r\nhello",
	"Content-Length: 0005\r\n\r\nhello" HIDDEN,
	"Content-Length: 5\r\n\r\nhel",
	"Content-Length: 0\r\n\r\n" HIDDEN,
	"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello" HIDDEN,
	"Content-Length: 5\r\nContent-Length: 55\r\n\r\nhello" HIDDEN,
	"Content-Length: 5, 5\r\n\r\nhello" HIDDEN,
	"Content-Length: +5\r\n\r\nhello" HIDDEN,
	"Content-Length: 5 5\r\n\r\nhello" HIDDEN,
	"Content-Length: 0x5\r\n\r\nhello" HIDDEN,
	"Content-Length: -5\r\n\r\nhello" HIDDEN,
	"Content-Length:\r\n\r\nhello" HIDDEN,
	"Content-Length : 5\r\n\r\nhello" HIDDEN,
	"Content-Length\t: 5\r\n\r\nhello" HIDDEN,
	" Content-Length: 5\r\n\r\nhello" HIDDEN,
	"X: y\r\n Content-Length: 5\r\n\r\nhello" HIDDEN,
	"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" HIDDEN,
	"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" HIDDEN,
	"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" HIDDEN,
	"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n" HIDDEN,
	"Transfer-Encoding: identity\r\n\r\n" HIDDEN,
	"Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n" HIDDEN,
	"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" HIDDEN,
	"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" HIDDEN,
	"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" HIDDEN,
	"Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n" HIDDEN,
	"Transfer-Encoding:\x0b"
	"chunked\r\n\r\n0\r\n\r\n" HIDDEN,
	"Transfer-Encoding: chunked\t\r\n\r\n0\r\n\r\n" HIDDEN,
	"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" HIDDEN,
	"Transfer-Encoding\r\n: chunked\r\n\r\n0\r\n\r\n" HIDDEN,
	"tRANSFER-eNCODING: cHUNKED\r\n\r\n3\r\nabc\r\n0\r\n\r\n" HIDDEN,
	"Transfer-Encoding: chunked\r\nConnection: Transfer-Encoding\r\n\r\n0\r\n\r\n" HIDDEN,
	"Content-Length: 5\r\nConnection: Content-Length\r\n\r\nhello" HIDDEN,
	"Transfer-Encoding: chunked\r\nTE: trailers\r\nTrailer: X\r\n\r\n0\r\nX: 1\r\n\r\n" HIDDEN,
	"Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello" HIDDEN,
	"Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" HIDDEN,
	"Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\rX0\r\n\r\n" HIDDEN,
	"Connection: upgrade\r\nUpgrade: websocket\r\n\r\n" HIDDEN,
	"Connection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 5\r\n\r\nhello" HIDDEN,
	"Connection: upgrade\r\nUpgrade: websocket\r\nTransfer-Encoding: chunked\r\n\r\n"
	"0\r\n\r\n" HIDDEN,
	"Connection: upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: "
	"AAAA\r\n\r\n" HIDDEN,
	"Connection: keep-alive\r\nKeep-Alive: 5\r\nContent-Length: 2\r\n\r\nhi" HIDDEN,
	"\r\n" HIDDEN,
};

/* Each of these is changed at every place. */
static const struct body_text body_bases[] = {
	BODY("3;a=b\r\nabc\r\n0\r\n\r\n" HIDDEN),
	BODY("2\r\nhi\r\n1\r\n!\r\n0\r\nT: 1\r\n\r\n" HIDDEN),
};
static const char body_odd[] = "\r\n \t\0;:0aX\x7f\x80";

#define BODY_CHANGES (2 * (sizeof(body_odd) - 1) + 1) /* other, more, less */
/* So much of a base is not the hidden request. */
static inline size_t body_span(const struct body_text *base)
{
	return base->len - (sizeof(HIDDEN) - 1);
}

/* The nth body; false: there are not so many. */
static inline bool bodies_get(size_t n, char out[BODY_MAX], size_t *ret_len)
{
	size_t count = sizeof(body_table) / sizeof(body_table[0]);

	if (n < count) {
		*ret_len = body_table[n].len;
		memcpy(out, body_table[n].text, body_table[n].len + 1);
		return true;
	}
	n -= count;
	for (size_t i = 0; i < sizeof(body_bases) / sizeof(body_bases[0]); i++) {
		const struct body_text *base = &body_bases[i];
		size_t at = n / BODY_CHANGES;
		size_t change = n % BODY_CHANGES;
		bool more = change >= sizeof(body_odd) - 1 && change < BODY_CHANGES - 1;
		bool less = change == BODY_CHANGES - 1;

		if (at >= body_span(base)) {
			n -= body_span(base) * BODY_CHANGES;
			continue;
		}
		memcpy(out, base->text, at);
		if (!less)
			out[at] = body_odd[change % (sizeof(body_odd) - 1)];
		memcpy(out + at + !less, base->text + at + !more, base->len - at - !more + 1);
		*ret_len = base->len + more - less;
		return true;
	}
	return false;
}

#endif
