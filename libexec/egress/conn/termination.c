/* SPDX-License-Identifier: MIT */
/*
 * The phase of terminated TLS. terminate.c parses; this file reads, sends, connects to origins, and
 * reports events: one for each request, and one for the connection.
 */
#include "conn/termination_state.h"

#include "conn/conn_report.h"
#include "conn/final_answer.h"
#include "conn/reach.h"
#include "conn/turn.h"
#include "proto/reason.h"

#include <errno.h>
#include <sys/socket.h>

/* Rounds in one turn. */
#define TURN_ROUNDS 16
/* Granularity of the idle deadline: it is not moved for every packet. */
#define TOUCH_MS 1000
/* Bytes of one read while memory is short; OpenSSL assembles records. */
#define SPARE_READ ((size_t)4096)
/* Bytes that one round may add to the buffers, and bytes that one read of an incomplete head may
 * add. */
#define ROUND ((size_t)256 << 10)
#define PIECE ((size_t)64 << 10)
#define CHAIN ((size_t)64 << 10) /* an origin's certificates, usually */

_Static_assert(EGRESS_SCRATCH <= EGRESS_TERMINATE_FEED, "what is read at once is taken at once");

enum step {
	STEP_WAIT,
	STEP_ON,
	STEP_GONE /* the phase has ended */
};

static void free_state(struct egress_conn *conn)
{
	struct egress_termination *state = KODA_TAKE(conn->state);

	egress_budget_move(&conn->tenant->budget, state->counted, 0);
	egress_terminate_free(state->t);
	free(state);
}

/* Reports the request that has not been answered yet, if any, then the connection. */
static void report_end(struct egress_conn *conn, enum koda_egress_reason reason)
{
	const struct egress_refusal why = egress_reason_refusal(reason, koda_span_of(""));
	struct egress_termination *state = conn->state;
	struct egress_record record;
	struct koda_egress_message event = { .bytes_up = conn->up.bytes,
					     .bytes_down = conn->down.bytes };
	const char *failure = egress_terminate_failure(state->t);

	if (egress_terminate_unlogged(state->t, &record)) {
		record.refusal = &why;
		egress_conn_report_terminated(conn, &record, state->began);
	}
	if (failure && reason == KODA_EGRESS_TLS_FAILED)
		EGRESS_REPORT_TEXT(event.text, koda_span_of(failure));
	egress_conn_report_as(conn, reason, &event);
}

/* Remembers the result. The TLS handshake with the origin waits for a turn. */
static void on_reached(struct egress_conn *conn, enum koda_egress_reason reason)
{
	struct egress_termination *state = conn->state;

	state->reached = true;
	state->reason = reason;
	egress_turn_wait(conn);
}

static void use_origin(struct egress_conn *conn)
{
	struct egress_termination *state = conn->state;
	enum koda_egress_reason reason = state->reason;
	struct egress_refusal why;

	state->reached = false;

	/* A TLS server does not send first. */
	if (reason == KODA_EGRESS_OK && conn->early.len > 0) {
		egress_conn_drop_origin(conn);
		reason = KODA_EGRESS_UPSTREAM_FAILED;
	}
	why = egress_reason_refusal(reason, conn->route.decision.rule);
	if (reason == KODA_EGRESS_OK && egress_terminate_connected(state->t, NULL) < 0)
		why = egress_reason_refusal(KODA_EGRESS_NO_MEMORY, koda_span_of(""));
	else if (reason == KODA_EGRESS_OK)
		why.status = 0;
	if (why.status)
		egress_terminate_refused(state->t, &why);
	state->origin_shut = false;
	conn->down.readable = true;
	egress_deadline_set(conn->proxy->loop, &conn->proxy->queues.head, &conn->deadline);
}

/* Ends the connection after the client has received what is queued for it. */
static void finish(struct egress_conn *conn)
{
	struct egress_termination *state = conn->state;
	struct koda_span out = egress_terminate_out(state->t, EGRESS_CLIENT);
	bool failed = egress_terminate_failure(state->t) != NULL;
	char copy[512];

	report_end(conn, failed ? KODA_EGRESS_TLS_FAILED : KODA_EGRESS_OK);
	if (failed) /* possibly within a request */
		egress_conn_break_origin(conn);
	/* An alert or close_notify is short. More waits only if the client does not read. */
	if (out.len <= sizeof(copy)) {
		memcpy(copy, out.len ? out.ptr : "", out.len);
		free_state(conn);
		egress_final_answer_begin(conn, (struct koda_span){ copy, out.len });
		return;
	}
	failed = egress_flow_hold(&conn->down, out.ptr, out.len) < 0;
	free_state(conn);
	if (failed)
		egress_conn_break(conn);
	else
		egress_final_answer_begin(conn, koda_span_of(""));
}

