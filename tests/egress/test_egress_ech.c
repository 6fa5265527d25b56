/* SPDX-License-Identifier: MIT */
/*
 * T-72. A ClientHello that hides a name, or looks as if it did: refused in a tunnel, and harmless
 * where TLS is terminated, for nobody but us could read it.
 */
#include "mitm.h"

#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#define ECH 0xfe0d

/* What Chrome and Firefox send where they know no key: an outer hello with random bytes. */
static int add_grease(SSL *ssl, unsigned int type, unsigned int context, const unsigned char **out,
		      size_t *len, X509 *x, size_t chain, int *alert, void *arg)
{
	static unsigned char bytes[200] = { 0, 0, 1, 0, 1, 0x42, 0, 32 };

	(void)ssl, (void)type, (void)context, (void)x, (void)chain, (void)alert, (void)arg;
	bytes[41] = 158;
	*out = bytes;
	*len = sizeof(bytes);
	return 1;
}

/* Everything a client says first, with or without the extension. */
static size_t real_hello(bool ech, char *out, size_t size)
{
	static char name[] = "localhost"; /* the macro casts const away */
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	BIO *sent = BIO_new(BIO_s_mem());
	SSL *ssl;
	int n;

	if (ech)
		assert_int_equal(SSL_CTX_add_custom_ext(ctx, ECH, SSL_EXT_CLIENT_HELLO, add_grease,
							NULL, NULL, NULL, NULL),
				 1);
	ssl = SSL_new(ctx);
	SSL_set_bio(ssl, BIO_new(BIO_s_mem()), sent);
	(void)SSL_set_tlsext_host_name(ssl, name);
	SSL_set_connect_state(ssl);
	(void)SSL_do_handshake(ssl);
	n = BIO_read(sent, out, (int)size);
	SSL_free(ssl);
	SSL_CTX_free(ctx);
	assert_true(n > 0);
	return (size_t)n;
}

static void test_tunnel(void **state)
{
	struct host host;
	char hello[4096];
	char back[4096];
	size_t len;
	int fd;

	(void)state;
	host_start(&host, allow_one("localhost", echo.port), NULL);
	fd = tunnel_to(host.port, "localhost", echo.port);
	len = real_hello(true, hello, sizeof(hello));
	put(fd, hello, len);
	assert_int_equal(get_all(fd, back, sizeof(back), true), 7); /* an alert */
	(void)host_event(&host, KODA_EGRESS_ECH);
	(void)close(fd);
	/* The twin; this is what OpenSSL and those who use it send. */
	fd = tunnel_to(host.port, "localhost", echo.port);
	len = real_hello(false, hello, sizeof(hello));
	put(fd, hello, len);
	get(fd, back, len);
	assert_memory_equal(back, hello, len);
	(void)close(fd);
	(void)host_event(&host, KODA_EGRESS_OK);
	host_stop(&host);
}

static void test_terminated(void **state)
{
	struct host host;
	char hello[4096];
	char byte;
	uint16_t port;
	int fd;

	(void)state;
	host_start_bare(&host, NULL);
	port = add_mitm(&host, 1, allow_one("localhost", echo.port));
	fd = tunnel_to(port, "localhost", echo.port);
	put(fd, hello, real_hello(true, hello, sizeof(hello)));
	get(fd, &byte, 1);
	assert_int_equal(byte, 0x16); /* our side of the handshake */
	(void)close(fd);
	assert_int_not_equal(host_next(&host).reason, KODA_EGRESS_ECH);
	host_stop(&host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tunnel),
		cmocka_unit_test(test_terminated),
	};

	return cmocka_run_group_tests(tests, start_echo, stop_echo);
}
