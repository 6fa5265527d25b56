/* SPDX-License-Identifier: MIT */
#include "tls/tls_server.h"

#include "base/error.h"

#include <openssl/err.h>
#include <openssl/evp.h>

struct egress_tls_server {
	SSL_CTX *ctx;
	struct egress_mint *mint;
};

static bool host_is_same(const struct koda_host *a, const struct koda_host *b)
{
	if (a->is_addr || b->is_addr)
		return a->is_addr && b->is_addr && koda_addr_equal(&a->addr, &b->addr);
	return a->len == b->len && memcmp(a->name, b->name, a->len) == 0;
}

/* T-75. Domain fronting: the server name in the ClientHello must be the allowed host, or absent. */
static int on_server_name(SSL *ssl, int *alert, void *arg)
{
	const struct egress_tls *tls = SSL_get_app_data(ssl);
	const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
	struct koda_host host;

	(void)arg;
	if (!name)
		return SSL_TLSEXT_ERR_NOACK;
	if (koda_host_parse(koda_span_of(name), &host, NULL) == KODA_OK &&
	    host_is_same(&host, egress_tls_host(tls)))
		return SSL_TLSEXT_ERR_OK;
	*alert = SSL_AD_UNRECOGNIZED_NAME;
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* Sends an alert to a client that lists protocols without HTTP/1.1. */
static int on_protocols(SSL *ssl, const unsigned char **ret_name, unsigned char *ret_len,
			const unsigned char *list, unsigned int len, void *arg)
{
	static const unsigned char ours[] = "\x08http/1.1";
	unsigned char *name = NULL;

	(void)ssl;
	(void)arg;
	if (SSL_select_next_proto(&name, ret_len, ours, sizeof(ours) - 1, list, len) !=
	    OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*ret_name = name;
	return SSL_TLSEXT_ERR_OK;
}

static bool configure(SSL_CTX *ctx)
{
	SSL_CTX_set_options(ctx, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_tlsext_servername_callback(ctx, on_server_name);
	SSL_CTX_set_alpn_select_cb(ctx, on_protocols, NULL);
	/* Tickets hold the sessions, so that the proxy stores none. One is enough, because clients
	 * keep their connections. */
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	return SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) == 1 &&
	       SSL_CTX_set_num_tickets(ctx, 1) == 1;
}

int egress_tls_server_new(struct egress_ca *ca, struct egress_tls_server **ret_server,
			  struct koda_error *err)
{
	struct egress_tls_server *server = calloc(1, sizeof(*server));
	int r;

	if (!server) {
		egress_ca_free(ca);
		return koda_fail_nomem(err);
	}
	r = egress_mint_new(ca, &server->mint, err);
	if (r == KODA_OK) {
		server->ctx = SSL_CTX_new(TLS_server_method());
		if (!server->ctx || !configure(server->ctx))
			r = koda_fail(err, KODA_E_INTERNAL, 0, "OpenSSL cannot be a server");
	}
	ERR_clear_error();
	if (r < 0) {
		egress_tls_server_free(server);
		return r;
	}
	*ret_server = server;
	return KODA_OK;
}

void egress_tls_server_free(struct egress_tls_server *server)
{
	if (!server)
		return;
	SSL_CTX_free(server->ctx);
	egress_mint_free(server->mint);
	free(server);
}

/* Binds sessions to the host, so that a session of one host is never resumed for another. */
static bool bind_sessions(SSL *ssl, const struct koda_host *host)
{
	unsigned char id[EVP_MAX_MD_SIZE];
	unsigned int len = 0;
	const void *bytes = host->is_addr ? (const void *)host->addr.bytes : host->name;
	size_t count = host->is_addr ? koda_addr_bits(&host->addr) / 8 : host->len;

	return EVP_Digest(bytes, count, id, &len, EVP_sha256(), NULL) == 1 &&
	       SSL_set_session_id_context(ssl, id, len) == 1;
}

int egress_tls_accept(struct egress_tls_server *server, const struct koda_host *host, time_t now,
		      struct egress_tls **ret_tls, struct koda_error *err)
{
	const struct egress_ca *ca = egress_mint_ca(server->mint);
	X509 *leaf = NULL;
	SSL *ssl;
	int r = egress_mint_leaf(server->mint, host, now, &leaf, err);

	if (r < 0)
		return r;
	ssl = SSL_new(server->ctx);
	if (!ssl || SSL_use_certificate(ssl, leaf) != 1 ||
	    SSL_use_PrivateKey(ssl, egress_mint_key(server->mint)) != 1 ||
	    SSL_set1_chain(ssl, ca->chain) != 1 || !bind_sessions(ssl, host)) {
		SSL_free(ssl);
		ERR_clear_error();
		return koda_fail_nomem(err);
	}
	SSL_set_accept_state(ssl);
	return egress_tls_new(ssl, host, 0, ret_tls, err);
}
