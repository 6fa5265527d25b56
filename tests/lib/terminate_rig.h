/* SPDX-License-Identifier: MIT */
/* A terminated connection with both its peers in memory. */
#ifndef KODA_TEST_TERMINATE_RIG_H
#define KODA_TEST_TERMINATE_RIG_H

#include "../unit/koda_test.h"

#include "tls/terminate.h"
#include "tls/tls_client.h"
#include "tls/tls_server.h"

#include "base/fd.h"
#include "certs.h"

#define ROOM   ((size_t)4 << 20)
#define ROUNDS 200000
#define NAME   "api.example.org"

static EVP_PKEY *key;
static X509 *root, *origin_cert, *bad_cert;
static struct egress_tls_server *server;
static struct egress_tls_client *client;

static inline int set_up(void **state)
{
	static const struct cert_spec ca_spec = { 0 };
	static const struct cert_spec expired = { .name = "server",
						  .basic = "critical,CA:FALSE",
						  .usage = "critical,digitalSignature",
						  .alt = "DNS:" NAME,
						  .from_days = -9,
						  .until_days = -1 };
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(ROOM);
	struct koda_error err = { 0 };
	struct egress_ca *ca = NULL;
	koda_auto_fd int fd = -1;

	(void)state;
	key = EVP_EC_gen("P-256");
	root = certs_make(&ca_spec, key, NULL, NULL);
	origin_cert = certs_server("DNS:" NAME, key, root, key);
	bad_cert = certs_make(&expired, key, root, key);
	certs_add_pem(root, &text);
	KODA_ASSERT_OK(egress_tls_setup(&err), err);
	KODA_ASSERT_OK(koda_fd_sealed("roots", text.ptr, text.len, &fd, &err), err);
	KODA_ASSERT_OK(egress_tls_client_new(fd, &client, &err), err);
	certs_add_key_pem(key, NULL, &text);
	KODA_ASSERT_OK(egress_ca_parse(koda_buf_span(&text), (struct koda_span){ NULL, 0 },
				       time(NULL), &ca, &err),
		       err);
	KODA_ASSERT_OK(egress_tls_server_new(ca, &server, &err), err);
	return 0;
}

static inline int tear_down(void **state)
{
	(void)state;
	egress_tls_client_free(client);
	egress_tls_server_free(server);
	X509_free(root);
	X509_free(origin_cert);
	X509_free(bad_cert);
	EVP_PKEY_free(key);
	return 0;
}

/* Both peers of a terminated connection, and what they saw. */
struct rig {
	struct egress_terminate *t;
	struct egress_tls *client;
	struct egress_tls *origin;
	SSL_CTX *origin_ctx;
	struct koda_buf at_client;
	struct koda_buf at_origin;
	struct koda_buf log;                  /* "METHOD path status code\n" */
	const struct egress_refusal *refusal; /* answer to WANT_ORIGIN; NULL: connect */
	unsigned int connects;
	bool closed;
	size_t step; /* bytes carried at a time */
};

static inline struct rig *rig_new(X509 *cert, size_t step)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	struct koda_host host;
	struct koda_error err = { 0 };

	rig->at_client = (struct koda_buf)KODA_BUF_INIT(ROOM);
	rig->at_origin = (struct koda_buf)KODA_BUF_INIT(ROOM);
	rig->log = (struct koda_buf)KODA_BUF_INIT(ROOM);
	rig->step = step;
	KODA_ASSERT_OK(koda_host_parse(koda_span_of(NAME), &host, &err), err);
	KODA_ASSERT_OK(egress_terminate_new(server, client, &host, 443, time(NULL), &rig->t, &err),
		       err);
	KODA_ASSERT_OK(egress_tls_connect(client, &host, 443, &rig->client, &err), err);
	KODA_ASSERT_OK(egress_tls_handshake(rig->client, &err), err);
	rig->origin_ctx = SSL_CTX_new(TLS_server_method());
	assert_int_equal(SSL_CTX_use_certificate(rig->origin_ctx, cert), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey(rig->origin_ctx, key), 1);
	return rig;
}

static inline void rig_free(struct rig *rig)
{
	egress_terminate_free(rig->t);
	egress_tls_free(rig->client);
	egress_tls_free(rig->origin);
	SSL_CTX_free(rig->origin_ctx);
	koda_buf_clear(&rig->at_client);
	koda_buf_clear(&rig->at_origin);
	koda_buf_clear(&rig->log);
	free(rig);
}

