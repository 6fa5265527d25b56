/* SPDX-License-Identifier: MIT */
/*
 * Bytes in one direction, from one socket to another. Little goes through a buffer that all
 * connections share; only what the receiver does not take at once is kept. A direction that stays
 * busy goes through a pipe instead, without passing through this process, and gives the pipe back
 * when it is empty.
 */
#ifndef KODA_EGRESS_FLOW_H
#define KODA_EGRESS_FLOW_H

#include "input.h"

#define KODA_SCRATCH ((size_t)64 * 1024)

struct koda_pipe {
	struct koda_pipe *next;
	int ends[2]; /* to read from, to write to */
};

/* What all flows share. */
struct koda_relay {
	char *scratch; /* KODA_SCRATCH bytes; no one's between two calls */
	struct koda_pipe *free_pipes;
	unsigned int free_count;
	unsigned int pipe_count; /* free or not */
	unsigned int pipe_max;
};

KODA_CHECK int koda_relay_init(struct koda_relay *relay, unsigned int pipe_max,
			       struct koda_error *err);
void koda_relay_clear(struct koda_relay *relay);

struct koda_flow {
	char *held; /* owned: bytes that were read and not yet taken */
	uint32_t held_at;
	uint32_t held_len;
	uint32_t held_cap;
	uint32_t piped; /* bytes in the pipe */
	struct koda_pipe *pipe;
	struct koda_budget *budget; /* borrowed: for what is held; NULL: not counted */
	uint64_t bytes;             /* that the receiver took */
	uint8_t streak;             /* full reads in a row, or, when bulk, small ones */
	bool bulk;
	bool readable; /* the source may have something */
	bool hung_up;  /* its end is near: a short read does not mean that it is empty */
	bool ended;    /* the source's end was read */
	bool shut;     /* and passed on */
	bool bounded;  /* the receiver's queue in the kernel is */
	bool closes;   /* closing passes the end on, right after this flow is done */
};

enum koda_flow_state {
	KODA_FLOW_BROKEN = -1, /* a socket failed */
	KODA_FLOW_WAITS,       /* nothing more before the next event */
	KODA_FLOW_GOES_ON,     /* had its turn, there is more */
	KODA_FLOW_DONE         /* everything was passed on, the end too */
};

/* Moves what can be moved now, up to a turn's worth. */
enum koda_flow_state koda_flow_run(struct koda_relay *relay, struct koda_flow *flow, int from,
				   int to);
/* Bytes that do not come from the source: sent at once as far as possible, the rest is held. Fails:
 * SYS, NOMEM. */
KODA_CHECK int koda_flow_send(struct koda_flow *flow, int to, const char *bytes, size_t len);
/* Bytes that did come from the source, by another way; held only. Fails: NOMEM. */
KODA_CHECK int koda_flow_hold(struct koda_flow *flow, const char *bytes, size_t len);
/* The same with all of an input, which is empty afterwards, also on failure. */
KODA_CHECK int koda_flow_adopt(struct koda_flow *flow, struct koda_input *in);
/* How much more can be held, if up to most in all. */
size_t koda_flow_room(const struct koda_flow *flow, size_t most);
/* Called after bytes was counted: whoever sends much has a bound on what the kernel keeps of it for
 * a receiver that does not read. By itself that grows to megabytes for each. */
void koda_flow_bound(struct koda_flow *flow, int to);
/* Forgets what is held. */
void koda_flow_drop(struct koda_flow *flow);
/* Sends what is held. WAITS, DONE (nothing is held any more) or BROKEN. */
enum koda_flow_state koda_flow_flush(struct koda_flow *flow, int to);
/* Frees what it holds. A pipe that is not empty is closed, not given back. */
void koda_flow_clear(struct koda_relay *relay, struct koda_flow *flow);

#endif
