/* SPDX-License-Identifier: MIT */
/*
 * A site whose TLS ends in the proxy, for one test program: an authority that clients trust, one
 * that the proxy trusts, and what it signed for localhost.
 */
#ifndef KODA_TEST_EGRESS_SITE_H
#define KODA_TEST_EGRESS_SITE_H

#include "host.h"

#include "../lib/certs.h"
#include "base/fd.h"

#include <fcntl.h>
#include <openssl/ssl.h>
#include <unistd.h>

#define ROOM ((size_t)64 << 10)
#define MITM "\"mitm\":{\"ca_bundle\":\"/ca.pem\"}"

/* Certificates and keys stay: a server's thread may still look at them. */
static EVP_PKEY *ca_key, *root_key;
static X509 *ca, *root, *good;
static char trust_path[] = "/tmp/koda-trust-XXXXXX";
static char trust_variable[64];
static char *proxy_env[] = { trust_variable, NULL };

static inline int make_site(void **state)
{
	static const struct cert_spec ca_spec = { .name = "Site CA" };
	static const struct cert_spec root_spec = { .name = "World" };
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(ROOM);
	koda_auto_fd int fd = mkostemp(trust_path, O_CLOEXEC);

	(void)state;
	ca_key = EVP_EC_gen("P-256");
	root_key = EVP_EC_gen("P-256");
	ca = certs_make(&ca_spec, ca_key, NULL, NULL);
	root = certs_make(&root_spec, root_key, NULL, NULL);
	good = certs_server("DNS:localhost", root_key, root, root_key);
	certs_add_pem(root, &text);
	(void)snprintf(trust_variable, sizeof(trust_variable), "SSL_CERT_FILE=%s", trust_path);
	return fd < 0 || koda_fd_write_all(fd, text.ptr, text.len, NULL) < 0;
}

static inline int remove_site(void **state)
{
	(void)state;
	return unlink(trust_path);
}

static inline int sealed(X509 *cert, EVP_PKEY *key)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(ROOM);
	struct koda_error err = { 0 };
	int fd = -1;

	if (cert)
		certs_add_pem(cert, &text);
	if (key)
		certs_add_key_pem(key, NULL, &text);
	KODA_ASSERT_OK(koda_fd_sealed("pem", text.ptr, text.len, &fd, &err), err);
	return fd;
}

/* ADD with an authority; the answer. */
static inline struct koda_egress_message add_with(struct host *host, uint32_t id, const char *net,
						  int cert, int key, uint16_t *ret_port)
{
	struct koda_egress_message add = { .kind = KODA_EGRESS_ADD, .id = id };
	struct koda_error err = { 0 };
	char policy[1024];
	int fds[4] = { listen_local(ret_port), -1, cert, key };
	size_t count = cert < 0 ? 2 : key < 0 ? 3 : 4;
	int len = snprintf(policy, sizeof(policy), "{\"net\":{%s}}", net);

	KODA_ASSERT_OK(koda_fd_sealed("policy", policy, (size_t)len, &fds[1], &err), err);
	host_send(host, &add, fds, count);
	for (size_t i = 0; i < count; i++)
		(void)close(fds[i]);
	return host_next(host);
}

static inline void site_start(struct host *host, const char *net)
{
	struct koda_egress_message added;

	host_start_bare(host, proxy_env);
	added = add_with(host, 1, net, sealed(ca, NULL), sealed(NULL, ca_key), &host->port);
	if (added.kind != KODA_EGRESS_ADDED)
		fail_msg("not added: %s", added.text);
}

/* TLS to localhost over a tunnel, trusting this authority; NULL if the handshake failed. */
static inline SSL *tls_over(int fd, X509 *trusted)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	SSL *ssl;

	assert_true(X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), trusted) == 1);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	ssl = SSL_new(ctx);
	SSL_CTX_free(ctx);
	assert_true(SSL_set1_host(ssl, "localhost") == 1);
	assert_true(SSL_set_tlsext_host_name(ssl, (char *)(uintptr_t) "localhost") == 1);
	assert_true(SSL_set_fd(ssl, fd) == 1);
	if (SSL_connect(ssl) == 1)
		return ssl;
	SSL_free(ssl);
	return NULL;
}

static inline const char *net_for(uint16_t port, const char *more)
{
	static char text[512];

	(void)snprintf(text, sizeof(text), "\"allowed_domains\":[\"localhost:%u\"],%s", port, more);
	return text;
}

#endif