static inline void connect_origin(struct rig *rig)
{
	SSL *ssl = SSL_new(rig->origin_ctx);
	struct koda_host host;
	struct koda_error err = { 0 };

	rig->connects++;
	SSL_set_accept_state(ssl);
	KODA_ASSERT_OK(koda_host_parse(koda_span_of(NAME), &host, &err), err);
	KODA_ASSERT_OK(egress_tls_new(ssl, &host, 443, &rig->origin, &err), err);
	KODA_ASSERT_OK(egress_terminate_connected(rig->t, &err), err);
}

/* From a peer into the terminated connection. */
static inline bool carry_in(struct rig *rig, struct egress_tls *from, enum egress_side side)
{
	struct koda_span out = from ? egress_tls_out(from) : (struct koda_span){ NULL, 0 };
	size_t max = rig->step < EGRESS_TERMINATE_FEED ? rig->step : EGRESS_TERMINATE_FEED;

	out.len = out.len < max ? out.len : max;
	if (out.len == 0 || !egress_terminate_wants(rig->t, side))
		return false;
	egress_terminate_feed(rig->t, side, out);
	egress_tls_sent(from, out.len);
	return true;
}

/* And out of it to a peer. */
static inline bool carry_out(struct rig *rig, struct egress_tls *to, enum egress_side side,
			     struct koda_buf *plain)
{
	struct koda_span out = egress_terminate_out(rig->t, side);
	struct koda_error err = { 0 };
	size_t len = out.len < rig->step ? out.len : rig->step;

	if (!to || len == 0)
		return false;
	out.len = len;
	(void)!egress_tls_feed(to, &out, plain, &err);
	egress_terminate_sent(rig->t, side, len);
	return true;
}

static inline void note_record(struct rig *rig, const struct egress_record *record)
{
	assert_int_equal(koda_buf_addf(&rig->log, "%.*s %.*s %d %s\n", (int)record->method.len,
				       record->method.ptr, (int)record->path.len, record->path.ptr,
				       record->status,
				       record->refusal ? record->refusal->code : "-"),
			 KODA_OK);
}

/* What the owner of the sockets would do. False: nothing was to be done. */
static inline bool handle(struct rig *rig)
{
	struct egress_terminate_output out;

	switch (egress_terminate_next(rig->t, &out)) {
	case EGRESS_TERMINATE_WAIT:
		return false;
	case EGRESS_TERMINATE_WANT_ORIGIN:
		assert_true(out.request.tls);
		if (rig->refusal)
			egress_terminate_refused(rig->t, rig->refusal);
		else
			connect_origin(rig);
		return true;
	case EGRESS_TERMINATE_DROP_ORIGIN:
		egress_tls_free(rig->origin);
		rig->origin = NULL;
		return true;
	case EGRESS_TERMINATE_LOG:
		note_record(rig, &out.record);
		return true;
	case EGRESS_TERMINATE_CLOSE:
		rig->closed = true;
		return false;
	}
	return false;
}

static inline void run(struct rig *rig)
{
	for (size_t i = 0; i < ROUNDS; i++) {
		bool moved = carry_in(rig, rig->client, EGRESS_CLIENT);

		moved |= carry_in(rig, rig->origin, EGRESS_ORIGIN);
		moved |= handle(rig);
		moved |= carry_out(rig, rig->client, EGRESS_CLIENT, &rig->at_client);
		moved |= carry_out(rig, rig->origin, EGRESS_ORIGIN, &rig->at_origin);
		if (!moved)
			return;
	}
	fail_msg("no end after %d rounds", ROUNDS);
}

static inline void client_says(struct rig *rig, const char *text)
{
	struct koda_error err = { 0 };

	run(rig);
	KODA_ASSERT_OK(egress_tls_write(rig->client, koda_span_of(text), &err), err);
	run(rig);
}

static inline void origin_says(struct rig *rig, const char *text)
{
	struct koda_error err = { 0 };

	assert_non_null(rig->origin);
	KODA_ASSERT_OK(egress_tls_write(rig->origin, koda_span_of(text), &err), err);
	run(rig);
}

static inline bool client_saw(const struct rig *rig, const char *words)
{
	return rig->at_client.len && strstr(rig->at_client.ptr, words);
}

static inline bool origin_saw(const struct rig *rig, const char *words)
{
	return rig->at_origin.len && strstr(rig->at_origin.ptr, words);
}

static const char get[] = "GET /path?secret=1 HTTP/1.1\r\nHost: " NAME "\r\nX-Mine: 1\r\n\r\n";
static const char ok[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";

#endif
