/* SPDX-License-Identifier: MIT */
/*
 * Plain HTTP through the proxy. The exchange understands the bytes; here they are read and sent,
 * and each request, also on a connection that was kept, is decided anew.
 */
#include "http_conn.h"

#include "reach.h"

/* A whole head has to fit, and a little more so that one too many is seen as such. */
#define IN_MAX  (EGRESS_HEAD_MAX + 1024)
#define OUT_MAX ((size_t)64 * 1024)
/* Room for one read of a body; a side that has sent nothing holds none. */
#define CHUNK 32768
/* Steps before others have their turn. */
#define TURN_STEPS 64

void koda_http_free(struct koda_conn *conn)
{
	struct koda_http *http = KODA_TAKE(conn->state);

	koda_budget_move(&conn->tenant->budget, http->counted, 0);
	egress_exchange_free(http->x);
	koda_input_clear(&http->from_origin);
	free(http);
}

static void end(struct koda_conn *conn)
{
	koda_http_free(conn);
	koda_conn_end(conn);
}

/* False: the client is gone. An origin that takes no more may still have something to say. */
static bool forward(struct koda_conn *conn, const struct egress_output *out)
{
	if (out->side == EGRESS_CLIENT)
		return koda_flow_send(&conn->down, conn->client.fd, out->bytes.ptr,
				      out->bytes.len) == KODA_OK;
	if (conn->origin.fd >= 0 &&
	    koda_flow_send(&conn->up, conn->origin.fd, out->bytes.ptr, out->bytes.len) < 0)
		((struct koda_http *)conn->state)->origin_eof = true;
	return true;
}

static size_t room(const struct koda_flow *flow)
{
	return koda_flow_room(flow, OUT_MAX);
}

/* Reads once from a side that may have something. True: something came. *poor: something may, but
 * there is no memory for more than is there already. */
static bool fill(struct koda_input *in, struct koda_flow *flow, int fd, bool *eof, bool *broken,
		 bool *poor)
{
	if (!flow->readable || *eof || fd < 0)
		return false;
	/* What the other side has to take first waits in the kernel. */
	if (in->len > 0 && room(flow) == 0)
		return false;
	switch (koda_input_fill(in, fd, IN_MAX)) {
	case KODA_INPUT_GOT:
		return true;
	case KODA_INPUT_FULL:
		return false;
	case KODA_INPUT_DRY:
		flow->readable = false;
		return false;
	case KODA_INPUT_POOR:
		*poor = true;
		return false;
	case KODA_INPUT_BROKEN:
		*broken = true;
		break;
	case KODA_INPUT_END:
		break;
	}
	flow->readable = false;
	*eof = true;
	return true;
}

enum step {
	STEP_WAIT,
	STEP_ON,
	STEP_GONE /* another phase has it, or nobody */
};

/* Does what the exchange asks for. The bytes it took are still in place. */
static enum step act(struct koda_conn *conn, enum egress_event event,
		     const struct egress_output *out)
{
	struct koda_http *http = conn->state;

	switch (event) {
	case EGRESS_EV_WAIT:
		return STEP_WAIT;
	case EGRESS_EV_SEND:
		if (forward(conn, out))
			return STEP_ON;
		koda_conn_abandon(conn, KODA_EGRESS_RESET);
		return STEP_GONE;
	case EGRESS_EV_WANT_ORIGIN:
		koda_http_reach(conn, &out->request);
		break;
	case EGRESS_EV_LOG:
		koda_conn_report_request(conn, &out->record, http->began);
		http->began = koda_loop_now(conn->proxy->loop);
		break;
	case EGRESS_EV_DROP_ORIGIN:
		koda_http_drop_origin(conn);
		break;
	case EGRESS_EV_SHUT:
	case EGRESS_EV_RAW:
	case EGRESS_EV_CONNECT:
	case EGRESS_EV_CLOSE:
		break;
	}
	return STEP_ON;
}

