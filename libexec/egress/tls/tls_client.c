/* SPDX-License-Identifier: MIT */
#include "tls/tls_client.h"

#include "base/error.h"
#include "base/fd.h"
#include "policy/pem.h"
#include "tls/lru.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#define TRUST_MAX ((size_t)8 << 20)
/* Seconds after which a session is not resumed, so that the origin shows its certificate again. */
#define SESSION_SECONDS 3600
/* Bytes of certificates that an origin may send. Public servers send a tenth of that; small
 * certificates take a dozen times their size in memory. */
#define CHAIN_MAX ((long)32 << 10)
/* Certificates in a session that is kept. */
#define KEPT_CERTS 16

struct egress_tls_client {
	SSL_CTX *ctx;
	struct egress_lru sessions; /* "name port" to SSL_SESSION */
};

int egress_tls_open_trust(const char *named, int *ret_fd, struct koda_error *err)
{
	int r = KODA_E_UNSUPPORTED;

	if (named && *named)
		return koda_fd_open_regular(named, ret_fd, err);
	for (const char *const *place = koda_pem_system_places; *place && r < 0; place++)
		r = koda_fd_open_regular(*place, ret_fd, NULL);
	if (r < 0)
		return koda_fail(err, KODA_E_UNSUPPORTED, 0,
				 "the system has no file of trusted authorities "
				 "(package ca-certificates)");
	return KODA_OK;
}

static int add_roots(X509_STORE *store, struct koda_span text, struct koda_error *err)
{
	BIO *bio = BIO_new_mem_buf(text.ptr, (int)text.len);
	size_t count = 0;
	X509 *cert;

	if (!bio)
		return koda_fail_nomem(err);
	while ((cert = PEM_read_bio_X509_AUX(bio, NULL, NULL, NULL))) {
		count += X509_STORE_add_cert(store, cert) == 1;
		X509_free(cert);
	}
	BIO_free(bio);
	ERR_clear_error();
	if (count == 0)
		return koda_fail(err, KODA_E_UNSUPPORTED, 0,
				 "the file of trusted authorities holds no certificate");
	return KODA_OK;
}

static int load_trust(SSL_CTX *ctx, int fd, struct koda_error *err)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(TRUST_MAX);
	int r;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return koda_fail(err, KODA_E_SYS, errno, "read the trusted authorities");
	r = koda_fd_read_all(fd, &text, err);
	return r < 0 ? r : add_roots(SSL_CTX_get_cert_store(ctx), koda_buf_span(&text), err);
}

/* The key of a session: host and port. */
static struct koda_span session_name(const SSL *ssl, struct koda_buf *room)
{
	const struct egress_tls *tls = SSL_get_app_data(ssl);
	const struct koda_host *host = egress_tls_host(tls);
	int r;

	if (host->is_addr)
		r = koda_buf_add(room, host->addr.bytes, sizeof(host->addr.bytes));
	else
		r = koda_buf_add(room, host->name, host->len);
	if (r == KODA_OK)
		r = koda_buf_addf(room, " %u", egress_tls_port(tls));
	return r < 0 ? (struct koda_span){ NULL, 0 } : koda_buf_span(room);
}

/* Called with each session ticket of a verified connection. Returns 1 if it keeps the session. */
static int on_session(SSL *ssl, SSL_SESSION *session)
{
	struct egress_tls_client *client = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
	koda_auto_buf struct koda_buf room = KODA_BUF_INIT(512);
	struct koda_span name = session_name(ssl, &room);

	if (!name.len || SSL_get_verify_result(ssl) != X509_V_OK ||
	    sk_X509_num(SSL_get_peer_cert_chain(ssl)) > KEPT_CERTS)
		return 0;
	return egress_lru_put(&client->sessions, name, session) == KODA_OK;
}

static void session_free(void *session)
{
	SSL_SESSION_free(session);
}

static bool configure(struct egress_tls_client *client)
{
	static const unsigned char protocols[] = "\x08http/1.1";
	SSL_CTX *ctx = client->ctx;

	SSL_CTX_set_options(ctx, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(ctx, on_session);
	(void)SSL_CTX_set_timeout(ctx, SESSION_SECONDS);
	(void)SSL_CTX_set_max_cert_list(ctx, CHAIN_MAX);
	return SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) == 1 &&
	       SSL_CTX_set_alpn_protos(ctx, protocols, sizeof(protocols) - 1) == 0 &&
	       SSL_CTX_set_app_data(ctx, client) == 1;
}

int egress_tls_client_new(int trust_fd, struct egress_tls_client **ret_client,
			  struct koda_error *err)
{
	struct egress_tls_client *client = calloc(1, sizeof(*client));
	int r;

	if (!client)
		return koda_fail_nomem(err);
	egress_lru_init(&client->sessions, EGRESS_TLS_SESSIONS, session_free);
	client->ctx = SSL_CTX_new(TLS_client_method());
	if (!client->ctx || !configure(client))
		r = koda_fail(err, KODA_E_INTERNAL, 0, "OpenSSL cannot be a client");
	else
		r = load_trust(client->ctx, trust_fd, err);
	ERR_clear_error();
	if (r < 0) {
		egress_tls_client_free(client);
		return r;
	}
	*ret_client = client;
	return KODA_OK;
}

void egress_tls_client_free(struct egress_tls_client *client)
{
	if (!client)
		return;
	egress_lru_clear(&client->sessions);
	SSL_CTX_free(client->ctx);
	free(client);
}

/* T-74. Sets the host that the certificate must be for. */
static bool expect_host(SSL *ssl, const struct koda_host *host)
{
	X509_VERIFY_PARAM *param = SSL_get0_param(ssl);

	if (host->is_addr)
		return X509_VERIFY_PARAM_set1_ip(param, host->addr.bytes,
						 koda_addr_bits(&host->addr) / 8) == 1;
	X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
						       X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	return X509_VERIFY_PARAM_set1_host(param, host->name, host->len) == 1 &&
	       /* The macro drops const; the name is copied. */
	       SSL_set_tlsext_host_name(ssl, (char *)(uintptr_t)host->name) == 1;
}

int egress_tls_connect(struct egress_tls_client *client, const struct koda_host *host,
		       uint16_t port, struct egress_tls **ret_tls, struct koda_error *err)
{
	koda_auto_buf struct koda_buf room = KODA_BUF_INIT(512);
	SSL *ssl = SSL_new(client->ctx);
	struct koda_span name;
	SSL_SESSION *session;
	struct egress_tls *tls;
	int r;

	if (!ssl || !expect_host(ssl, host)) {
		SSL_free(ssl);
		ERR_clear_error();
		return koda_fail_nomem(err);
	}
	SSL_set_connect_state(ssl);
	r = egress_tls_new(ssl, host, port, &tls, err);
	if (r < 0)
		return r;
	name = session_name(ssl, &room);
	session = name.len ? egress_lru_get(&client->sessions, name) : NULL;
	if (session)
		(void)SSL_set_session(ssl, session);
	*ret_tls = tls;
	return KODA_OK;
}
