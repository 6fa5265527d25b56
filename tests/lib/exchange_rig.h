/* SPDX-License-Identifier: MIT */
/*
 * An exchange between a client and one origin at a time, driven as the program drives it, for
 * bodies: input comes in pieces of a chosen size and there is room for a chosen number of bytes.
 * The origin answers when it has got a whole request. The file that includes this defines
 * RIG_CHECK(condition), which does not return if that is false.
 */
#ifndef KODA_TEST_EXCHANGE_RIG_H
#define KODA_TEST_EXCHANGE_RIG_H

#include "body_oracle.h"

#include "base/buf.h"
#include "proto/exchange.h"

#define RIG_TURNS 400000
#define RIG_TEXT  ((size_t)1 << 20)
#define RIG_LOGS  8

struct rig_log {
	int status;
	const char *code; /* NULL: not refused */
	uint64_t sent;
	uint64_t received;
};

struct rig {
	/* What is played. */
	struct koda_span client;
	struct koda_span origin; /* the answer to each request */
	bool client_closes;
	bool origin_closes;
	size_t piece;
	size_t room;
	/* What came of it. */
	struct koda_buf to_client;
	struct koda_buf to_origin; /* all of them */
	struct rig_log logs[RIG_LOGS];
	size_t log_count;
	size_t asked;    /* requests that were decided */
	size_t answered; /* and that an origin got whole */
	bool cut;        /* an origin was broken off */
	bool over;
	/* In between. */
	struct egress_exchange *x;
	struct egress_port port[2];
	size_t client_at;
	size_t origin_at;
	bool connected;
	size_t message_at; /* of to_origin, where the present request begins */
};

static inline void rig_event(struct rig *rig, enum egress_event event,
			     const struct egress_output *out)
{
	static const struct egress_route direct;

	switch (event) {
	case EGRESS_EV_SEND:
		RIG_CHECK(out->bytes.len > 0 && out->bytes.len <= rig->room);
		RIG_CHECK(out->side == EGRESS_CLIENT || rig->connected);
		RIG_CHECK(
			koda_buf_add(out->side == EGRESS_CLIENT ? &rig->to_client : &rig->to_origin,
				     out->bytes.ptr, out->bytes.len) == KODA_OK);
		break;
	case EGRESS_EV_WANT_ORIGIN:
		rig->asked++;
		egress_exchange_allowed(rig->x, rig->connected && !out->request.retry, &direct);
		rig->connected = true;
		break;
	case EGRESS_EV_DROP_ORIGIN:
		RIG_CHECK(rig->connected);
		rig->connected = false;
		rig->origin_at = 0;
		rig->cut = rig->cut || out->cut;
		break;
	case EGRESS_EV_LOG:
		RIG_CHECK(rig->log_count < RIG_LOGS);
		rig->logs[rig->log_count++] = (struct rig_log){
			.status = out->record.status,
			.code = out->record.refusal ? out->record.refusal->code : NULL,
			.sent = out->record.sent,
			.received = out->record.received,
		};
		break;
	case EGRESS_EV_CLOSE:
	case EGRESS_EV_CONNECT:
		rig->over = true;
		break;
	case EGRESS_EV_WAIT:
	case EGRESS_EV_RAW:
	case EGRESS_EV_SHUT:
		break;
	}
}

/* Has the origin got a whole request, and nothing behind it? */
static inline bool rig_request_is_whole(struct rig *rig)
{
	static struct oracle_message message;
	size_t len = rig->to_origin.len - rig->message_at;

	if (len == 0)
		return false;
	oracle_message(rig->to_origin.ptr + rig->message_at, len, &message);
	RIG_CHECK(message.body.is != ORACLE_BAD);
	RIG_CHECK(message.used <= len);
	/* There is no second one before the first was answered. */
	RIG_CHECK(message.used == 0 || message.used == len);
	return message.used > 0;
}

/* More input for a side; the unread part grows at its end. */
static inline bool rig_arrive(struct egress_port *port, struct koda_span text, size_t *at,
			      size_t piece, bool closes)
{
	size_t more = text.len - *at < piece ? text.len - *at : piece;
	bool eof = closes && *at + more == text.len;
	bool news = more > 0 || eof != port->eof;

	port->in.ptr = text.ptr + *at - port->in.len;
	port->in.len += more;
	*at += more;
	port->eof = eof;
	return news;
}

static inline bool rig_more(struct rig *rig)
{
	struct egress_port *port = rig->port;
	bool news = port[EGRESS_CLIENT].room < rig->room ||
		    (rig->connected && port[EGRESS_ORIGIN].room < rig->room);

	port[EGRESS_CLIENT].room = rig->room;
	port[EGRESS_ORIGIN].room = rig->connected ? rig->room : 0;
	news |= rig_arrive(&port[EGRESS_CLIENT], rig->client, &rig->client_at, rig->piece,
			   rig->client_closes);
	if (rig->connected && rig->origin_at == 0 && rig_request_is_whole(rig)) {
		rig->answered++;
		rig->message_at = rig->to_origin.len;
	} else if (rig->connected && rig->origin_at == 0) {
		return news;
	}
	if (rig->connected)
		news |= rig_arrive(&port[EGRESS_ORIGIN], rig->origin, &rig->origin_at, rig->piece,
				   rig->origin_closes);
	if (rig->origin_at == rig->origin.len && port[EGRESS_ORIGIN].in.len == 0)
		rig->origin_at = 0;
	return news;
}

/* rig is all zero but for what is played. */
static inline void rig_play(struct rig *rig)
{
	struct egress_output out;

	rig->to_client.max = RIG_TEXT;
	rig->to_origin.max = RIG_TEXT;
	rig->x = egress_exchange_new(NULL, 0);
	RIG_CHECK(rig->x);
	for (int i = 0; i < RIG_TURNS && !rig->over && rig_more(rig); i++) {
		for (int j = 0; !rig->over; j++) {
			enum egress_event event = egress_exchange_next(rig->x, rig->port, &out);

			RIG_CHECK(j < RIG_TURNS);
			if (event == EGRESS_EV_WAIT)
				break;
			rig_event(rig, event, &out);
		}
	}
	if (rig->over)
		RIG_CHECK(egress_exchange_next(rig->x, rig->port, &out) == EGRESS_EV_CLOSE);
}

static inline void rig_clear(struct rig *rig)
{
	egress_exchange_free(rig->x);
	koda_buf_clear(&rig->to_client);
	koda_buf_clear(&rig->to_origin);
}

#endif
