/* SPDX-License-Identifier: MIT */
/* T-70. Forwards a request and its response, as far as there is room on the other side. Payload
 * passes unchanged; its framing is written anew. */
#include "proto/exchange_state.h"
#include "proto/http_parse.h"

static const struct egress_refusal broken = { .status = 502,
					      .code = "internal",
					      .text = "the proxy ran out of memory" };

static void fail(struct egress_exchange *x, int status, const char *code, const char *text)
{
	struct egress_refusal why;

	egress_http_refuse(&why, status, code, text);
	egress_exchange_fail(x, &why);
}

enum step {
	STEP_NOTHING = 0, /* no input, or no room */
	STEP_SEND,
	STEP_BAD,
	STEP_POOR /* no memory */
};

/* Forwards payload of a chunked body as a new chunk. */
static enum step pass_chunks(struct egress_exchange *x, enum egress_side from, enum egress_side to,
			     struct egress_port port[static 2], struct egress_output *out)
{
	struct koda_span *in = &port[from].in;
	struct egress_exchange_text *text = &x->out[to];
	size_t most = in->len < port[to].room ? in->len : port[to].room;
	struct koda_span chunk;
	char *block;
	size_t len;

	if (most > EGRESS_BLOCK_MAX)
		most = EGRESS_BLOCK_MAX;
	if (koda_buf_room(&text->buf, most + EGRESS_BLOCK_EXTRA, &block) < 0)
		return STEP_POOR;
	if (egress_body_rechunk(&x->body[from], in, most, block, &chunk, &len) == EGRESS_BAD)
		return STEP_BAD;
	x->bytes[from] += len;
	text->sent = (size_t)(chunk.ptr - block);
	koda_buf_grew(&text->buf, text->sent + chunk.len);
	return egress_exchange_flush(x, to, port, out) ? STEP_SEND : STEP_NOTHING;
}

/* Forwards the available part of a body. */
static enum step pass_body(struct egress_exchange *x, enum egress_side from,
			   struct egress_port port[static 2], struct egress_output *out)
{
	enum egress_side to = from == EGRESS_CLIENT ? EGRESS_ORIGIN : EGRESS_CLIENT;
	struct egress_body *body = &x->body[from];
	struct koda_span data;

	/* The head or the previous chunk was sent; no buffer is held while nothing arrives. */
	if (body->framing == EGRESS_BODY_CHUNKED)
		egress_exchange_text_reset(&x->out[to]);
	if (port[from].in.len == 0 || port[to].room == 0 || egress_body_is_done(body))
		return STEP_NOTHING;
	if (body->framing == EGRESS_BODY_CHUNKED)
		return pass_chunks(x, from, to, port, out);
	if (egress_body_read(body, &port[from].in, port[to].room, &data) == EGRESS_BAD)
		return STEP_BAD;
	x->bytes[from] += data.len;
	egress_exchange_send(port, to, data, out);
	return STEP_SEND;
}

bool egress_exchange_is_sent(const struct egress_exchange *x)
{
	return egress_body_is_done(&x->body[EGRESS_CLIENT]) &&
	       !egress_exchange_pending(x, EGRESS_ORIGIN);
}

/* Sends the head, then the body of the request. Returns true if *ret_event is for the owner. */
static bool send_request(struct egress_exchange *x, struct egress_port port[static 2],
			 struct egress_output *out, enum egress_event *ret_event)
{
	*ret_event = EGRESS_EV_SEND;
	if (egress_exchange_flush(x, EGRESS_ORIGIN, port, out))
		return true;
	if (egress_exchange_pending(x, EGRESS_ORIGIN) ||
	    egress_body_is_done(&x->body[EGRESS_CLIENT]))
		return false;
	switch (pass_body(x, EGRESS_CLIENT, port, out)) {
	case STEP_SEND:
		return true;
	case STEP_BAD:
		fail(x, 400, "bad_chunk", "the request's body is not properly chunked");
		return false;
	case STEP_POOR:
		egress_exchange_fail(x, &broken);
		return false;
	case STEP_NOTHING:
		break;
	}
	if (port[EGRESS_CLIENT].eof && port[EGRESS_CLIENT].in.len == 0 &&
	    !egress_body_is_done(&x->body[EGRESS_CLIENT]))
		fail(x, 400, "truncated", "the request ends in its body");
	return false;
}

/* Handles an origin that closed, or sent something invalid, before its response began. */
static void origin_gone(struct egress_exchange *x)
{
	/* RFC 9110 9.2.2: a kept connection may be closed while a request is sent. */
	if (x->reused && x->is_safe && x->interim == 0 && !x->retry) {
		x->retry = true;
		x->drop_origin = true;
		x->state = EGRESS_STATE_ASK;
		return;
	}
	fail(x, 502, "origin_closed", "the origin closed the connection without an answer");
}

/* T-86. TRACE and TRACK return the request, with the credentials for the upstream proxy. Some
 * servers ignore the case of methods. */
