/* SPDX-License-Identifier: MIT */
/* Two ends of TLS that talk through memory. */
#ifndef KODA_TEST_TLS_TALK_H
#define KODA_TEST_TLS_TALK_H

#include "../unit/koda_test.h"

#include "tls/tls_client.h"
#include "tls/tls_server.h"

#include "base/fd.h"
#include "certs.h"

#include <openssl/err.h>

#define ROOM   ((size_t)512 << 10)
#define ROUNDS 100000

static struct koda_error ignored;

static inline struct koda_host host_of(const char *text)
{
	struct koda_host host;

	KODA_ASSERT_OK(koda_host_parse(koda_span_of(text), &host, &ignored), ignored);
	return host;
}

struct world {
	EVP_PKEY *key; /* of the root and of all servers */
	X509 *root;
	struct egress_tls_server *server; /* ours, signing with root */
	struct egress_tls_client *client; /* ours, trusting root */
};

static inline int make_world(void **state)
{
	static struct world w;
	static const struct cert_spec spec = { 0 };
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(ROOM);
	struct koda_error err = { 0 };
	struct egress_ca *ca = NULL;
	koda_auto_fd int fd = -1;

	w.key = EVP_EC_gen("P-256");
	w.root = certs_make(&spec, w.key, NULL, NULL);
	certs_add_pem(w.root, &text);
	KODA_ASSERT_OK(egress_tls_setup(&err), err);
	KODA_ASSERT_OK(koda_fd_sealed("roots", text.ptr, text.len, &fd, &err), err);
	KODA_ASSERT_OK(egress_tls_client_new(fd, &w.client, &err), err);
	certs_add_key_pem(w.key, NULL, &text);
	KODA_ASSERT_OK(egress_ca_parse(koda_buf_span(&text), (struct koda_span){ NULL, 0 },
				       time(NULL), &ca, &err),
		       err);
	KODA_ASSERT_OK(egress_tls_server_new(ca, &w.server, &err), err);
	*state = &w;
	return 0;
}

static inline int free_world(void **state)
{
	struct world *w = *state;

	egress_tls_client_free(w->client);
	egress_tls_server_free(w->server);
	X509_free(w->root);
	EVP_PKEY_free(w->key);
	return 0;
}

static inline struct egress_tls *accept_for(struct world *w, const char *name)
{
	struct koda_host host = host_of(name);
	struct koda_error err = { 0 };
	struct egress_tls *tls = NULL;

	KODA_ASSERT_OK(egress_tls_accept(w->server, &host, time(NULL), &tls, &err), err);
	return tls;
}

static inline struct egress_tls *connect_to(struct world *w, const char *name)
{
	struct koda_host host = host_of(name);
	struct koda_error err = { 0 };
	struct egress_tls *tls = NULL;

	KODA_ASSERT_OK(egress_tls_connect(w->client, &host, 443, &tls, &err), err);
	return tls;
}

/* Carries at most step bytes from one to the other; false if there was nothing. */
static inline bool carry(struct egress_tls *from, struct egress_tls *to, size_t step,
			 struct koda_buf *plain, struct koda_error *err)
{
	struct koda_span out = egress_tls_out(from);
	struct koda_span in = { out.ptr, out.len < step ? out.len : step };
	size_t len = in.len;

	if (len == 0 || egress_tls_state(to) == EGRESS_TLS_FAILED)
		return false;
	(void)!egress_tls_feed(to, &in, plain, err);
	egress_tls_sent(from, len - in.len);
	return len != in.len;
}

struct talk {
	struct egress_tls *a, *b;   /* client, server */
	struct koda_buf at_a, at_b; /* plaintext that arrived */
	struct koda_error err_a, err_b;
};

static inline void run(struct talk *t, size_t step)
{
	(void)!egress_tls_handshake(t->a, &t->err_a);
	for (size_t i = 0; i < ROUNDS; i++) {
		bool moved = carry(t->a, t->b, step, &t->at_b, &t->err_b);

		if (!carry(t->b, t->a, step, &t->at_a, &t->err_a) && !moved)
			return;
	}
	fail_msg("no end after %d rounds", ROUNDS);
}

static inline struct talk talk_of(struct egress_tls *a, struct egress_tls *b)
{
	return (struct talk){
		.a = a, .b = b, .at_a = KODA_BUF_INIT(ROOM), .at_b = KODA_BUF_INIT(ROOM)
	};
}

static inline void end(struct talk *t)
{
	egress_tls_free(t->a);
	egress_tls_free(t->b);
	koda_buf_clear(&t->at_a);
	koda_buf_clear(&t->at_b);
}

static inline bool both_open(const struct talk *t)
{
	return egress_tls_state(t->a) == EGRESS_TLS_OPEN &&
	       egress_tls_state(t->b) == EGRESS_TLS_OPEN;
}

static inline void say(struct egress_tls *tls, const char *text)
{
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(egress_tls_write(tls, koda_span_of(text), &err), err);
}

#endif
