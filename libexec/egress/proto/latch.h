/* SPDX-License-Identifier: MIT */
/*
 * T-70. Keeps the final answer of a parser. A parser that gets its input in pieces answers "more"
 * until it has a final answer, which it stores here. From then on it returns that answer and reads
 * no byte, so that refused input cannot be offered again.
 *
 * Parsers without state, which get the whole input at each call, need no latch.
 */
#ifndef KODA_EGRESS_PROTO_LATCH_H
#define KODA_EGRESS_PROTO_LATCH_H

#include <stdbool.h>
#include <stdint.h>

/* Zero it: no answer yet. */
struct egress_latch {
	bool fallen;
	uint8_t answer;
};

/* Stores the first answer, and returns the stored one. */
static inline unsigned int egress_latch_fall(struct egress_latch *latch, unsigned int answer)
{
	if (!latch->fallen)
		*latch = (struct egress_latch){ .fallen = true, .answer = (uint8_t)answer };
	return latch->answer;
}

#endif
