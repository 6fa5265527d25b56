/* SPDX-License-Identifier: MIT */
/* T-80. Plain HTTP through the proxy: every request is decided, also on a connection that was kept.
 */
#include "host.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

/* Reads one head; its length, 0 at the end. */
static size_t read_head(int fd, char *out, size_t size)
{
	(void)get_head(fd, out, size);
	return strlen(out);
}

/* A small HTTP server: says back the request line and its Host, or upgrades. */
static void serve_http(int fd, void *arg)
{
	char head[4096];
	char body[8192];

	(void)arg;
	while (read_head(fd, head, sizeof(head)) > 0) {
		const char *length = strstr(head, "Content-Length: ");
		size_t left = length ? strtoul(length + 16, NULL, 10) : 0;
		int line = (int)strcspn(head, "\r");
		char answer[8192];
		int n;

		while (left > 0) {
			ssize_t got = recv(fd, body, left < sizeof(body) ? left : sizeof(body), 0);

			if (got <= 0)
				return;
			left -= (size_t)got;
		}
		if (strstr(head, "Upgrade: websocket")) {
			(void)snprintf(answer, sizeof(answer),
				       "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\n"
				       "Upgrade: websocket\r\n\r\n");
			(void)send(fd, answer, strlen(answer), MSG_NOSIGNAL);
			serve_echo(fd, NULL);
			return;
		}
		n = snprintf(answer, sizeof(answer),
			     "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%.*s", line,
			     line < 4000 ? line : 4000, head);
		if (strstr(head, "Via") || strstr(head, "Proxy-"))
			n = snprintf(answer, sizeof(answer),
				     "HTTP/1.1 500 Leak\r\nContent-Length: 0\r\n\r\n");
		if (send(fd, answer, (size_t)n, MSG_NOSIGNAL) != n)
			return;
	}
}

static struct server web;

static int start_web(void **state)
{
	(void)state;
	server_start(&web, serve_http, NULL);
	return 0;
}

static int stop_web(void **state)
{
	(void)state;
	server_stop(&web);
	return 0;
}

static void send_get(int fd, const char *host, uint16_t port, const char *path)
{
	char text[512];

	(void)snprintf(text, sizeof(text),
		       "GET http://%s:%u%s HTTP/1.1\r\nHost: %s:%u\r\n"
		       "Proxy-Connection: keep-alive\r\n\r\n",
		       host, port, path, host, port);
	puts_to(fd, text);
}

/* The body of a response of the server above. */
static int get_response(int fd, char *body, size_t size)
{
	char head[4096];
	int status = get_head(fd, head, sizeof(head));
	const char *length = strstr(head, "Content-Length: ");
	size_t len = length ? strtoul(length + 16, NULL, 10) : 0;

	assert_true(len < size);
	get(fd, body, len);
	body[len] = '\0';
	return status;
}

static void test_forward(void **state)
{
	struct koda_egress_message event;
	struct host host;
	char body[512];
	int fd;

	(void)state;
	host_start(&host, allow_one("127.0.0.1", web.port), NULL);
	fd = dial_local(host.port);
	for (int i = 0; i < 3; i++) {
		send_get(fd, "127.0.0.1", web.port, "/a/b?secret=1");
		assert_int_equal(get_response(fd, body, sizeof(body)), 200);
		assert_string_equal(body, "GET /a/b?secret=1 HTTP/1.1");
		event = host_event(&host, KODA_EGRESS_OK);
		assert_string_equal(event.method, "GET");
		assert_string_equal(event.path, "/a/b");
		assert_string_equal(event.host, "127.0.0.1");
		assert_string_equal(event.address, "127.0.0.1");
		assert_int_equal(event.port, web.port);
		assert_int_equal(event.status, 200);
	}
	(void)close(fd);
	assert_int_equal(web.served, 1); /* one connection for all of them */
	host_stop(&host);
}

/* The second request on a kept connection goes elsewhere: it is refused like a first one. */
static void test_kept_is_decided_again(void **state)
{
	struct host host;
	char text[4096];
	int fd;

	(void)state;
	host_start(&host, allow_one("127.0.0.1", web.port), NULL);
	fd = dial_local(host.port);
	send_get(fd, "127.0.0.1", web.port, "/");
	assert_int_equal(get_response(fd, text, sizeof(text)), 200);
	(void)host_event(&host, KODA_EGRESS_OK);
	send_get(fd, "example.com", 80, "/");
	assert_int_equal(get_head(fd, text, sizeof(text)), 403);
	assert_non_null(strstr(text, "X-Koda-Reason: not_listed"));
	(void)host_event(&host, KODA_EGRESS_NOT_LISTED);
	(void)close(fd);
	/* A request to that host is decided anew after the rules have changed. */
	fd = dial_local(host.port);
	send_get(fd, "127.0.0.1", web.port, "/");
	assert_int_equal(get_response(fd, text, sizeof(text)), 200);
	(void)host_event(&host, KODA_EGRESS_OK);
	host_rules(&host, 1, "\"allowed_domains\":[\"a.example\"]");
	while (host_next(&host).kind != KODA_EGRESS_RULED)
		;
	get_end(fd);
	(void)close(fd);
	host_stop(&host);
}

static void test_host_must_agree(void **state)
{
	struct host host;
	char text[4096];
	int fd;

	(void)state;
	host_start(&host, allow_one("127.0.0.1", web.port), NULL);
	fd = dial_local(host.port);
	(void)snprintf(text, sizeof(text),
		       "GET http://127.0.0.1:%u/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", web.port);
	puts_to(fd, text);
	assert_int_equal(get_head(fd, text, sizeof(text)), 400);
	(void)host_event(&host, KODA_EGRESS_BAD_REQUEST);
	(void)close(fd);
	host_stop(&host);
}

