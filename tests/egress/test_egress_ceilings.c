/* SPDX-License-Identifier: MIT */
/*
 * T-83. How many there may be of what, tried with a proxy that has room for 16 connections, 6 of
 * one sandbox while half of all are free, and 4 sandboxes. Connections above a limit wait, and no
 * others do.
 */
#include "host.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define OF_ONE 6
#define OF_ALL 16

static bool has_answer(int fd)
{
	struct pollfd polled = { .fd = fd, .events = POLLIN };

	return poll(&polled, 1, 300) == 1;
}

/* Asks for a tunnel and does not wait for the answer. */
static int ask_tunnel(uint16_t port)
{
	char text[256];
	int fd = dial_local(port);

	(void)snprintf(text, sizeof(text),
		       "CONNECT 127.0.0.1:%u HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n", echo.port,
		       echo.port);
	puts_to(fd, text);
	return fd;
}

static void test_of_one_sandbox(void **state)
{
	struct koda_egress_message event;
	struct host host;
	uint16_t other;
	char text[256];
	int fds[OF_ONE];
	int waiting;
	int fd;

	(void)state;
	host_start(&host, allow_one("127.0.0.1", echo.port), NULL);
	other = host_add(&host, 2, 0, allow_one("127.0.0.1", echo.port));
	for (int i = 0; i < OF_ONE; i++)
		fds[i] = tunnel_to(host.port, "127.0.0.1", echo.port);
	event = host_event(&host, KODA_EGRESS_LIMIT);
	assert_int_equal(event.id, 1);
	waiting = ask_tunnel(host.port);
	assert_false(has_answer(waiting));
	for (int i = 0; i < OF_ONE; i++)
		echo_once(fds[i]);
	/* Another sandbox has its own. */
	fd = tunnel_to(other, "127.0.0.1", echo.port);
	echo_once(fd);
	(void)close(fd);
	/* One goes, the one that waits comes. */
	(void)close(fds[0]);
	assert_int_equal(get_head(waiting, text, sizeof(text)), 200);
	echo_once(waiting);
	(void)close(waiting);
	for (int i = 1; i < OF_ONE; i++)
		(void)close(fds[i]);
	host_stop(&host);
}

/* As many tunnels as one sandbox gets; how many. */
static int take_all(uint16_t port, int *fds, int room)
{
	char text[256];
	int count = 0;

	while (count < room) {
		fds[count] = ask_tunnel(port);
		if (!has_answer(fds[count]))
			break;
		assert_int_equal(get_head(fds[count], text, sizeof(text)), 200);
		count++;
	}
	return count;
}

/* Two that want everything get half of it, and leave what is others' share. */
static void test_of_all(void **state)
{
	struct host host;
	uint16_t ports[4];
	char text[256];
	int fds[4][OF_ALL];
	int counts[4];

	(void)state;
	host_start(&host, allow_one("127.0.0.1", echo.port), NULL);
	ports[0] = host.port;
	for (uint32_t i = 1; i < 4; i++)
		ports[i] = host_add(&host, i + 1, 0, allow_one("127.0.0.1", echo.port));
	for (size_t i = 0; i < 4; i++)
		counts[i] = take_all(ports[i], fds[i], OF_ALL);
	assert_int_equal(counts[0], OF_ONE);
	assert_int_equal(counts[1], OF_ALL / 2 - OF_ONE);
	assert_int_equal(counts[2], 1);
	assert_int_equal(counts[3], 1);
	for (size_t i = 0; i < 4; i++)
		for (int n = 0; n < counts[i]; n++)
			echo_once(fds[i][n]);
	/* A waiting client is accepted when any connection ends. */
	for (int n = 0; n < counts[0]; n++)
		(void)close(fds[0][n]);
	(void)close(fds[0][counts[0]]);
	for (size_t i = 1; i < 4; i++) {
		assert_int_equal(get_head(fds[i][counts[i]], text, sizeof(text)), 200);
		echo_once(fds[i][counts[i]]);
	}
	for (size_t i = 1; i < 4; i++)
		for (int n = 0; n <= counts[i]; n++)
			(void)close(fds[i][n]);
	host_stop(&host);
}

