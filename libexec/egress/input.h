/* SPDX-License-Identifier: MIT */
/* Bytes that were received and are not yet understood. */
#ifndef KODA_EGRESS_INPUT_H
#define KODA_EGRESS_INPUT_H

#include "base/buf.h"
#include "budget.h"

#include <stdint.h>

struct koda_input {
	char *bytes; /* owned */
	uint32_t at;
	uint32_t len;
	uint32_t cap;
	uint32_t first; /* what to begin with, if there is room; 0: enough for an ordinary head */
	struct koda_budget *budget; /* borrowed; NULL: not counted */
};

static inline struct koda_span koda_input_span(const struct koda_input *in)
{
	return (struct koda_span){ in->bytes + in->at, in->len };
}

enum koda_input_state {
	KODA_INPUT_POOR = -2,   /* there is no memory or budget; nothing was read */
	KODA_INPUT_BROKEN = -1, /* the socket failed */
	KODA_INPUT_DRY,         /* nothing to read now */
	KODA_INPUT_GOT,
	KODA_INPUT_END,
	KODA_INPUT_FULL /* holds max bytes; nothing was read */
};

/* Reads once from a socket, up to max bytes held. */
enum koda_input_state koda_input_fill(struct koda_input *in, int fd, size_t max);
/* Fails: NOMEM. */
KODA_CHECK int koda_input_add(struct koda_input *in, const char *bytes, size_t len);
/* Forgets len bytes at the front. */
void koda_input_take(struct koda_input *in, size_t len);
void koda_input_clear(struct koda_input *in);
/* The bytes, in their place, are the caller's from now on (free). */
char *koda_input_give(struct koda_input *in);

#endif