static void test_smuggling(void **state)
{
	static const char *const tails[] = {
		"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
		"Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n",
		"X: a\r\n b\r\n\r\n",
		"Content-Length : 5\r\n\r\nhello",
		"Content-Length: +5\r\n\r\nhello",
	};
	unsigned int before = web.served;
	struct host host;
	char text[4096];

	(void)state;
	host_start(&host, allow_one("127.0.0.1", web.port), NULL);
	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		int fd = dial_local(host.port);

		(void)snprintf(text, sizeof(text),
			       "POST http://127.0.0.1:%u/ HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n%s",
			       web.port, web.port, tails[i]);
		puts_to(fd, text);
		if (get_head(fd, text, sizeof(text)) != 400)
			fail_msg("%s: %s", tails[i], text);
		(void)host_event(&host, KODA_EGRESS_BAD_REQUEST);
		(void)close(fd);
	}
	assert_int_equal(web.served, before);
	host_stop(&host);
}

/* Two requests, cut at every byte. */
static void test_split_anywhere(void **state)
{
	const int on = 1;
	struct host host;
	char request[512];
	char body[512];
	int len;

	(void)state;
	host_start(&host, allow_one("127.0.0.1", web.port), NULL);
	len = snprintf(request, sizeof(request),
		       "POST http://127.0.0.1:%u/one HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
		       "Content-Length: 5\r\n\r\nhelloGET http://127.0.0.1:%u/two HTTP/1.1\r\n"
		       "Host: 127.0.0.1:%u\r\n\r\n",
		       web.port, web.port, web.port, web.port);
	for (int cut = 1; cut < len; cut++) {
		int fd = dial_local(host.port);

		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		put(fd, request, (size_t)cut);
		(void)poll(NULL, 0, 1);
		put(fd, request + cut, (size_t)(len - cut));
		if (get_response(fd, body, sizeof(body)) != 200 ||
		    strcmp(body, "POST /one HTTP/1.1") != 0)
			fail_msg("cut at %d: %s", cut, body);
		if (get_response(fd, body, sizeof(body)) != 200 ||
		    strcmp(body, "GET /two HTTP/1.1") != 0)
			fail_msg("cut at %d: %s", cut, body);
		(void)close(fd);
		assert_string_equal(host_event(&host, KODA_EGRESS_OK).path, "/one");
		assert_string_equal(host_event(&host, KODA_EGRESS_OK).path, "/two");
	}
	host_stop(&host);
}

static void test_upgrade(void **state)
{
	struct host host;
	char text[1024];
	int fd;

	(void)state;
	host_start(&host, allow_one("127.0.0.1", web.port), NULL);
	fd = dial_local(host.port);
	(void)snprintf(text, sizeof(text),
		       "GET http://127.0.0.1:%u/ws HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
		       "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
		       web.port, web.port);
	puts_to(fd, text);
	assert_int_equal(get_head(fd, text, sizeof(text)), 101);
	for (int i = 0; i < 100; i++) {
		puts_to(fd, "frame");
		get(fd, text, 5);
		assert_memory_equal(text, "frame", 5);
	}
	(void)shutdown(fd, SHUT_WR);
	get_end(fd);
	(void)close(fd);
	host_stop(&host);
}

static void test_big_body(void **state)
{
	static char block[65536];
	struct koda_egress_message event;
	struct host host;
	char text[1024];
	int fd;

	(void)state;
	host_start(&host, allow_one("127.0.0.1", web.port), NULL);
	fd = dial_local(host.port);
	(void)snprintf(text, sizeof(text),
		       "PUT http://127.0.0.1:%u/big HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
		       "Content-Length: %zu\r\n\r\n",
		       web.port, web.port, 256 * sizeof(block));
	puts_to(fd, text);
	for (int i = 0; i < 256; i++)
		put(fd, block, sizeof(block));
	assert_int_equal(get_response(fd, text, sizeof(text)), 200);
	event = host_event(&host, KODA_EGRESS_OK);
	assert_int_equal(event.bytes_up, 256 * sizeof(block));
	(void)close(fd);
	host_stop(&host);
}

/* A CONNECT may follow on a kept connection. */
static void test_connect_after_get(void **state)
{
	struct host host;
	char text[1024];
	int fd;

	(void)state;
	host_start(&host, allow_one("127.0.0.1", web.port), NULL);
	fd = dial_local(host.port);
	send_get(fd, "127.0.0.1", web.port, "/");
	assert_int_equal(get_response(fd, text, sizeof(text)), 200);
	(void)host_event(&host, KODA_EGRESS_OK);
	(void)snprintf(text, sizeof(text),
		       "CONNECT 127.0.0.1:%u HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n"
		       "GET /inner HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n",
		       web.port, web.port, web.port);
	puts_to(fd, text);
	assert_int_equal(get_head(fd, text, sizeof(text)), 200);
	assert_int_equal(get_response(fd, text, sizeof(text)), 200);
	assert_int_equal(strncmp(text, "GET /inner HTTP/1.1", 19), 0);
	(void)close(fd);
	host_stop(&host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forward),
		cmocka_unit_test(test_kept_is_decided_again),
		cmocka_unit_test(test_host_must_agree),
		cmocka_unit_test(test_smuggling),
		cmocka_unit_test(test_split_anywhere),
		cmocka_unit_test(test_upgrade),
		cmocka_unit_test(test_big_body),
		cmocka_unit_test(test_connect_after_get),
	};

	return cmocka_run_group_tests(tests, start_web, stop_web);
}