static bool is_echoed(const struct egress_exchange *x)
{
	const struct koda_span method = { x->method, x->method_len };

	return x->route.auth.len > 0 &&
	       (egress_http_same(method, "trace") || egress_http_same(method, "track"));
}

/* State BEGIN: parses the judged bytes again, and writes the request for the origin. */
void egress_exchange_begin(struct egress_exchange *x, struct egress_port port[static 2])
{
	struct egress_port *client = &port[EGRESS_CLIENT];
	struct egress_exchange_text *text = &x->out[EGRESS_ORIGIN];
	struct egress_refusal why = broken;
	struct egress_head head;

	x->scan[EGRESS_ORIGIN] = (struct egress_head_scan){ 0 };
	x->state = EGRESS_STATE_FLOW;
	if (x->retry) {
		text->sent = 0;
		if (x->reused)
			origin_gone(x);
		return;
	}
	egress_exchange_text_reset(text);
	if (is_echoed(x)) {
		fail(x, 405, "trace_by_proxy",
		     "the proxy after this one would show its credentials");
		return;
	}
	if (client->in.len < x->head_len ||
	    !egress_head_request((struct koda_span){ client->in.ptr, x->head_len }, &head, &why) ||
	    !egress_exchange_is_ours(x, &head, &why) ||
	    !egress_http_target_same_host(&head.host, &x->host) || head.port != x->port ||
	    egress_head_write_request(&head, &x->route, x->close || egress_head_has_body(&head),
				      &text->buf) < 0) {
		egress_exchange_fail(x, &why);
		return;
	}
	client->in = koda_span_skip(client->in, x->head_len);
	x->begun = true;
	/* An origin that ignores bodies would take this one for its next request. */
	x->origin_close = egress_head_has_body(&head);
	egress_body_init(&x->body[EGRESS_CLIENT], head.framing, head.length);
	/* The origin sent bytes before the request. */
	if (x->reused && (port[EGRESS_ORIGIN].in.len || port[EGRESS_ORIGIN].eof))
		origin_gone(x);
}

/* Replaces the buffer, whose bytes were sent. */
static bool write_response(struct egress_exchange *x, const struct egress_head *head, bool close)
{
	struct egress_exchange_text *text = &x->out[EGRESS_CLIENT];

	egress_exchange_text_reset(text);
	if (egress_head_write_response(head, close, &text->buf) == KODA_OK)
		return true;
	egress_exchange_fail(x, &broken);
	return false;
}

/* Handles 101: both sides change the protocol. */
static void upgraded(struct egress_exchange *x, const struct egress_head *head)
{
	/* If the request is incomplete, its rest would be taken for the new protocol. */
	if (!x->upgrade || !head->upgrade || !egress_exchange_is_sent(x)) {
		fail(x, 502, "bad_upgrade", "the origin switched protocols without being asked to");
		return;
	}
	if (!write_response(x, head, false))
		return;
	x->answered = true;
	x->status = head->status;
	x->state = EGRESS_STATE_RAW;
	x->log_due = true;
}

static void interim(struct egress_exchange *x, const struct egress_head *head)
{
	if (++x->interim > EGRESS_INTERIM_MAX) {
		fail(x, 502, "too_many_interim", "the origin sends interim answers only");
		return;
	}
	/* HTTP/1.0 has no interim responses. */
	if (x->minor == 1)
		(void)write_response(x, head, false);
}

static void final(struct egress_exchange *x, const struct egress_head *head)
{
	enum egress_framing framing = egress_head_response_body(head, x->is_head);

	if (head->status == 407) {
		fail(x, 502, "upstream_auth", "the upstream proxy does not accept our credentials");
		return;
	}
	if (x->minor == 0 && framing == EGRESS_BODY_CHUNKED) {
		fail(x, 502, "bad_framing", "the origin's answer is not for HTTP/1.0");
		return;
	}
	/* After a response to an incomplete request, the rest of the request cannot be
	 * forwarded. */
	if (framing == EGRESS_BODY_CLOSE || !egress_exchange_is_sent(x))
		x->close = true;
	if (head->close || framing == EGRESS_BODY_CLOSE)
		x->origin_close = true;
	if (!write_response(x, head, x->close))
		return;
	x->answered = true;
	x->status = head->status;
	egress_body_init(&x->body[EGRESS_ORIGIN], framing, head->length);
}

/* Reads the head of a response, interim or final. Returns true to WAIT. */
static bool read_response(struct egress_exchange *x, struct egress_port port[static 2])
{
	struct egress_port *origin = &port[EGRESS_ORIGIN];
	struct egress_refusal why;
	struct egress_head head;
	enum egress_parse parse;
	size_t len = 0;

	parse = egress_head_find(&x->scan[EGRESS_ORIGIN], origin->in, &len, &why);
	if (parse == EGRESS_MORE) {
		if (!origin->eof)
			return true;
		if (origin->in.len)
			fail(x, 502, "origin_closed", "the origin's answer ends in its head");
		else
			origin_gone(x);
		return false;
	}
	if (parse == EGRESS_BAD ||
	    !egress_head_response((struct koda_span){ origin->in.ptr, len }, &head, &why)) {
		why.status = 502;
		egress_exchange_fail(x, &why);
		return false;
	}
	x->scan[EGRESS_ORIGIN] = (struct egress_head_scan){ 0 };
	if (head.status == 101)
		upgraded(x, &head);
	else if (head.status < 200)
		interim(x, &head);
	else
		final(x, &head);
	origin->in = koda_span_skip(origin->in, len);
	return false;
}

