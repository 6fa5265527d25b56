/* SPDX-License-Identifier: MIT */
/*
 * A terminated connection: TLS with the client, with a certificate of the tenant's CA; HTTP in
 * between, where each request is checked and logged; TLS with the origin, whose certificate is
 * verified. No I/O: the owner passes in what the two sockets received, and sends what waits for
 * them.
 *
 *	feed(side, bytes) or ended(side)
 *	for (;;) {
 *		switch (next(&out)) {
 *		case WAIT:        send out(side), call sent(side); read where wants(side)
 *		case WANT_ORIGIN: connect, then connected() or refused()
 *		...
 */
#ifndef KODA_EGRESS_TLS_TERMINATE_H
#define KODA_EGRESS_TLS_TERMINATE_H

#include "proto/exchange.h"

#include <time.h>

struct egress_tls_client;
struct egress_tls_server;
struct egress_terminate;

/* Limit of bytes for one feed. */
#define EGRESS_TERMINATE_FEED ((size_t)64 << 10)

enum egress_terminate_event {
	EGRESS_TERMINATE_WAIT = 0,    /* for bytes, room or an answer */
	EGRESS_TERMINATE_WANT_ORIGIN, /* for request: connect, then call connected or refused */
	EGRESS_TERMINATE_DROP_ORIGIN, /* close the origin's socket; with RST if cut */
	EGRESS_TERMINATE_LOG,         /* record */
	EGRESS_TERMINATE_CLOSE        /* send what waits for the client, then close everything */
};

struct egress_terminate_output {
	struct egress_request request; /* WANT_ORIGIN; borrowed until answered */
	struct egress_record record;   /* LOG; borrowed until the next call */
	bool cut;                      /* DROP_ORIGIN: part of a request was sent */
};

/* Creates a terminated connection for host and port. server and client are borrowed for its life.
 * Fails: DENIED (the CA has expired), NOMEM, INTERNAL. */
KODA_CHECK int egress_terminate_new(struct egress_tls_server *server,
				    struct egress_tls_client *client, const struct koda_host *host,
				    uint16_t port, time_t now,
				    struct egress_terminate **ret_terminate,
				    struct koda_error *err);
void egress_terminate_free(struct egress_terminate *t);

/* held returns the bytes of its buffers. In sparing mode a connection reads from a side only when
 * nothing from that side waits in the buffers, and so needs one record in each direction; a head
 * that has begun is read to its end. */
size_t egress_terminate_held(const struct egress_terminate *t);
/* Returns the bytes of the origin's certificates, a part of held that the origin chooses. */
size_t egress_terminate_chain(const struct egress_terminate *t);
void egress_terminate_spare(struct egress_terminate *t, bool sparing);
/* Returns whether an incomplete head waits for its rest. */
bool egress_terminate_is_partial(const struct egress_terminate *t, enum egress_side side);
/* Bytes that every connection needs: two OpenSSL sessions with their buffers, and what is held in
 * sparing mode. */
#define EGRESS_TERMINATE_BASE ((size_t)160 << 10)

/* Returns whether the owner should read from this side; the next feed takes all bytes then. */
bool egress_terminate_wants(const struct egress_terminate *t, enum egress_side side);
/* Takes bytes that a socket received, at most EGRESS_TERMINATE_FEED. */
void egress_terminate_feed(struct egress_terminate *t, enum egress_side side,
			   struct koda_span bytes);
/* Records the end of the stream of this side. */
void egress_terminate_ended(struct egress_terminate *t, enum egress_side side);

enum egress_terminate_event egress_terminate_next(struct egress_terminate *t,
						  struct egress_terminate_output *out);

/* out returns the bytes to send, borrowed until the next call; sent says how many were sent. */
struct koda_span egress_terminate_out(const struct egress_terminate *t, enum egress_side side);
void egress_terminate_sent(struct egress_terminate *t, enum egress_side side, size_t len);
/* Returns whether to call shutdown(2) for writing on this side, once out is empty. */
bool egress_terminate_is_shut(const struct egress_terminate *t, enum egress_side side);

/* Records that the origin is connected: the answer to WANT_ORIGIN or, to save a round trip, called
 * once right after new. Fails: NOMEM. */
KODA_CHECK int egress_terminate_connected(struct egress_terminate *t, struct koda_error *err);
/* Refuses: the origin was not reached, or a deadline passed while a request waits for its response.
 * The client gets this answer, and the connection ends. */
void egress_terminate_refused(struct egress_terminate *t, const struct egress_refusal *why);

/* Returns the step, for deadlines: HEAD during the client's handshake, ORIGIN during the
 * origin's. */
enum egress_exchange_step egress_terminate_step(const struct egress_terminate *t);
/* Returns why TLS with the client or the origin failed, or NULL. Borrowed. */
const char *egress_terminate_failure(const struct egress_terminate *t);
/* Fills in the record of a request that no LOG has reported, when the connection is abandoned.
 * Returns false if there is none. */
bool egress_terminate_unlogged(const struct egress_terminate *t, struct egress_record *ret_record);
/* Returns whether the handshake with the client was completed. */
bool egress_terminate_is_open(const struct egress_terminate *t);

#endif