/* The events that end this phase; the exchange's input was taken by now. */
static enum step leave(struct koda_conn *conn, enum egress_event event,
		       const struct egress_output *out)
{
	switch (event) {
	case EGRESS_EV_RAW:
		koda_http_become_tunnel(conn);
		return STEP_GONE;
	case EGRESS_EV_CONNECT:
		koda_http_become_connect(conn, &out->request);
		return STEP_GONE;
	case EGRESS_EV_CLOSE:
		if (((const struct koda_http *)conn->state)->cut) {
			koda_http_free(conn);
			koda_conn_break(conn);
			return STEP_GONE;
		}
		koda_http_free(conn);
		koda_last_begin(conn, koda_span_of(""));
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

static enum step step(struct koda_conn *conn)
{
	struct koda_http *http = conn->state;
	struct egress_port port[2] = {
		[EGRESS_CLIENT] = { .in = koda_input_span(&conn->in),
				    .eof = http->client_eof,
				    .room = room(&conn->down) },
		[EGRESS_ORIGIN] = { .in = koda_input_span(&http->from_origin),
				    .eof = http->origin_eof,
				    .room = room(&conn->up) },
	};
	struct egress_output out = { 0 };
	enum egress_event event = egress_exchange_next(http->x, port, &out);
	size_t took[2] = { conn->in.len - port[EGRESS_CLIENT].in.len,
			   http->from_origin.len - port[EGRESS_ORIGIN].in.len };
	struct koda_host host;
	enum step now;

	/* It may live in the head that is about to be forgotten. */
	if (event == EGRESS_EV_CONNECT) {
		host = *out.request.host;
		out.request.host = &host;
	}
	/* These may change which connection the bytes are of. */
	if (event == EGRESS_EV_DROP_ORIGIN || event == EGRESS_EV_WANT_ORIGIN) {
		koda_input_take(&http->from_origin, took[EGRESS_ORIGIN]);
		took[EGRESS_ORIGIN] = 0;
	}
	now = act(conn, event, &out);
	if (now == STEP_GONE)
		return now;
	http->phase = egress_exchange_phase(http->x, port);
	koda_input_take(&conn->in, took[EGRESS_CLIENT]);
	koda_input_take(&http->from_origin, took[EGRESS_ORIGIN]);
	if (now == STEP_ON)
		now = leave(conn, event, &out);
	return now;
}

/* Which deadline counts now; a head that trickles in gets no second one. */
static void set_deadline(struct koda_conn *conn, enum egress_phase before)
{
	struct koda_http *http = conn->state;
	struct koda_queues *queues = &conn->proxy->queues;

	if (http->phase == EGRESS_PHASE_ORIGIN)
		koda_deadline_clear(&conn->deadline);
	else if (http->phase != EGRESS_PHASE_HEAD)
		koda_deadline_set(conn->proxy->loop, &queues->idle, &conn->deadline);
	else if (before != EGRESS_PHASE_HEAD)
		koda_deadline_set(conn->proxy->loop, &queues->head, &conn->deadline);
}

/* A response that has begun does not come to its end. Without a length the client could not tell,
 * so it gets a reset. */
static void cut_response(struct koda_conn *conn, enum koda_egress_reason reason)
{
	const struct egress_refusal why = koda_refusal(reason, koda_span_of(""));
	struct koda_http *http = conn->state;

	if (http->phase != EGRESS_PHASE_RESPONSE || http->cut)
		return;
	http->cut = true;
	egress_exchange_refused(http->x, &why);
}

/* A body gives way when the other side takes more of it; a head has to be there as a whole. */
static bool is_starved(struct koda_conn *conn, const bool poor[static 2])
{
	const struct egress_refusal why = koda_refusal(KODA_EGRESS_NO_MEMORY, koda_span_of(""));
	struct koda_http *http = conn->state;

	if (!(poor[EGRESS_CLIENT] && http->phase == EGRESS_PHASE_HEAD) &&
	    !(poor[EGRESS_ORIGIN] && http->phase == EGRESS_PHASE_REQUEST))
		return false;
	egress_exchange_refused(http->x, &why);
	return true;
}

void koda_http_step(struct koda_conn *conn)
{
	struct koda_http *http = conn->state;
	enum egress_phase before = http->phase;
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
	koda_budget_move(&conn->tenant->budget, http->counted, egress_exchange_held(http->x));
	http->counted = egress_exchange_held(http->x);
	set_deadline(conn, before);
	if (now == STEP_ON)
		koda_conn_go_on(conn);
}

/* A request that was on its way is told of, however it ended. */
static void abandon(struct koda_conn *conn, enum koda_egress_reason reason)
{
	const struct egress_refusal why = koda_refusal(reason, koda_span_of(""));
	struct koda_http *http = conn->state;
	struct egress_record record;

	if (egress_exchange_unlogged(http->x, &record)) {
		record.refusal = &why;
		koda_conn_report_request(conn, &record, http->began);
	}
	koda_http_free(conn);
}

static void go_on(struct koda_conn *conn)
{
	struct koda_http *http = conn->state;

	/* Nobody waits for the answer any more; but who asked counts as long as that is open. */
	if (conn->client_gone && !koda_reach_is_asking(conn)) {
		koda_conn_abandon(conn, KODA_EGRESS_RESET);
		return;
	}
	if (koda_flow_flush(&conn->down, conn->client.fd) == KODA_FLOW_BROKEN) {
		koda_conn_abandon(conn, KODA_EGRESS_RESET);
		return;
	}
	if (conn->origin.fd >= 0 && !conn->reach &&
	    koda_flow_flush(&conn->up, conn->origin.fd) == KODA_FLOW_BROKEN)
		http->origin_eof = true;
	koda_http_step(conn);
}

static void on_late(struct koda_conn *conn)
{
	const struct egress_refusal why = koda_refusal(KODA_EGRESS_IDLE, koda_span_of(""));
	struct koda_http *http = conn->state;

	if (http->phase == EGRESS_PHASE_HEAD) {
		if (!http->in_tunnel)
			koda_deal_clear(conn);
		koda_http_free(conn);
		koda_conn_refuse(conn, KODA_EGRESS_CLIENT_TIMEOUT);
	} else if (http->phase == EGRESS_PHASE_IDLE) {
		end(conn);
	} else {
		cut_response(conn, KODA_EGRESS_IDLE);
		if (!http->cut)
			egress_exchange_refused(http->x, &why);
		koda_http_step(conn);
	}
}

static bool has_target(const struct koda_conn *conn)
{
	return (conn->origin.fd >= 0 || conn->reach) && !koda_reach_is_asking(conn);
}

static const struct koda_phase phase = {
	.client = go_on,
	.origin = go_on,
	.late = on_late,
	.go_on = go_on,
	.abandon = abandon,
	.has_target = has_target,
};

/* Takes the exchange over, which may be NULL. */
static void begin(struct koda_conn *conn, struct egress_exchange *x, bool in_tunnel)
{
	struct koda_http *http = x ? calloc(1, sizeof(*http)) : NULL;

	if (!http) {
		egress_exchange_free(x);
		koda_conn_report(conn, KODA_EGRESS_NO_MEMORY);
		koda_conn_end(conn);
		return;
	}
	http->x = x;
	http->in_tunnel = in_tunnel;
	http->used = in_tunnel && conn->origin.fd >= 0;
	http->phase = EGRESS_PHASE_HEAD;
	http->began = in_tunnel ? koda_loop_now(conn->proxy->loop) : conn->began;
	http->from_origin.first = CHUNK;
	http->from_origin.budget = &conn->tenant->budget;
	conn->phase = &phase;
	conn->state = http;
	conn->in.first = CHUNK;
	koda_http_step(conn);
}

void koda_http_begin(struct koda_conn *conn)
{
	begin(conn, egress_exchange_new(NULL, 0), false);
}

void koda_http_begin_in_tunnel(struct koda_conn *conn)
{
	conn->socks = false; /* that was answered; refusals are HTTP from now on */
	koda_deadline_set(conn->proxy->loop, &conn->proxy->queues.head, &conn->deadline);
	begin(conn, egress_exchange_new_plain(&conn->deal.target.host, conn->deal.target.port),
	      true);
}
