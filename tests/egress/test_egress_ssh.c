/* SPDX-License-Identifier: MIT */
/*
 * T-70. SSH on ports that are for the web, where ssh.github.com and others offer it: it passes if
 * both sides identify themselves, whoever does first, and is no way to talk to a server for HTTP.
 */
#include "mitm.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLIENT "SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n"
#define SERVER "SSH-2.0-OpenSSH_9.9\r\n"

static struct server web;
static _Atomic bool is_silent; /* it has not begun yet */
static _Atomic bool has_spoken;

/* How a server begins. */
struct manner {
	const char *first; /* at once */
	const char *then;  /* after a line of the client */
};

/* Notes everything that it gets, and sends it back after its greeting. */
static void serve(int fd, void *arg)
{
	const struct manner *manner = arg;
	char bytes[1024];
	ssize_t n;

	while (is_silent)
		(void)usleep(1000);
	if (manner->first)
		(void)send(fd, manner->first, strlen(manner->first), MSG_NOSIGNAL);
	has_spoken = true;
	while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0) {
		bool greets = manner->then && memchr(bytes, '\n', (size_t)n);

		origin_note(bytes, (size_t)n);
		if (greets)
			(void)send(fd, manner->then, strlen(manner->then), MSG_NOSIGNAL);
		else
			(void)send(fd, bytes, (size_t)n, MSG_NOSIGNAL);
	}
}

static void be(const char *first, const char *then)
{
	static struct manner manners[64];
	static size_t next;
	struct manner *manner = &manners[next++ % 64];

	*manner = (struct manner){ first, then };
	web.arg = manner;
	origin_forget();
}

static int start_server(void **state)
{
	(void)state;
	server_start_web(&web, serve);
	return 0;
}

static int stop_server(void **state)
{
	(void)state;
	server_stop(&web);
	return 0;
}

static void expect_text(int fd, const char *text)
{
	char got[256];

	get(fd, got, strlen(text));
	assert_memory_equal(got, text, strlen(text));
}

static void start(struct host *host)
{
	host_start(host, allow_one(WEB_HOST, web.port), NULL);
}

/* Ends well, with these bytes of the client. */
static void finish(struct host *host, int fd)
{
	puts_to(fd, "packets");
	expect_text(fd, "packets");
	(void)shutdown(fd, SHUT_WR);
	get_end(fd);
	(void)close(fd);
	assert_int_equal(host_event(host, KODA_EGRESS_OK).port, web.port);
}

/* Either side may send first, in any pieces. */
static void test_both_speak(void **state)
{
	static const struct manner manners[] = { { SERVER, NULL },
						 { "SSH-1.99-old\r\n", NULL },
						 { NULL, SERVER } };
	struct host host;
	int fd;

	(void)state;
	start(&host);
	for (size_t i = 0; i < KODA_ARRAY_LEN(manners); i++)
		for (int pieces = 0; pieces < 2; pieces++) {
			be(manners[i].first, manners[i].then);
			fd = tunnel_to(host.port, WEB_HOST, web.port);
			for (const char *at = CLIENT; pieces && *at; at++)
				put(fd, at, 1);
			if (!pieces)
				puts_to(fd, CLIENT);
			expect_text(fd, manners[i].first ? manners[i].first : manners[i].then);
			if (manners[i].first)
				expect_text(fd, CLIENT);
			assert_true(origin_saw(CLIENT));
			finish(&host, fd);
		}
	host_stop(&host);
}

/* A client that waits for the server's line hears it. */
static void test_client_waits(void **state)
{
	struct host host;
	int fd;

	(void)state;
	start(&host);
	be(SERVER, NULL);
	fd = tunnel_to(host.port, WEB_HOST, web.port);
	expect_text(fd, SERVER);
	puts_to(fd, CLIENT "more");
	expect_text(fd, CLIENT "more");
	finish(&host, fd);
	host_stop(&host);
}

/* Says that and is refused; the server gets nothing behind the line. */
static void expect_refused(struct host *host, const char *text)
{
	int fd = tunnel_to(host->port, WEB_HOST, web.port);
	struct koda_egress_message event;
	char answer[4096];

	puts_to(fd, text);
	(void)get_all(fd, answer, sizeof(answer), true);
	(void)close(fd);
	event = host_event(host, KODA_EGRESS_BAD_REQUEST);
	assert_string_equal(event.host, WEB_HOST);
	if (event.verdict != KODA_EGRESS_DENY || origin_saw("other.test") || origin_saw("GET"))
		fail_msg("not as expected: %s", text);
}

/* The attack: a server for HTTP that forgives a first line of nonsense would answer what follows.
 * It never gets that, because it is no server for SSH. */
static void test_other_server(void **state)
{
	static const char *const answers[] = { "HTTP/1.1 400 Bad Request\r\n\r\n", "\r\n",
					       ("Welcome\r\n" SERVER), "ssh-2.0-x\r\n" };
	struct host host;

	(void)state;
	start(&host);
	for (size_t i = 0; i < KODA_ARRAY_LEN(answers); i++) {
		be(NULL, answers[i]);
		expect_refused(&host, CLIENT "GET / HTTP/1.1\r\nHost: other.test\r\n\r\n");
		assert_true(origin_saw(CLIENT));
		be(answers[i], NULL);
		expect_refused(&host, CLIENT "GET / HTTP/1.1\r\nHost: other.test\r\n\r\n");
	}
	host_stop(&host);
}