/* Silent clients occupy their places only until the deadline. */
static void test_silent_crowd(void **state)
{
	struct host host;
	char text[256];
	int fds[OF_ONE];
	int waiting;

	(void)state;
	host_start(&host, allow_one("127.0.0.1", echo.port), NULL);
	for (int i = 0; i < OF_ONE; i++)
		fds[i] = dial_local(host.port);
	waiting = ask_tunnel(host.port);
	assert_int_equal(get_head(waiting, text, sizeof(text)), 200);
	echo_once(waiting);
	(void)close(waiting);
	for (int i = 0; i < OF_ONE; i++) {
		get_end(fds[i]);
		(void)close(fds[i]);
	}
	host_stop(&host);
}

/* Large heads have a budget; ordinary ones do not come into it. */
static void test_large_heads(void **state)
{
	static char head[60000];
	struct host host;
	char text[256];
	int fds[4];
	int ended = 0;
	int fd;

	(void)state;
	host_start(&host, allow_one("127.0.0.1", echo.port), NULL);
	memset(head, 'x', sizeof(head));
	memcpy(head, "GET http://a/ HTTP/1.1\r\nX: ", 27);
	for (int i = 0; i < 4; i++) {
		fds[i] = dial_local(host.port);
		(void)send(fds[i], head, sizeof(head), MSG_NOSIGNAL);
	}
	for (int i = 0; i < 4; i++)
		ended += has_answer(fds[i]);
	assert_true(ended >= 1 && ended < 4);
	fd = ask_tunnel(host.port);
	assert_int_equal(get_head(fd, text, sizeof(text)), 200);
	echo_once(fd);
	(void)close(fd);
	for (int i = 0; i < 4; i++)
		(void)close(fds[i]);
	/* No connection is open: there is room for one again. */
	fd = dial_local(host.port);
	put(fd, head, sizeof(head));
	puts_to(fd, "\r\nHost: a\r\n\r\n");
	assert_int_equal(get_head(fd, text, sizeof(text)), 403);
	(void)close(fd);
	host_stop(&host);
}

static void test_sandboxes(void **state)
{
	struct koda_egress_message remove = { .kind = KODA_EGRESS_REMOVE, .id = 2 };
	struct host host;
	int fd;

	(void)state;
	host_start(&host, allow_one("127.0.0.1", echo.port), NULL);
	for (uint32_t id = 2; id <= 4; id++)
		(void)host_add(&host, id, 0, allow_one("127.0.0.1", echo.port));
	(void)host_send_add(&host, 5, 0, allow_one("127.0.0.1", echo.port));
	assert_string_equal(host_expect(&host, KODA_EGRESS_REFUSED).text, "too many sandboxes");
	host_send(&host, &remove, NULL, 0);
	(void)host_expect(&host, KODA_EGRESS_GONE);
	fd = tunnel_to(host_add(&host, 5, 0, allow_one("127.0.0.1", echo.port)), "127.0.0.1",
		       echo.port);
	echo_once(fd);
	(void)close(fd);
	host_stop(&host);
}

/* A head with so many fields, for CONNECT and for plain requests; the status. */
static int ask_fields(struct host *host, const char *line, int fields)
{
	static char text[65536];
	size_t len = (size_t)snprintf(text, sizeof(text), "%s", line);
	int status;
	int fd = dial_local(host->port);

	for (int i = 0; i < fields; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "F%d: x\r\n", i);
	(void)snprintf(text + len, sizeof(text) - len, "\r\n");
	puts_to(fd, text);
	status = get_head(fd, text, sizeof(text));
	(void)close(fd);
	return status;
}

static void test_fields(void **state)
{
	static const char *const lines[] = {
		"CONNECT nowhere.test:1 HTTP/1.1\r\nHost: nowhere.test:1\r\n",
		"GET http://nowhere.test/ HTTP/1.1\r\nHost: nowhere.test\r\n",
	};
	struct host host;

	(void)state;
	host_start(&host, allow_one("127.0.0.1", echo.port), NULL);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(ask_fields(&host, lines[i], 199), 403);
		(void)host_event(&host, KODA_EGRESS_NOT_LISTED);
		assert_int_equal(ask_fields(&host, lines[i], 200), 431);
		(void)host_event(&host, KODA_EGRESS_HEAD_TOO_LARGE);
	}
	host_stop(&host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_of_one_sandbox), cmocka_unit_test(test_of_all),
		cmocka_unit_test(test_silent_crowd),   cmocka_unit_test(test_sandboxes),
		cmocka_unit_test(test_fields),         cmocka_unit_test(test_large_heads),
	};

	return cmocka_run_group_tests(tests, start_echo, stop_echo);
}
