/* SPDX-License-Identifier: MIT */
/* The first bytes in a tunnel: the same guess for one piece and for many, and nothing that is a
 * request by our own parser is taken for something else. */
#include "target.h"

#include "proto/http_head.h"
#include "proto/sniff.h"

static enum egress_sniff guess_in(struct koda_span bytes, size_t step)
{
	struct egress_sniff_scan scan = { 0 };
	enum egress_sniff guess = EGRESS_SNIFF_MORE;

	for (size_t have = step; guess <= EGRESS_SNIFF_LONG; have += step) {
		size_t len = have < bytes.len ? have : bytes.len;
		bool last = len == bytes.len;

		guess = egress_sniff_http(&scan, (struct koda_span){ bytes.ptr, len }, false);
		CHECK(scan.longer || scan.at <= len);
		if (last)
			break;
		/* As the program does: what was passed on is not kept. */
		if (guess == EGRESS_SNIFF_LONG) {
			bytes = koda_span_skip(bytes, len);
			have = 0;
		}
	}
	/* The last answer is the last. */
	if (guess != EGRESS_SNIFF_MORE && guess != EGRESS_SNIFF_HOLD)
		CHECK(egress_sniff_http(&scan, bytes, false) == guess &&
		      egress_sniff_http(&scan, bytes, true) == guess);
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
	enum egress_sniff guess = guess_in(bytes, size ? size : 1);

	/* Beyond the longest line it matters how much is there when one looks. */
	if (size < EGRESS_SNIFF_MAX)
		CHECK(guess_in(bytes, 1) == guess && guess_in(bytes, 7) == guess);
	if (is_request(bytes))
		CHECK(guess == EGRESS_SNIFF_HTTP || guess == EGRESS_SNIFF_BAD);
	return 0;
}