/* Lines that are none, or something else as well. */
static void test_other_lines(void **state)
{
	static const char *const lines[] = {
		"ssh-2.0-x\r\nother.test\r\n",     "SSH-1.5-x\r\nother.test\r\n",
		"SSH-3.0-x\r\nother.test\r\n",     "SSH-2.0-\x01\r\nother.test\r\n",
		"SSH-2.0-x\ry\nother.test\r\n",    "SSH-2.0-x http://other.test/ HTTP/1.1\r\n\r\n",
		"SSH-2.0-x /other.test\r\n\r\n",   " SSH-2.0-x\r\nother.test\r\n",
		"\r\nSSH-2.0-x\r\nother.test\r\n",
	};
	struct host host;
	char text[400];

	(void)state;
	start(&host);
	be(NULL, SERVER);
	for (size_t i = 0; i < KODA_ARRAY_LEN(lines); i++) {
		int fd = tunnel_to(host.port, WEB_HOST, web.port);

		origin_forget();
		puts_to(fd, lines[i]);
		(void)shutdown(fd, SHUT_WR);
		(void)get_all(fd, text, sizeof(text), true);
		(void)close(fd);
		if (host_next(&host).verdict != KODA_EGRESS_DENY || origin_saw("other.test") ||
		    origin_saw("-x"))
			fail_msg("went through: %s", lines[i]);
	}
	memset(text, 'x', sizeof(text));
	memcpy(text, "SSH-2.0-", 8);
	memcpy(text + 300, "\r\n", 3);
	expect_refused(&host, text);
	assert_false(origin_saw("SSH"));
	host_stop(&host);
}

/* A server that closes instead of saying anything. */
static void serve_nothing(int fd, void *arg)
{
	char bytes[64];

	(void)arg;
	(void)recv(fd, bytes, sizeof(bytes), 0);
}

static void test_closing_server(void **state)
{
	struct host host;
	char text[64];
	int fd;

	(void)state;
	start(&host);
	web.serve = serve_nothing;
	fd = tunnel_to(host.port, WEB_HOST, web.port);
	puts_to(fd, CLIENT);
	assert_int_equal(get_all(fd, text, sizeof(text), true), 0);
	(void)close(fd);
	(void)host_event(&host, KODA_EGRESS_BAD_REQUEST);
	web.serve = serve;
	host_stop(&host);
}

/* The upstream proxy's answer and the server's line in one piece. */
static void serve_upstream(int fd, void *arg)
{
	static const char fine[] = "HTTP/1.1 200 Fine\r\n\r\n" SERVER;
	char head[512];

	(void)arg;
	(void)get_head(fd, head, sizeof(head));
	(void)send(fd, fine, sizeof(fine) - 1, MSG_NOSIGNAL);
	serve_echo(fd, NULL);
}

static void test_upstream(void **state)
{
	static char variable[64];
	static char *const env[] = { variable, NULL };
	struct server upstream;
	struct host host;

	(void)state;
	server_start(&upstream, serve_upstream, NULL);
	(void)snprintf(variable, sizeof(variable), "HTTPS_PROXY=http://127.0.0.1:%u",
		       upstream.port);
	host_start(&host, "\"allowed_domains\":[\"ssh.github.com:443\"]", env);
	for (int waits = 0; waits < 2; waits++) {
		int fd = tunnel_to(host.port, "ssh.github.com", 443);

		if (waits)
			expect_text(fd, SERVER);
		puts_to(fd, CLIENT);
		if (!waits)
			expect_text(fd, SERVER);
		expect_text(fd, CLIENT);
		(void)close(fd);
		(void)host_event(&host, KODA_EGRESS_OK);
	}
	host_stop(&host);
	server_stop(&upstream);
}

/* A server's line and a client's hello that the proxy finds at once: the line lets the tunnel go on
 * later, and until then it has become a connection whose TLS ends in the proxy. */
static void test_line_and_hello(void **state)
{
	struct host host;
	uint8_t hello[512];
	char bytes[1024];
	uint16_t port;
	int fd;

	(void)state;
	host_start_bare(&host, NULL);
	port = add_mitm(&host, 1, allow_one(WEB_HOST, web.port));
	be(SERVER, NULL);
	is_silent = true;
	has_spoken = false;
	fd = tunnel_to(port, WEB_HOST, web.port);
	(void)usleep(50000); /* the proxy waits for news */
	host_pause(&host);
	is_silent = false;
	while (!has_spoken)
		(void)usleep(1000);
	put(fd, hello, make_hello(NULL, false, hello, sizeof(hello)));
	host_resume(&host);
	(void)get_all(fd, bytes, sizeof(bytes), true);
	(void)close(fd);
	(void)host_expect(&host, KODA_EGRESS_EVENT);
	host_stop(&host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_speak),     cmocka_unit_test(test_client_waits),
		cmocka_unit_test(test_other_server),   cmocka_unit_test(test_other_lines),
		cmocka_unit_test(test_closing_server), cmocka_unit_test(test_upstream),
		cmocka_unit_test(test_line_and_hello),
	};

	return cmocka_run_group_tests(tests, start_server, stop_server);
}
