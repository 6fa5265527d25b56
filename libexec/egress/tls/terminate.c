/* SPDX-License-Identifier: MIT */
/* T-75. See terminate.h. */
#include "tls/terminate_state.h"

#include "base/error.h"
#include "tls/tls_server.h"

/* Size up to which an empty buffer is kept. */
#define PLAIN_KEPT 4096
/* Bytes that may wait to be sent in sparing mode. */
#define SPARE_ROOM ((size_t)16 << 10)

int egress_terminate_new(struct egress_tls_server *server, struct egress_tls_client *client,
			 const struct koda_host *host, uint16_t port, time_t now,
			 struct egress_terminate **ret_terminate, struct koda_error *err)
{
	struct egress_terminate *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return koda_fail_nomem(err);
	t->client = client;
	t->host = *host;
	t->port = port;
	for (size_t i = 0; i < 2; i++)
		t->ends[i].plain = (struct koda_buf)KODA_BUF_INIT(PLAIN_MAX);
	t->exchange = egress_exchange_new(host, port);
	r = t->exchange ? egress_tls_accept(server, host, now, &t->ends[EGRESS_CLIENT].tls, err)
			: koda_fail_nomem(err);
	if (r < 0) {
		egress_terminate_free(t);
		return r;
	}
	*ret_terminate = t;
	return KODA_OK;
}

void egress_terminate_free(struct egress_terminate *t)
{
	if (!t)
		return;
	egress_exchange_free(t->exchange);
	egress_terminate_end_clear(&t->ends[EGRESS_CLIENT]);
	egress_terminate_end_clear(&t->ends[EGRESS_ORIGIN]);
	free(t);
}

size_t egress_terminate_held(const struct egress_terminate *t)
{
	size_t held = egress_exchange_held(t->exchange);

	for (size_t i = 0; i < 2; i++)
		held += t->ends[i].plain.cap +
			(t->ends[i].tls ? egress_tls_held(t->ends[i].tls) : 0);
	return held;
}

size_t egress_terminate_chain(const struct egress_terminate *t)
{
	return t->ends[EGRESS_ORIGIN].tls ? egress_tls_chain(t->ends[EGRESS_ORIGIN].tls) : 0;
}

void egress_terminate_spare(struct egress_terminate *t, bool sparing)
{
	t->sparing = sparing;
}

bool egress_terminate_is_partial(const struct egress_terminate *t, enum egress_side side)
{
	/* The step changes to RESPONSE or ORIGIN when the head is complete. */
	return t->ends[side].plain.len > t->ends[side].taken &&
	       egress_terminate_step(t) ==
		       (side == EGRESS_CLIENT ? EGRESS_EXCHANGE_HEAD : EGRESS_EXCHANGE_REQUEST);
}

/* Returns whether nothing from this side waits to be consumed or sent, except an incomplete
 * head. */
static bool is_clear(const struct egress_terminate *t, enum egress_side side)
{
	const struct egress_terminate_end *to =
		&t->ends[side == EGRESS_CLIENT ? EGRESS_ORIGIN : EGRESS_CLIENT];

	return (!to->tls || egress_tls_out(to->tls).len == 0) &&
	       (t->ends[side].plain.len == t->ends[side].taken ||
		egress_terminate_is_partial(t, side));
}

bool egress_terminate_wants(const struct egress_terminate *t, enum egress_side side)
{
	const struct egress_terminate_end *end = &t->ends[side];

	return !t->over && !end->eof && egress_terminate_end_state(end) != EGRESS_TLS_FAILED &&
	       (!t->sparing || is_clear(t, side)) &&
	       end->plain.len - end->taken <= EGRESS_HEAD_MAX &&
	       egress_tls_out(end->tls).len <= EGRESS_TLS_OUT_HIGH;
}

/* Moves the unconsumed bytes to the front of the buffer. */
static void compact(struct egress_terminate_end *end)
{
	size_t left = end->plain.len - end->taken;

	if (end->taken == 0)
		return;
	memmove(end->plain.ptr, end->plain.ptr + end->taken, left);
	end->plain.len = left;
	end->taken = 0;
}

