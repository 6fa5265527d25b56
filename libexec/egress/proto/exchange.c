/* SPDX-License-Identifier: MIT */
/* T-70. Reads requests, asks the owner about each, and refuses. exchange_flow.c sends them on. */
#include "proto/exchange.h"

#include "proto/exchange_state.h"
#include "proto/http_parse.h"

struct egress_exchange *egress_exchange_new(const struct koda_host *fixed, uint16_t port)
{
	struct egress_exchange *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	if (fixed) {
		x->fixed = true;
		x->fixed_tls = true;
		x->fixed_host = *fixed;
		x->fixed_port = port;
	}
	for (int side = 0; side < 2; side++)
		x->out[side].buf.max = EGRESS_HEAD_MAX + EGRESS_HEAD_EXTRA + EGRESS_ANSWER_MAX;
	return x;
}

struct egress_exchange *egress_exchange_new_plain(const struct koda_host *fixed, uint16_t port)
{
	struct egress_exchange *x = egress_exchange_new(fixed, port);

	if (x)
		x->fixed_tls = false;
	return x;
}

void egress_exchange_free(struct egress_exchange *x)
{
	if (!x)
		return;
	koda_buf_clear(&x->out[EGRESS_CLIENT].buf);
	koda_buf_clear(&x->out[EGRESS_ORIGIN].buf);
	free(x);
}

size_t egress_exchange_held(const struct egress_exchange *x)
{
	return x->out[EGRESS_CLIENT].buf.cap + x->out[EGRESS_ORIGIN].buf.cap;
}

void egress_exchange_allowed(struct egress_exchange *x, bool reused,
			     const struct egress_route *route)
{
	if (x->state != EGRESS_STATE_ASKED)
		return;
	x->route = *route;
	x->reused = reused;
	x->has_origin = true;
	x->state = EGRESS_STATE_BEGIN;
}

void egress_exchange_refused(struct egress_exchange *x, const struct egress_refusal *why)
{
	egress_exchange_fail(x, why);
}

static void keep_request(struct egress_exchange *x, const struct egress_head *head)
{
	struct koda_span path = head->path;
	const char *query = path.len ? memchr(path.ptr, '?', path.len) : NULL;

	if (query)
		path.len = (size_t)(query - path.ptr);
	if (path.len == 0)
		path = koda_span_of(head->form == EGRESS_FORM_AUTHORITY ? "" : "/");
	if (path.len > sizeof(x->path))
		path.len = sizeof(x->path);
	if (path.len)
		memcpy(x->path, path.ptr, path.len);
	x->path_len = path.len;
	x->host = head->host;
	x->port = head->port;
	x->tls = head->tls;
	x->minor = head->minor;
	x->close = head->close;
	x->upgrade = head->upgrade;
	x->is_safe = head->framing == EGRESS_BODY_NONE && !head->upgrade &&
		     (x->is_head || koda_span_is(head->method, "GET") ||
		      koda_span_is(head->method, "OPTIONS"));
	x->has_request = true;
}

static void keep_method(struct egress_exchange *x, struct koda_span method)
{
	if (method.len)
		memcpy(x->method, method.ptr, method.len);
	x->method_len = method.len;
	x->is_head = koda_span_is(method, "HEAD");
}

static void request_reset(struct egress_exchange *x)
{
	egress_exchange_text_reset(&x->out[EGRESS_ORIGIN]);
	egress_exchange_text_reset(&x->out[EGRESS_CLIENT]);
	x->scan[EGRESS_CLIENT] = (struct egress_head_scan){ 0 };
	x->finished = false;
	x->has_request = false;
	x->begun = false;
	x->is_head = false;
	x->method_len = 0;
	x->path_len = 0;
	x->bytes[EGRESS_CLIENT] = 0;
	x->bytes[EGRESS_ORIGIN] = 0;
	x->retry = false;
	x->interim = 0;
	x->answered = false;
	x->status = 0;
	x->origin_close = false;
}

/* Parses a complete head. */
static bool head_complete(struct egress_exchange *x, struct koda_span bytes)
{
	struct egress_refusal why;
	struct egress_head head;
	bool ok = egress_head_request(bytes, &head, &why);

	keep_method(x, head.method);
	if (!ok || !egress_exchange_is_ours(x, &head, &why)) {
		egress_exchange_fail(x, &why);
		return false;
	}
	keep_request(x, &head);
	x->head_len = bytes.len;
	x->state = EGRESS_STATE_ASK;
	return true;
}

/* State HEAD. Returns true if *ret_event is for the owner. */
static bool next_head(struct egress_exchange *x, struct egress_port port[static 2],
		      enum egress_event *ret_event)
{
	struct egress_port *client = &port[EGRESS_CLIENT];
	struct egress_refusal why;
	size_t len;

