/* SPDX-License-Identifier: MIT */
/* A whole exchange on a table: what client and origin send is given, what they get is written
 * down. Input comes in pieces of a chosen size, and there is room for a chosen number of bytes at
 * a time; neither may make a difference to what comes out. */
#ifndef EGRESS_EXCHANGE_TEST_H
#define EGRESS_EXCHANGE_TEST_H

#include "koda_test.h"

#include "base/buf.h"
#include "proto/exchange.h"

#define SCENE_MAX ((size_t)1 << 20)
#define TURNS_MAX 200000

/* One connection to an origin: what it sends, and whether it closes afterwards. Each part, up to a
 * vertical tab (which is not sent), is sent when another head has been received; with after, the
 * first part waits for that many bytes instead, and with early for nothing. */
struct origin {
	const char *sends;
	bool closes;
	bool early;
	size_t after;
};

struct scene {
	const char *name;
	const char *client;
	bool client_closes;
	bool whole;         /* played in one piece only: chunks are as large as the pieces */
	const char *fixed;  /* host of a terminated connection; NULL: plain */
	const char *refuse; /* host that the owner refuses */
	const struct origin *origins; /* one after the other, ended by sends == NULL */
	const char *to_client;
	const char *to_origins; /* all of them, "|" between connections */
	const char *log;        /* "METHOD host:port/path status code sent/received\n" each */
	enum egress_event end;  /* WAIT, CLOSE or CONNECT */
};

struct play {
	struct egress_exchange *x;
	struct egress_port port[2];
	const struct scene *scene;
	const struct origin *origin; /* the present one, or NULL */
	const struct origin *next;
	size_t piece;
	size_t room;
	struct koda_span client; /* all of it */
	size_t client_at;        /* bytes that have arrived */
	char *origin_text;       /* what it sends, without the tabs */
	size_t origin_at;
	size_t origin_from;  /* where in to_origins its bytes begin */
	char connected[300]; /* where the present one is */
	struct koda_buf to_client;
	struct koda_buf to_origins;
	struct koda_buf log;
};

/* What has arrived of text: the unread part grows at its end. True if anything changed. */
static inline bool arrive(struct egress_port *port, struct koda_span text, size_t *at, size_t piece,
			  bool closes)
{
	size_t more = text.len - *at < piece ? text.len - *at : piece;
	bool eof = closes && *at + more == text.len;
	bool changed = more > 0 || eof != port->eof;

	port->in.ptr = text.ptr + *at - port->in.len;
	port->in.len += more;
	*at += more;
	port->eof = eof;
	return changed;
}

/* The text of the present origin. */
static inline void play_text(struct play *p)
{
	char *to;

	free(p->origin_text);
	p->origin_text = strdup(p->origin->sends);
	assert_non_null(p->origin_text);
	to = p->origin_text;
	for (const char *from = p->origin->sends; *from; from++)
		if (*from != '\v')
			*to++ = *from;
	*to = '\0';
}

/* How many bytes the origin has decided to send by now. */
static inline size_t play_released(const struct play *p)
{
	const char *got = p->to_origins.ptr + p->origin_from;
	size_t len = p->to_origins.len - p->origin_from;
	const char *part = p->origin->sends;
	size_t released = 0;
	size_t heads = p->origin->early ? 1 : 0;

	for (size_t i = 0; i + 4 <= len; i++)
		heads += memcmp(got + i, "\r\n\r\n", 4) == 0;
	if (p->origin->after)
		heads = len >= p->origin->after ? 1 : 0;
	for (; heads > 0 && *part; heads--) {
		size_t size = strcspn(part, "\v");

		released += size;
		part += size + (part[size] != '\0');
	}
	return released;
}

static inline void play_ask(struct play *p, const struct egress_request *request)
{
	static const struct egress_route route;
	char where[300];
	bool reused;
	struct egress_refusal no = { .status = 403,
				     .code = "net.denied_domains",
				     .text = "denied",
				     .rule = koda_span_of("*.bad.example") };

	(void)egress_http_write_authority(request->host, request->port, where);
	if (p->scene->refuse && strcmp(p->scene->refuse, request->host->name) == 0) {
		egress_exchange_refused(p->x, &no);
		return;
	}
	reused = p->origin && strcmp(where, p->connected) == 0 && !request->retry;
	if (!reused) {
		KODA_EXPECT(p->scene->name, p->next && p->next->sends);
		if (p->to_origins.len)
			assert_int_equal(koda_buf_add(&p->to_origins, "|", 1), 0);
		p->origin = p->next++;
		p->origin_at = 0;
		p->origin_from = p->to_origins.len;
		play_text(p);
		p->port[EGRESS_ORIGIN] = (struct egress_port){ .room = 0 };
		memcpy(p->connected, where, sizeof(where));
	}
	egress_exchange_allowed(p->x, reused, &route);
}

static inline void play_log(struct play *p, const struct egress_record *record)
{
	char where[EGRESS_AUTHORITY_MAX] = "-";

	if (record->host)
		(void)egress_http_write_authority(record->host, record->port, where);
	assert_int_equal(koda_buf_addf(&p->log, "%.*s %s%.*s %d %s %llu/%llu\n",
				       (int)record->method.len, record->method.ptr, where,
				       (int)record->path.len, record->path.ptr, record->status,
				       record->refusal ? record->refusal->code : "-",
				       (unsigned long long)record->sent,
				       (unsigned long long)record->received),
			 0);
}

