/* SPDX-License-Identifier: MIT */
/*
 * A terminated connection: TLS with the client, under a leaf of the authority; HTTP in between,
 * each request checked and logged; TLS with the origin, whose certificate is checked. No I/O: the
 * owner brings what the two sockets received and sends what waits for them.
 *
 *	feed(side, bytes) or ended(side)
 *	for (;;) {
 *		switch (next(&out)) {
 *		case WAIT:        send out(side) and tell sent(side); read where wants(side)
 *		case WANT_ORIGIN: connect, then connected() or refused()
 *		...
 */
#ifndef KODA_EGRESS_TERMINATE_H
#define KODA_EGRESS_TERMINATE_H

#include "exchange.h"

#include <time.h>

struct koda_tls_client;
struct koda_tls_server;
struct koda_terminate;

/* One feed brings no more than this. */
#define KODA_TERMINATE_FEED ((size_t)64 << 10)

enum koda_terminate_event {
	KODA_TERMINATE_WAIT = 0,    /* nothing to do until bytes, room or an answer come */
	KODA_TERMINATE_WANT_ORIGIN, /* request: connect, and answer */
	KODA_TERMINATE_DROP_ORIGIN, /* close the origin's connection */
	KODA_TERMINATE_LOG,         /* record */
	KODA_TERMINATE_CLOSE        /* over: send what waits for the client, close everything */
};

struct koda_terminate_output {
	struct egress_request request; /* WANT_ORIGIN; borrowed until answered */
	struct egress_record record;   /* LOG; borrowed until the next call */
};

/* A connection that asked for host and port; nothing was read yet. server and client are borrowed
 * for its life. Fails: DENIED if the authority has expired meanwhile, NOMEM, INTERNAL. */
KODA_CHECK int koda_terminate_new(struct koda_tls_server *server, struct koda_tls_client *client,
				  const struct koda_host *host, uint16_t port, time_t now,
				  struct koda_terminate **ret_terminate, struct koda_error *err);
void koda_terminate_free(struct koda_terminate *t);

/* Bytes of memory that its buffers take up. Sparing, a connection reads no more from a
 * side while anything from there waits in them, and so gets by with a record in each direction;
 * but a head that has begun is read to its end. */
size_t koda_terminate_held(const struct koda_terminate *t);
/* Of these, what the origin's certificates take up, which is for the origin to say. */
size_t koda_terminate_chain(const struct koda_terminate *t);
void koda_terminate_spare(struct koda_terminate *t, bool sparing);
/* Does part of a head wait for the rest of it? */
bool koda_terminate_is_partial(const struct koda_terminate *t, enum egress_side side);
/* What a connection needs in any case: two sessions of OpenSSL with their buffers, and what is held
 * when it spares. */
#define KODA_TERMINATE_BASE ((size_t)160 << 10)

/* Should the owner read from this side? If so the next feed takes all it is given. */
bool koda_terminate_wants(const struct koda_terminate *t, enum egress_side side);
/* What a socket received, up to KODA_TERMINATE_FEED bytes, all of which are taken. */
void koda_terminate_feed(struct koda_terminate *t, enum egress_side side, struct koda_span bytes);
/* It will not receive any more. */
void koda_terminate_ended(struct koda_terminate *t, enum egress_side side);

enum koda_terminate_event koda_terminate_next(struct koda_terminate *t,
					      struct koda_terminate_output *out);

/* Bytes for a socket, borrowed until the next call; how many of them were sent. */
struct koda_span koda_terminate_out(const struct koda_terminate *t, enum egress_side side);
void koda_terminate_sent(struct koda_terminate *t, enum egress_side side, size_t len);
/* When out is empty: shut down the writing half of this socket. */
bool koda_terminate_is_shut(const struct koda_terminate *t, enum egress_side side);

/* The origin is connected. Valid as the answer to WANT_ORIGIN and, to save a round trip, once right
 * after new. Fails: NOMEM. */
KODA_CHECK int koda_terminate_connected(struct koda_terminate *t, struct koda_error *err);
/* It is not, or a deadline passed: the client gets this answer and the connection ends. Also valid
 * later, while a request waits for its response. */
void koda_terminate_refused(struct koda_terminate *t, const struct egress_refusal *why);

/* For deadlines: HEAD while the client's handshake lasts, ORIGIN also while the origin's does. */
enum egress_phase koda_terminate_phase(const struct koda_terminate *t);
/* Why TLS with the client or the origin failed; NULL if it did not. Borrowed. */
const char *koda_terminate_failure(const struct koda_terminate *t);
/* For a connection that is given up: the request of which no LOG told yet; false: there is none. */
bool koda_terminate_unlogged(const struct koda_terminate *t, struct egress_record *ret_record);
/* A client that never finished its handshake: there was no request and no answer. */
bool koda_terminate_is_open(const struct koda_terminate *t);

#endif
