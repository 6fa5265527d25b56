/* SPDX-License-Identifier: MIT */
/* The first bytes in a tunnel: the same guess for one piece and for many, and nothing that is a
 * request by our own parser is taken for something else. */
#include "target.h"

#include "guess.h"
#include "http_head.h"

static enum egress_guess guess_in(struct koda_span bytes, size_t step)
{
	struct egress_guess_scan scan = { 0 };
	enum egress_guess guess = EGRESS_GUESS_MORE;

	for (size_t have = step; guess == EGRESS_GUESS_MORE || guess == EGRESS_GUESS_HOLD;
	     have += step) {
		size_t len = have < bytes.len ? have : bytes.len;

		guess = egress_guess_http(&scan, (struct koda_span){ bytes.ptr, len }, false);
		CHECK(scan.at <= len);
		if (len == bytes.len)
			break;
	}
	return guess;
}

static bool is_request(struct koda_span bytes)
{
	static struct egress_head head;
	struct egress_head_scan scan = { 0 };
	struct egress_refusal why;
	size_t len = 0;

	return egress_head_find(&scan, bytes, &len, &why) == EGRESS_DONE &&
	       egress_head_request((struct koda_span){ bytes.ptr, len }, &head, &why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct koda_span bytes = { (const char *)data, size };
	enum egress_guess guess = guess_in(bytes, size ? size : 1);

	/* Beyond the longest line it matters how much is there when one looks. */
	if (size < EGRESS_GUESS_MAX)
		CHECK(guess_in(bytes, 1) == guess && guess_in(bytes, 7) == guess);
	if (is_request(bytes))
		CHECK(guess == EGRESS_GUESS_HTTP || guess == EGRESS_GUESS_BAD);
	return 0;
}
