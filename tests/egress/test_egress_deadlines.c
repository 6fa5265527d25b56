/* SPDX-License-Identifier: MIT */
/*
 * T-83. Each step of a connection has an end, tried with a proxy that is in a hurry. What is tested
 * is how it ends and what is said about it, never when; and that whoever keeps at it is left alone.
 */
#include "host.h"

#include "mitm.h"

#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

static struct server mute;

/* Takes everything and never says anything. */
static void serve_mute(int fd, void *arg)
{
	char bytes[4096];

	(void)arg;
	while (recv(fd, bytes, sizeof(bytes), 0) > 0)
		;
}

static int start_servers(void **state)
{
	(void)state;
	server_start(&echo, serve_echo, NULL);
	server_start(&mute, serve_mute, NULL);
	return 0;
}

static int stop_servers(void **state)
{
	(void)state;
	server_stop(&echo);
	server_stop(&mute);
	return 0;
}

static const char any_port[] = "\"allowed_domains\":[\"127.0.0.1\"]";

/* Says something, perhaps goes on a byte at a time, and is cut off with this status (0: none). */
static void is_cut_off(struct host *host, const char *text, size_t len, bool trickles, int status)
{
	char head[1024];
	int fd = dial_local(host->port);
	struct pollfd polled = { .fd = fd, .events = POLLIN };

	put(fd, text, len);
	for (int i = 0; trickles && i < WAIT_MS / 100 && poll(&polled, 1, 100) == 0; i++)
		(void)send(fd, "a", 1, MSG_NOSIGNAL);
	assert_int_equal(get_head(fd, head, sizeof(head)), status);
	(void)get_all(fd, head, sizeof(head), true);
	(void)close(fd);
}

static void test_heads(void **state)
{
	static const char connect[] = "CONNECT 127.0.0.1";
	static const char plain[] = "GET http://127.0.0.1/ HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ";
	static const char socks[] = { 5, 1 };
	static const char socks_name[] = { 5, 1, 0, 5, 1, 0, 3, 50, 'x' };
	struct host host;

	(void)state;
	host_start(&host, any_port, NULL);
	is_cut_off(&host, "", 0, false, 0);
	assert_false(host_has_message(&host, 100)); /* a client that sent nothing causes no event */
	for (int trickles = 0; trickles < 2; trickles++) {
		is_cut_off(&host, connect, sizeof(connect) - 1, trickles, 408);
		(void)host_event(&host, KODA_EGRESS_CLIENT_TIMEOUT);
		is_cut_off(&host, plain, sizeof(plain) - 1, trickles, 408);
		(void)host_event(&host, KODA_EGRESS_CLIENT_TIMEOUT);
	}
	is_cut_off(&host, socks, sizeof(socks), false, 0);
	(void)host_event(&host, KODA_EGRESS_CLIENT_TIMEOUT);
	is_cut_off(&host, socks_name, sizeof(socks_name), false, 0);
	(void)host_event(&host, KODA_EGRESS_CLIENT_TIMEOUT);
	host_stop(&host);
}

/* A TLS greeting that has begun comes to its end. */
static void test_greeting(void **state)
{
	uint8_t hello[512];
	struct host host;
	int fd;

	(void)state;
	host_start(&host, any_port, NULL);
	fd = tunnel_to(host.port, "127.0.0.1", echo.port);
	(void)make_hello(NULL, false, hello, sizeof(hello));
	put(fd, hello, 20);
	get_end(fd);
	(void)host_event(&host, KODA_EGRESS_CLIENT_TIMEOUT);
	(void)close(fd);
	host_stop(&host);
}

/* A listener whose queue is full drops what comes: connecting to it takes for ever. */
static int full_listener(uint16_t *ret_port, int *fds, size_t count)
{
	int listener = listen_local(ret_port);

	assert_int_equal(listen(listener, 0), 0);
	for (size_t i = 0; i < count; i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		dial_later(fds[i], *ret_port);
	}
	return listener;
}

static void test_connect(void **state)
{
	struct host host;
	uint16_t port;
	char target[64];
	int fds[4];
	int listener = full_listener(&port, fds, 4);
	int status;
	int fd;

	(void)state;
	host_start(&host, any_port, NULL);
	(void)snprintf(target, sizeof(target), "127.0.0.1:%u", port);
	fd = connect_through(host.port, target, &status);
	assert_int_equal(status, 504);
	(void)close(fd);
	(void)host_event(&host, KODA_EGRESS_CONNECT_TIMEOUT);
	for (int i = 0; i < 4; i++)
		(void)close(fds[i]);
	(void)close(listener);
	host_stop(&host);
}

