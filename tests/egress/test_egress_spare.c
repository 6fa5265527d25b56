/* SPDX-License-Identifier: MIT */
/*
 * T-83. Terminated connections when memory is short: they read less at a time, and go on. Heads
 * that come in pieces come to their end, in both directions. Tried with a proxy whose buffers may
 * take up 6 MiB of one sandbox.
 */
#include "site.h"

#include <signal.h>
#include <sys/socket.h>

#define IDLE  24 /* connections that make the proxy spare */
#define LARGE ((size_t)24 << 10)

static _Atomic int company; /* certificates that a server shows besides its own */

/* Two pieces of an answer, in records of their own. */
static void serve_pieces(int fd, void *arg)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	char text[2 * LARGE];
	size_t have = 0;
	SSL *ssl;
	int n = 1;

	(void)arg;
	(void)SSL_CTX_use_certificate(ctx, good);
	(void)SSL_CTX_use_PrivateKey(ctx, root_key);
	(void)SSL_CTX_set_num_tickets(ctx, 0);
	for (int i = 0; i < company; i++)
		(void)(X509_up_ref(root) && SSL_CTX_add_extra_chain_cert(ctx, root));
	ssl = SSL_new(ctx);
	(void)SSL_set_fd(ssl, fd);
	SSL_set_accept_state(ssl);
	while (n > 0 && have < sizeof(text) && !memmem(text, have, "\r\n\r\n", 4)) {
		n = SSL_read(ssl, text + have, (int)(sizeof(text) - have));
		have += n > 0 ? (size_t)n : 0;
	}
	if (n > 0) {
		(void)SSL_write(ssl, "HTTP/1.1 200 OK\r\nX: ", 20);
		(void)usleep(50000);
		(void)SSL_write(ssl, "y\r\nContent-Length: 2\r\n\r\nok", 26);
		(void)SSL_read(ssl, text, sizeof(text));
	}
	SSL_free(ssl);
	SSL_CTX_free(ctx);
}

static SSL *open_secure(uint16_t port, uint16_t server, int *ret_fd)
{
	*ret_fd = tunnel_to(port, "localhost", server);
	return tls_over(*ret_fd, ca);
}

/* A request in two pieces, the first of this size. */
static void expect_answer(uint16_t port, uint16_t server, size_t first)
{
	static char text[LARGE + 128];
	char answer[256];
	size_t have = 0;
	int fd;
	int n = snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: localhost:%u\r\nX: ", server);
	SSL *ssl = open_secure(port, server, &fd);

	assert_non_null(ssl);
	memset(text + n, 'x', LARGE);
	assert_int_equal(SSL_write(ssl, text, (int)first), first);
	(void)usleep(50000);
	n += (int)LARGE - (int)first;
	assert_int_equal(SSL_write(ssl, text + first, n), n);
	assert_int_equal(SSL_write(ssl, "\r\n\r\n", 4), 4);
	while (!memmem(answer, have, "\r\n\r\nok", 6)) {
		n = SSL_read(ssl, answer + have, (int)(sizeof(answer) - have));
		if (n <= 0)
			fail_msg("no answer to a head that began with %zu bytes", first);
		have += (size_t)n;
	}
	assert_memory_equal(answer, "HTTP/1.1 200", 12);
	SSL_free(ssl);
	(void)close(fd);
}

static void test_pieces(void **state)
{
	SSL *idle[IDLE];
	int fds[IDLE];
	struct server server;
	struct host host;

	(void)state;
	server_start(&server, serve_pieces, NULL);
	site_start(&host, net_for(server.port, MITM));
	expect_answer(host.port, server.port, 10);
	for (size_t i = 0; i < IDLE; i++) {
		idle[i] = open_secure(host.port, server.port, &fds[i]);
		assert_non_null(idle[i]);
	}
	expect_answer(host.port, server.port, 10);
	expect_answer(host.port, server.port, LARGE - 100);
	for (size_t i = 0; i < IDLE; i++) {
		SSL_free(idle[i]);
		(void)close(fds[i]);
	}
	host_stop(&host);
	server_stop(&server);
}

/* Without memory some clients are refused at once, the others are served, and none hangs. */
static void test_nothing_left(void **state)
{
	static SSL *open[100];
	static int fds[100];
	unsigned int answers[2] = { 0, 0 };
	struct server server;
	struct host host;
	size_t count = 0;
	char rest[64];
	int len;

	(void)state;
	server_start(&server, serve_pieces, NULL);
	site_start(&host, net_for(server.port, MITM));
	len = snprintf(rest, sizeof(rest), "y\r\nHost: localhost:%u\r\n\r\n", server.port);
	while (count < KODA_ARRAY_LEN(open) &&
	       (open[count] = open_secure(host.port, server.port, &fds[count])))
		count++;
	assert_true(count > 16 && count < KODA_ARRAY_LEN(open));
	(void)close(fds[count]);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(SSL_write(open[i], "GET / HTTP/1.1\r\nX: ", 19), 19);
	(void)usleep(200000);
	for (size_t i = 0; i < count; i++) {
		char answer[256];

		(void)SSL_write(open[i], rest, len);
		if (SSL_read(open[i], answer, sizeof(answer)) < 12)
			fail_msg("no answer for number %zu", i);
		answers[memcmp(answer, "HTTP/1.1 200", 12) == 0]++;
		SSL_free(open[i]);
		(void)close(fds[i]);
	}
	assert_true(answers[0] > 0 && answers[1] > 0);
	expect_answer(host.port, server.port, 10);
	host_stop(&host);
	server_stop(&server);
}

/* How many connections answer until one does not; all of them stay. */
static size_t count_answers(int certificates)
{
	static SSL *open[64];
	static int fds[64];
	struct server server;
	struct host host;
	size_t count = 0;
	bool ok = true;

	company = certificates;
	server_start(&server, serve_pieces, NULL);
	site_start(&host, net_for(server.port, MITM));
	while (ok && count < KODA_ARRAY_LEN(open)) {
		char text[128];
		int n = snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: localhost:%u\r\n\r\n",
				 server.port);

		open[count] = open_secure(host.port, server.port, &fds[count]);
		ok = open[count] && SSL_write(open[count], text, n) == n &&
		     SSL_read(open[count], text, sizeof(text)) > 12 &&
		     memcmp(text, "HTTP/1.1 200", 12) == 0;
		count++;
	}
	for (size_t i = 0; i < count; i++) {
		SSL_free(open[i]);
		(void)close(fds[i]);
	}
	host_stop(&host);
	server_stop(&server);
	return ok ? count : count - 1;
}

/* What a server makes the proxy keep by its certificates counts too, and has a bound. */
static void test_certificates(void **state)
{
	(void)state;
	assert_in_range(count_answers(2), 24, 63);
	assert_in_range(count_answers(50), 4, 16);
	assert_int_equal(count_answers(150), 0);
	company = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_pieces),
					    cmocka_unit_test(test_nothing_left),
					    cmocka_unit_test(test_certificates) };

	(void)signal(SIGPIPE, SIG_IGN); /* OpenSSL sends without asking for that */
	return cmocka_run_group_tests(tests, make_site, remove_site);
}