	/* An origin that sent bytes without a request, or has closed, cannot be used again. */
	if (x->has_origin && (port[EGRESS_ORIGIN].eof || port[EGRESS_ORIGIN].in.len)) {
		x->drop_origin = true;
		return false;
	}
	if (client->in.len == 0) {
		if (client->eof) {
			x->drop_origin = x->has_origin;
			x->state = EGRESS_STATE_END;
			return false;
		}
		*ret_event = EGRESS_EV_WAIT;
		return true;
	}
	switch (egress_head_find(&x->scan[EGRESS_CLIENT], client->in, &len, &why)) {
	case EGRESS_DONE:
		(void)head_complete(x, (struct koda_span){ client->in.ptr, len });
		return false;
	case EGRESS_BAD:
		egress_exchange_fail(x, &why);
		return false;
	case EGRESS_MORE:
		break;
	}
	if (client->eof) {
		egress_http_refuse(&why, 400, "truncated", "the request ends in its head");
		egress_exchange_fail(x, &why);
		return false;
	}
	*ret_event = EGRESS_EV_WAIT;
	return true;
}

static void fill_request(const struct egress_exchange *x, struct egress_request *request)
{
	*request = (struct egress_request){
		.host = &x->host,
		.port = x->port,
		.tls = x->tls,
		.method = { x->method, x->method_len },
		.path = { x->path, x->path_len },
		.retry = x->retry,
	};
}

/* State ASK: CONNECT ends the exchange; the owner is asked about any other request. */
static enum egress_event ask(struct egress_exchange *x, struct egress_port port[static 2],
			     struct egress_output *out)
{
	fill_request(x, &out->request);
	if (!koda_span_is(out->request.method, "CONNECT")) {
		x->state = EGRESS_STATE_ASKED;
		return EGRESS_EV_WANT_ORIGIN;
	}
	port[EGRESS_CLIENT].in = koda_span_skip(port[EGRESS_CLIENT].in, x->head_len);
	x->state = EGRESS_STATE_END;
	return EGRESS_EV_CONNECT;
}

/* State END: sends the answer, then CLOSE. */
static enum egress_event next_end(struct egress_exchange *x, struct egress_port port[static 2],
				  struct egress_output *out)
{
	if (egress_exchange_flush(x, EGRESS_CLIENT, port, out))
		return EGRESS_EV_SEND;
	return egress_exchange_pending(x, EGRESS_CLIENT) ? EGRESS_EV_WAIT : EGRESS_EV_CLOSE;
}

enum egress_event egress_exchange_next(struct egress_exchange *x, struct egress_port port[static 2],
				       struct egress_output *out)
{
	enum egress_event event = EGRESS_EV_WAIT;

	/* Every iteration without an event enters another state, and no state is entered again
	 * without consuming input. */
	for (;;) {
		if (x->drop_origin) {
			x->drop_origin = false;
			x->has_origin = false;
			out->cut = x->begun && !egress_exchange_is_sent(x);
			port[EGRESS_ORIGIN] = (struct egress_port){ .room = 0 };
			return EGRESS_EV_DROP_ORIGIN;
		}
		if (x->log_due) {
			x->log_due = false;
			egress_exchange_record(x, &out->record);
			return EGRESS_EV_LOG;
		}
		switch (x->state) {
		case EGRESS_STATE_HEAD:
			if (x->finished)
				request_reset(x);
			if (next_head(x, port, &event))
				return event;
			break;
		case EGRESS_STATE_ASK:
			return ask(x, port, out);
		case EGRESS_STATE_ASKED:
			return EGRESS_EV_WAIT;
		case EGRESS_STATE_BEGIN:
			egress_exchange_begin(x, port);
			break;
		case EGRESS_STATE_FLOW:
			if (egress_exchange_flow(x, port, out, &event))
				return event;
			break;
		case EGRESS_STATE_RAW:
			if (egress_exchange_raw(x, port, out, &event))
				return event;
			break;
		case EGRESS_STATE_END:
			return next_end(x, port, out);
		}
	}
}

enum egress_exchange_step egress_exchange_step(const struct egress_exchange *x,
					       const struct egress_port port[static 2])
{
	switch (x->state) {
	case EGRESS_STATE_HEAD:
		return port[EGRESS_CLIENT].in.len ? EGRESS_EXCHANGE_HEAD : EGRESS_EXCHANGE_IDLE;
	case EGRESS_STATE_ASK:
	case EGRESS_STATE_ASKED:
		return EGRESS_EXCHANGE_ORIGIN;
	case EGRESS_STATE_BEGIN:
	case EGRESS_STATE_FLOW:
		return x->answered ? EGRESS_EXCHANGE_RESPONSE : EGRESS_EXCHANGE_REQUEST;
	case EGRESS_STATE_RAW:
		return EGRESS_EXCHANGE_RAW;
	case EGRESS_STATE_END:
		break;
	}
	return EGRESS_EXCHANGE_OVER;
}