/* Ends a response that was sent completely. */
static void finish(struct egress_exchange *x)
{
	x->log_due = true;
	x->drop_origin = x->origin_close || x->close;
	x->state = x->close ? EGRESS_STATE_END : EGRESS_STATE_HEAD;
	x->finished = true;
}

/* Forwards the body of the response. Returns true if *ret_event is for the owner. */
static bool send_response(struct egress_exchange *x, struct egress_port port[static 2],
			  struct egress_output *out, enum egress_event *ret_event)
{
	struct egress_body *body = &x->body[EGRESS_ORIGIN];
	bool ended;

	switch (pass_body(x, EGRESS_ORIGIN, port, out)) {
	case STEP_SEND:
		*ret_event = EGRESS_EV_SEND;
		return true;
	case STEP_BAD:
		fail(x, 502, "bad_chunk", "the origin's answer is not properly chunked");
		return false;
	case STEP_POOR:
		egress_exchange_fail(x, &broken);
		return false;
	case STEP_NOTHING:
		break;
	}
	/* The rest of the input may have been framing only. */
	ended = port[EGRESS_ORIGIN].eof && port[EGRESS_ORIGIN].in.len == 0;
	if (body->framing == EGRESS_BODY_CLOSE ? ended : egress_body_may_end(body)) {
		finish(x);
		return false;
	}
	if (ended) {
		fail(x, 502, "origin_closed", "the origin's answer ends in its body");
		return false;
	}
	*ret_event = EGRESS_EV_WAIT;
	return true;
}

bool egress_exchange_flow(struct egress_exchange *x, struct egress_port port[static 2],
			  struct egress_output *out, enum egress_event *ret_event)
{
	if (send_request(x, port, out, ret_event))
		return true;
	if (x->state != EGRESS_STATE_FLOW)
		return false;
	*ret_event = EGRESS_EV_SEND;
	if (egress_exchange_flush(x, EGRESS_CLIENT, port, out))
		return true;
	*ret_event = EGRESS_EV_WAIT;
	if (egress_exchange_pending(x, EGRESS_CLIENT))
		return true;
	if (x->answered)
		return send_response(x, port, out, ret_event);
	return read_response(x, port);
}

bool egress_exchange_raw(struct egress_exchange *x, struct egress_port port[static 2],
			 struct egress_output *out, enum egress_event *ret_event)
{
	*ret_event = EGRESS_EV_SEND;
	if (egress_exchange_flush(x, EGRESS_CLIENT, port, out))
		return true;
	*ret_event = EGRESS_EV_WAIT;
	if (egress_exchange_pending(x, EGRESS_CLIENT))
		return true;
	if (!x->raw_told) {
		x->raw_told = true;
		*ret_event = EGRESS_EV_RAW;
		return true;
	}
	for (int i = 0; i < 2; i++) {
		enum egress_side from = i ? EGRESS_ORIGIN : EGRESS_CLIENT;
		enum egress_side to = i ? EGRESS_CLIENT : EGRESS_ORIGIN;
		size_t len = port[from].in.len;

		if (len > port[to].room)
			len = port[to].room;
		if (len > 0) {
			egress_exchange_send(port, to, (struct koda_span){ port[from].in.ptr, len },
					     out);
			port[from].in = koda_span_skip(port[from].in, len);
			*ret_event = EGRESS_EV_SEND;
			return true;
		}
		if (port[from].eof && port[from].in.len == 0 && !x->shut[to]) {
			x->shut[to] = true;
			out->side = to;
			*ret_event = EGRESS_EV_SHUT;
			return true;
		}
	}
	if (x->shut[0] && x->shut[1]) {
		x->state = EGRESS_STATE_END;
		return false;
	}
	return true;
}

void egress_exchange_record(const struct egress_exchange *x, struct egress_record *record)
{
	*record = (struct egress_record){
		.method = { x->method, x->method_len },
		.path = { x->path, x->path_len },
		.host = x->has_request ? &x->host : NULL,
		.port = x->has_request ? x->port : 0,
		.tls = x->has_request && x->tls,
		.status = x->status,
		.refusal = x->refused ? &x->refusal : NULL,
		.sent = x->bytes[EGRESS_CLIENT],
		.received = x->bytes[EGRESS_ORIGIN],
	};
}

bool egress_exchange_unlogged(const struct egress_exchange *x, struct egress_record *ret_record)
{
	bool begun = x->state != EGRESS_STATE_HEAD && x->state != EGRESS_STATE_RAW &&
		     x->state != EGRESS_STATE_END;

	egress_exchange_record(x, ret_record);
	return x->has_request && (begun || x->log_due);
}
