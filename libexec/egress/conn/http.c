/* SPDX-License-Identifier: MIT */
/*
 * The phase of plain HTTP. The exchange parses the bytes, this file reads and sends them. Every
 * request is decided by the rules, also on a kept connection.
 */
#include "conn/http_conn.h"

#include "conn/conn_report.h"
#include "conn/final_answer.h"
#include "conn/question.h"
#include "conn/refuse.h"
#include "conn/turn.h"
#include "proto/reason.h"

/* The longest head, and a little more to detect one that is too long. */
#define IN_MAX  (EGRESS_HEAD_MAX + 1024)
#define OUT_MAX ((size_t)64 * 1024)
/* Bytes of one read of a body. A side that has sent nothing has no buffer. */
#define CHUNK 32768
/* Steps in one turn. */
#define TURN_STEPS 64

static void end(struct egress_conn *conn)
{
	egress_http_leave(conn);
	egress_conn_end(conn);
}

/* Sends bytes to a side. Returns false if the client's socket failed. An origin that does not take
 * bytes may still answer, so its failure only ends its input. */
static bool forward(struct egress_conn *conn, const struct egress_output *out)
{
	if (out->side == EGRESS_CLIENT)
		return egress_flow_send(&conn->down, conn->client.fd, out->bytes.ptr,
					out->bytes.len) == KODA_OK;
	if (conn->origin.fd >= 0 &&
	    egress_flow_send(&conn->up, conn->origin.fd, out->bytes.ptr, out->bytes.len) < 0)
		((struct egress_http *)conn->state)->origin_eof = true;
	return true;
}

static size_t room(const struct egress_flow *flow)
{
	return egress_flow_room(flow, OUT_MAX);
}

/* Reads once from a side. Returns true if bytes or the end of the stream arrived. Sets *poor if
 * there is no memory to read. */
static bool fill(struct egress_input *in, struct egress_flow *flow, int fd, bool *eof, bool *broken,
		 bool *poor)
{
	if (!flow->readable || *eof || fd < 0)
		return false;
	/* Until the other side takes bytes, further ones wait in the kernel. */
	if (in->len > 0 && room(flow) == 0)
		return false;
	switch (egress_input_fill(in, fd, IN_MAX)) {
	case EGRESS_INPUT_GOT:
		return true;
	case EGRESS_INPUT_FULL:
		return false;
	case EGRESS_INPUT_DRY:
		flow->readable = false;
		return false;
	case EGRESS_INPUT_POOR:
		*poor = true;
		return false;
	case EGRESS_INPUT_BROKEN:
		*broken = true;
		break;
	case EGRESS_INPUT_END:
		break;
	}
	flow->readable = false;
	*eof = true;
	return true;
}

static void run(struct egress_conn *conn);

static void on_reached(struct egress_conn *conn, enum koda_egress_reason reason)
{
	egress_http_route_reached(conn, reason);
	run(conn);
}

enum step {
	STEP_WAIT,
	STEP_ON,
	STEP_GONE /* the phase has ended */
};

/* Carries out an event of the exchange. The input that the exchange has consumed is still in
 * place. */
static enum step act(struct egress_conn *conn, enum egress_event event,
		     const struct egress_output *out)
{
	struct egress_http *http = conn->state;

	switch (event) {
	case EGRESS_EV_WAIT:
		return STEP_WAIT;
	case EGRESS_EV_SEND:
		if (forward(conn, out))
			return STEP_ON;
		egress_conn_abandon(conn, KODA_EGRESS_RESET);
		return STEP_GONE;
	case EGRESS_EV_WANT_ORIGIN:
		egress_http_route_start(conn, &out->request, on_reached);
		break;
	case EGRESS_EV_LOG:
		egress_conn_report_request(conn, &out->record, http->began, http->in_tunnel);
		http->began = egress_loop_now(conn->proxy->loop);
		break;
	case EGRESS_EV_DROP_ORIGIN:
		/* A truncated request must not look complete. */
		if (out->cut || conn->up.broken || conn->up.held_len > 0)
			egress_conn_break_origin(conn);
		egress_http_route_drop(conn);
		break;
	case EGRESS_EV_SHUT:
	case EGRESS_EV_RAW:
	case EGRESS_EV_CONNECT:
	case EGRESS_EV_CLOSE:
		break;
	}
	return STEP_ON;
}

