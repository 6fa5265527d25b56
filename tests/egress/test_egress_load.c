/* SPDX-License-Identifier: MIT */
/* T-83. Many connections, slow ones, and none to be had: nobody is held up for long, nothing ends.
 */
#include "host.h"

#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define MANY 2000

static int start_many(void **state)
{
	allow_many_files();
	return start_echo(state);
}

/* All open at once, each of them alive. */
static void test_many(void **state)
{
	static int fds[MANY];
	struct rlimit files;
	struct host host;
	unsigned int told = 0;

	(void)state;
	/* A tunnel takes two descriptors of the proxy's, and both ends of its connections are here.
	 */
	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_max < 3 * MANY)
		skip();
	host_start(&host, allow_one("127.0.0.1", echo.port), NULL);
	for (int i = 0; i < MANY; i++)
		fds[i] = tunnel_to(host.port, "127.0.0.1", echo.port);
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < MANY; i++)
			echo_once(fds[i]);
	for (int i = 0; i < MANY; i++)
		(void)close(fds[i]);
	/* The test did not read events meanwhile, so some were dropped and counted. */
	while (host_has_message(&host, 500))
		told += 1 + host_event(&host, KODA_EGRESS_OK).dropped;
	(void)close(tunnel_to(host.port, "127.0.0.1", echo.port));
	told += host_event(&host, KODA_EGRESS_OK).dropped;
	assert_int_equal(told, MANY);
	host_stop(&host);
}

/* Clients that say nothing use up all descriptors; the proxy says so. */
static int fill_up(struct host *host, int *fds, int max)
{
	for (int i = 0; i < max; i++) {
		fds[i] = dial_local(host->port);
		if (host_has_message(host, 20)) {
			assert_string_equal(host_event(host, KODA_EGRESS_LIMIT).text,
					    "no descriptors are left");
			return i + 1;
		}
	}
	fail_msg("%d connections, and there are still descriptors", max);
	return 0;
}

/* The proxy runs out of descriptors, and later there are some again. */
static void test_no_descriptors(void **state)
{
	struct rlimit few = { .rlim_cur = 60 };
	struct rlimit before;
	struct host host;
	int fds[100];
	int count;
	int alive;
	int waiting;
	char byte;

	(void)state;
	host_start(&host, allow_one("127.0.0.1", echo.port), NULL);
	assert_int_equal(prlimit(host.proc.pid, RLIMIT_NOFILE, NULL, &before), 0);
	few.rlim_max = before.rlim_max;
	assert_int_equal(prlimit(host.proc.pid, RLIMIT_NOFILE, &few, NULL), 0);
	alive = tunnel_to(host.port, "127.0.0.1", echo.port);
	count = fill_up(&host, fds, 100);
	get_end(fds[count - 1]); /* turned away */
	echo_once(alive);
	/* A client that connects now waits or is closed; it must not be forgotten. */
	waiting = dial_local(host.port);
	puts_to(waiting, "CONNECT nowhere.example:1 HTTP/1.1\r\nHost: nowhere.example:1\r\n\r\n");
	for (int i = 0; i < count; i++)
		(void)close(fds[i]);
	assert_true(recv(waiting, &byte, 1, 0) >= 0 || errno == ECONNRESET);
	(void)close(waiting);
	echo_once(alive);
	(void)close(alive);
	for (int i = 0; i < 10; i++)
		(void)close(tunnel_to(host.port, "127.0.0.1", echo.port));
	host_stop(&host);
}

/* Clients that say nothing, too little, or a byte at a time are cut off; others are served. */
static void test_slow(void **state)
{
	uint8_t hello[512];
	struct host host;
	char text[512];
	int silent;
	int slow;
	int half;
	int seconds;

	(void)state;
	host_start(&host, allow_one("127.0.0.1", echo.port), NULL);
	silent = dial_local(host.port);
	slow = dial_local(host.port);
	half = tunnel_to(host.port, "127.0.0.1", echo.port);
	(void)make_hello(NULL, false, hello, sizeof(hello));
	put(half, hello, 20);
	puts_to(slow, "CONNECT 127.0.0.1");
	for (seconds = 0; seconds < 30; seconds++) {
		struct pollfd polled[] = { { .fd = slow, .events = POLLIN } };
		int fd = tunnel_to(host.port, "127.0.0.1", echo.port);

		echo_once(fd);
		(void)close(fd);
		if (poll(polled, 1, 1000) == 1)
			break;
		(void)send(slow, "1", 1, MSG_NOSIGNAL);
	}
	assert_int_equal(get_head(slow, text, sizeof(text)), 408);
	get_end(silent);
	get_end(half);
	(void)close(silent);
	(void)close(slow);
	(void)close(half);
	host_stop(&host);
}

/* A client that does not read holds up its own tunnel and no other. */
static void test_reader_that_stops(void **state)
{
	static char block[65536];
	struct timeval brief = { .tv_usec = 200000 };
	struct host host;
	int stuck;
	int fd;

	(void)state;
	host_start(&host, allow_one("127.0.0.1", echo.port), NULL);
	stuck = tunnel_to(host.port, "127.0.0.1", echo.port);
	(void)setsockopt(stuck, SOL_SOCKET, SO_SNDTIMEO, &brief, sizeof(brief));
	for (int i = 0; i < 1024 && send(stuck, block, sizeof(block), MSG_NOSIGNAL) > 0; i++)
		;
	fd = tunnel_to(host.port, "127.0.0.1", echo.port);
	for (int i = 0; i < 100; i++)
		echo_once(fd);
	(void)close(fd);
	(void)close(stuck);
	host_stop(&host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_no_descriptors),
		cmocka_unit_test(test_slow),
		cmocka_unit_test(test_reader_that_stops),
	};

	return cmocka_run_group_tests(tests, start_many, stop_echo);
}
