/* SPDX-License-Identifier: MIT */
/*
 * T-83. Peers that do not read, inside and outside: what they make the proxy keep has a bound,
 * which is that of its budget and not how much there is to send; and those who read get everything,
 * also meanwhile. Tried with a proxy whose buffers may take up 16 MiB, 6 of one sandbox as long as
 * half of it is free.
 */
#include "big_body.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define MANY   500
#define SECURE 100 /* with TLS on both sides */
#define BUDGET ((size_t)8 << 20)
/* Of each connection without what is counted, and of everything else. */
#define EACH  ((size_t)24 << 10)
#define SLACK ((size_t)8 << 20)

static struct server much;   /* sends BODY bytes to each client */
static struct server secure; /* sends these by TLS */
static struct server deaf;   /* reads nothing */

static void serve_deaf(int fd, void *arg)
{
	struct pollfd polled = { .fd = fd, .events = POLLRDHUP };

	(void)arg;
	(void)poll(&polled, 1, 10 * WAIT_MS);
}

/* What the kernel keeps for the servers is not what is looked at here, and thousands of times their
 * usual buffers are more than it has. */
static void start_small(struct server *server, void (*serve)(int fd, void *arg))
{
	const int little = 4096;
	const int some = 65536;
	uint16_t port;
	int fd = listen_local(&port);

	/* What is accepted has it too. */
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &little, sizeof(little));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &some, sizeof(some));
	server_start_on(server, fd, port, serve);
}

static int start_servers(void **state)
{
	allow_many_files();
	(void)body();
	start_small(&deaf, serve_deaf);
	start_small(&much, serve_much);
	start_small(&secure, serve_secure);
	return make_site(state);
}

static int stop_servers(void **state)
{
	server_stop(&deaf);
	server_stop(&much);
	server_stop(&secure);
	return remove_site(state);
}

static const char *net(void)
{
	static char text[512];

	(void)snprintf(
		text, sizeof(text),
		"\"allowed_domains\":[\"localhost:%u\",\"localhost:%u\",\"localhost:%u\"],%s",
		much.port, secure.port, deaf.port, MITM);
	return text;
}

static size_t peak_of(const struct host *host)
{
	char path[64];
	char line[128];
	size_t kib = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)host->proc.pid);
	file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (strncmp(line, "VmHWM:", 6) == 0)
			kib = strtoul(line + 6, NULL, 10);
	(void)fclose(file);
	return kib << 10;
}

static void expect_bound(const struct host *host, size_t before, size_t conns)
{
	size_t peak = peak_of(host);

	(void)fprintf(stderr, "# %zu connections: %zu KiB more at most\n", conns,
		      (peak - before) >> 10);
#ifndef __SANITIZE_ADDRESS__ /* which keeps what was freed */
	if (peak - before > BUDGET + conns * EACH + SLACK)
		fail_msg("%zu KiB for %zu connections", (peak - before) >> 10, conns);
#endif
}

/* A connection to the sandbox that takes little at a time. */
static int dial_slow(uint16_t port)
{
	const struct timeval patience = { .tv_sec = WAIT_MS / 1000 };
	const struct sockaddr_in to = { .sin_family = AF_INET,
					.sin_port = htons(port),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const int little = 4096;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &little, sizeof(little));
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

static void ask_plain(int fd, const char *method, uint16_t port, const char *more)
{
	char text[256];

	(void)snprintf(text, sizeof(text),
		       "%s http://localhost:%u/ HTTP/1.1\r\nHost: localhost:%u\r\n%s\r\n", method,
		       port, port, more);
	puts_to(fd, text);
}

static void ask_tunnel(int fd, uint16_t port)
{
	char text[256];

	(void)snprintf(text, sizeof(text),
		       "CONNECT localhost:%u HTTP/1.1\r\nHost: localhost:%u\r\n\r\n", port, port);
	puts_to(fd, text);
	assert_int_equal(get_head(fd, text, sizeof(text)), 200);
}

/* Until nothing moves any more. */
static void await_standstill(void)
{
	uint64_t before = moved;

	for (int i = 0; i < 200; i++) {
		(void)poll(NULL, 0, 200);
		if (moved == before)
			return;
		before = moved;
	}
	fail_msg("it never stops");
}

static void expect_plain(uint16_t port)
{
	char text[512];
	int fd = dial_local(port);

	ask_plain(fd, "GET", much.port, "");
	assert_int_equal(get_head(fd, text, sizeof(text)), 200);
	expect_body(fd);
	(void)close(fd);
}

static void expect_tunnel(uint16_t port)
{
	int fd = dial_local(port);

	ask_tunnel(fd, much.port);
	puts_to(fd, "\1");
	expect_body(fd);
	get_end(fd);
	(void)close(fd);
}

/* NULL: refused. */
static SSL *ask_secure(int fd)
{
	char text[128];
	SSL *ssl;
	int len;

	ask_tunnel(fd, secure.port);
	ssl = tls_over(fd, ca);
	len = snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: localhost:%u\r\n\r\n",
		       secure.port);
	if (ssl && SSL_write(ssl, text, len) == len)
		return ssl;
	SSL_free(ssl);
	return NULL;
}