static inline void play_send(struct play *p, const struct egress_output *out)
{
	struct koda_buf *to = out->side == EGRESS_CLIENT ? &p->to_client : &p->to_origins;

	KODA_EXPECT(p->scene->name, out->bytes.len > 0 && out->bytes.len <= p->room);
	assert_int_equal(koda_buf_add(to, out->bytes.ptr, out->bytes.len), 0);
}

/* Everything the exchange has to say now. True: it is over. */
static inline bool play_events(struct play *p, enum egress_event *ret_last)
{
	struct egress_output out;

	for (int i = 0; i < TURNS_MAX; i++) {
		*ret_last = egress_exchange_next(p->x, p->port, &out);
		switch (*ret_last) {
		case EGRESS_EV_WAIT:
			return false;
		case EGRESS_EV_SEND:
			play_send(p, &out);
			break;
		case EGRESS_EV_WANT_ORIGIN:
			play_ask(p, &out.request);
			break;
		case EGRESS_EV_LOG:
			play_log(p, &out.record);
			break;
		case EGRESS_EV_DROP_ORIGIN:
			KODA_EXPECT(p->scene->name, p->origin != NULL);
			p->origin = NULL;
			break;
		case EGRESS_EV_SHUT:
			assert_int_equal(koda_buf_add(out.side == EGRESS_CLIENT ? &p->to_client
										: &p->to_origins,
						      "$", 1),
					 0);
			break;
		case EGRESS_EV_RAW:
			assert_int_equal(egress_exchange_step(p->x, p->port), EGRESS_EXCHANGE_RAW);
			break;
		case EGRESS_EV_CONNECT:
		case EGRESS_EV_CLOSE:
			return true;
		}
	}
	fail_msg("%s: does not come to rest", p->scene->name);
	return true;
}

/* More input and room, as far as there is any. */
static inline bool play_more(struct play *p)
{
	struct egress_port *origin = &p->port[EGRESS_ORIGIN];
	bool changed;

	changed = p->port[EGRESS_CLIENT].room < p->room || (p->origin && origin->room < p->room);
	p->port[EGRESS_CLIENT].room = p->room;
	origin->room = p->origin ? p->room : 0;
	changed |= arrive(&p->port[EGRESS_CLIENT], p->client, &p->client_at, p->piece,
			  p->scene->client_closes);
	if (p->origin) {
		size_t len = play_released(p);
		bool whole = p->origin_text[len] == '\0' && (len || p->to_origins.len);

		changed |= arrive(origin, (struct koda_span){ p->origin_text, len }, &p->origin_at,
				  p->piece, p->origin->closes && whole);
	}
	return changed;
}

/* Plays the scene; *p holds what came out. */
static inline enum egress_event play_scene(struct play *p, const struct scene *scene, size_t piece,
					   size_t room)
{
	enum egress_event last = EGRESS_EV_WAIT;
	struct koda_host fixed;

	*p = (struct play){ .scene = scene, .piece = piece, .room = room, .next = scene->origins };
	p->to_client.max = SCENE_MAX;
	p->to_origins.max = SCENE_MAX;
	p->log.max = SCENE_MAX;
	p->client = koda_span_of(scene->client);
	if (scene->fixed)
		assert_int_equal(koda_host_parse(koda_span_of(scene->fixed), &fixed, NULL), 0);
	p->x = egress_exchange_new(scene->fixed ? &fixed : NULL, 443);
	assert_non_null(p->x);
	for (int i = 0; i < TURNS_MAX && play_more(p); i++)
		if (play_events(p, &last))
			break;
	return last;
}

static inline void play_clear(struct play *p)
{
	egress_exchange_free(p->x);
	koda_buf_clear(&p->to_client);
	koda_buf_clear(&p->to_origins);
	koda_buf_clear(&p->log);
	free(p->origin_text);
}

static inline void play_expect(const struct scene *scene, const char *what,
			       const struct koda_buf *got, const char *want, size_t piece)
{
	struct koda_span text = got->len ? koda_buf_span(got) : koda_span_of("");

	if (want && !koda_span_is(text, want))
		fail_msg("%s (pieces of %zu): %s:\n%.*s\nexpected:\n%s", scene->name, piece, what,
			 (int)text.len, text.ptr, want);
}

/* Whole, and in pieces of several sizes with little room. */
static inline void check_scene(const struct scene *scene)
{
	static const struct {
		size_t piece;
		size_t room;
	} ways[] = { { SCENE_MAX, SCENE_MAX },
		     { 1, SCENE_MAX },
		     { SCENE_MAX, 1 },
		     { 1, 1 },
		     { 2, 3 },
		     { 7, 5 },
		     { 64, 17 } };

	KODA_EACH(way, ways) {
		struct play p;
		enum egress_event end;

		if (scene->whole && (way->piece < SCENE_MAX || way->room < SCENE_MAX))
			continue;
		end = play_scene(&p, scene, way->piece, way->room);
		play_expect(scene, "to client", &p.to_client, scene->to_client, way->piece);
		play_expect(scene, "to origins", &p.to_origins, scene->to_origins, way->piece);
		play_expect(scene, "log", &p.log, scene->log, way->piece);
		if (end != scene->end)
			fail_msg("%s (pieces of %zu): ends with %d", scene->name, way->piece, end);
		play_clear(&p);
	}
}

#endif
