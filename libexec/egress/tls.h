/* SPDX-License-Identifier: MIT */
/*
 * TLS as a filter without I/O: ciphertext and plaintext go in and come out through memory. The
 * same for both roles; tls_server.h and tls_client.h make them.
 */
#ifndef KODA_EGRESS_TLS_H
#define KODA_EGRESS_TLS_H

#include "base/buf.h"
#include "policy/host.h"

#include <openssl/ssl.h>

/* No more plaintext is taken while this much ciphertext waits to be sent. */
#define KODA_TLS_OUT_HIGH ((size_t)64 << 10)

enum koda_tls_state {
	KODA_TLS_FAILED = 0, /* for good; an alert may still wait to be sent */
	KODA_TLS_HANDSHAKE,
	KODA_TLS_OPEN,
	KODA_TLS_ENDED, /* the peer said that it will send no more */
};

struct koda_tls;

/* Once per process, before anything else of OpenSSL and before the process locks itself down: no
 * configuration file, no environment, nothing loaded later. Fails: INTERNAL. */
KODA_CHECK int koda_tls_setup(struct koda_error *err);

/* A filter around ssl (taken, also on failure). host and port are what ssl is connected to, or, for
 * a server, what it stands for. Fails: NOMEM. */
KODA_CHECK int koda_tls_new(SSL *ssl, const struct koda_host *host, uint16_t port,
			    struct koda_tls **ret_tls, struct koda_error *err);
void koda_tls_free(struct koda_tls *tls);

enum koda_tls_state koda_tls_state(const struct koda_tls *tls);
/* The host it was made for, borrowed, and the port. */
const struct koda_host *koda_tls_host(const struct koda_tls *tls);
uint16_t koda_tls_port(const struct koda_tls *tls);

/* True if an earlier session was taken up again, which saves most of the handshake. */
bool koda_tls_is_resumed(const struct koda_tls *tls);

/* Moves the handshake on; a client's first call makes its hello. feed does it as well.
 * Fails: DENIED with the reason; the state is then FAILED. */
KODA_CHECK int koda_tls_handshake(struct koda_tls *tls, struct koda_error *err);

/* Takes ciphertext off *in and appends plaintext to plain, until the one has no more or the other
 * less room than a record before its ceiling. Fails: DENIED (also when the handshake fails),
 * NOMEM. */
KODA_CHECK int koda_tls_feed(struct koda_tls *tls, struct koda_span *in, struct koda_buf *plain,
			     struct koda_error *err);

/* How much plaintext write takes now: none outside OPEN and ENDED, and none while
 * KODA_TLS_OUT_HIGH bytes wait to be sent. */
size_t koda_tls_room(const struct koda_tls *tls);
/* Encrypts all of plain, which is no longer than room. Fails: DENIED, NOMEM. */
KODA_CHECK int koda_tls_write(struct koda_tls *tls, struct koda_span plain, struct koda_error *err);
/* Says that nothing more will be written. Without effect before OPEN. */
void koda_tls_end(struct koda_tls *tls);

/* Bytes of memory that ciphertext to send and the peer's certificates take up; these alone. */
size_t koda_tls_held(const struct koda_tls *tls);
size_t koda_tls_chain(const struct koda_tls *tls);
/* Ciphertext to send, borrowed until the next call; sent says how much of it is gone. */
struct koda_span koda_tls_out(const struct koda_tls *tls);
void koda_tls_sent(struct koda_tls *tls, size_t len);

#endif
