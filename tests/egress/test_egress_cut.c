/* SPDX-License-Identifier: MIT */
/* T-70, T-80. What is broken off is broken off for everybody: no half of an answer looks whole, and
 * nothing goes on for somebody who is gone. */
#include "host.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

static _Atomic bool was_read;
static _Atomic bool origin_left;
static _Atomic bool origin_heard; /* something */

static void cut(int fd)
{
	const struct linger at_once = { .l_onoff = 1, .l_linger = 0 };

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

/* Part of a body without a length, and then a reset. */
static void serve_part(int fd, void *arg)
{
	static const char part[] = "HTTP/1.1 200 OK\r\n\r\npart";

	(void)arg;
	(void)send(fd, part, sizeof(part) - 1, MSG_NOSIGNAL);
	for (int i = 0; i < WAIT_MS && !was_read; i++)
		(void)usleep(1000);
	cut(fd);
}

/* Says nothing until the other side is gone. */
static void serve_nothing(int fd, void *arg)
{
	char bytes[1024];

	(void)arg;
	while (recv(fd, bytes, sizeof(bytes), 0) > 0)
		origin_heard = true;
	origin_left = true;
}

/* More than the receiver reads. */
static void serve_much(int fd, void *arg)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n";
	static const char bytes[65536];
	ssize_t n = send(fd, head, sizeof(head) - 1, MSG_NOSIGNAL);

	(void)arg;
	while (n > 0)
		n = send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL);
}

/* Reads one request, says nothing, and notes how it ends: 1 for an end, -1 for a reset. */
static _Atomic int ended_with;

static void serve_watch(int fd, void *arg)
{
	char bytes[1024];
	ssize_t n;

	(void)arg;
	while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
		origin_note(bytes, (size_t)n);
	ended_with = n == 0 ? 1 : -1;
}

static int send_get(const struct host *host, uint16_t to)
{
	int fd = dial_local(host->port);
	char text[256];

	(void)snprintf(text, sizeof(text),
		       "GET http://127.0.0.1:%u/ HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n", to, to);
	puts_to(fd, text);
	return fd;
}

/* What was cut off does not look whole, neither to the client nor in the event. */
static void test_cut_response(void **state)
{
	struct server origin;
	struct host host;
	char text[512];
	int fd;

	(void)state;
	server_start(&origin, serve_part, NULL);
	host_start(&host, allow_one("127.0.0.1", origin.port), NULL);
	for (int i = 0; i < 2; i++) {
		was_read = false;
		fd = send_get(&host, origin.port);
		assert_int_equal(get_head(fd, text, sizeof(text)), 200);
		while (recv(fd, text, 1, 0) == 1 && text[0] != 't')
			;
		if (i == 1)
			host_rules(&host, 1, allow_one("127.0.0.1", 1));
		was_read = i == 0;
		assert_true(recv(fd, text, sizeof(text), 0) < 0 && errno == ECONNRESET);
		(void)host_event(&host, i ? KODA_EGRESS_RULES_CHANGED : KODA_EGRESS_RESET);
		(void)close(fd);
	}
	was_read = true;
	host_stop(&host);
	server_stop(&origin);
}

/* Nothing is kept for a client that is gone. */
static void test_client_gone(void **state)
{
	struct server origin;
	struct host host;
	int fd;

	(void)state;
	server_start(&origin, serve_nothing, NULL);
	host_start(&host, allow_one("127.0.0.1", origin.port), NULL);
	fd = send_get(&host, origin.port);
	for (int i = 0; i < WAIT_MS && origin.served == 0; i++)
		(void)usleep(1000);
	cut(fd);
	(void)close(fd);
	(void)host_event(&host, KODA_EGRESS_RESET);
	for (int i = 0; i < WAIT_MS && !origin_left; i++)
		(void)usleep(1000);
	assert_true(origin_left);
	host_stop(&host);
	server_stop(&origin);
}