/* Reads once from a side. Returns true if bytes or the end of the stream arrived. */
static bool receive(struct egress_conn *conn, enum egress_side side)
{
	struct egress_termination *state = conn->state;
	struct egress_flow *flow = side == EGRESS_CLIENT ? &conn->up : &conn->down;
	int fd = side == EGRESS_CLIENT ? conn->client.fd : conn->origin.fd;
	char *scratch = conn->proxy->relay.scratch;
	size_t most = state->sparing ? SPARE_READ : EGRESS_SCRATCH;
	ssize_t n;

	if (!flow->readable || fd < 0 || (side == EGRESS_ORIGIN && conn->reach) ||
	    !egress_terminate_wants(state->t, side))
		return false;
	n = recv(fd, scratch, most, 0);
	if (n > 0) {
		/* A short read means that the socket is empty, unless EPOLLRDHUP was seen. */
		flow->readable = n == (ssize_t)most || flow->hung_up;
		if (side == EGRESS_CLIENT)
			conn->up.bytes += (uint64_t)n;
		egress_terminate_feed(state->t, side, (struct koda_span){ scratch, (size_t)n });
		return true;
	}
	flow->readable = false;
	if (n < 0 && errno == EAGAIN)
		return false;
	egress_terminate_ended(state->t, side);
	return true;
}

