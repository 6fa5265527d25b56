/* SPDX-License-Identifier: MIT */
/*
 * Relays bytes in one direction between two sockets. Small amounts go through a buffer that all
 * flows share; only bytes that the receiver does not take at once are held. A busy flow uses
 * splice(2) with a pipe, and returns the pipe when it is empty.
 */
#ifndef KODA_EGRESS_IO_FLOW_H
#define KODA_EGRESS_IO_FLOW_H

#include "io/input.h"
#include "io/relay.h"

struct egress_flow {
	char *held; /* owned: bytes that were read and not sent yet */
	uint32_t held_at;
	uint32_t held_len;
	uint32_t held_cap;
	uint32_t piped; /* bytes in the pipe */
	struct egress_pipe *pipe;
	struct egress_budget *budget; /* borrowed: charged for held; NULL: not counted */
	uint64_t bytes;               /* that were sent */
	uint8_t streak;               /* full reads in a row; in bulk mode small ones */
	bool bulk;
	bool readable; /* recv(2) on the source may return something */
	bool hung_up; /* EPOLLRDHUP was seen: a short read does not mean that the source is empty */
	bool ended;   /* recv(2) on the source returned 0 */
	bool shut;    /* shutdown(2) was called on the receiver, or closes replaces it */
	bool bounded; /* TCP_NOTSENT_LOWAT is set on the receiver */
	bool closes;  /* the receiver is closed right after this flow is done: no shutdown(2) */
	bool broken;  /* bytes for the receiver were lost: nothing more is sent */
};

enum egress_flow_state {
	EGRESS_FLOW_BROKEN = -1, /* a socket failed */
	EGRESS_FLOW_WAITS,       /* for the next epoll event */
	EGRESS_FLOW_GOES_ON,     /* its turn is over, and there is more */
	EGRESS_FLOW_DONE         /* everything was sent, the end of the stream too */
};

/* Moves bytes from one socket to the other, up to the amount of one turn. */
enum egress_flow_state egress_flow_run(struct egress_relay *relay, struct egress_flow *flow,
				       int from, int to);
/* Sends bytes that do not come from the source; what does not fit is held. Fails: SYS, NOMEM. */
KODA_CHECK int egress_flow_send(struct egress_flow *flow, int to, const char *bytes, size_t len);
/* Holds bytes that came from the source earlier. Fails: NOMEM, SYS (the flow is broken). */
KODA_CHECK int egress_flow_hold(struct egress_flow *flow, const char *bytes, size_t len);
/* Like egress_flow_hold, with all bytes of an input, which is empty afterwards, also on failure. */
KODA_CHECK int egress_flow_adopt(struct egress_flow *flow, struct egress_input *in);
/* Returns how many more bytes can be held, up to most in all. */
size_t egress_flow_room(const struct egress_flow *flow, size_t most);
/* Bounds the kernel's send queue of a socket that was sent much (TCP_NOTSENT_LOWAT). By default it
 * grows to megabytes for a receiver that does not read. Call it after bytes was increased. */
void egress_flow_bound(struct egress_flow *flow, int to);
/* Frees what is held. */
void egress_flow_drop(struct egress_flow *flow);
/* Sends what is held. Returns WAITS, DONE (nothing is held any more) or BROKEN. */
enum egress_flow_state egress_flow_flush(struct egress_flow *flow, int to);
/* Frees everything. A pipe that is not empty is closed. */
void egress_flow_clear(struct egress_relay *relay, struct egress_flow *flow);

#endif
