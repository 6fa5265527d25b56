/* SPDX-License-Identifier: MIT */
/* T-75. See terminate.h. */
#include "terminate.h"

#include "base/diag.h"
#include "tls_client.h"
#include "tls_server.h"

/* The longest head has to fit, and what one feed can add to that. */
#define PLAIN_MAX (EGRESS_HEAD_MAX + 2 * KODA_TERMINATE_FEED)
/* An empty buffer up to this size is kept for the next bytes. */
#define PLAIN_KEPT 4096

struct end {
	struct koda_tls *tls;  /* owned; NULL: no connection */
	struct koda_buf plain; /* received */
	size_t taken;          /* of plain, by the exchange */
	bool eof;              /* nothing more will be received */
	bool shut;             /* nothing more will be sent */
};

struct koda_terminate {
	struct koda_tls_client *client; /* borrowed */
	struct koda_host host;
	uint16_t port;
	struct end ends[2];
	struct egress_exchange *exchange; /* owned */
	struct egress_request request;    /* that wants an origin, while asked */
	bool asked;                       /* the exchange waits for an origin */
	bool dialling;                    /* the owner was told */
	bool used;                        /* the origin's connection has served a request */
	bool torn;                        /* the origin's TLS ended without saying so */
	bool over;
	struct koda_error failure; /* of TLS; code 0: none */
};

int koda_terminate_new(struct koda_tls_server *server, struct koda_tls_client *client,
		       const struct koda_host *host, uint16_t port, time_t now,
		       struct koda_terminate **ret_terminate, struct koda_error *err)
{
	struct koda_terminate *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return koda_fail_nomem(err);
	t->client = client;
	t->host = *host;
	t->port = port;
	for (size_t i = 0; i < 2; i++)
		t->ends[i].plain = (struct koda_buf)KODA_BUF_INIT(PLAIN_MAX);
	t->exchange = egress_exchange_new(host, port);
	r = t->exchange ? koda_tls_accept(server, host, now, &t->ends[EGRESS_CLIENT].tls, err)
			: koda_fail_nomem(err);
	if (r < 0) {
		koda_terminate_free(t);
		return r;
	}
	*ret_terminate = t;
	return KODA_OK;
}

static void end_clear(struct end *end)
{
	koda_tls_free(end->tls);
	koda_buf_clear(&end->plain);
	*end = (struct end){ .plain = KODA_BUF_INIT(PLAIN_MAX) };
}

void koda_terminate_free(struct koda_terminate *t)
{
	if (!t)
		return;
	egress_exchange_free(t->exchange);
	end_clear(&t->ends[EGRESS_CLIENT]);
	end_clear(&t->ends[EGRESS_ORIGIN]);
	free(t);
}

static enum koda_tls_state state_of(const struct end *end)
{
	return end->tls ? koda_tls_state(end->tls) : KODA_TLS_FAILED;
}

bool koda_terminate_wants(const struct koda_terminate *t, enum egress_side side)
{
	const struct end *end = &t->ends[side];

	return !t->over && !end->eof && state_of(end) != KODA_TLS_FAILED &&
	       end->plain.len - end->taken <= EGRESS_HEAD_MAX &&
	       koda_tls_out(end->tls).len <= KODA_TLS_OUT_HIGH;
}

/* Moves what is left to the front, so that all of the ceiling can be used. */
static void compact(struct end *end)
{
	size_t left = end->plain.len - end->taken;

	if (end->taken == 0)
		return;
	memmove(end->plain.ptr, end->plain.ptr + end->taken, left);
	end->plain.len = left;
	end->taken = 0;
}

static void note_failure(struct koda_terminate *t, struct end *end, const struct koda_error *err)
{
	end->eof = true;
	if (t->failure.code == KODA_OK)
		t->failure = *err;
	if (end == &t->ends[EGRESS_ORIGIN])
		t->torn = true;
}

void koda_terminate_feed(struct koda_terminate *t, enum egress_side side, struct koda_span bytes)
{
	struct end *end = &t->ends[side];
	struct koda_error err = { 0 };

	if (t->over || end->eof || state_of(end) == KODA_TLS_FAILED)
		return;
	compact(end);
	if (koda_tls_feed(end->tls, &bytes, &end->plain, &err) < 0)
		note_failure(t, end, &err);
	else if (koda_tls_state(end->tls) == KODA_TLS_ENDED)
		end->eof = true;
	else if (bytes.len) {
		(void)koda_fail(&err, KODA_E_INTERNAL, 0, "more was received than asked for");
		note_failure(t, end, &err);
	}
}

