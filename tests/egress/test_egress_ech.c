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
	/* The twin, as OpenSSL sends it. */
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

/* How a server may say that it wants a second hello. */
enum {
	ASKS_PLAINLY,
	ASKS_AFTER_WARNING,
	ASKS_LIKE_DRAFTS,
	ASKS_IN_PIECES,
	WAYS
};
static _Atomic int way;
static const unsigned char warning[] = { 21, 3, 3, 0, 2, 1, 112 };

/* A server that wants one, whatever the first one was, and notes everything. */
static void serve_retry(int fd, void *arg)
{
	static const unsigned char retry[] = { 22,   3,    3,    0,    44,   2,    0,    0,    40,
					       3,    3,    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61,
					       0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
					       0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07,
					       0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c, 0,    0x13,
					       0x01, 0,    0,    0 };
	char bytes[4096];
	ssize_t n = recv(fd, bytes, sizeof(bytes), 0);

	(void)arg;
	if (n <= 0)
		return;
	origin_note(bytes, (size_t)n);
	memcpy(bytes, retry, sizeof(retry));
	if (way == ASKS_LIKE_DRAFTS)
		bytes[5] = 6;
	if (way == ASKS_IN_PIECES)
		bytes[4] = 20; /* of the message; the next record would follow */
	if (way == ASKS_AFTER_WARNING)
		(void)send(fd, warning, sizeof(warning), MSG_NOSIGNAL);
	/* In pieces: the answer may come in any. */
	(void)send(fd, bytes, 20, MSG_NOSIGNAL);
	(void)usleep(50000);
	(void)send(fd, bytes + 20, sizeof(retry) - 20, MSG_NOSIGNAL);
	while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0) {
		origin_note(bytes, (size_t)n);
		(void)send(fd, "second", 6, MSG_NOSIGNAL);
	}
}

/* The first hello is good; then comes that, at once or when the server has asked for it. */
static void second(uint16_t port, struct host *host, uint16_t server, const void *bytes, size_t len,
		   bool at_once, enum koda_egress_reason reason)
{
	char text[4096];
	char answer[64];
	size_t first = real_hello(false, text, sizeof(text));
	int fd = tunnel_to(port, "localhost", server);

	origin_forget();
	assert_true(first + len <= sizeof(text));
	if (at_once) {
		memcpy(text + first, bytes, len);
		put(fd, text, first + len);
	} else {
		put(fd, text, first);
	}
	/* A client that does not wait for HelloRetryRequest is refused before it gets one. */
	if (!at_once || reason == KODA_EGRESS_OK) {
		if (way == ASKS_AFTER_WARNING)
			get(fd, answer, sizeof(warning));
		get(fd, answer, 49);
		assert_int_equal(answer[0], 22);
	}
	if (!at_once)
		put(fd, bytes, len);
	if (reason == KODA_EGRESS_OK) {
		get(fd, answer, 6);
		assert_memory_equal(answer, "second", 6);
	} else {
		(void)get_all(fd, text, sizeof(text), true);
	}
	(void)close(fd);
	assert_int_equal(host_next(host).reason, reason);
	assert_false(origin_saw("other.test"));
	assert_false(origin_saw_bytes("\xfe\x0d\0\4\0\0\0\0", 8));
}

/* A second hello that names another host, or hides one. */
static void test_second(void **state)
{
	static const uint8_t change[] = { 20, 3, 3, 0, 1, 1 };
	static const uint8_t early[] = { 23, 3, 3, 0, 3, 'x', 'y', 'z' };
	uint8_t hello[3][600];
	size_t len[3] = { make_hello("localhost", false, hello[0], 512),
			  make_hello("other.test", false, hello[1], 512),
			  make_hello("localhost", true, hello[2], 512) };
	static const enum koda_egress_reason reasons[] = { KODA_EGRESS_OK, KODA_EGRESS_SNI_MISMATCH,
							   KODA_EGRESS_ECH };
	struct server server;
	struct host host;

	(void)state;
	server_start(&server, serve_retry, NULL);
	host_start(&host, allow_one("localhost", server.port), NULL);
	for (int at_once = 0; at_once < 2; at_once++)
		for (int before = 0; before < 3; before++)
			for (int i = 0; i < 3; i++) {
				const void *what = before == 1 ? change : early;
				size_t more = before == 0   ? 0
					      : before == 1 ? sizeof(change)
							    : sizeof(early);
				uint8_t bytes[640];

				memcpy(bytes, what, more);
				memcpy(bytes + more, hello[i], len[i]);
				second(host.port, &host, server.port, bytes, more + len[i], at_once,
				       reasons[i]);
			}
	/* Nor anything else that a server might read one out of. */
	second(host.port, &host, server.port, "\x15\x03\x03\0\2\1\0 other.test", 18, false,
	       KODA_EGRESS_BAD_HELLO);
	host_stop(&host);
	server_stop(&server);
}

/* A hello that offers a draft of TLS 1.3, and 1.2. */
static size_t draft_hello(uint8_t *out, size_t size)
{
	static const uint8_t versions[] = { 0, 0x2b, 0, 5, 4, 0x7f, 0x1c, 3, 3 };
	size_t len = make_hello("localhost", false, out, size);
	size_t more = sizeof(versions) - 7; /* than what make_hello ends with */

	memcpy(out + len - 7, versions, sizeof(versions));
	out[4] = (uint8_t)(out[4] + more);
	out[8] = (uint8_t)(out[8] + more);
	out[51] = (uint8_t)(out[51] + more); /* the length of all extensions */
	return len + more;
}

/* However the server asks, and whatever the client called its version. */
static void test_ways(void **state)
{
	uint8_t hello[512];
	uint8_t other[512];
	char back[512];
	size_t len = make_hello("localhost", false, hello, sizeof(hello));
	size_t other_len = make_hello("other.test", false, other, sizeof(other));
	struct server server;
	struct host host;
	int fd;

	(void)state;
	server_start(&server, serve_retry, NULL);
	host_start(&host, allow_one("localhost", server.port), NULL);
	for (way = 0; way < WAYS; way++) {
		second(host.port, &host, server.port, other, other_len, false,
		       KODA_EGRESS_SNI_MISMATCH);
		second(host.port, &host, server.port, hello, len, false, KODA_EGRESS_OK);
	}
	way = ASKS_PLAINLY;
	origin_forget();
	fd = tunnel_to(host.port, "localhost", server.port);
	put(fd, hello, draft_hello(hello, sizeof(hello)));
	get(fd, back, 49);
	put(fd, other, other_len);
	(void)get_all(fd, back, sizeof(back), true);
	(void)close(fd);
	(void)host_event(&host, KODA_EGRESS_SNI_MISMATCH);
	assert_true(origin_saw("localhost"));
	assert_false(origin_saw("other.test"));
	host_stop(&host);
	server_stop(&server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tunnel),
		cmocka_unit_test(test_terminated),
		cmocka_unit_test(test_second),
		cmocka_unit_test(test_ways),
	};

	return cmocka_run_group_tests(tests, start_echo, stop_echo);
}
