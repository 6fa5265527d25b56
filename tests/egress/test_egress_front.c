/* SPDX-License-Identifier: MIT */
/*
 * T-70. HTTP inside a tunnel: every request is for the host that the tunnel was allowed for,
 * however it is spelled; and what is not HTTP passes as it is.
 */
#include "mitm.h"

#include <sys/socket.h>
#include <unistd.h>

static struct server web;

/* Takes anything for a request, as long as it ends with an empty line. */
static void serve_web(int fd, void *arg)
{
	static const char ok[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
	static const char upgraded[] = "HTTP/1.1 101 Go on\r\nConnection: upgrade\r\n"
				       "Upgrade: websocket\r\n\r\n";
	char head[4096];
	size_t len = 0;
	ssize_t n;

	(void)arg;
	while ((n = recv(fd, head + len, 1, 0)) == 1) {
		origin_note(head + len, 1);
		len++;
		if (len == sizeof(head))
			len = 0;
		if (len < 4 || memcmp(head + len - 4, "\r\n\r\n", 4) != 0)
			continue;
		head[len - 1] = '\0';
		len = 0;
		if (strcasestr(head, "upgrade: websocket")) {
			(void)send(fd, upgraded, sizeof(upgraded) - 1, MSG_NOSIGNAL);
			serve_echo(fd, NULL);
			return;
		}
		if (send(fd, ok, sizeof(ok) - 1, MSG_NOSIGNAL) < 0)
			return;
	}
}

static int start_servers(void **state)
{
	(void)state;
	server_start(&web, serve_web, NULL);
	server_start(&echo, serve_echo, NULL);
	return 0;
}

static int stop_servers(void **state)
{
	(void)state;
	server_stop(&web);
	server_stop(&echo);
	return 0;
}

static const char *both(void)
{
	static char net[256];

	(void)snprintf(net, sizeof(net), "\"allowed_domains\":[\"localhost:%u\",\"localhost:%u\"]",
		       web.port, echo.port);
	return net;
}

/* PORT in the text stands for the server's. */
static const char *with_port(const char *text)
{
	static char out[8192];
	const char *at = strstr(text, "PORT");

	if (!at)
		return text;
	assert_true(strlen(text) + 8 < sizeof(out));
	memcpy(out, text, (size_t)(at - text));
	(void)snprintf(out + (at - text), sizeof(out) - (size_t)(at - text), "%u%s", web.port,
		       at + 4);
	return out;
}

static void passes(uint16_t port, bool socks, const char *request, bool in_pieces)
{
	int fd = socks ? socks_to(port, web.port) : tunnel_to(port, "localhost", web.port);
	const char *text = with_port(request);
	char answer[512];

	for (size_t i = 0; in_pieces && text[i]; i++) {
		put(fd, text + i, 1);
		(void)usleep(200);
	}
	if (!in_pieces)
		puts_to(fd, text);
	assert_int_equal(get_head(fd, answer, sizeof(answer)), 200);
	(void)close(fd);
}

static void test_own_host(void **state)
{
	static const char request[] = "GET /a?secret HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n";
	struct koda_egress_message event;
	struct host host;

	(void)state;
	host_start(&host, both(), NULL);
	for (int socks = 0; socks < 2; socks++) {
		origin_forget();
		passes(host.port, socks, request, false);
		assert_true(origin_saw("GET /a?secret HTTP/1.1\r\n"));
		event = host_event(&host, KODA_EGRESS_OK);
		assert_string_equal(event.method, "GET");
		assert_string_equal(event.path, "/a");
		assert_int_equal(event.port, web.port);
	}
	passes(host.port, false, request, true);
	(void)host_event(&host, KODA_EGRESS_OK);
	passes(host.port, false, "GET / HTTP/1.1\r\nHost: LOCALHOST:PORT\r\n\r\n", false);
	host_stop(&host);
}

/* None of these may reach a server that others share, whatever the answer is. */
static void test_other_host(void **state)
{
	static const char *const requests[] = {
		"GET / HTTP/1.1\r\nHost: other.test\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", /* of port 80 */
		"get / http/1.1\r\nHost: other.test\r\n\r\n",
		"\r\n\r\nGET / HTTP/1.1\r\nHost: other.test\r\n\r\n",
		" GET / HTTP/1.1\r\nHost: other.test\r\n\r\n",
		"GET\t/\tHTTP/1.1\r\nHost: other.test\r\n\r\n",
		"GET / HTTP/1.1\nHost: other.test\n\n\r\n\r\n",
		"GET / HTTP/1.0\r\nHost: other.test\r\n\r\n",
		"GET http://other.test/ HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n",
		"GET http://other.test/\r\n\r\n",
		"GET https://localhost/ HTTP/1.1\r\nHost: localhost:PORT\r\nX: other.test\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: localhost:PORT\r\nHost: other.test\r\n\r\n",
		"GET / HTTP/1.1\r\nX: y\r\n Host: other.test\r\nHost: localhost:PORT\r\n\r\n",
		"X-Any / HTTP/1.1\r\nHost: other.test\r\n\r\n",
		"{odd} / HTTP/1.1\r\nHost: other.test\r\n\r\n",
		"CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nother.test\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: localhost:PORT\r\nContent-Length: 4\r\n"
		"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: "
		"other.test\r\n\r\n",
	};
	struct host host;
	char answer[4096];

	(void)state;
	host_start(&host, both(), NULL);
	for (size_t i = 0; i < KODA_ARRAY_LEN(requests); i++)
		for (int socks = 0; socks < 2; socks++) {
			int fd = socks ? socks_to(host.port, web.port)
				       : tunnel_to(host.port, "localhost", web.port);
			int status;

			origin_forget();
			puts_to(fd, with_port(requests[i]));
			status = get_head(fd, answer, sizeof(answer));
			if (status < 400 || origin_saw("other.test"))
				fail_msg("request %zu: status %d", i, status);
			if (i < 2)
				assert_int_equal(status, 421);
			(void)get_all(fd, answer, sizeof(answer), true);
			(void)close(fd);
			assert_int_equal(host_next(&host).verdict, KODA_EGRESS_DENY);
		}
	host_stop(&host);
}

/* Also later on that connection. */
static void test_second_request(void **state)
{
	struct host host;
	char answer[512];
	int fd;

	(void)state;
	host_start(&host, both(), NULL);
	fd = tunnel_to(host.port, "localhost", web.port);
	for (int i = 0; i < 3; i++) {
		puts_to(fd, with_port("POST /b HTTP/1.1\r\nHost: localhost:PORT\r\n"
				      "Content-Length: 4\r\n\r\n\r\n\r\n"));
		assert_int_equal(get_head(fd, answer, sizeof(answer)), 200);
		get(fd, answer, 2);
		(void)host_event(&host, KODA_EGRESS_OK);
	}
	origin_forget();
	puts_to(fd, "GET / HTTP/1.1\r\nHost: other.test\r\n\r\n");
	assert_int_equal(get_head(fd, answer, sizeof(answer)), 421);
	(void)host_event(&host, KODA_EGRESS_MISDIRECTED);
	assert_false(origin_saw("other.test"));
	(void)close(fd);
	host_stop(&host);
}

static void test_upgrade(void **state)
{
	struct host host;
	char answer[512];
	int fd;

	(void)state;
	host_start(&host, both(), NULL);
	fd = tunnel_to(host.port, "localhost", web.port);
	puts_to(fd, with_port("GET / HTTP/1.1\r\nHost: localhost:PORT\r\nConnection: Upgrade\r\n"
			      "Upgrade: websocket\r\n\r\n"));
	assert_int_equal(get_head(fd, answer, sizeof(answer)), 101);
	puts_to(fd, "raw bytes");
	get(fd, answer, 9);
	assert_memory_equal(answer, "raw bytes", 9);
	(void)close(fd);
	host_stop(&host);
}

/* Only to WebSocket: other protocols would pass unchecked. */
static void test_other_upgrades(void **state)
{
	static const char *const protocols[] = { "TLS/1.2", "h2c", "websocket, TLS/1.0",
						 "SPDY/3.1" };
	struct host host;
	char request[256];

	(void)state;
	host_start(&host, both(), NULL);
	for (size_t i = 0; i < KODA_ARRAY_LEN(protocols); i++) {
		origin_forget();
		(void)snprintf(request, sizeof(request),
			       "GET / HTTP/1.1\r\nHost: localhost:PORT\r\nConnection: Upgrade\r\n"
			       "Upgrade: %s\r\n\r\n",
			       protocols[i]);
		passes(host.port, false, request, false);
		assert_false(origin_saw("pgrade"));
		(void)host_event(&host, KODA_EGRESS_OK);
	}
	host_stop(&host);
}

static void test_other_protocols(void **state)
{
	static const struct koda_span texts[] = {
		{ "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", 32 },
		{ "EHLO other.test\r\n", 17 },
		{ "0032git-upload-pack /p.git\0host=other.test\0", 43 },
		{ "\0\0\0\1binary", 10 },
		{ "PING\r\n", 6 },
	};
	struct host host;
	uint16_t mitm;
	char back[64];

	(void)state;
	host_start(&host, both(), NULL);
	mitm = add_mitm(&host, 2, both());
	for (size_t i = 0; i < KODA_ARRAY_LEN(texts); i++)
		for (int k = 0; k < 2; k++) {
			int fd = tunnel_to(k ? mitm : host.port, "localhost", echo.port);

			put(fd, texts[i].ptr, texts[i].len);
			get(fd, back, texts[i].len);
			assert_memory_equal(back, texts[i].ptr, texts[i].len);
			(void)close(fd);
			(void)host_event(&host, KODA_EGRESS_OK);
		}
	host_stop(&host);
}

/* Where TLS is ended, what is not TLS gets no way around the check. */
static void test_mitm(void **state)
{
	struct host host;
	char answer[512];
	uint16_t port;
	int fd;

	(void)state;
	host_start_bare(&host, NULL);
	port = add_mitm(&host, 1, both());
	passes(port, false, "GET / HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n", false);
	assert_string_equal(host_event(&host, KODA_EGRESS_OK).method, "GET");
	origin_forget();
	fd = tunnel_to(port, "localhost", web.port);
	puts_to(fd, "GET / HTTP/1.1\r\nHost: other.test\r\n\r\n");
	assert_int_equal(get_head(fd, answer, sizeof(answer)), 421);
	assert_false(origin_saw("other.test"));
	(void)close(fd);
	host_stop(&host);
}

/* A client that sends byte by byte gets answers, but cannot assemble a request. */
static void test_letters(void **state)
{
	struct host host;
	char letter;
	char answer[512];
	int fd;

	(void)state;
	host_start(&host, both(), NULL);
	fd = tunnel_to(host.port, "localhost", echo.port);
	for (const char *at = "ls -la\nGET / HTTP/1.1\n"; *at; at++) {
		put(fd, at, 1);
		get(fd, &letter, 1);
		assert_int_equal(letter, *at);
	}
	(void)close(fd);
	assert_int_equal(host_event(&host, KODA_EGRESS_OK).bytes_up, 22);
	origin_forget();
	fd = tunnel_to(host.port, "localhost", web.port);
	puts_to(fd, "ANY / HT");
	for (int i = 0; i < WAIT_MS && !origin_saw("ANY / HT"); i++)
		(void)usleep(1000);
	puts_to(fd, "TP/1.1\r\nHost: other.test\r\n\r\n");
	assert_int_equal(get_head(fd, answer, sizeof(answer)), 421);
	assert_false(origin_saw("HTTP/1.1"));
	(void)close(fd);
	(void)host_event(&host, KODA_EGRESS_MISDIRECTED);
	host_stop(&host);
}

/* A line that never ends. */
static void test_long_line(void **state)
{
	static char line[20000];
	struct host host;
	char answer[512];
	int fd;

	(void)state;
	host_start(&host, both(), NULL);
	memset(line, 'x', sizeof(line));
	memcpy(line, "GET ", 4);
	origin_forget();
	fd = tunnel_to(host.port, "localhost", web.port);
	put(fd, line, sizeof(line));
	(void)get_all(fd, answer, sizeof(answer), true);
	(void)host_event(&host, KODA_EGRESS_BAD_REQUEST);
	(void)close(fd);
	host_stop(&host);
}

/* T-70. A first line of odd bytes that is longer than the proxy keeps, and becomes a request after
 * all. Nothing that ends a line may have reached the server. */
static void test_odd_line(void **state)
{
	static const char rest[] = " / HTTP/1.1\r\nHost: other.test\r\n\r\n";
	static char line[40000];
	struct host host;
	char answer[512];
	int fd;

	(void)state;
	host_start(&host, both(), NULL);
	memset(line, '{', sizeof(line));
	for (int pieces = 0; pieces < 2; pieces++) {
		origin_forget();
		fd = tunnel_to(host.port, "localhost", web.port);
		put(fd, line, sizeof(line));
		for (size_t i = 0; pieces && i < 5; i++) {
			(void)send(fd, rest + i, 1, MSG_NOSIGNAL);
			(void)usleep(1000);
		}
		(void)send(fd, rest + (pieces ? 5 : 0), strlen(rest) - (pieces ? 5 : 0),
			   MSG_NOSIGNAL);
		(void)get_all(fd, answer, sizeof(answer), true);
		(void)close(fd);
		(void)host_event(&host, KODA_EGRESS_BAD_REQUEST);
		assert_false(origin_saw("\r"));
		assert_false(origin_saw("other.test"));
	}
	/* The twin: bytes that never become a request, in both directions at once. */
	fd = tunnel_to(host.port, "localhost", echo.port);
	for (size_t i = 0; i < 100; i++) {
		put(fd, line, sizeof(line));
		get(fd, line, sizeof(line));
	}
	puts_to(fd, "\nGET / HTTP/1.1\r\n");
	get(fd, answer, 17);
	assert_memory_equal(answer, "\nGET / HTTP/1.1\r\n", 17);
	(void)close(fd);
	assert_int_equal(host_event(&host, KODA_EGRESS_OK).bytes_up, 100 * sizeof(line) + 17);
	host_stop(&host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_host),        cmocka_unit_test(test_other_host),
		cmocka_unit_test(test_second_request),  cmocka_unit_test(test_upgrade),
		cmocka_unit_test(test_other_protocols), cmocka_unit_test(test_mitm),
		cmocka_unit_test(test_other_upgrades),  cmocka_unit_test(test_long_line),
		cmocka_unit_test(test_letters),         cmocka_unit_test(test_odd_line),
	};

	return cmocka_run_group_tests(tests, start_servers, stop_servers);
}