void egress_terminate_feed(struct egress_terminate *t, enum egress_side side,
			   struct koda_span bytes)
{
	struct egress_terminate_end *end = &t->ends[side];
	struct koda_error err = { 0 };

	if (t->over || end->eof || egress_terminate_end_state(end) == EGRESS_TLS_FAILED)
		return;
	compact(end);
	if (egress_tls_feed(end->tls, &bytes, &end->plain, &err) < 0)
		egress_terminate_end_fail(t, end, &err);
	else if (egress_tls_state(end->tls) == EGRESS_TLS_ENDED)
		end->eof = true;
	else if (bytes.len) {
		(void)koda_fail(&err, KODA_E_INTERNAL, 0, "more was received than asked for");
		egress_terminate_end_fail(t, end, &err);
	}
}

void egress_terminate_ended(struct egress_terminate *t, enum egress_side side)
{
	struct egress_terminate_end *end = &t->ends[side];
	struct koda_error err = { 0 };
	enum egress_tls_state state = egress_terminate_end_state(end);

	if (end->eof || !end->tls)
		return;
	end->eof = true;
	if (state == EGRESS_TLS_HANDSHAKE) {
		(void)koda_fail(&err, KODA_E_DENIED, 0, "the %s closed during the TLS handshake",
				side == EGRESS_CLIENT ? "client" : "server");
		egress_terminate_end_fail(t, end, &err);
	} else if (side == EGRESS_ORIGIN && state == EGRESS_TLS_OPEN) {
		t->torn = true;
	}
}

static void fill_port(const struct egress_terminate *t, enum egress_side side,
		      struct egress_port *port)
{
	const struct egress_terminate_end *end = &t->ends[side];
	size_t room = end->tls && !end->shut ? egress_tls_room(end->tls) : 0;

	if (t->sparing && room > SPARE_ROOM)
		room = egress_tls_out(end->tls).len > 0 ? 0 : SPARE_ROOM;
	*port = (struct egress_port){
		.in = { end->plain.ptr + end->taken, end->plain.len - end->taken },
		.eof = end->eof,
		.room = room,
	};
}

static void drain_port(struct egress_terminate *t, enum egress_side side,
		       const struct egress_port *port)
{
	struct egress_terminate_end *end = &t->ends[side];

	end->taken = end->plain.len - port->in.len;
	if (port->in.len)
		return;
	end->taken = 0;
	end->plain.len = 0;
	if (end->plain.cap > PLAIN_KEPT)
		koda_buf_clear(&end->plain);
}

static void send_bytes(struct egress_terminate *t, enum egress_side side, struct koda_span bytes)
{
	struct egress_terminate_end *end = &t->ends[side];
	struct koda_error err = { 0 };

	if (end->tls && egress_tls_write(end->tls, bytes, &err) < 0)
		egress_terminate_end_fail(t, end, &err);
}

/* Sends close_notify to the client, unless the origin's stream may be truncated. */
static void finish(struct egress_terminate *t)
{
	t->over = true;
	if (t->torn)
		return;
	egress_tls_end(t->ends[EGRESS_CLIENT].tls);
	t->ends[EGRESS_CLIENT].shut = true;
}

static void shut(struct egress_terminate_end *end)
{
	if (end->tls)
		egress_tls_end(end->tls);
	end->shut = true;
}

/* Runs one step of the exchange. Returns true if *ret_event is for the owner. */
static bool step(struct egress_terminate *t, struct egress_terminate_output *out,
		 enum egress_terminate_event *ret_event)
{
	struct egress_port ports[2];
	struct egress_output did = { 0 };
	enum egress_event event;

