/* SPDX-License-Identifier: MIT */
/* Servers that send BODY bytes to each client, and clients that verify these. */
#ifndef KODA_TEST_EGRESS_MUCH_H
#define KODA_TEST_EGRESS_MUCH_H

#include "site.h"

#include <sys/socket.h>

#define BODY ((size_t)4 << 20)

static _Atomic uint64_t moved; /* what they have got rid of */

/* Returns a pseudo-random stream. */
static inline unsigned char byte_at(size_t i)
{
	return (unsigned char)((uint32_t)i * 2654435761U >> 23);
}

static inline const char *body(void)
{
	static char *bytes;

	if (!bytes) {
		bytes = malloc(BODY);
		assert_non_null(bytes);
		for (size_t i = 0; i < BODY; i++)
			bytes[i] = (char)byte_at(i);
	}
	return bytes;
}

static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 4194304\r\n\r\n";

static inline void serve_much(int fd, void *arg)
{
	char text[512];
	ssize_t n = recv(fd, text, 1, 0);

	(void)arg;
	if (n == 1 && text[0] != 1) {
		(void)get_head(fd, text + 1, sizeof(text) - 1);
		(void)send(fd, head, sizeof(head) - 1, MSG_NOSIGNAL);
	}
	for (size_t at = 0; n > 0 && at < BODY; at += (size_t)n) {
		n = send(fd, body() + at, BODY - at < 65536 ? BODY - at : 65536, MSG_NOSIGNAL);
		moved += n > 0 ? (uint64_t)n : 0;
	}
}

static inline void serve_secure(int fd, void *arg)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	char text[512];
	SSL *ssl;
	int n;

	(void)arg;
	(void)SSL_CTX_use_certificate(ctx, good);
	(void)SSL_CTX_use_PrivateKey(ctx, root_key);
	ssl = SSL_new(ctx);
	(void)SSL_set_fd(ssl, fd);
	SSL_set_accept_state(ssl);
	n = SSL_read(ssl, text, sizeof(text));
	if (n > 0)
		n = SSL_write(ssl, head, sizeof(head) - 1);
	for (size_t at = 0; n > 0 && at < BODY; at += (size_t)n) {
		n = SSL_write(ssl, body() + at, 16384);
		moved += n > 0 ? (uint64_t)n : 0;
	}
	SSL_free(ssl);
	SSL_CTX_free(ctx);
}

static inline void expect_body(int fd)
{
	static char bytes[65536];

	for (size_t at = 0; at < BODY; at += sizeof(bytes)) {
		get(fd, bytes, sizeof(bytes));
		if (memcmp(bytes, body() + at, sizeof(bytes)) != 0)
			fail_msg("other bytes at %zu", at);
	}
}

static inline void expect_secure_body(SSL *ssl)
{
	static char bytes[65536];
	size_t at = 0;
	int n = SSL_read(ssl, bytes, sizeof(head) - 1);

	assert_int_equal(n, sizeof(head) - 1);
	while (at < BODY && (n = SSL_read(ssl, bytes, sizeof(bytes))) > 0) {
		if (memcmp(bytes, body() + at, (size_t)n) != 0)
			fail_msg("other bytes at %zu", at);
		at += (size_t)n;
	}
	assert_int_equal(at, BODY);
}

#endif
