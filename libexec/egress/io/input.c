/* SPDX-License-Identifier: MIT */
#include "io/input.h"

#include <errno.h>
#include <sys/socket.h>

#define FIRST_SIZE 2048

/* Makes room for at least want more bytes. */
static int make_room(struct egress_input *in, size_t want)
{
	size_t cap = in->cap ? in->cap : in->first ? in->first : FIRST_SIZE;
	char *bytes;

	if (in->at > 0) {
		memmove(in->bytes, in->bytes + in->at, in->len);
		in->at = 0;
	}
	if (in->cap == 0 && !egress_budget_affords(in->budget, 0, cap))
		cap = FIRST_SIZE;
	while (cap < in->len + want)
		cap *= 2;
	if (cap == in->cap)
		return KODA_OK;
	if (!egress_budget_affords(in->budget, in->cap, cap))
		return KODA_E_NOMEM;
	bytes = realloc(in->bytes, cap);
	if (!bytes)
		return KODA_E_NOMEM;
	egress_budget_move(in->budget, in->cap, cap);
	in->bytes = bytes;
	in->cap = (uint32_t)cap;
	return KODA_OK;
}

enum egress_input_state egress_input_fill(struct egress_input *in, int fd, size_t max)
{
	size_t room;
	ssize_t n;

	if (in->len >= max)
		return EGRESS_INPUT_FULL;
	if (make_room(in, 1) < 0)
		return EGRESS_INPUT_POOR;
	room = in->cap - in->len;
	if (room > max - in->len)
		room = max - in->len;
	n = recv(fd, in->bytes + in->len, room, 0);
	if (n < 0)
		return errno == EAGAIN ? EGRESS_INPUT_DRY : EGRESS_INPUT_BROKEN;
	if (n == 0)
		return EGRESS_INPUT_END;
	in->len += (uint32_t)n;
	return EGRESS_INPUT_GOT;
}

int egress_input_add(struct egress_input *in, const char *bytes, size_t len)
{
	if (len == 0)
		return KODA_OK;
	if (make_room(in, len) < 0)
		return KODA_E_NOMEM;
	memcpy(in->bytes + in->len, bytes, len);
	in->len += (uint32_t)len;
	return KODA_OK;
}

void egress_input_take(struct egress_input *in, size_t len)
{
	in->at += (uint32_t)len;
	in->len -= (uint32_t)len;
	if (in->len == 0)
		egress_input_clear(in);
}

void egress_input_clear(struct egress_input *in)
{
	free(egress_input_give(in));
}

char *egress_input_give(struct egress_input *in)
{
	char *bytes = in->bytes;

	egress_budget_move(in->budget, in->cap, 0);
	*in = (struct egress_input){ .first = in->first, .budget = in->budget };
	return bytes;
}