/* Sends what waits for a side. Returns -1 if its socket failed, 1 if bytes were sent, else 0. */
static int transmit(struct egress_conn *conn, enum egress_side side)
{
	struct egress_termination *state = conn->state;
	int fd = side == EGRESS_CLIENT ? conn->client.fd : conn->origin.fd;
	bool *shut = side == EGRESS_CLIENT ? &state->client_shut : &state->origin_shut;
	struct koda_span out;
	int moved = 0;

	if (fd < 0 || (side == EGRESS_ORIGIN && conn->reach))
		return 0;
	while ((out = egress_terminate_out(state->t, side)).len > 0) {
		ssize_t n = send(fd, out.ptr, out.len, MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN ? moved : -1;
		egress_terminate_sent(state->t, side, (size_t)n);
		if (side == EGRESS_CLIENT)
			conn->down.bytes += (uint64_t)n;
		egress_flow_bound(side == EGRESS_CLIENT ? &conn->down : &conn->up, fd);
		moved = 1;
	}
	if (egress_terminate_is_shut(state->t, side) && !*shut) {
		(void)shutdown(fd, SHUT_WR);
		*shut = true;
	}
	return moved;
}

/* Carries out events of the terminated connection, until it waits. */
static enum step handle(struct egress_conn *conn)
{
	struct egress_termination *state = conn->state;
	struct egress_terminate_output out;

	for (;;) {
		switch (egress_terminate_next(state->t, &out)) {
		case EGRESS_TERMINATE_WAIT:
			return STEP_WAIT;
		case EGRESS_TERMINATE_WANT_ORIGIN:
			egress_reach_start(conn, EGRESS_REACH_TUNNEL, on_reached);
			break;
		case EGRESS_TERMINATE_DROP_ORIGIN:
			(out.cut ? egress_conn_break_origin : egress_conn_drop_origin)(conn);
			break;
		case EGRESS_TERMINATE_LOG:
			egress_conn_report_terminated(conn, &out.record, state->began);
			state->began = egress_loop_now(conn->proxy->loop);
			break;
		case EGRESS_TERMINATE_CLOSE:
			finish(conn);
			return STEP_GONE;
		}
	}
}

static void cut(struct egress_conn *conn, enum koda_egress_reason reason)
{
	report_end(conn, reason);
	free_state(conn);
	egress_conn_break(conn);
}

/* T-83. Updates the tenant's budget, and switches to sparing mode when it is short. Returns false
 * if even the present size is too much; the connection has ended then. */
static bool settle(struct egress_conn *conn)
{
	struct egress_termination *state = conn->state;
	struct egress_budget *budget = &conn->tenant->budget;
	size_t now = EGRESS_TERMINATE_BASE + egress_terminate_held(state->t);
	/* Half of the budget is kept for new connections and for heads. */
	size_t reserve = conn->proxy->limits.tenant_memory / 2;
	struct egress_refusal why = egress_reason_refusal(KODA_EGRESS_NO_MEMORY, koda_span_of(""));

	if (egress_terminate_chain(state->t) > CHAIN &&
	    !egress_budget_affords(budget, state->counted, now)) {
		cut(conn, KODA_EGRESS_NO_MEMORY);
		return false;
	}
	egress_budget_move(budget, state->counted, now);
	state->counted = now;
	state->sparing = !egress_budget_affords(budget, now, now + ROUND + reserve);
	egress_terminate_spare(state->t, state->sparing);
	/* A head must be in memory as a whole. */
	if ((egress_terminate_is_partial(state->t, EGRESS_CLIENT) ||
	     egress_terminate_is_partial(state->t, EGRESS_ORIGIN)) &&
	    !egress_budget_affords(budget, now, now + PIECE))
		egress_terminate_refused(state->t, &why);
	return true;
}

static enum step round_once(struct egress_conn *conn)
{
	struct egress_termination *state = conn->state;
	bool came = receive(conn, EGRESS_CLIENT);
	int down, up;

	came = receive(conn, EGRESS_ORIGIN) || came;
	if (handle(conn) == STEP_GONE)
		return STEP_GONE;
	/* The answer to CONNECT may not have been sent yet. */
	down = conn->down.held_len > 0 ? 0 : transmit(conn, EGRESS_CLIENT);
	up = transmit(conn, EGRESS_ORIGIN);
	if (down < 0) {
		cut(conn, KODA_EGRESS_RESET);
		return STEP_GONE;
	}
	if (up < 0)
		egress_terminate_ended(state->t, EGRESS_ORIGIN);
	return came || down || up ? STEP_ON : STEP_WAIT;
}

/* Sets the deadline. A handshake or head that arrives in pieces does not extend it. */
static void set_deadline(struct egress_conn *conn)
{
	struct egress_termination *state = conn->state;
	struct egress_queues *queues = &conn->proxy->queues;
	enum egress_exchange_step before = state->step;
	struct egress_queue *idle;

	state->step = egress_terminate_step(state->t);
	idle = egress_queues_silence(queues, state->step == EGRESS_EXCHANGE_RAW);
	if (state->step == EGRESS_EXCHANGE_ORIGIN) {
		/* reach.c has its own deadlines; a handshake has this one. */
		if (conn->reach)
			egress_deadline_clear(&conn->deadline);
		else if (before != EGRESS_EXCHANGE_ORIGIN)
			egress_deadline_set(conn->proxy->loop, &queues->head, &conn->deadline);
	} else if (state->step == EGRESS_EXCHANGE_HEAD) {
		if (before != EGRESS_EXCHANGE_HEAD)
			egress_deadline_set(conn->proxy->loop, &queues->head, &conn->deadline);
	} else if (before == EGRESS_EXCHANGE_ORIGIN || before == EGRESS_EXCHANGE_HEAD ||
		   conn->deadline.at < egress_loop_now(conn->proxy->loop) + idle->ms - TOUCH_MS) {
		egress_deadline_set(conn->proxy->loop, idle, &conn->deadline);
	}
}

static void run(struct egress_conn *conn)
{
	struct egress_termination *state = conn->state;
	enum step now = STEP_ON;

	if (state->running)
		return;
	state->running = true;
	for (int i = 0; i < TURN_ROUNDS && now == STEP_ON; i++) {
		if (!settle(conn))
			return;
		now = round_once(conn);
	}
	if (now == STEP_GONE)
		return;
	state->running = false;
	if (!settle(conn))
		return;
	set_deadline(conn);
	if (now == STEP_ON)
		egress_turn_wait(conn);
}

static void go_on(struct egress_conn *conn)
{
	if (conn->client_gone ||
	    (conn->down.held_len > 0 &&
	     egress_flow_flush(&conn->down, conn->client.fd) == EGRESS_FLOW_BROKEN)) {
		cut(conn, KODA_EGRESS_RESET);
		return;
	}
	if (((const struct egress_termination *)conn->state)->reached)
		use_origin(conn);
	run(conn);
}

static void on_late(struct egress_conn *conn)
{
	struct egress_termination *state = conn->state;
	bool origin = state->step == EGRESS_EXCHANGE_ORIGIN;
	struct egress_refusal why = egress_reason_refusal(
		origin ? KODA_EGRESS_CONNECT_TIMEOUT : KODA_EGRESS_IDLE, koda_span_of(""));

	if (state->step == EGRESS_EXCHANGE_REQUEST || state->step == EGRESS_EXCHANGE_RESPONSE ||
	    origin) {
		state->reached = false;
		egress_terminate_refused(state->t, &why);
		run(conn);
		return;
	}
	report_end(conn, state->step == EGRESS_EXCHANGE_HEAD ? KODA_EGRESS_CLIENT_TIMEOUT
							     : KODA_EGRESS_IDLE);
	free_state(conn);
	egress_conn_end(conn);
}

static void abandon(struct egress_conn *conn, enum koda_egress_reason reason)
{
	report_end(conn, reason);
	free_state(conn);
}

static bool has_target(const struct egress_conn *conn)
{
	(void)conn;
	return true;
}

static const struct egress_conn_phase terminated = {
	.client = egress_turn_wait,
	.origin = egress_turn_wait,
	.late = on_late,
	.turn = go_on,
	.abandon = abandon,
	.has_target = has_target,
};

void egress_termination_enter(struct egress_conn *conn)
{
	struct egress_termination *state = conn->state;

	conn->phase = &terminated;
	state->began = egress_loop_now(conn->proxy->loop);
	conn->up.bytes = conn->in.len;
	egress_terminate_feed(state->t, EGRESS_CLIENT, egress_input_span(&conn->in));
	egress_input_clear(&conn->in);
	egress_deadline_set(conn->proxy->loop, &conn->proxy->queues.head, &conn->deadline);
	state->step = EGRESS_EXCHANGE_HEAD;
	run(conn);
}