static void expect_secure(uint16_t port)
{
	int fd = dial_local(port);
	SSL *ssl = ask_secure(fd);

	assert_non_null(ssl);
	expect_secure_body(ssl);
	SSL_free(ssl);
	(void)close(fd);
}

static void need_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_max < 10 * MANY)
		skip();
}

static void close_all(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		(void)close(fds[i]);
}

static uint16_t add_other(struct host *host)
{
	uint16_t port;

	(void)add_with(host, 2, net(), sealed(ca, NULL), sealed(NULL, ca_key), &port);
	return port;
}

/* Large responses for clients that do not read them. */
static void test_slow_clients(void **state)
{
	static int fds[2 * MANY];
	struct host host;
	uint16_t other;
	char text[512];
	size_t before;

	(void)state;
	need_files();
	site_start(&host, net());
	other = add_other(&host);
	before = peak_of(&host);
	for (size_t i = 0; i < MANY; i++) {
		fds[i] = dial_slow(host.port);
		ask_plain(fds[i], "GET", much.port, "");
	}
	for (size_t i = MANY; i < 2 * MANY; i++) {
		fds[i] = dial_slow(i % 2 ? host.port : other);
		ask_tunnel(fds[i], much.port);
		puts_to(fds[i], "\1");
	}
	await_standstill();
	/* Clients that read, of this sandbox and of another. */
	expect_plain(other);
	expect_tunnel(other);
	expect_plain(host.port);
	expect_tunnel(host.port);
	/* No client was cut off: one that begins to read gets all bytes. */
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(get_head(fds[i * 7], text, sizeof(text)), 200);
		expect_body(fds[i * 7]);
		expect_body(fds[MANY + i * 7]);
	}
	expect_bound(&host, before, 2 * MANY);
	close_all(fds, 2 * MANY);
	host_stop(&host);
}

/* And for servers. */
static void test_slow_servers(void **state)
{
	static int fds[MANY];
	struct host host;
	uint16_t other;
	size_t before;

	(void)state;
	need_files();
	site_start(&host, net());
	other = add_other(&host);
	before = peak_of(&host);
	for (size_t i = 0; i < MANY; i++) {
		fds[i] = dial_local(host.port);
		if (i % 2) {
			ask_plain(fds[i], "POST", deaf.port, "Content-Length: 4194304\r\n");
		} else {
			ask_tunnel(fds[i], deaf.port);
			puts_to(fds[i], "\1");
		}
	}
	/* As much as they take at once, and again when that has gone on its way. */
	for (int round = 0; round < 4; round++) {
		for (size_t i = 0; i < MANY; i++) {
			ssize_t n = send(fds[i], body(), 512 << 10, MSG_NOSIGNAL | MSG_DONTWAIT);

			if (n < 0 && errno != EAGAIN)
				fail_msg("%zu: %s", i, strerror(errno));
		}
		(void)poll(NULL, 0, 200);
	}
	expect_plain(other);
	expect_tunnel(other);
	expect_plain(host.port);
	expect_tunnel(host.port);
	expect_bound(&host, before, MANY);
	close_all(fds, MANY);
	host_stop(&host);
}

/* Terminated, a connection costs more; those there is no room for are refused, and others go on. */
static void test_slow_tls(void **state)
{
	static int fds[SECURE];
	static SSL *sessions[SECURE];
	struct host host;
	uint16_t other;
	size_t before;
	size_t open = 0;

	(void)state;
	site_start(&host, net());
	other = add_other(&host);
	expect_secure(host.port);
	before = peak_of(&host);
	for (size_t i = 0; i < SECURE; i++) {
		fds[i] = dial_slow(host.port);
		sessions[i] = ask_secure(fds[i]);
		open += sessions[i] != NULL;
	}
	await_standstill();
	assert_true(open >= 16 && open < SECURE);
	expect_secure(other);
	expect_tunnel(host.port);
	expect_plain(host.port);
	assert_non_null(sessions[0]);
	expect_secure_body(sessions[0]);
	expect_bound(&host, before, SECURE);
	for (size_t i = 0; i < SECURE; i++)
		SSL_free(sessions[i]);
	close_all(fds, SECURE);
	/* They are gone, and what they held is there again. */
	for (int i = 0; i < 3; i++)
		expect_secure(host.port);
	host_stop(&host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slow_clients),
		cmocka_unit_test(test_slow_servers),
		cmocka_unit_test(test_slow_tls),
	};

	return cmocka_run_group_tests(tests, start_servers, stop_servers);
}
