/* SPDX-License-Identifier: MIT */
#include "flow.h"

#include "base/diag.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PIPE_SIZE    ((size_t)1024 * 1024)
#define PIPES_KEPT   16
#define BULK_AFTER   3                   /* full reads in a row */
#define BULK_SMALL   ((ssize_t)8 * 1024) /* what is a small read in bulk */
#define BULK_UNTIL   16                  /* of those in a row */
#define TURN_READS   16                  /* of the shared buffer */
#define TURN_SPLICES 8                   /* of a pipe */
#define QUEUE_FROM   ((size_t)64 * 1024) /* bytes in all: that is not little */
#define QUEUE_MAX    (1024 * 1024)       /* unsent in the kernel */

int koda_relay_init(struct koda_relay *relay, unsigned int pipe_max, struct koda_error *err)
{
	*relay = (struct koda_relay){ .pipe_max = pipe_max };
	relay->scratch = malloc(KODA_SCRATCH);
	return relay->scratch ? KODA_OK : koda_fail_nomem(err);
}

static void close_pipe(struct koda_relay *relay, struct koda_pipe *pipe)
{
	koda_fd_close(&pipe->ends[0]);
	koda_fd_close(&pipe->ends[1]);
	free(pipe);
	relay->pipe_count--;
}

void koda_relay_clear(struct koda_relay *relay)
{
	while (relay->free_pipes) {
		struct koda_pipe *pipe = relay->free_pipes;

		relay->free_pipes = pipe->next;
		close_pipe(relay, pipe);
	}
	koda_free_ptr(&relay->scratch);
}

static struct koda_pipe *take_pipe(struct koda_relay *relay)
{
	struct koda_pipe *pipe = relay->free_pipes;

	if (pipe) {
		relay->free_pipes = pipe->next;
		relay->free_count--;
		return pipe;
	}
	if (relay->pipe_count >= relay->pipe_max)
		return NULL;
	pipe = malloc(sizeof(*pipe));
	if (!pipe)
		return NULL;
	if (pipe2(pipe->ends, O_CLOEXEC | O_NONBLOCK) < 0) {
		free(pipe);
		return NULL;
	}
	/* The user's share of pipe memory may be used up; a small pipe works as well. */
	(void)fcntl(pipe->ends[1], F_SETPIPE_SZ, (int)PIPE_SIZE);
	relay->pipe_count++;
	return pipe;
}

static void give_pipe(struct koda_relay *relay, struct koda_flow *flow)
{
	struct koda_pipe *pipe = KODA_TAKE(flow->pipe);

	if (!pipe)
		return;
	if (flow->piped > 0 || relay->free_count >= PIPES_KEPT) {
		close_pipe(relay, pipe);
		return;
	}
	pipe->next = relay->free_pipes;
	relay->free_pipes = pipe;
	relay->free_count++;
}

void koda_flow_drop(struct koda_flow *flow)
{
	koda_free_ptr(&flow->held);
	koda_budget_move(flow->budget, flow->held_cap, 0);
	flow->held_at = 0;
	flow->held_len = 0;
	flow->held_cap = 0;
}

void koda_flow_clear(struct koda_relay *relay, struct koda_flow *flow)
{
	give_pipe(relay, flow);
	koda_flow_drop(flow);
	flow->piped = 0;
}

int koda_flow_hold(struct koda_flow *flow, const char *bytes, size_t len)
{
	size_t cap = flow->held_len + len;

	if (len == 0)
		return KODA_OK;
	if (flow->held_at > 0)
		memmove(flow->held, flow->held + flow->held_at, flow->held_len);
	flow->held_at = 0;
	if (cap > flow->held_cap) {
		char *held = NULL;

		if (koda_budget_affords(flow->budget, flow->held_cap, cap))
			held = realloc(flow->held, cap);
		if (!held)
			return KODA_E_NOMEM;
		koda_budget_move(flow->budget, flow->held_cap, cap);
		flow->held = held;
		flow->held_cap = (uint32_t)cap;
	}
	memcpy(flow->held + flow->held_len, bytes, len);
	flow->held_len += (uint32_t)len;
	return KODA_OK;
}

int koda_flow_adopt(struct koda_flow *flow, struct koda_input *in)
{
	int r = KODA_OK;

	if (flow->held_len > 0 || in->len == 0) {
		r = koda_flow_hold(flow, in->bytes + in->at, in->len);
		koda_input_clear(in);
		return r;
	}
	koda_flow_drop(flow);
	flow->held_at = in->at;
	flow->held_len = in->len;
	flow->held_cap = in->cap;
	flow->held = koda_input_give(in);
	koda_budget_move(flow->budget, 0, flow->held_cap);
	return r;
}

size_t koda_flow_room(const struct koda_flow *flow, size_t most)
{
	size_t cap = koda_budget_most(flow->budget, flow->held_cap, most);

	return flow->held_len < cap ? cap - flow->held_len : 0;
}