void koda_terminate_ended(struct koda_terminate *t, enum egress_side side)
{
	struct end *end = &t->ends[side];
	struct koda_error err = { 0 };
	enum koda_tls_state state = state_of(end);

	if (end->eof || !end->tls)
		return;
	end->eof = true;
	if (state == KODA_TLS_HANDSHAKE) {
		(void)koda_fail(&err, KODA_E_DENIED, 0, "the %s closed during the TLS handshake",
				side == EGRESS_CLIENT ? "client" : "server");
		note_failure(t, end, &err);
	} else if (side == EGRESS_ORIGIN && state == KODA_TLS_OPEN) {
		t->torn = true;
	}
}

/* An origin that is connected, shaken hands with, and has not ended. */
static bool origin_is_open(const struct koda_terminate *t)
{
	return state_of(&t->ends[EGRESS_ORIGIN]) == KODA_TLS_OPEN && !t->ends[EGRESS_ORIGIN].eof;
}

/* A connection that was good once, and is no longer. */
static bool origin_is_stale(const struct koda_terminate *t)
{
	const struct end *origin = &t->ends[EGRESS_ORIGIN];
	bool was_open =
		t->used || state_of(origin) == KODA_TLS_OPEN || state_of(origin) == KODA_TLS_ENDED;

	return origin->tls && was_open && (origin->eof || (t->used && t->request.retry));
}

/* The exchange waits for an origin: true if there is one, or if there can be none. */
static bool answer_exchange(struct koda_terminate *t)
{
	static const struct egress_route direct = { 0 };
	const struct egress_refusal why = {
		.status = 502,
		.code = "tls_failed",
		.text = t->failure.message,
	};

	if (origin_is_open(t)) {
		egress_exchange_allowed(t->exchange, t->used, &direct);
		t->used = true;
	} else if (t->ends[EGRESS_ORIGIN].tls && t->ends[EGRESS_ORIGIN].eof) {
		egress_exchange_refused(t->exchange, &why);
	} else {
		return false;
	}
	t->asked = false;
	return true;
}

static void fill_port(const struct koda_terminate *t, enum egress_side side,
		      struct egress_port *port)
{
	const struct end *end = &t->ends[side];

	*port = (struct egress_port){
		.in = { end->plain.ptr + end->taken, end->plain.len - end->taken },
		.eof = end->eof,
		.room = end->tls && !end->shut ? koda_tls_room(end->tls) : 0,
	};
}

static void drain_port(struct koda_terminate *t, enum egress_side side,
		       const struct egress_port *port)
{
	struct end *end = &t->ends[side];

	end->taken = end->plain.len - port->in.len;
	if (port->in.len)
		return;
	end->taken = 0;
	end->plain.len = 0;
	if (end->plain.cap > PLAIN_KEPT)
		koda_buf_clear(&end->plain);
}

static void send_bytes(struct koda_terminate *t, enum egress_side side, struct koda_span bytes)
{
	struct end *end = &t->ends[side];
	struct koda_error err = { 0 };

	if (end->tls && koda_tls_write(end->tls, bytes, &err) < 0)
		note_failure(t, end, &err);
}

/* An origin that is not used again; the client still may be. */
static bool drop_origin(struct koda_terminate *t)
{
	bool there = t->ends[EGRESS_ORIGIN].tls != NULL;

	end_clear(&t->ends[EGRESS_ORIGIN]);
	t->used = false;
	t->failure.code = KODA_OK;
	return there;
}

/* The client learns that this was all, unless the origin may have been cut short. */
static void finish(struct koda_terminate *t)
{
	t->over = true;
	if (t->torn)
		return;
	koda_tls_end(t->ends[EGRESS_CLIENT].tls);
	t->ends[EGRESS_CLIENT].shut = true;
}

static void shut(struct end *end)
{
	if (end->tls)
		koda_tls_end(end->tls);
	end->shut = true;
}

/* One step of the exchange. Returns true with an event for the owner. */
static bool step(struct koda_terminate *t, struct koda_terminate_output *out,
		 enum koda_terminate_event *ret_event)
{
	struct egress_port ports[2];
	struct egress_output did = { 0 };
	enum egress_event event;