	fill_port(t, EGRESS_CLIENT, &ports[EGRESS_CLIENT]);
	fill_port(t, EGRESS_ORIGIN, &ports[EGRESS_ORIGIN]);
	event = egress_exchange_next(t->exchange, ports, &did);
	/* did.bytes may point into the input that is removed below. */
	if (event == EGRESS_EV_SEND)
		send_bytes(t, did.side, did.bytes);
	drain_port(t, EGRESS_CLIENT, &ports[EGRESS_CLIENT]);
	drain_port(t, EGRESS_ORIGIN, &ports[EGRESS_ORIGIN]);
	switch (event) {
	case EGRESS_EV_WAIT:
		*ret_event = EGRESS_TERMINATE_WAIT;
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
		*ret_event = EGRESS_TERMINATE_LOG;
		return true;
	case EGRESS_EV_DROP_ORIGIN:
		*ret_event = EGRESS_TERMINATE_DROP_ORIGIN;
		out->cut = did.cut || egress_terminate_out(t, EGRESS_ORIGIN).len > 0;
		return egress_terminate_drop(t);
	case EGRESS_EV_SHUT:
		shut(&t->ends[did.side]);
		return false;
	case EGRESS_EV_CONNECT:
	case EGRESS_EV_CLOSE:
		break;
	}
	finish(t);
	*ret_event = EGRESS_TERMINATE_CLOSE;
	return true;
}

enum egress_terminate_event egress_terminate_next(struct egress_terminate *t,
						  struct egress_terminate_output *out)
{
	enum egress_terminate_event event;
	enum egress_tls_state state = egress_terminate_end_state(&t->ends[EGRESS_CLIENT]);

	if (state == EGRESS_TLS_FAILED)
		t->over = true;
	if (state == EGRESS_TLS_HANDSHAKE && t->ends[EGRESS_CLIENT].eof)
		t->over = true;
	if (t->over)
		return EGRESS_TERMINATE_CLOSE;
	if (state == EGRESS_TLS_HANDSHAKE)
		return EGRESS_TERMINATE_WAIT;
	for (;;) {
		if (t->asked && egress_terminate_is_stale(t)) {
			(void)egress_terminate_drop(t);
			out->cut = false;
			return EGRESS_TERMINATE_DROP_ORIGIN;
		}
		if (t->asked && !egress_terminate_answer(t)) {
			if (t->dialling || t->ends[EGRESS_ORIGIN].tls)
				return EGRESS_TERMINATE_WAIT;
			t->dialling = true;
			out->request = t->request;
			return EGRESS_TERMINATE_WANT_ORIGIN;
		}
		if (step(t, out, &event))
			return event;
	}
}

struct koda_span egress_terminate_out(const struct egress_terminate *t, enum egress_side side)
{
	const struct egress_terminate_end *end = &t->ends[side];

	return end->tls ? egress_tls_out(end->tls) : (struct koda_span){ NULL, 0 };
}

void egress_terminate_sent(struct egress_terminate *t, enum egress_side side, size_t len)
{
	egress_tls_sent(t->ends[side].tls, len);
}

bool egress_terminate_is_shut(const struct egress_terminate *t, enum egress_side side)
{
	return t->ends[side].shut;
}

enum egress_exchange_step egress_terminate_step(const struct egress_terminate *t)
{
	struct egress_port ports[2];

	if (t->over)
		return EGRESS_EXCHANGE_OVER;
	if (egress_terminate_end_state(&t->ends[EGRESS_CLIENT]) == EGRESS_TLS_HANDSHAKE)
		return EGRESS_EXCHANGE_HEAD;
	if (t->asked)
		return EGRESS_EXCHANGE_ORIGIN;
	fill_port(t, EGRESS_CLIENT, &ports[EGRESS_CLIENT]);
	fill_port(t, EGRESS_ORIGIN, &ports[EGRESS_ORIGIN]);
	return egress_exchange_step(t->exchange, ports);
}

const char *egress_terminate_failure(const struct egress_terminate *t)
{
	return t->failure.code ? t->failure.message : NULL;
}

bool egress_terminate_unlogged(const struct egress_terminate *t, struct egress_record *ret_record)
{
	return egress_exchange_unlogged(t->exchange, ret_record);
}

bool egress_terminate_is_open(const struct egress_terminate *t)
{
	enum egress_tls_state state = egress_terminate_end_state(&t->ends[EGRESS_CLIENT]);

	return state == EGRESS_TLS_OPEN || state == EGRESS_TLS_ENDED;
}