/* Handles events that end the phase. The consumed input is removed by now. */
static enum step leave(struct egress_conn *conn, enum egress_event event,
		       const struct egress_output *out)
{
	switch (event) {
	case EGRESS_EV_RAW:
		egress_http_leave_for_tunnel(conn);
		return STEP_GONE;
	case EGRESS_EV_CONNECT:
		egress_http_leave_for_connect(conn, &out->request);
		return STEP_GONE;
	case EGRESS_EV_CLOSE:
		if (((const struct egress_http *)conn->state)->cut) {
			egress_http_leave(conn);
			egress_conn_break(conn);
			return STEP_GONE;
		}
		egress_http_leave(conn);
		egress_final_answer_begin(conn, koda_span_of(""));
		return STEP_GONE;
	case EGRESS_EV_WAIT:
	case EGRESS_EV_SEND:
	case EGRESS_EV_WANT_ORIGIN:
	case EGRESS_EV_LOG:
	case EGRESS_EV_DROP_ORIGIN:
	case EGRESS_EV_SHUT:
		break;
	}
	return STEP_ON;
}

static enum step step(struct egress_conn *conn)
{
	struct egress_http *http = conn->state;
	struct egress_port port[2] = {
		[EGRESS_CLIENT] = { .in = egress_input_span(&conn->in),
				    .eof = http->client_eof,
				    .room = room(&conn->down) },
		[EGRESS_ORIGIN] = { .in = egress_input_span(&http->from_origin),
				    .eof = http->origin_eof,
				    .room = room(&conn->up) },
	};
	struct egress_output out = { 0 };
	enum egress_event event = egress_exchange_next(http->x, port, &out);
	size_t took[2] = { conn->in.len - port[EGRESS_CLIENT].in.len,
			   http->from_origin.len - port[EGRESS_ORIGIN].in.len };
	struct koda_host host;
	enum step now;

	/* The host may point into the head, which is removed below. */
	if (event == EGRESS_EV_CONNECT) {
		host = *out.request.host;
		out.request.host = &host;
	}
	/* These events may replace the origin's connection. */
	if (event == EGRESS_EV_DROP_ORIGIN || event == EGRESS_EV_WANT_ORIGIN) {
		egress_input_take(&http->from_origin, took[EGRESS_ORIGIN]);
		took[EGRESS_ORIGIN] = 0;
	}
	now = act(conn, event, &out);
	if (now == STEP_GONE)
		return now;
	http->step = egress_exchange_step(http->x, port);
	egress_input_take(&conn->in, took[EGRESS_CLIENT]);
	egress_input_take(&http->from_origin, took[EGRESS_ORIGIN]);
	if (now == STEP_ON)
		now = leave(conn, event, &out);
	return now;
}

/* Sets the deadline. A head that arrives in pieces does not extend it. */
static void set_deadline(struct egress_conn *conn, enum egress_exchange_step before)
{
	struct egress_http *http = conn->state;
	struct egress_queues *queues = &conn->proxy->queues;

	if (http->step == EGRESS_EXCHANGE_ORIGIN)
		egress_deadline_clear(&conn->deadline);
	else if (http->step != EGRESS_EXCHANGE_HEAD)
		egress_deadline_set(conn->proxy->loop, &queues->idle, &conn->deadline);
	else if (before != EGRESS_EXCHANGE_HEAD)
		egress_deadline_set(conn->proxy->loop, &queues->head, &conn->deadline);
}

/* Ends a response that is not complete with RST: without a length the client could not tell. */
static void cut_response(struct egress_conn *conn, enum koda_egress_reason reason)
{
	const struct egress_refusal why = egress_reason_refusal(reason, koda_span_of(""));
	struct egress_http *http = conn->state;

	if (http->step != EGRESS_EXCHANGE_RESPONSE || http->cut)
		return;
	http->cut = true;
	egress_exchange_refused(http->x, &why);
}

/* Refuses a head that does not fit into memory. Bodies need no more memory than there is. */
static bool is_starved(struct egress_conn *conn, const bool poor[static 2])
{
	const struct egress_refusal why =
		egress_reason_refusal(KODA_EGRESS_NO_MEMORY, koda_span_of(""));
	struct egress_http *http = conn->state;

	if (!(poor[EGRESS_CLIENT] && http->step == EGRESS_EXCHANGE_HEAD) &&
	    !(poor[EGRESS_ORIGIN] && http->step == EGRESS_EXCHANGE_REQUEST))
		return false;
	egress_exchange_refused(http->x, &why);
	return true;
}

static void run(struct egress_conn *conn)
{
	struct egress_http *http = conn->state;
	enum egress_exchange_step before = http->step;
	enum step now = STEP_ON;

	if (http->stepping)
		return;
	http->stepping = true;
	for (int i = 0; i < TURN_STEPS && now == STEP_ON; i++) {
		bool poor[2] = { false, false };
		bool came = fill(&conn->in, &conn->up, conn->client.fd, &http->client_eof,
				 &conn->client_gone, &poor[EGRESS_CLIENT]);

		came = fill(&http->from_origin, &conn->down, conn->reach ? -1 : conn->origin.fd,
			    &http->origin_eof, &http->origin_broken, &poor[EGRESS_ORIGIN]) ||
		       came;
		if (http->origin_broken && http->from_origin.len == 0)
			cut_response(conn, KODA_EGRESS_RESET);
		now = step(conn);
		if (now == STEP_WAIT && (came || is_starved(conn, poor)))
			now = STEP_ON;
	}
	if (now == STEP_GONE)
		return;
	http->stepping = false;
	egress_budget_move(&conn->tenant->budget, http->counted, egress_exchange_held(http->x));
	http->counted = egress_exchange_held(http->x);
	set_deadline(conn, before);
	if (now == STEP_ON)
		egress_turn_wait(conn);
}

