/* SPDX-License-Identifier: MIT */
#include "io/flow.h"

#include "base/error.h"
#include "base/fd.h"
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BULK_AFTER   3                   /* full reads in a row, then splice(2) */
#define BULK_SMALL   ((ssize_t)8 * 1024) /* a splice below this is small */
#define BULK_UNTIL   16                  /* small splices in a row, then recv(2) */
#define TURN_READS   16                  /* reads in one turn */
#define TURN_SPLICES 8                   /* splices in one turn */
#define QUEUE_FROM   ((size_t)64 * 1024) /* bytes sent, before the kernel's queue is bounded */
#define QUEUE_MAX    (1024 * 1024)       /* unsent bytes in the kernel's queue */

static void give_pipe(struct egress_relay *relay, struct egress_flow *flow)
{
	struct egress_pipe *pipe = KODA_TAKE(flow->pipe);

	if (pipe)
		egress_relay_give_pipe(relay, pipe, flow->piped == 0);
}

void egress_flow_drop(struct egress_flow *flow)
{
	koda_free_ptr(&flow->held);
	egress_budget_move(flow->budget, flow->held_cap, 0);
	flow->held_at = 0;
	flow->held_len = 0;
	flow->held_cap = 0;
}

void egress_flow_clear(struct egress_relay *relay, struct egress_flow *flow)
{
	give_pipe(relay, flow);
	egress_flow_drop(flow);
	flow->piped = 0;
}

int egress_flow_hold(struct egress_flow *flow, const char *bytes, size_t len)
{
	size_t cap = flow->held_len + len;

	if (flow->broken)
		return KODA_E_SYS;
	if (len == 0)
		return KODA_OK;
	if (flow->held_at > 0)
		memmove(flow->held, flow->held + flow->held_at, flow->held_len);
	flow->held_at = 0;
	if (cap > flow->held_cap) {
		char *held = NULL;

		if (egress_budget_affords(flow->budget, flow->held_cap, cap))
			held = realloc(flow->held, cap);
		if (!held) {
			flow->broken = true;
			return KODA_E_NOMEM;
		}
		egress_budget_move(flow->budget, flow->held_cap, cap);
		flow->held = held;
		flow->held_cap = (uint32_t)cap;
	}
	memcpy(flow->held + flow->held_len, bytes, len);
	flow->held_len += (uint32_t)len;
	return KODA_OK;
}

int egress_flow_adopt(struct egress_flow *flow, struct egress_input *in)
{
	int r = KODA_OK;

	if (flow->held_len > 0 || in->len == 0) {
		r = egress_flow_hold(flow, in->bytes + in->at, in->len);
		egress_input_clear(in);
		return r;
	}
	egress_flow_drop(flow);
	flow->held_at = in->at;
	flow->held_len = in->len;
	flow->held_cap = in->cap;
	flow->held = egress_input_give(in);
	egress_budget_move(flow->budget, 0, flow->held_cap);
	return r;
}

size_t egress_flow_room(const struct egress_flow *flow, size_t most)
{
	size_t cap = egress_budget_most(flow->budget, flow->held_cap, most);

	return flow->held_len < cap ? cap - flow->held_len : 0;
}

void egress_flow_bound(struct egress_flow *flow, int to)
{
	if (flow->bounded || flow->bytes < QUEUE_FROM)
		return;
	/* Fails harmlessly on a Unix socket, whose queue is small. */
	(void)setsockopt(to, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &(int){ QUEUE_MAX }, sizeof(int));
	flow->bounded = true;
}

static bool would_block(void)
{
	return errno == EAGAIN;
}

/* Result of a step: failed, wait for an event, continue. */
enum step {
	STEP_BROKEN = -1,
	STEP_WAIT,
	STEP_ON
};

/* Sends the bytes that were read earlier. */
static enum step flush_held(struct egress_flow *flow, int to)
{
	while (flow->held_len > 0 && !flow->broken) {
		ssize_t n = send(to, flow->held + flow->held_at, flow->held_len, MSG_NOSIGNAL);

		if (n < 0 && would_block())
			return STEP_WAIT;
		flow->broken = n < 0;
		if (n < 0)
			break;
		flow->held_at += (uint32_t)n;
		flow->held_len -= (uint32_t)n;
		flow->bytes += (uint64_t)n;
	}
	if (flow->broken)
		return STEP_BROKEN;
	egress_flow_drop(flow);
	return STEP_ON;
}

enum egress_flow_state egress_flow_flush(struct egress_flow *flow, int to)
{
	enum step step = flush_held(flow, to);

	if (step == STEP_ON)
		return EGRESS_FLOW_DONE;
	return step == STEP_WAIT ? EGRESS_FLOW_WAITS : EGRESS_FLOW_BROKEN;
}

int egress_flow_send(struct egress_flow *flow, int to, const char *bytes, size_t len)
{
	ssize_t n = 0;

	if (flow->held_len == 0 && !flow->broken) {
		n = send(to, bytes, len, MSG_NOSIGNAL);
		flow->broken = n < 0 && !would_block();
		if (flow->broken)
			return KODA_E_SYS;
		if (n < 0)
			n = 0;
		flow->bytes += (uint64_t)n;
		egress_flow_bound(flow, to);
	}
	return egress_flow_hold(flow, bytes + n, len - (size_t)n);
}