	fill_port(t, EGRESS_CLIENT, &ports[EGRESS_CLIENT]);
	fill_port(t, EGRESS_ORIGIN, &ports[EGRESS_ORIGIN]);
	event = egress_exchange_next(t->exchange, ports, &did);
	/* Before the bytes that were taken are forgotten: did may point at them. */
	if (event == EGRESS_EV_SEND)
		send_bytes(t, did.side, did.bytes);
	drain_port(t, EGRESS_CLIENT, &ports[EGRESS_CLIENT]);
	drain_port(t, EGRESS_ORIGIN, &ports[EGRESS_ORIGIN]);
	switch (event) {
	case EGRESS_EV_WAIT:
		*ret_event = KODA_TERMINATE_WAIT;
		return true;
	case EGRESS_EV_SEND:
	case EGRESS_EV_RAW:
		return false;
	case EGRESS_EV_WANT_ORIGIN:
		t->asked = true;
		t->request = did.request;
		return false;
	case EGRESS_EV_LOG:
		out->record = did.record;
		*ret_event = KODA_TERMINATE_LOG;
		return true;
	case EGRESS_EV_DROP_ORIGIN:
		*ret_event = KODA_TERMINATE_DROP_ORIGIN;
		return drop_origin(t);
	case EGRESS_EV_SHUT:
		shut(&t->ends[did.side]);
		return false;
	case EGRESS_EV_CONNECT:
	case EGRESS_EV_CLOSE:
		break;
	}
	finish(t);
	*ret_event = KODA_TERMINATE_CLOSE;
	return true;
}

enum koda_terminate_event koda_terminate_next(struct koda_terminate *t,
					      struct koda_terminate_output *out)
{
	enum koda_terminate_event event;
	enum koda_tls_state state = state_of(&t->ends[EGRESS_CLIENT]);

	if (state == KODA_TLS_FAILED)
		t->over = true;
	if (state == KODA_TLS_HANDSHAKE && t->ends[EGRESS_CLIENT].eof)
		t->over = true;
	if (t->over)
		return KODA_TERMINATE_CLOSE;
	if (state == KODA_TLS_HANDSHAKE)
		return KODA_TERMINATE_WAIT;
	for (;;) {
		if (t->asked && origin_is_stale(t)) {
			(void)drop_origin(t);
			return KODA_TERMINATE_DROP_ORIGIN;
		}
		if (t->asked && !answer_exchange(t)) {
			if (t->dialling || t->ends[EGRESS_ORIGIN].tls)
				return KODA_TERMINATE_WAIT;
			t->dialling = true;
			out->request = t->request;
			return KODA_TERMINATE_WANT_ORIGIN;
		}
		if (step(t, out, &event))
			return event;
	}
}

struct koda_span koda_terminate_out(const struct koda_terminate *t, enum egress_side side)
{
	const struct end *end = &t->ends[side];

	return end->tls ? koda_tls_out(end->tls) : (struct koda_span){ NULL, 0 };
}

void koda_terminate_sent(struct koda_terminate *t, enum egress_side side, size_t len)
{
	koda_tls_sent(t->ends[side].tls, len);
}

bool koda_terminate_is_shut(const struct koda_terminate *t, enum egress_side side)
{
	return t->ends[side].shut;
}

int koda_terminate_connected(struct koda_terminate *t, struct koda_error *err)
{
	struct end *origin = &t->ends[EGRESS_ORIGIN];
	struct koda_error failure = { 0 };
	int r;

	t->dialling = false;
	t->torn = false;
	end_clear(origin);
	r = koda_tls_connect(t->client, &t->host, t->port, &origin->tls, err);
	if (r == KODA_OK && koda_tls_handshake(origin->tls, &failure) < 0)
		note_failure(t, origin, &failure);
	return r;
}

void koda_terminate_refused(struct koda_terminate *t, const struct egress_refusal *why)
{
	t->asked = false;
	t->dialling = false;
	egress_exchange_refused(t->exchange, why);
}

enum egress_phase koda_terminate_phase(const struct koda_terminate *t)
{
	struct egress_port ports[2];

	if (t->over)
		return EGRESS_PHASE_OVER;
	if (state_of(&t->ends[EGRESS_CLIENT]) == KODA_TLS_HANDSHAKE)
		return EGRESS_PHASE_HEAD;
	if (t->asked)
		return EGRESS_PHASE_ORIGIN;
	fill_port(t, EGRESS_CLIENT, &ports[EGRESS_CLIENT]);
	fill_port(t, EGRESS_ORIGIN, &ports[EGRESS_ORIGIN]);
	return egress_exchange_phase(t->exchange, ports);
}

const char *koda_terminate_failure(const struct koda_terminate *t)
{
	return t->failure.code ? t->failure.message : NULL;
}

bool koda_terminate_is_open(const struct koda_terminate *t)
{
	enum koda_tls_state state = state_of(&t->ends[EGRESS_CLIENT]);

	return state == KODA_TLS_OPEN || state == KODA_TLS_ENDED;
}
