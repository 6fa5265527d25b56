/* SPDX-License-Identifier: MIT */
/*
 * The phase of a connection whose TLS is ended here. What is understood is understood by
 * terminate.c; here bytes are read and sent, origins are connected to, and events are told: one for
 * each request, and one for the connection.
 */
#include "conn.h"

#include "reach.h"
#include "terminate.h"

#include <errno.h>
#include <sys/socket.h>

/* Rounds before others have their turn. */
#define TURN_ROUNDS 16
/* One idle timer for all directions; it is not worth moving it for every packet. */
#define TOUCH_MS 1000
/* Read at a time when memory is short; records are put together by OpenSSL. */
#define SPARE_READ ((size_t)4096)
/* What one round may add to the buffers, and what one read of a head that comes in pieces may. */
#define ROUND ((size_t)256 << 10)
#define PIECE ((size_t)64 << 10)
#define CHAIN ((size_t)64 << 10) /* an origin's certificates, if they are nothing unusual */

_Static_assert(KODA_SCRATCH <= KODA_TERMINATE_FEED, "what is read at once is taken at once");

struct terminated {
	struct koda_terminate *t; /* owned */
	enum egress_phase phase;
	uint64_t began; /* the present request */
	bool sparing;   /* the tenant's budget is used up */
	bool running;   /* answers come while events are being handled */
	size_t counted; /* of the tenant's budget */
	bool client_shut;
	bool origin_shut;
};

enum step {
	STEP_WAIT,
	STEP_ON,
	STEP_GONE /* another phase has it, or nobody */
};

static void free_state(struct koda_conn *conn)
{
	struct terminated *state = KODA_TAKE(conn->state);

	koda_budget_move(&conn->tenant->budget, state->counted, 0);
	koda_terminate_free(state->t);
	free(state);
}

/* The event of the connection as a whole, and before it that of a request on its way. */
static void report_end(struct koda_conn *conn, enum koda_egress_reason reason)
{
	const struct egress_refusal why = koda_refusal(reason, koda_span_of(""));
	struct terminated *state = conn->state;
	struct egress_record record;
	struct koda_egress_message event = { .bytes_up = conn->up.bytes,
					     .bytes_down = conn->down.bytes };
	const char *failure = koda_terminate_failure(state->t);

	if (koda_terminate_unlogged(state->t, &record)) {
		record.refusal = &why;
		koda_conn_report_terminated(conn, &record, state->began);
	}
	if (failure && reason == KODA_EGRESS_TLS_FAILED)
		KODA_REPORT_TEXT(event.text, koda_span_of(failure));
	koda_conn_report_as(conn, reason, &event);
}

static void run(struct koda_conn *conn);

static void on_reached(struct koda_conn *conn, enum koda_egress_reason reason)
{
	struct terminated *state = conn->state;
	struct egress_refusal why;

	/* No TLS server speaks first. */
	if (reason == KODA_EGRESS_OK && conn->early.len > 0) {
		koda_conn_drop_origin(conn);
		reason = KODA_EGRESS_UPSTREAM_FAILED;
	}
	why = koda_refusal(reason, conn->deal.decision.rule);
	if (reason == KODA_EGRESS_OK && koda_terminate_connected(state->t, NULL) < 0)
		why = koda_refusal(KODA_EGRESS_NO_MEMORY, koda_span_of(""));
	else if (reason == KODA_EGRESS_OK)
		why.status = 0;
	if (why.status)
		koda_terminate_refused(state->t, &why);
	state->origin_shut = false;
	conn->down.readable = true;
	koda_deadline_set(conn->proxy->loop, &conn->proxy->queues.head, &conn->deadline);
	run(conn);
}

/* Everything was said: the client gets what waits for it, and the connection ends. */
static void finish(struct koda_conn *conn)
{
	struct terminated *state = conn->state;
	struct koda_span out = koda_terminate_out(state->t, EGRESS_CLIENT);
	bool failed = koda_terminate_failure(state->t) != NULL;
	char copy[512];

	report_end(conn, failed ? KODA_EGRESS_TLS_FAILED : KODA_EGRESS_OK);
	/* Alerts and last words are short; more waits only if the client does not read. */
	if (out.len <= sizeof(copy)) {
		memcpy(copy, out.len ? out.ptr : "", out.len);
		free_state(conn);
		koda_last_begin(conn, (struct koda_span){ copy, out.len });
		return;
	}
	if (koda_flow_hold(&conn->down, out.ptr, out.len) < 0) {
		free_state(conn);
		koda_conn_break(conn);
		return;
	}
	free_state(conn);
	koda_last_begin(conn, koda_span_of(""));
}

