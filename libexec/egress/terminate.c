/* SPDX-License-Identifier: MIT */
/* T-75. See terminate.h. */
#include "terminate_state.h"

#include "base/diag.h"
#include "tls_server.h"

/* An empty buffer up to this size is kept for the next bytes. */
#define PLAIN_KEPT 4096
/* What may wait to be sent when memory is short. */
#define SPARE_ROOM ((size_t)16 << 10)

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

void koda_end_clear(struct koda_end *end)
{
	koda_tls_free(end->tls);
	koda_buf_clear(&end->plain);
	*end = (struct koda_end){ .plain = KODA_BUF_INIT(PLAIN_MAX) };
}

void koda_terminate_free(struct koda_terminate *t)
{
	if (!t)
		return;
	egress_exchange_free(t->exchange);
	koda_end_clear(&t->ends[EGRESS_CLIENT]);
	koda_end_clear(&t->ends[EGRESS_ORIGIN]);
	free(t);
}

size_t koda_terminate_held(const struct koda_terminate *t)
{
	size_t held = egress_exchange_held(t->exchange);

	for (size_t i = 0; i < 2; i++)
		held += t->ends[i].plain.cap + (t->ends[i].tls ? koda_tls_held(t->ends[i].tls) : 0);
	return held;
}

size_t koda_terminate_chain(const struct koda_terminate *t)
{
	return t->ends[EGRESS_ORIGIN].tls ? koda_tls_chain(t->ends[EGRESS_ORIGIN].tls) : 0;
}

void koda_terminate_spare(struct koda_terminate *t, bool sparing)
{
	t->sparing = sparing;
}

bool koda_terminate_is_partial(const struct koda_terminate *t, enum egress_side side)
{
	/* A response begins when its head is whole, and a request that is whole is asked for. */
	return t->ends[side].plain.len > t->ends[side].taken &&
	       koda_terminate_phase(t) ==
		       (side == EGRESS_CLIENT ? EGRESS_PHASE_HEAD : EGRESS_PHASE_REQUEST);
}

/* Nothing that came from this side waits to be taken or sent, but for the beginning of a head. */
static bool is_clear(const struct koda_terminate *t, enum egress_side side)
{
	const struct koda_end *to = &t->ends[side == EGRESS_CLIENT ? EGRESS_ORIGIN : EGRESS_CLIENT];

	return (!to->tls || koda_tls_out(to->tls).len == 0) &&
	       (t->ends[side].plain.len == t->ends[side].taken ||
		koda_terminate_is_partial(t, side));
}

bool koda_terminate_wants(const struct koda_terminate *t, enum egress_side side)
{
	const struct koda_end *end = &t->ends[side];

	return !t->over && !end->eof && koda_end_state(end) != KODA_TLS_FAILED &&
	       (!t->sparing || is_clear(t, side)) &&
	       end->plain.len - end->taken <= EGRESS_HEAD_MAX &&
	       koda_tls_out(end->tls).len <= KODA_TLS_OUT_HIGH;
}

/* Moves what is left to the front, so that all of the ceiling can be used. */
static void compact(struct koda_end *end)
{
	size_t left = end->plain.len - end->taken;

	if (end->taken == 0)
		return;
	memmove(end->plain.ptr, end->plain.ptr + end->taken, left);
	end->plain.len = left;
	end->taken = 0;
}

void koda_end_fail(struct koda_terminate *t, struct koda_end *end, const struct koda_error *err)
{
	end->eof = true;
	if (t->failure.code == KODA_OK)
		t->failure = *err;
	if (end == &t->ends[EGRESS_ORIGIN])
		t->torn = true;
}

void koda_terminate_feed(struct koda_terminate *t, enum egress_side side, struct koda_span bytes)
{
	struct koda_end *end = &t->ends[side];
	struct koda_error err = { 0 };

	if (t->over || end->eof || koda_end_state(end) == KODA_TLS_FAILED)
		return;
	compact(end);
	if (koda_tls_feed(end->tls, &bytes, &end->plain, &err) < 0)
		koda_end_fail(t, end, &err);
	else if (koda_tls_state(end->tls) == KODA_TLS_ENDED)
		end->eof = true;
	else if (bytes.len) {
		(void)koda_fail(&err, KODA_E_INTERNAL, 0, "more was received than asked for");
		koda_end_fail(t, end, &err);
	}
}

void koda_terminate_ended(struct koda_terminate *t, enum egress_side side)
{
	struct koda_end *end = &t->ends[side];
	struct koda_error err = { 0 };
	enum koda_tls_state state = koda_end_state(end);

	if (end->eof || !end->tls)
		return;
	end->eof = true;
	if (state == KODA_TLS_HANDSHAKE) {
		(void)koda_fail(&err, KODA_E_DENIED, 0, "the %s closed during the TLS handshake",
				side == EGRESS_CLIENT ? "client" : "server");
		koda_end_fail(t, end, &err);
	} else if (side == EGRESS_ORIGIN && state == KODA_TLS_OPEN) {
		t->torn = true;
	}
}

static void fill_port(const struct koda_terminate *t, enum egress_side side,
		      struct egress_port *port)
{
	const struct koda_end *end = &t->ends[side];
	size_t room = end->tls && !end->shut ? koda_tls_room(end->tls) : 0;

	if (t->sparing && room > SPARE_ROOM)
		room = koda_tls_out(end->tls).len > 0 ? 0 : SPARE_ROOM;
	*port = (struct egress_port){
		.in = { end->plain.ptr + end->taken, end->plain.len - end->taken },
		.eof = end->eof,
		.room = room,
	};
}

static void drain_port(struct koda_terminate *t, enum egress_side side,
		       const struct egress_port *port)
{
	struct koda_end *end = &t->ends[side];

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
	struct koda_end *end = &t->ends[side];
	struct koda_error err = { 0 };

	if (end->tls && koda_tls_write(end->tls, bytes, &err) < 0)
		koda_end_fail(t, end, &err);
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

static void shut(struct koda_end *end)
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
		return koda_terminate_drop(t);
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
	enum koda_tls_state state = koda_end_state(&t->ends[EGRESS_CLIENT]);

	if (state == KODA_TLS_FAILED)
		t->over = true;
	if (state == KODA_TLS_HANDSHAKE && t->ends[EGRESS_CLIENT].eof)
		t->over = true;
	if (t->over)
		return KODA_TERMINATE_CLOSE;
	if (state == KODA_TLS_HANDSHAKE)
		return KODA_TERMINATE_WAIT;
	for (;;) {
		if (t->asked && koda_terminate_is_stale(t)) {
			(void)koda_terminate_drop(t);
			return KODA_TERMINATE_DROP_ORIGIN;
		}
		if (t->asked && !koda_terminate_answer(t)) {
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
	const struct koda_end *end = &t->ends[side];

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

enum egress_phase koda_terminate_phase(const struct koda_terminate *t)
{
	struct egress_port ports[2];

	if (t->over)
		return EGRESS_PHASE_OVER;
	if (koda_end_state(&t->ends[EGRESS_CLIENT]) == KODA_TLS_HANDSHAKE)
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

bool koda_terminate_unlogged(const struct koda_terminate *t, struct egress_record *ret_record)
{
	return egress_exchange_unlogged(t->exchange, ret_record);
}

bool koda_terminate_is_open(const struct koda_terminate *t)
{
	enum koda_tls_state state = koda_end_state(&t->ends[EGRESS_CLIENT]);

	return state == KODA_TLS_OPEN || state == KODA_TLS_ENDED;
}