static enum step flush_pipe(struct egress_flow *flow, int to)
{
	while (flow->piped > 0) {
		ssize_t n = splice(flow->pipe->ends[0], NULL, to, NULL, flow->piped,
				   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

		if (n < 0)
			return would_block() ? STEP_WAIT : STEP_BROKEN;
		if (n == 0)
			return STEP_BROKEN;
		flow->piped -= (uint32_t)n;
		flow->bytes += (uint64_t)n;
		egress_flow_bound(flow, to);
	}
	return STEP_ON;
}

/* Moves bytes through the shared buffer. */
static enum step move_little(struct egress_relay *relay, struct egress_flow *flow, int from, int to)
{
	/* Reads no more than can be held if the receiver takes nothing. */
	size_t most = egress_flow_room(flow, EGRESS_SCRATCH);
	ssize_t n = recv(from, relay->scratch, most, 0);
	ssize_t sent;

	if (n < 0) {
		flow->readable = !would_block();
		return flow->readable ? STEP_BROKEN : STEP_WAIT;
	}
	if (n == 0) {
		flow->ended = true;
		return STEP_ON;
	}
	if ((size_t)n == most) {
		flow->bulk = ++flow->streak >= BULK_AFTER;
		flow->streak = flow->bulk ? 0 : flow->streak;
	} else {
		flow->streak = 0;
		flow->readable = flow->hung_up;
	}
	sent = send(to, relay->scratch, (size_t)n, MSG_NOSIGNAL);
	if (sent < 0 && !would_block())
		return STEP_BROKEN;
	if (sent > 0)
		flow->bytes += (uint64_t)sent;
	if (sent < 0)
		sent = 0;
	egress_flow_bound(flow, to);
	if (sent == n)
		return flow->readable ? STEP_ON : STEP_WAIT;
	if (egress_flow_hold(flow, relay->scratch + sent, (size_t)(n - sent)) < 0)
		return STEP_BROKEN;
	/* After a send that moved nothing, the receiver is full. */
	return sent == 0 ? STEP_WAIT : STEP_ON;
}

/* Moves bytes from the source into the pipe, which is empty. */
static enum step move_bulk(struct egress_relay *relay, struct egress_flow *flow, int from)
{
	ssize_t n = splice(from, NULL, flow->pipe->ends[1], NULL, EGRESS_RELAY_PIPE,
			   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (n < 0 && would_block()) {
		flow->readable = false;
		give_pipe(relay, flow);
		return STEP_WAIT;
	}
	if (n < 0)
		return STEP_BROKEN;
	if (n == 0) {
		flow->ended = true;
		return STEP_ON;
	}
	flow->piped = (uint32_t)n;
	flow->streak = n < BULK_SMALL ? (uint8_t)(flow->streak + 1) : 0;
	if (flow->streak >= BULK_UNTIL) {
		flow->bulk = false;
		flow->streak = 0;
	}
	return STEP_ON;
}

/* Reads once, through the buffer or the pipe. */
static enum step move(struct egress_relay *relay, struct egress_flow *flow, int from, int to)
{
	if (flow->bulk && !flow->pipe)
		flow->pipe = egress_relay_take_pipe(relay);
	if (flow->bulk && flow->pipe)
		return move_bulk(relay, flow, from);
	if (flow->pipe)
		give_pipe(relay, flow);
	flow->bulk = false; /* no pipe is available */
	return move_little(relay, flow, from, to);
}

/* Sends what is held, then what is in the pipe. */
static enum step flush(struct egress_flow *flow, int to)
{
	enum step step = flow->held_len > 0 || flow->broken ? flush_held(flow, to) : STEP_ON;

	return step == STEP_ON && flow->piped > 0 ? flush_pipe(flow, to) : step;
}

static void pass_end(struct egress_relay *relay, struct egress_flow *flow, int to)
{
	give_pipe(relay, flow);
	/* Fails harmlessly with ENOTCONN. */
	if (!flow->shut && !flow->closes)
		(void)shutdown(to, SHUT_WR);
	flow->shut = true;
}

enum egress_flow_state egress_flow_run(struct egress_relay *relay, struct egress_flow *flow,
				       int from, int to)
{
	enum step step;

	for (unsigned int turns = 0;; turns++) {
		step = flush(flow, to);
		if (step != STEP_ON)
			break;
		if (flow->ended) {
			pass_end(relay, flow, to);
			return EGRESS_FLOW_DONE;
		}
		if (!flow->readable)
			return EGRESS_FLOW_WAITS;
		if (turns >= (flow->bulk ? TURN_SPLICES : TURN_READS))
			return EGRESS_FLOW_GOES_ON;
		step = move(relay, flow, from, to);
		if (step != STEP_ON)
			break;
	}
	return step == STEP_WAIT ? EGRESS_FLOW_WAITS : EGRESS_FLOW_BROKEN;
}
