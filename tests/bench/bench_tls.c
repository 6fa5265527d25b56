/* SPDX-License-Identifier: MIT */
/*
 * What terminating TLS costs in processor time, without any socket: making a certificate, shaking
 * hands, and one small request and response through an open connection. Only our side is timed;
 * the client and the origin run in between.
 */
#include "bench.h"

#include "tls/terminate.h"
#include "tls/tls_client.h"
#include "tls/tls_server.h"

#include "../lib/certs.h"
#include "base/fd.h"

#define NAME     "api.example.org"
#define ROOM     ((size_t)1 << 20)
#define REQUESTS 20000
#define SHAKES   400
#define LEAVES   400

static const char request[] = "GET /v1/things?page=2 HTTP/1.1\r\nHost: " NAME "\r\n"
			      "User-Agent: bench\r\nAccept: */*\r\n\r\n";
static const char response[] = "HTTP/1.1 200 OK\r\nServer: bench\r\nContent-Type: text/plain\r\n"
			       "Content-Length: 12\r\n\r\nhello world\n";

struct bench {
	EVP_PKEY *key;
	X509 *root;
	struct egress_tls_server *server;
	struct egress_tls_client *client;
	SSL_CTX *origin_ctx;
	struct koda_host host;
};

/* One connection with both its peers. */
struct talk {
	struct egress_terminate *t;
	struct egress_tls *client;
	struct egress_tls *origin;
	struct koda_buf at_client;
	struct koda_buf at_origin;
	uint64_t spent; /* ns on our side */
};

static void need(bool condition)
{
	if (!condition) {
		(void)fprintf(stderr, "bench_tls: failed\n");
		abort();
	}
}

static struct egress_ca *ca_with(EVP_PKEY *key, X509 *root)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(ROOM);
	struct egress_ca *ca = NULL;

	certs_add_pem(root, &text);
	certs_add_key_pem(key, NULL, &text);
	need(egress_ca_parse(koda_buf_span(&text), (struct koda_span){ NULL, 0 }, time(NULL), &ca,
			     NULL) == KODA_OK);
	return ca;
}

static void set_up(struct bench *b)
{
	static const struct cert_spec spec = { 0 };
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(ROOM);
	koda_auto_fd int fd = -1;
	X509 *cert;

	need(egress_tls_setup(NULL) == KODA_OK);
	b->key = EVP_EC_gen("P-256");
	b->root = certs_make(&spec, b->key, NULL, NULL);
	certs_add_pem(b->root, &text);
	need(koda_fd_sealed("roots", text.ptr, text.len, &fd, NULL) == KODA_OK);
	need(egress_tls_client_new(fd, &b->client, NULL) == KODA_OK);
	need(egress_tls_server_new(ca_with(b->key, b->root), &b->server, NULL) == KODA_OK);
	need(koda_host_parse(koda_span_of(NAME), &b->host, NULL) == KODA_OK);
	cert = certs_server("DNS:" NAME, b->key, b->root, b->key);
	b->origin_ctx = SSL_CTX_new(TLS_server_method());
	need(SSL_CTX_use_certificate(b->origin_ctx, cert) == 1);
	need(SSL_CTX_use_PrivateKey(b->origin_ctx, b->key) == 1);
	X509_free(cert);
}

static void carry_in(struct talk *talk, struct egress_tls *from, enum egress_side side)
{
	struct koda_span out = egress_tls_out(from);
	uint64_t start;

	if (!out.len)
		return;
	start = bench_now();
	egress_terminate_feed(talk->t, side, out);
	talk->spent += bench_now() - start;
	egress_tls_sent(from, out.len);
}

static bool carry_out(struct talk *talk, struct egress_tls *to, enum egress_side side,
		      struct koda_buf *plain)
{
	struct koda_span out = egress_terminate_out(talk->t, side);
	size_t len = out.len;

	if (!len)
		return false;
	need(egress_tls_feed(to, &out, plain, NULL) == KODA_OK);
	egress_terminate_sent(talk->t, side, len);
	return true;
}

