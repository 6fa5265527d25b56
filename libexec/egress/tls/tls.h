/* SPDX-License-Identifier: MIT */
/*
 * TLS as a filter without I/O: ciphertext and plaintext are exchanged through memory. tls_server.h
 * and tls_client.h create filters for both roles.
 */
#ifndef KODA_EGRESS_TLS_TLS_H
#define KODA_EGRESS_TLS_TLS_H

#include "base/buf.h"
#include "policy/host.h"

#include <openssl/ssl.h>

/* No more plaintext is accepted while this much ciphertext waits to be sent. */
#define EGRESS_TLS_OUT_HIGH ((size_t)64 << 10)

enum egress_tls_state {
	EGRESS_TLS_FAILED = 0, /* permanently; an alert may wait to be sent */
	EGRESS_TLS_HANDSHAKE,
	EGRESS_TLS_OPEN,
	EGRESS_TLS_ENDED, /* the peer has sent close_notify */
};

struct egress_tls;

/* Initialises OpenSSL without configuration file, environment and modules. Call it once, before any
 * other use of OpenSSL and before the process is locked. Fails: INTERNAL. */
KODA_CHECK int egress_tls_setup(struct koda_error *err);

/* Wraps ssl (taken over, also on failure). host and port are what ssl connects to or, for a server,
 * what it stands for. Fails: NOMEM. */
KODA_CHECK int egress_tls_new(SSL *ssl, const struct koda_host *host, uint16_t port,
			      struct egress_tls **ret_tls, struct koda_error *err);
void egress_tls_free(struct egress_tls *tls);

enum egress_tls_state egress_tls_state(const struct egress_tls *tls);
/* Return the host (borrowed) and port of egress_tls_new. */
const struct koda_host *egress_tls_host(const struct egress_tls *tls);
uint16_t egress_tls_port(const struct egress_tls *tls);

/* Returns whether the handshake resumed an earlier session. */
bool egress_tls_is_resumed(const struct egress_tls *tls);

/* Continues the handshake; a client's first call creates its ClientHello. feed does so too. Fails:
 * DENIED with the reason; the state is FAILED then. */
KODA_CHECK int egress_tls_handshake(struct egress_tls *tls, struct koda_error *err);

/* Takes ciphertext from *in and appends plaintext to plain, until in is empty or plain has no room
 * for a record. Fails: DENIED (also when the handshake fails), NOMEM. */
KODA_CHECK int egress_tls_feed(struct egress_tls *tls, struct koda_span *in, struct koda_buf *plain,
			       struct koda_error *err);

/* Returns how many bytes egress_tls_write takes now: 0 outside OPEN and ENDED, and while
 * EGRESS_TLS_OUT_HIGH bytes wait to be sent. */
size_t egress_tls_room(const struct egress_tls *tls);
/* Encrypts plain, which is no longer than egress_tls_room. Fails: DENIED, NOMEM. */
KODA_CHECK int egress_tls_write(struct egress_tls *tls, struct koda_span plain,
				struct koda_error *err);
/* Sends close_notify. Does nothing before OPEN. */
void egress_tls_end(struct egress_tls *tls);

/* held returns the bytes of ciphertext to send and of the peer's certificates; chain those of the
 * certificates alone. */
size_t egress_tls_held(const struct egress_tls *tls);
size_t egress_tls_chain(const struct egress_tls *tls);
/* out returns the ciphertext to send, borrowed until the next call; sent says how many bytes were
 * sent. */
struct koda_span egress_tls_out(const struct egress_tls *tls);
void egress_tls_sent(struct egress_tls *tls, size_t len);

#endif