void koda_flow_bound(struct koda_flow *flow, int to)
{
	if (flow->bounded || flow->bytes < QUEUE_FROM)
		return;
	/* Of a Unix socket the queue is small anyway. */
	(void)setsockopt(to, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &(int){ QUEUE_MAX }, sizeof(int));
	flow->bounded = true;
}

static bool would_block(void)
{
	return errno == EAGAIN;
}

/* How a step went: <0 broken, 0 the receiver or the source is not ready, 1 go on. */
enum step {
	STEP_BROKEN = -1,
	STEP_WAIT,
	STEP_ON
};

/* What was read earlier goes first. */
static enum step flush_held(struct koda_flow *flow, int to)
{
	while (flow->held_len > 0) {
		ssize_t n = send(to, flow->held + flow->held_at, flow->held_len, MSG_NOSIGNAL);

		if (n < 0)
			return would_block() ? STEP_WAIT : STEP_BROKEN;
		flow->held_at += (uint32_t)n;
		flow->held_len -= (uint32_t)n;
		flow->bytes += (uint64_t)n;
	}
	koda_flow_drop(flow);
	return STEP_ON;
}

enum koda_flow_state koda_flow_flush(struct koda_flow *flow, int to)
{
	enum step step = flush_held(flow, to);

	if (step == STEP_ON)
		return KODA_FLOW_DONE;
	return step == STEP_WAIT ? KODA_FLOW_WAITS : KODA_FLOW_BROKEN;
}

int koda_flow_send(struct koda_flow *flow, int to, const char *bytes, size_t len)
{
	ssize_t n = 0;

	if (flow->held_len == 0) {
		n = send(to, bytes, len, MSG_NOSIGNAL);
		if (n < 0 && !would_block())
			return KODA_E_SYS;
		if (n < 0)
			n = 0;
		flow->bytes += (uint64_t)n;
		koda_flow_bound(flow, to);
	}
	return koda_flow_hold(flow, bytes + n, len - (size_t)n);
}

static enum step flush_pipe(struct koda_flow *flow, int to)
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
		koda_flow_bound(flow, to);
	}
	return STEP_ON;
}

/* Through the shared buffer. */
static enum step move_little(struct koda_relay *relay, struct koda_flow *flow, int from, int to)
{
	/* No more than can be kept if the receiver takes nothing. */
	size_t most = koda_flow_room(flow, KODA_SCRATCH);
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
	koda_flow_bound(flow, to);
	if (sent == n)
		return flow->readable ? STEP_ON : STEP_WAIT;
	if (koda_flow_hold(flow, relay->scratch + sent, (size_t)(n - sent)) < 0)
		return STEP_BROKEN;
	/* Had it been full, trying again at once would only cost. */
	return sent == 0 ? STEP_WAIT : STEP_ON;
}

/* Through a pipe; the pipe is empty when this is called. */
static enum step move_bulk(struct koda_relay *relay, struct koda_flow *flow, int from)
{
	ssize_t n = splice(from, NULL, flow->pipe->ends[1], NULL, PIPE_SIZE,
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

/* Reads once, from whichever way is the right one now. */
static enum step move(struct koda_relay *relay, struct koda_flow *flow, int from, int to)
{
	if (flow->bulk && !flow->pipe)
		flow->pipe = take_pipe(relay);
	if (flow->bulk && flow->pipe)
		return move_bulk(relay, flow, from);
	if (flow->pipe)
		give_pipe(relay, flow);
	flow->bulk = false; /* no pipe to be had */
	return move_little(relay, flow, from, to);
}

/* What is on its way goes first, then the end. */
static enum step flush(struct koda_flow *flow, int to)
{
	enum step step = flow->held_len > 0 ? flush_held(flow, to) : STEP_ON;

	return step == STEP_ON && flow->piped > 0 ? flush_pipe(flow, to) : step;
}

static void pass_end(struct koda_relay *relay, struct koda_flow *flow, int to)
{
	give_pipe(relay, flow);
	/* It may be gone already; then there is nobody to tell. */
	if (!flow->shut && !flow->closes)
		(void)shutdown(to, SHUT_WR);
	flow->shut = true;
}

enum koda_flow_state koda_flow_run(struct koda_relay *relay, struct koda_flow *flow, int from,
				   int to)
{
	enum step step;

	for (unsigned int turns = 0;; turns++) {
		step = flush(flow, to);
		if (step != STEP_ON)
			break;
		if (flow->ended) {
			pass_end(relay, flow, to);
			return KODA_FLOW_DONE;
		}
		if (!flow->readable)
			return KODA_FLOW_WAITS;
		if (turns >= (flow->bulk ? TURN_SPLICES : TURN_READS))
			return KODA_FLOW_GOES_ON;
		step = move(relay, flow, from, to);
		if (step != STEP_ON)
			break;
	}
	return step == STEP_WAIT ? KODA_FLOW_WAITS : KODA_FLOW_BROKEN;
}
