/* SPDX-License-Identifier: MIT */
#include "tls_server.h"

#include "base/diag.h"

#include <openssl/err.h>
#include <openssl/evp.h>

struct koda_tls_server {
	SSL_CTX *ctx;
	struct koda_mint *mint;
};

static bool host_is_same(const struct koda_host *a, const struct koda_host *b)
{
	if (a->is_addr || b->is_addr)
		return a->is_addr && b->is_addr && koda_addr_equal(&a->addr, &b->addr);
	return a->len == b->len && memcmp(a->name, b->name, a->len) == 0;
}

/* T-75. Domain fronting: the name inside the hello is the name that was allowed, or none. */
static int on_server_name(SSL *ssl, int *alert, void *arg)
{
	const struct koda_tls *tls = SSL_get_app_data(ssl);
	const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
	struct koda_host host;

	(void)arg;
	if (!name)
		return SSL_TLSEXT_ERR_NOACK;
	if (koda_host_parse(koda_span_of(name), &host, NULL) == KODA_OK &&
	    host_is_same(&host, koda_tls_host(tls)))
		return SSL_TLSEXT_ERR_OK;
	*alert = SSL_AD_UNRECOGNIZED_NAME;
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* A client that lists protocols, but not the one we speak, is told so. */
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
	/* Tickets carry what is needed to resume; nothing is kept here. One is enough, because
	 * clients keep their connections. */
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	return SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) == 1 &&
	       SSL_CTX_set_num_tickets(ctx, 1) == 1;
}

int koda_tls_server_new(struct koda_ca *ca, struct koda_tls_server **ret_server,
			struct koda_error *err)
{
	struct koda_tls_server *server = calloc(1, sizeof(*server));
	int r;

	if (!server) {
		koda_ca_free(ca);
		return koda_fail_nomem(err);
	}
	r = koda_mint_new(ca, &server->mint, err);
	if (r == KODA_OK) {
		server->ctx = SSL_CTX_new(TLS_server_method());
		if (!server->ctx || !configure(server->ctx))
			r = koda_fail(err, KODA_E_INTERNAL, 0, "OpenSSL cannot be a server");
	}
	ERR_clear_error();
	if (r < 0) {
		koda_tls_server_free(server);
		return r;
	}
	*ret_server = server;
	return KODA_OK;
}

void koda_tls_server_free(struct koda_tls_server *server)
{
	if (!server)
		return;
	SSL_CTX_free(server->ctx);
	koda_mint_free(server->mint);
	free(server);
}

/* A session of one host never resumes as another's. */
static bool bind_sessions(SSL *ssl, const struct koda_host *host)
{
	unsigned char id[EVP_MAX_MD_SIZE];
	unsigned int len = 0;
	const void *bytes = host->is_addr ? (const void *)host->addr.bytes : host->name;
	size_t count = host->is_addr ? koda_addr_bits(&host->addr) / 8 : host->len;

	return EVP_Digest(bytes, count, id, &len, EVP_sha256(), NULL) == 1 &&
	       SSL_set_session_id_context(ssl, id, len) == 1;
}

int koda_tls_accept(struct koda_tls_server *server, const struct koda_host *host, time_t now,
		    struct koda_tls **ret_tls, struct koda_error *err)
{
	const struct koda_ca *ca = koda_mint_ca(server->mint);
	X509 *leaf = NULL;
	SSL *ssl;
	int r = koda_mint_leaf(server->mint, host, now, &leaf, err);

	if (r < 0)
		return r;
	ssl = SSL_new(server->ctx);
	if (!ssl || SSL_use_certificate(ssl, leaf) != 1 ||
	    SSL_use_PrivateKey(ssl, koda_mint_key(server->mint)) != 1 ||
	    SSL_set1_chain(ssl, ca->chain) != 1 || !bind_sessions(ssl, host)) {
		SSL_free(ssl);
		ERR_clear_error();
		return koda_fail_nomem(err);
	}
	SSL_set_accept_state(ssl);
	return koda_tls_new(ssl, host, 0, ret_tls, err);
}