static void run(struct talk *talk)
{
	struct egress_terminate_output out;
	bool moved = true;

	while (moved) {
		uint64_t start;

		carry_in(talk, talk->client, EGRESS_CLIENT);
		carry_in(talk, talk->origin, EGRESS_ORIGIN);
		start = bench_now();
		while (egress_terminate_next(talk->t, &out) == EGRESS_TERMINATE_LOG)
			;
		talk->spent += bench_now() - start;
		moved = carry_out(talk, talk->client, EGRESS_CLIENT, &talk->at_client);
		moved |= carry_out(talk, talk->origin, EGRESS_ORIGIN, &talk->at_origin);
		moved |= egress_tls_out(talk->client).len || egress_tls_out(talk->origin).len;
	}
}

static void begin(struct bench *b, struct talk *talk)
{
	SSL *ssl = SSL_new(b->origin_ctx);
	uint64_t start;

	*talk = (struct talk){ .at_client = KODA_BUF_INIT(ROOM), .at_origin = KODA_BUF_INIT(ROOM) };
	SSL_set_accept_state(ssl);
	need(egress_tls_new(ssl, &b->host, 443, &talk->origin, NULL) == KODA_OK);
	need(egress_tls_connect(b->client, &b->host, 444, &talk->client, NULL) == KODA_OK);
	need(egress_tls_handshake(talk->client, NULL) == KODA_OK);
	start = bench_now();
	need(egress_terminate_new(b->server, b->client, &b->host, 443, time(NULL), &talk->t,
				  NULL) == KODA_OK);
	need(egress_terminate_connected(talk->t, NULL) == KODA_OK);
	talk->spent += bench_now() - start;
	run(talk);
	need(egress_terminate_is_open(talk->t));
}

static void finish(struct talk *talk)
{
	egress_terminate_free(talk->t);
	egress_tls_free(talk->client);
	egress_tls_free(talk->origin);
	koda_buf_clear(&talk->at_client);
	koda_buf_clear(&talk->at_origin);
}

static void bench_requests(struct bench *b, double *samples)
{
	struct talk talk;

	begin(b, &talk);
	for (size_t i = 0; i < REQUESTS; i++) {
		talk.spent = 0;
		need(egress_tls_write(talk.client, koda_span_of(request), NULL) == KODA_OK);
		run(&talk);
		need(talk.at_origin.len > 0);
		need(egress_tls_write(talk.origin, koda_span_of(response), NULL) == KODA_OK);
		run(&talk);
		need(talk.at_client.len >= sizeof(response) - 1);
		talk.at_origin.len = talk.at_client.len = 0;
		samples[i] = (double)talk.spent / 1000;
	}
	finish(&talk);
	bench_print("a small request, terminated", bench_percentiles(samples, REQUESTS), "us");
}

static void bench_shakes(struct bench *b, double *samples)
{
	for (size_t i = 0; i < SHAKES; i++) {
		struct talk talk;

		begin(b, &talk);
		samples[i] = (double)talk.spent / 1000;
		finish(&talk);
	}
	bench_print("handshakes with both, resumed if possible", bench_percentiles(samples, SHAKES),
		    "us");
}

static void bench_leaves(const char *what, EVP_PKEY *key, double *samples)
{
	static const struct cert_spec spec = { 0 };
	X509 *root = certs_make(&spec, key, NULL, NULL);
	struct egress_mint *mint = NULL;

	need(egress_mint_new(ca_with(key, root), &mint, NULL) == KODA_OK);
	for (size_t i = 0; i < LEAVES; i++) {
		struct koda_host host = { 0 };
		X509 *leaf = NULL;
		uint64_t start;

		host.len = (size_t)snprintf(host.name, sizeof(host.name), "n%zu.example", i);
		start = bench_now();
		need(egress_mint_leaf(mint, &host, time(NULL), &leaf, NULL) == KODA_OK);
		samples[i] = (double)(bench_now() - start) / 1000;
	}
	bench_print(what, bench_percentiles(samples, LEAVES), "us");
	egress_mint_free(mint);
	X509_free(root);
}

int main(void)
{
	static double samples[REQUESTS];
	struct bench b = { 0 };
	EVP_PKEY *rsa = EVP_RSA_gen(2048);

	set_up(&b);
	bench_leaves("a leaf, authority with P-256", b.key, samples);
	bench_leaves("a leaf, authority with RSA 2048", rsa, samples);
	bench_shakes(&b, samples);
	bench_requests(&b, samples);
	EVP_PKEY_free(rsa);
	egress_tls_client_free(b.client);
	egress_tls_server_free(b.server);
	SSL_CTX_free(b.origin_ctx);
	X509_free(b.root);
	EVP_PKEY_free(b.key);
	return 0;
}