/* Reports a request that has not been answered yet. */
static void abandon(struct egress_conn *conn, enum koda_egress_reason reason)
{
	const struct egress_refusal why = egress_reason_refusal(reason, koda_span_of(""));
	struct egress_http *http = conn->state;
	struct egress_record record;

	if (egress_exchange_unlogged(http->x, &record)) {
		record.refusal = &why;
		egress_conn_report_request(conn, &record, http->began, http->in_tunnel);
	}
	egress_http_leave(conn);
}

static void go_on(struct egress_conn *conn)
{
	struct egress_http *http = conn->state;

	/* The client is gone. A connection whose question is open still counts towards its tenant's
	 * limit. */
	if (conn->client_gone && !egress_question_is_open(conn)) {
		egress_conn_abandon(conn, KODA_EGRESS_RESET);
		return;
	}
	if (egress_flow_flush(&conn->down, conn->client.fd) == EGRESS_FLOW_BROKEN) {
		egress_conn_abandon(conn, KODA_EGRESS_RESET);
		return;
	}
	if (conn->origin.fd >= 0 && !conn->reach &&
	    egress_flow_flush(&conn->up, conn->origin.fd) == EGRESS_FLOW_BROKEN)
		http->origin_eof = true;
	run(conn);
}

static void on_late(struct egress_conn *conn)
{
	const struct egress_refusal why = egress_reason_refusal(KODA_EGRESS_IDLE, koda_span_of(""));
	struct egress_http *http = conn->state;

	if (http->step == EGRESS_EXCHANGE_HEAD) {
		if (!http->in_tunnel)
			egress_route_record_clear(&conn->route);
		egress_http_leave(conn);
		egress_refuse(conn, KODA_EGRESS_CLIENT_TIMEOUT);
	} else if (http->step == EGRESS_EXCHANGE_IDLE) {
		end(conn);
	} else {
		cut_response(conn, KODA_EGRESS_IDLE);
		if (!http->cut)
			egress_exchange_refused(http->x, &why);
		run(conn);
	}
}

static bool has_target(const struct egress_conn *conn)
{
	return (conn->origin.fd >= 0 || conn->reach) && !egress_question_is_open(conn);
}

/* Starts the phase with an exchange (taken over), which may be NULL. */
static void begin(struct egress_conn *conn, struct egress_exchange *x, bool in_tunnel)
{
	struct egress_http *http = x ? calloc(1, sizeof(*http)) : NULL;

	if (!http) {
		egress_exchange_free(x);
		egress_conn_report(conn, KODA_EGRESS_NO_MEMORY);
		egress_conn_end(conn);
		return;
	}
	http->x = x;
	http->in_tunnel = in_tunnel;
	http->used = in_tunnel && conn->origin.fd >= 0;
	http->step = EGRESS_EXCHANGE_HEAD;
	http->began = in_tunnel ? egress_loop_now(conn->proxy->loop) : conn->began;
	http->from_origin.first = CHUNK;
	http->from_origin.budget = &conn->tenant->budget;
	conn->state = http;
	conn->in.first = CHUNK;
	run(conn);
}

static void begin_plain(struct egress_conn *conn)
{
	begin(conn, egress_exchange_new(NULL, 0), false);
}

static void begin_in_tunnel(struct egress_conn *conn)
{
	conn->socks = false; /* the SOCKS request was answered; refusals are HTTP now */
	egress_deadline_set(conn->proxy->loop, &conn->proxy->queues.head, &conn->deadline);
	begin(conn, egress_exchange_new_plain(&conn->route.target.host, conn->route.target.port),
	      true);
}

const struct egress_conn_phase egress_http_phase = {
	.begin = begin_plain,
	.client = egress_turn_wait,
	.origin = egress_turn_wait,
	.late = on_late,
	.turn = go_on,
	.abandon = abandon,
	.has_target = has_target,
};

const struct egress_conn_phase egress_http_in_tunnel_phase = {
	.begin = begin_in_tunnel,
	.client = egress_turn_wait,
	.origin = egress_turn_wait,
	.late = on_late,
	.turn = go_on,
	.abandon = abandon,
	.has_target = has_target,
};
