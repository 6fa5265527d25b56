/* SPDX-License-Identifier: MIT */
/*
 * T-70. A hostile client and a hostile origin at once. The first byte says how: bit 0 for a
 * terminated connection, bit 1 for an upstream proxy, bit 2 for an owner that refuses "x.example",
 * bit 3 for eof at the end. The second is the size of the pieces, the third the room. The rest is
 * what the client sends, a 0xff byte, and what each origin sends.
 *
 * Nothing goes to an origin that was not asked for; what goes there is one request, that we can
 * read ourselves and that is for the host that was allowed, with a body that a second reader ends
 * where we do, and nothing behind it before the next was allowed; the exchange always comes to
 * rest.
 */
#include "target.h"

#include "../lib/body_oracle.h"

#include "proto/exchange.h"

#define TURNS_MAX 1000000
#define SENT_MAX  ((size_t)1 << 24)

struct play {
	struct egress_exchange *x;
	struct egress_port port[2];
	struct koda_span text[2];
	size_t at[2];
	size_t piece;
	size_t room;
	bool proxy;
	bool refuse;
	bool closes;
	bool connected;
	bool head_due; /* the next bytes for the origin begin a request */
	bool raw;
	struct koda_host allowed;
	char where[EGRESS_AUTHORITY_MAX];
	struct koda_buf sent; /* to the origin since the request was allowed */
};

/* What an origin has got since a request was allowed is that request, or with part a part of it. */
static void check_request(struct play *p, bool part)
{
	static struct oracle_message message;

	if (p->raw || p->sent.len == 0)
		return;
	oracle_message(p->sent.ptr, p->sent.len, &message);
	CHECK(message.body.is != ORACLE_BAD);
	CHECK(message.used == p->sent.len || (part && message.used == 0));
}

static void ask(struct play *p, const struct egress_request *request)
{
	struct egress_route route = { p->proxy, koda_span_of("Basic eDp5") };
	struct egress_refusal no = { .status = 403, .code = "no", .rule = koda_span_of("r\r\n") };
	char where[EGRESS_AUTHORITY_MAX];
	bool reused;

	CHECK(request->host && request->port && request->method.len);
	CHECK(!request->path.len || !memchr(request->path.ptr, '?', request->path.len));
	(void)egress_http_write_authority(request->host, request->port, where);
	if (p->refuse && strcmp(request->host->name, "x.example") == 0) {
		egress_exchange_refused(p->x, &no);
		return;
	}
	reused = p->connected && !request->retry && strcmp(where, p->where) == 0;
	check_request(p, !reused);
	if (!reused) {
		p->port[EGRESS_ORIGIN] = (struct egress_port){ .room = p->room };
		p->at[EGRESS_ORIGIN] = 0;
	}
	p->connected = true;
	p->allowed = *request->host;
	p->head_due = true;
	p->sent.len = 0;
	memcpy(p->where, where, sizeof(where));
	egress_exchange_allowed(p->x, reused, &route);
}

/* Bytes for the origin: the first of them are a head for the host that was allowed. */
static void check_sent(struct play *p, struct koda_span bytes)
{
	struct egress_head_scan scan = { 0 };
	struct egress_refusal why;
	struct egress_head head;
	size_t len = 0;

	CHECK(p->connected);
	CHECK(koda_buf_add(&p->sent, bytes.ptr, bytes.len) == KODA_OK);
	if (!p->head_due)
		return;
	if (p->sent.len < 4 || memcmp(p->sent.ptr + p->sent.len - 4, "\r\n\r\n", 4) != 0)
		return;
	CHECK(egress_head_find(&scan, koda_buf_span(&p->sent), &len, &why) == EGRESS_DONE);
	CHECK(len == p->sent.len);
	CHECK(egress_head_request(koda_buf_span(&p->sent), &head, &why));
	CHECK(head.has_host && egress_http_target_same_host(&head.host, &p->allowed));
	p->head_due = false;
}

/* True: it is over. */
static bool events(struct play *p)
{
	struct egress_output out;

	for (int i = 0;; i++) {
		CHECK(i < TURNS_MAX);
		switch (egress_exchange_next(p->x, p->port, &out)) {
		case EGRESS_EV_WAIT:
			return false;
		case EGRESS_EV_SEND:
			CHECK(out.bytes.len > 0 && out.bytes.len <= p->room);
			if (out.side == EGRESS_ORIGIN)
				check_sent(p, out.bytes);
			break;
		case EGRESS_EV_WANT_ORIGIN:
			ask(p, &out.request);
			break;
		case EGRESS_EV_DROP_ORIGIN:
			CHECK(p->connected);
			check_request(p, out.cut);
			p->sent.len = 0;
			p->connected = false;
			break;
		case EGRESS_EV_LOG:
			CHECK(out.record.refusal || out.record.status >= 101);
			break;
		case EGRESS_EV_RAW:
			p->raw = true;
			break;
		case EGRESS_EV_SHUT:
			break;
		case EGRESS_EV_CONNECT:
			CHECK(out.request.port);
			return true;
		case EGRESS_EV_CLOSE:
			CHECK(egress_exchange_next(p->x, p->port, &out) == EGRESS_EV_CLOSE);
			return true;
		}
	}
}

/* More bytes and room; false when there is nothing new. */
static bool more(struct play *p, int side)
{
	struct egress_port *port = &p->port[side];
	size_t left = p->text[side].len - p->at[side];
	size_t n = left < p->piece ? left : p->piece;
	bool eof = p->closes && n == left;
	bool changed = n > 0 || eof != port->eof || port->room < p->room;

	if (side == EGRESS_ORIGIN && !p->connected)
		return false;
	port->in.ptr = p->text[side].ptr + p->at[side] - port->in.len;
	port->in.len += n;
	p->at[side] += n;
	port->eof = eof;
	port->room = p->room;
	return changed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct koda_host fixed = { .len = 9, .name = "a.example" };
	struct play p = { .sent = KODA_BUF_INIT(SENT_MAX) };
	const uint8_t *split;

	if (size < 3)
		return 0;
	p.proxy = data[0] & 2;
	p.refuse = data[0] & 4;
	p.closes = data[0] & 8;
	p.piece = data[1] + 1U;
	p.room = data[2] + 1U;
	p.x = egress_exchange_new(data[0] & 1 ? &fixed : NULL, 443);
	CHECK(p.x);
	p.text[EGRESS_CLIENT] = (struct koda_span){ (const char *)data + 3, size - 3 };
	split = memchr(data + 3, 0xff, size - 3);
	if (split) {
		p.text[EGRESS_CLIENT].len = (size_t)(split - data) - 3;
		p.text[EGRESS_ORIGIN] = (struct koda_span){ (const char *)split + 1,
							    size - (size_t)(split - data) - 1 };
	} else {
		p.text[EGRESS_ORIGIN] = (struct koda_span){ (const char *)data, 0 };
	}
	for (int i = 0; i < TURNS_MAX; i++) {
		bool changed = more(&p, EGRESS_CLIENT);

		changed |= more(&p, EGRESS_ORIGIN);
		if (!changed || events(&p))
			break;
	}
	check_request(&p, true);
	egress_exchange_free(p.x);
	koda_buf_clear(&p.sent);
	return 0;
}