/* Like the above, while the server has not answered the ClientHello. */
static void test_gone_after_hello(void **state)
{
	struct server origin;
	struct host host;
	uint8_t hello[512];
	int fd;

	(void)state;
	origin_left = origin_heard = false;
	server_start(&origin, serve_nothing, NULL);
	host_start(&host, allow_one("localhost", origin.port), NULL);
	fd = tunnel_to(host.port, "localhost", origin.port);
	put(fd, hello, make_hello("localhost", false, hello, sizeof(hello)));
	for (int i = 0; i < WAIT_MS && !origin_heard; i++)
		(void)usleep(1000);
	cut(fd);
	(void)close(fd);
	assert_true(host_event(&host, KODA_EGRESS_RESET).bytes_up > 0);
	for (int i = 0; i < WAIT_MS && !origin_left; i++)
		(void)usleep(1000);
	assert_true(origin_left);
	host_stop(&host);
	server_stop(&origin);
}

/* A request that is refused or ends in its body does not look whole to its origin. */
static void test_cut_request(void **state)
{
	static const struct {
		const char *head;
		const char *first;
		const char *then; /* NULL: the client's end */
		int status;       /* 0: it breaks off itself */
	} rows[] = {
		{ "Transfer-Encoding: chunked", "5\r\nhello\r\n", "5\r\nworld\rX", 400 },
		{ "Transfer-Encoding: chunked", "5;a=b\r\nhello\r\n", "0\r\nHost: x\r\n\r\n", 400 },
		{ "Transfer-Encoding: chunked", "5\r\nhello\r\n0\r\n", NULL, 400 },
		{ "Content-Length: 9", "hello", NULL, 400 },
		/* A reset of one side resets the other. */
		{ "Content-Length: 5\r\nExpect: 100-continue", "hello", "", 0 },
	};
	struct server origin;
	struct host host;
	char text[1024];

	(void)state;
	server_start(&origin, serve_watch, NULL);
	host_start(&host, allow_one("127.0.0.1", origin.port), NULL);
	KODA_EACH(row, rows) {
		int fd = dial_local(host.port);

		origin_forget();
		ended_with = 0;
		(void)snprintf(
			text, sizeof(text),
			"POST http://127.0.0.1:%u/ HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n%s\r\n\r\n%s",
			origin.port, origin.port, row->head, row->first);
		puts_to(fd, text);
		for (int i = 0; i < WAIT_MS && !origin_saw("hello"); i++)
			(void)usleep(1000);
		assert_true(origin_saw("hello"));
		if (row->status == 0)
			cut(fd);
		else if (row->then)
			puts_to(fd, row->then);
		else
			(void)shutdown(fd, SHUT_WR);
		if (row->status)
			assert_int_equal(get_head(fd, text, sizeof(text)), row->status);
		(void)close(fd);
		(void)host_event(&host, row->status ? KODA_EGRESS_BAD_REQUEST : KODA_EGRESS_RESET);
		for (int i = 0; i < WAIT_MS && !ended_with; i++)
			(void)usleep(1000);
		assert_int_equal(ended_with, -1);
		assert_false(origin_saw("world") || origin_saw("0\r\n\r\n") || origin_saw("a=b"));
	}
	host_stop(&host);
	server_stop(&origin);
}

/* A request is reported even if the client resets during the response. */
static void test_none_hidden(void **state)
{
	struct koda_egress_message event;
	struct server origin;
	struct host host;
	char text[256];

	(void)state;
	server_start(&origin, serve_much, NULL);
	host_start(&host, allow_one("127.0.0.1", origin.port), NULL);
	for (int i = 0; i < 200; i++) {
		int fd = send_get(&host, origin.port);

		assert_int_equal(get_head(fd, text, sizeof(text)), 200);
		cut(fd);
		(void)close(fd);
		event = host_event(&host, KODA_EGRESS_RESET);
		assert_string_equal(event.method, "GET");
		assert_string_equal(event.path, "/");
		assert_int_equal(event.status, 200);
	}
	assert_false(host_has_message(&host, 100));
	host_stop(&host);
	server_stop(&origin);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut_response), cmocka_unit_test(test_cut_request),
		cmocka_unit_test(test_client_gone),  cmocka_unit_test(test_gone_after_hello),
		cmocka_unit_test(test_none_hidden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
