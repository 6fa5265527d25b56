/* SPDX-License-Identifier: MIT */
/* Bytes that were received and not parsed yet. */
#ifndef KODA_EGRESS_IO_INPUT_H
#define KODA_EGRESS_IO_INPUT_H

#include "base/buf.h"
#include "io/budget.h"

#include <stdint.h>

struct egress_input {
	char *bytes; /* owned */
	uint32_t at;
	uint32_t len;
	uint32_t cap;
	uint32_t first; /* initial size, if the budget allows it; 0: enough for an ordinary head */
	struct egress_budget *budget; /* borrowed; NULL: not counted */
};

static inline struct koda_span egress_input_span(const struct egress_input *in)
{
	return (struct koda_span){ in->bytes + in->at, in->len };
}

enum egress_input_state {
	EGRESS_INPUT_POOR = -2,   /* no memory or budget; nothing was read */
	EGRESS_INPUT_BROKEN = -1, /* the socket failed */
	EGRESS_INPUT_DRY,         /* EAGAIN */
	EGRESS_INPUT_GOT,
	EGRESS_INPUT_END,
	EGRESS_INPUT_FULL /* holds max bytes; nothing was read */
};

/* Calls recv(2) once; holds at most max bytes. */
enum egress_input_state egress_input_fill(struct egress_input *in, int fd, size_t max);
/* Appends bytes. Fails: NOMEM. */
KODA_CHECK int egress_input_add(struct egress_input *in, const char *bytes, size_t len);
/* Removes len bytes from the front. */
void egress_input_take(struct egress_input *in, size_t len);
void egress_input_clear(struct egress_input *in);
/* Returns the buffer, which the caller frees, and empties the input. The bytes are still at
 * in->at. */
char *egress_input_give(struct egress_input *in);

#endif