/* An upstream proxy that takes the connection and says nothing. */
static void test_upstream(void **state)
{
	static char https[64];
	static char *const env[] = { https, NULL };
	struct host host;
	int status;

	(void)state;
	(void)snprintf(https, sizeof(https), "HTTPS_PROXY=http://127.0.0.1:%u", mute.port);
	host_start(&host, "\"allowed_domains\":[\"far.example\"]", env);
	(void)close(connect_through(host.port, "far.example:443", &status));
	assert_int_equal(status, 502);
	(void)host_event(&host, KODA_EGRESS_UPSTREAM_FAILED);
	host_stop(&host);
}

static void test_ask(void **state)
{
	struct koda_egress_message answer = { .kind = KODA_EGRESS_ANSWER,
					      .id = 1,
					      .verdict = KODA_EGRESS_ALLOW };
	struct host host;
	uint16_t port;
	char head[512];
	int fd;

	(void)state;
	host_start_bare(&host, NULL);
	port = host_add(&host, 1, KODA_EGRESS_CAN_ASK, "\"allowed_domains\":[\"a.example\"]");
	fd = dial_local(port);
	puts_to(fd, "CONNECT 192.88.1.1:443 HTTP/1.1\r\nHost: 192.88.1.1:443\r\n\r\n");
	answer.question = host_expect(&host, KODA_EGRESS_ASK).question;
	assert_int_equal(get_head(fd, head, sizeof(head)), 403);
	(void)host_event(&host, KODA_EGRESS_ASK_DENIED);
	/* Too late for this one, and for any other. */
	host_send(&host, &answer, NULL, 0);
	assert_false(host_has_message(&host, 100));
	(void)close(fd);
	host_stop(&host);
}

static void test_idle_tunnel(void **state)
{
	struct host host;
	int idle;
	int busy;

	(void)state;
	host_start(&host, any_port, NULL);
	idle = tunnel_to(host.port, "127.0.0.1", echo.port);
	busy = tunnel_to(host.port, "127.0.0.1", mute.port);
	/* One direction is enough to stay alive. */
	for (int i = 0; i < WAIT_MS / 100 && !host_has_message(&host, 100); i++)
		puts_to(busy, "still here");
	assert_int_equal(host_event(&host, KODA_EGRESS_IDLE).port, echo.port);
	get_end(idle);
	puts_to(busy, "still here");
	assert_false(host_has_message(&host, 100));
	(void)close(idle);
	(void)close(busy);
	assert_int_equal(host_next(&host).port, mute.port);
	host_stop(&host);
}

/* A tunnel whose bytes pass is left alone for longer than anything else that is idle; and then it
 * ends, too. */
static void test_idle_open_tunnel(void **state)
{
	struct host host;
	char text[64];
	int quiet;
	int open;

	(void)state;
	host_start(&host, any_port, NULL);
	open = tunnel_to(host.port, "127.0.0.1", echo.port);
	puts_to(open, "hello\n");
	get(open, text, 6);
	quiet = tunnel_to(host.port, "127.0.0.1", mute.port);
	assert_int_equal(host_event(&host, KODA_EGRESS_IDLE).port, mute.port);
	echo_once(open);
	get_end(open);
	assert_int_equal(host_event(&host, KODA_EGRESS_IDLE).port, echo.port);
	(void)close(open);
	(void)close(quiet);
	host_stop(&host);
}

/* Which timer the kernel has set for a connection of this machine, from /proc/net/tcp: 2 is that of
 * keep-alive. -1: no such connection. */
static int timer_of(uint16_t local, uint16_t remote)
{
	FILE *file = fopen("/proc/net/tcp", "re");
	unsigned int from, to, state, timer;
	char line[256];
	int found = -1;

	assert_non_null(file);
	while (found < 0 && fgets(line, sizeof(line), file))
		if (sscanf(line, "%*u: %*x:%x %*x:%x %x %*x:%*x %x:", &from, &to, &state, &timer) ==
			    4 &&
		    state == 1 && (local == 0 || from == local) && (remote == 0 || to == remote))
			found = (int)timer;
	(void)fclose(file);
	return found;
}