/* Reads once from a side that may have something. True: something came. */
static bool receive(struct koda_conn *conn, enum egress_side side)
{
	struct terminated *state = conn->state;
	struct koda_flow *flow = side == EGRESS_CLIENT ? &conn->up : &conn->down;
	int fd = side == EGRESS_CLIENT ? conn->client.fd : conn->origin.fd;
	char *scratch = conn->proxy->relay.scratch;
	size_t most = state->sparing ? SPARE_READ : KODA_SCRATCH;
	ssize_t n;

	if (!flow->readable || fd < 0 || !koda_terminate_wants(state->t, side))
		return false;
	if (side == EGRESS_ORIGIN && conn->reach)
		return false;
	n = recv(fd, scratch, most, 0);
	if (n > 0) {
		/* A short read has emptied the socket, unless its end is near. */
		flow->readable = n == (ssize_t)most || flow->hung_up;
		if (side == EGRESS_CLIENT)
			conn->up.bytes += (uint64_t)n;
		koda_terminate_feed(state->t, side, (struct koda_span){ scratch, (size_t)n });
		return true;
	}
	flow->readable = false;
	if (n < 0 && errno == EAGAIN)
		return false;
	koda_terminate_ended(state->t, side);
	return true;
}

/* Sends what waits for a side. -1: its socket failed. 1: something went. */
static int transmit(struct koda_conn *conn, enum egress_side side)
{
	struct terminated *state = conn->state;
	int fd = side == EGRESS_CLIENT ? conn->client.fd : conn->origin.fd;
	bool *shut = side == EGRESS_CLIENT ? &state->client_shut : &state->origin_shut;
	struct koda_span out;
	int moved = 0;

	if (fd < 0 || (side == EGRESS_ORIGIN && conn->reach))
		return 0;
	while ((out = koda_terminate_out(state->t, side)).len > 0) {
		ssize_t n = send(fd, out.ptr, out.len, MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN ? moved : -1;
		koda_terminate_sent(state->t, side, (size_t)n);
		if (side == EGRESS_CLIENT)
			conn->down.bytes += (uint64_t)n;
		koda_flow_bound(side == EGRESS_CLIENT ? &conn->down : &conn->up, fd);
		moved = 1;
	}
	if (koda_terminate_is_shut(state->t, side) && !*shut) {
		(void)shutdown(fd, SHUT_WR);
		*shut = true;
	}
	return moved;
}

/* Does what the terminated connection asks for, until it waits. */
static enum step handle(struct koda_conn *conn)
{
	struct terminated *state = conn->state;
	struct koda_terminate_output out;

	for (;;) {
		switch (koda_terminate_next(state->t, &out)) {
		case KODA_TERMINATE_WAIT:
			return STEP_WAIT;
		case KODA_TERMINATE_WANT_ORIGIN:
			koda_reach_start(conn, KODA_REACH_TUNNEL, on_reached);
			break;
		case KODA_TERMINATE_DROP_ORIGIN:
			koda_conn_drop_origin(conn);
			break;
		case KODA_TERMINATE_LOG:
			koda_conn_report_terminated(conn, &out.record, state->began);
			state->began = koda_loop_now(conn->proxy->loop);
			break;
		case KODA_TERMINATE_CLOSE:
			finish(conn);
			return STEP_GONE;
		}
	}
}

/* Reports, and breaks off. */
static void cut(struct koda_conn *conn, enum koda_egress_reason reason)
{
	report_end(conn, reason);
	free_state(conn);
	koda_conn_break(conn);
}

/* T-83. Tells the budget what is in use, and asks whether there can be more. False: not even this
 * much, and the connection is over. */
static bool settle(struct koda_conn *conn)
{
	struct terminated *state = conn->state;
	struct koda_budget *budget = &conn->tenant->budget;
	size_t now = KODA_TERMINATE_BASE + koda_terminate_held(state->t);
	/* Half of it is for connections that do not even exist yet, and for heads. */
	size_t reserve = conn->proxy->tenant_memory_max / 2;
	struct egress_refusal why = koda_refusal(KODA_EGRESS_NO_MEMORY, koda_span_of(""));

	if (koda_terminate_chain(state->t) > CHAIN &&
	    !koda_budget_affords(budget, state->counted, now)) {
		cut(conn, KODA_EGRESS_NO_MEMORY);
		return false;
	}
	koda_budget_move(budget, state->counted, now);
	state->counted = now;
	state->sparing = !koda_budget_affords(budget, now, now + ROUND + reserve);
	koda_terminate_spare(state->t, state->sparing);
	/* A head has to be there as a whole. */
	if ((koda_terminate_is_partial(state->t, EGRESS_CLIENT) ||
	     koda_terminate_is_partial(state->t, EGRESS_ORIGIN)) &&
	    !koda_budget_affords(budget, now, now + PIECE))
		koda_terminate_refused(state->t, &why);
	return true;
}

static enum step round_once(struct koda_conn *conn)
{
	struct terminated *state = conn->state;
	bool came = receive(conn, EGRESS_CLIENT);
	int down, up;

	came = receive(conn, EGRESS_ORIGIN) || came;
	if (handle(conn) == STEP_GONE)
		return STEP_GONE;
	/* Our answer to CONNECT may still be on its way. */
	down = conn->down.held_len > 0 ? 0 : transmit(conn, EGRESS_CLIENT);
	up = transmit(conn, EGRESS_ORIGIN);
	if (down < 0) {
		cut(conn, KODA_EGRESS_RESET);
		return STEP_GONE;
	}
	if (up < 0)
		koda_terminate_ended(state->t, EGRESS_ORIGIN);
	return came || down || up ? STEP_ON : STEP_WAIT;
}

/* Which deadline counts now; a handshake or a head that trickles in gets no second one. */
static void set_deadline(struct koda_conn *conn)
{
	struct terminated *state = conn->state;
	struct koda_queues *queues = &conn->proxy->queues;
	enum egress_phase before = state->phase;

	state->phase = koda_terminate_phase(state->t);
	if (state->phase == EGRESS_PHASE_ORIGIN) {
		/* Reaching has its own deadlines; a handshake has this one. */
		if (conn->reach)
			koda_deadline_clear(&conn->deadline);
		else if (before != EGRESS_PHASE_ORIGIN)
			koda_deadline_set(conn->proxy->loop, &queues->head, &conn->deadline);
	} else if (state->phase == EGRESS_PHASE_HEAD) {
		if (before != EGRESS_PHASE_HEAD)
			koda_deadline_set(conn->proxy->loop, &queues->head, &conn->deadline);
	} else if (before == EGRESS_PHASE_ORIGIN || before == EGRESS_PHASE_HEAD ||
		   conn->deadline.at <
			   koda_loop_now(conn->proxy->loop) + queues->idle.ms - TOUCH_MS) {
		koda_deadline_set(conn->proxy->loop, &queues->idle, &conn->deadline);
	}
}

static void run(struct koda_conn *conn)
{
	struct terminated *state = conn->state;
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
		koda_conn_go_on(conn);
}

static void go_on(struct koda_conn *conn)
{
	if (conn->client_gone ||
	    (conn->down.held_len > 0 &&
	     koda_flow_flush(&conn->down, conn->client.fd) == KODA_FLOW_BROKEN)) {
		cut(conn, KODA_EGRESS_RESET);
		return;
	}
	run(conn);
}

static void on_late(struct koda_conn *conn)
{
	struct terminated *state = conn->state;
	bool origin = state->phase == EGRESS_PHASE_ORIGIN;
	struct egress_refusal why = koda_refusal(
		origin ? KODA_EGRESS_CONNECT_TIMEOUT : KODA_EGRESS_IDLE, koda_span_of(""));

	if (state->phase == EGRESS_PHASE_REQUEST || state->phase == EGRESS_PHASE_RESPONSE ||
	    origin) {
		koda_terminate_refused(state->t, &why);
		run(conn);
		return;
	}
	report_end(conn, state->phase == EGRESS_PHASE_HEAD ? KODA_EGRESS_CLIENT_TIMEOUT
							   : KODA_EGRESS_IDLE);
	free_state(conn);
	koda_conn_end(conn);
}

static void abandon(struct koda_conn *conn, enum koda_egress_reason reason)
{
	report_end(conn, reason);
	free_state(conn);
}

static bool has_target(const struct koda_conn *conn)
{
	(void)conn;
	return true;
}

static const struct koda_phase terminated = {
	.client = go_on,
	.origin = go_on,
	.late = on_late,
	.go_on = go_on,
	.abandon = abandon,
	.has_target = has_target,
};

void koda_terminated_begin(struct koda_conn *conn, const struct egress_hello *hello)
{
	struct koda_budget *budget = &conn->tenant->budget;
	struct terminated *state = koda_budget_affords(budget, 0, KODA_TERMINATE_BASE)
					   ? calloc(1, sizeof(*state))
					   : NULL;
	struct koda_host host = conn->deal.target.host;
	int r = KODA_E_NOMEM;

	/* To an address a client may go by a name, which then is the one that counts. */
	if (hello->has_name &&
	    koda_host_parse((struct koda_span){ hello->name, hello->name_len }, &host, NULL) < 0)
		host = conn->deal.target.host;
	if (state)
		r = koda_terminate_new(conn->tenant->tls, conn->proxy->tls, &host,
				       conn->deal.target.port, time(NULL), &state->t, NULL);
	if (r == KODA_OK)
		r = koda_terminate_connected(state->t, NULL);
	if (r < 0) {
		if (state)
			koda_terminate_free(state->t);
		free(state);
		koda_conn_report(conn, r == KODA_E_NOMEM ? KODA_EGRESS_NO_MEMORY
							 : KODA_EGRESS_TLS_FAILED);
		koda_conn_break(conn);
		return;
	}
	conn->phase = &terminated;
	conn->state = state;
	state->began = koda_loop_now(conn->proxy->loop);
	conn->up.bytes = conn->in.len;
	koda_terminate_feed(state->t, EGRESS_CLIENT, koda_input_span(&conn->in));
	koda_input_clear(&conn->in);
	koda_deadline_set(conn->proxy->loop, &conn->proxy->queues.head, &conn->deadline);
	state->phase = EGRESS_PHASE_HEAD;
	run(conn);
}