/* The kernel looks after both sides of an idle tunnel, so that a peer that is gone is found. */
static void test_keep_alive(void **state)
{
	struct host host;
	char text[64];
	int fd;

	(void)state;
	host_start(&host, any_port, NULL);
	fd = tunnel_to(host.port, "127.0.0.1", echo.port);
	puts_to(fd, "hello\n");
	get(fd, text, 6);
	/* What was sent is acknowledged first, which has a timer of its own. */
	for (int i = 0; i < WAIT_MS && (timer_of(host.port, 0) != 2 || timer_of(0, echo.port) != 2);
	     i++)
		(void)usleep(1000);
	assert_int_equal(timer_of(host.port, 0), 2);
	assert_int_equal(timer_of(0, echo.port), 2);
	/* The twin: our own end has none. */
	assert_int_equal(timer_of(0, host.port), 0);
	(void)close(fd);
	host_stop(&host);
}

/* A connection that is kept for another request, and one whose answer never comes. */
static void test_idle_http(void **state)
{
	struct host host;
	char text[256];
	int kept;
	int fd;

	(void)state;
	host_start(&host, any_port, NULL);
	fd = dial_local(host.port);
	(void)snprintf(text, sizeof(text),
		       "GET http://127.0.0.1:%u/ HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n", mute.port,
		       mute.port);
	puts_to(fd, text);
	kept = dial_local(host.port);
	puts_to(kept, "GET http://nowhere.test/ HTTP/1.1\r\nHost: nowhere.test\r\n\r\n");
	(void)host_event(&host, KODA_EGRESS_NOT_LISTED);
	assert_int_equal(get_head(kept, text, sizeof(text)), 403);
	assert_int_equal(get_head(fd, text, sizeof(text)), 504);
	(void)host_event(&host, KODA_EGRESS_IDLE);
	(void)get_all(kept, text, sizeof(text), true);
	(void)close(fd);
	(void)close(kept);
	host_stop(&host);
}

/* A client that does not close after the final answer is closed. */
static void test_linger(void **state)
{
	struct host host;
	char text[1024];
	int status;
	int fd;

	(void)state;
	host_start(&host, any_port, NULL);
	fd = connect_through(host.port, "nowhere.test:1", &status);
	assert_int_equal(status, 403);
	(void)get_all(fd, text, sizeof(text), true);
	/* It goes on sending into nothing, until that fails. */
	for (int i = 0; i < WAIT_MS / 20; i++) {
		if (send(fd, "x", 1, MSG_NOSIGNAL) < 0) {
			(void)close(fd);
			host_stop(&host);
			return;
		}
		(void)poll(NULL, 0, 20);
	}
	fail_msg("the connection is still there");
}

/* A real ClientHello, and nothing after it. */
static size_t real_hello(char *out, size_t size)
{
	static char name[] = "localhost"; /* the macro casts const away */
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	SSL *ssl = SSL_new(ctx);
	BIO *in = BIO_new(BIO_s_mem());
	BIO *sent = BIO_new(BIO_s_mem());
	int n;

	SSL_set_bio(ssl, in, sent);
	(void)SSL_set_tlsext_host_name(ssl, name);
	SSL_set_connect_state(ssl);
	(void)SSL_do_handshake(ssl);
	n = BIO_read(sent, out, (int)size);
	SSL_free(ssl);
	SSL_CTX_free(ctx);
	assert_true(n > 0);
	return (size_t)n;
}

/* Termination: a client, and an origin, that leaves the other in the middle of the handshake. */
static void test_handshake(void **state)
{
	struct koda_egress_message event;
	struct host host;
	char hello[4096];
	uint16_t port;
	int fd;

	(void)state;
	host_start_bare(&host, NULL);
	port = add_mitm(&host, 1, "\"allowed_domains\":[\"localhost\"]");
	fd = tunnel_to(port, "localhost", mute.port);
	put(fd, hello, real_hello(hello, sizeof(hello)));
	event = host_expect(&host, KODA_EGRESS_EVENT);
	assert_true(event.reason == KODA_EGRESS_CLIENT_TIMEOUT ||
		    event.reason == KODA_EGRESS_TLS_FAILED);
	(void)get_all(fd, hello, sizeof(hello), true);
	(void)close(fd);
	host_stop(&host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heads),
		cmocka_unit_test(test_greeting),
		cmocka_unit_test(test_connect),
		cmocka_unit_test(test_upstream),
		cmocka_unit_test(test_ask),
		cmocka_unit_test(test_idle_tunnel),
		cmocka_unit_test(test_idle_open_tunnel),
		cmocka_unit_test(test_keep_alive),
		cmocka_unit_test(test_idle_http),
		cmocka_unit_test(test_linger),
		cmocka_unit_test(test_handshake),
	};

	return cmocka_run_group_tests(tests, start_servers, stop_servers);
}
