/* SPDX-License-Identifier: MIT */
/* T-80. SOCKS5: names and addresses under the rules, with SOCKS replies. */
#include "host.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

/* Greeting and request for a name, an IPv4 (4 bytes) or an IPv6 address (16); its length. */
static size_t make_request(uint8_t *out, uint8_t command, uint8_t type, const void *address,
			   size_t len, uint16_t port)
{
	size_t at = 0;

	memcpy(out, "\x05\x01\x00\x05", 4);
	out[4] = command;
	out[5] = 0;
	out[6] = type;
	at = 7;
	if (type == 3)
		out[at++] = (uint8_t)len;
	memcpy(out + at, address, len);
	at += len;
	out[at++] = (uint8_t)(port >> 8);
	out[at++] = (uint8_t)port;
	return at;
}

/* Sends it all at once; the reply code. */
static int ask(uint16_t port, const uint8_t *request, size_t len, int *ret_fd)
{
	uint8_t reply[12];
	int fd = dial_local(port);

	put(fd, request, len);
	get(fd, reply, 2);
	assert_int_equal(reply[0], 5);
	assert_int_equal(reply[1], 0);
	get(fd, reply, 10);
	if (ret_fd)
		*ret_fd = fd;
	else
		(void)close(fd);
	return reply[1];
}

static void expect_echo(struct host *host, int fd)
{
	char text[8];

	puts_to(fd, "hello");
	get(fd, text, 5);
	assert_memory_equal(text, "hello", 5);
	(void)shutdown(fd, SHUT_WR);
	get_end(fd);
	(void)close(fd);
	(void)host_event(host, KODA_EGRESS_OK);
}

static void test_allowed_and_refused(void **state)
{
	struct host host;
	uint8_t request[512];
	char net[128];
	size_t len;
	int fd;

	(void)state;
	(void)snprintf(net, sizeof(net), "\"allowed_domains\":[\"localhost:%u\",\"127.0.0.1\"]",
		       echo.port);
	host_start(&host, net, NULL);
	len = make_request(request, 1, 3, "localhost", 9, echo.port);
	assert_int_equal(ask(host.port, request, len, &fd), 0);
	expect_echo(&host, fd);
	len = make_request(request, 1, 1, "\x7f\x00\x00\x01", 4, echo.port);
	assert_int_equal(ask(host.port, request, len, &fd), 0);
	expect_echo(&host, fd);
	/* Loopback again, as IPv6 spells it. */
	len = make_request(request, 1, 4, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\x00\x00\x01", 16,
			   echo.port);
	assert_int_equal(ask(host.port, request, len, &fd), 0);
	expect_echo(&host, fd);
	len = make_request(request, 1, 3, "evil.example", 12, echo.port);
	assert_int_equal(ask(host.port, request, len, NULL), 2);
	(void)host_event(&host, KODA_EGRESS_NOT_LISTED);
	len = make_request(request, 1, 4, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01", 16, echo.port);
	assert_int_equal(ask(host.port, request, len, NULL), 2);
	(void)host_event(&host, KODA_EGRESS_NOT_LISTED);
	/* A port without a listener. */
	len = make_request(request, 1, 1, "\x7f\x00\x00\x01", 4, 1);
	assert_int_equal(ask(host.port, request, len, NULL), 5);
	(void)host_event(&host, KODA_EGRESS_CONNECT_FAILED);
	host_stop(&host);
}

static void test_bad(void **state)
{
	struct host host;
	uint8_t request[512];
	size_t len;

	(void)state;
	host_start(&host, allow_one("127.0.0.1", echo.port), NULL);
	len = make_request(request, 2, 1, "\x7f\x00\x00\x01", 4, echo.port);
	assert_int_equal(ask(host.port, request, len, NULL), 7);
	(void)host_event(&host, KODA_EGRESS_BAD_REQUEST);
	/* A NUL and a line end inside a name. */
	len = make_request(request, 1, 3, "127.0.0.1\0.evil.example", 23, echo.port);
	assert_int_not_equal(ask(host.port, request, len, NULL), 0);
	(void)host_event(&host, KODA_EGRESS_BAD_REQUEST);
	len = make_request(request, 1, 3, "a\r\nHost: b", 10, echo.port);
	assert_int_not_equal(ask(host.port, request, len, NULL), 0);
	(void)host_event(&host, KODA_EGRESS_BAD_REQUEST);
	host_stop(&host);
}

static void test_split_anywhere(void **state)
{
	const int on = 1;
	struct host host;
	uint8_t request[512];
	uint8_t reply[17];
	size_t len;

	(void)state;
	host_start(&host, allow_one("127.0.0.1", echo.port), NULL);
	len = make_request(request, 1, 1, "\x7f\x00\x00\x01", 4, echo.port);
	memcpy(request + len, "hello", 5); /* early data */
	len += 5;
	for (size_t cut = 1; cut < len; cut++) {
		int fd = dial_local(host.port);

		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		put(fd, request, cut);
		(void)poll(NULL, 0, 1);
		put(fd, request + cut, len - cut);
		get(fd, reply, sizeof(reply));
		assert_memory_equal(reply, "\x05\x00\x05\x00", 4);
		assert_memory_equal(reply + 12, "hello", 5);
		(void)close(fd);
	}
	host_stop(&host);
}

/* The version before is refused at once, in its own words. */
static void test_version_4(void **state)
{
	char answer[64];
	struct host host;
	int fd;

	(void)state;
	host_start(&host, allow_one("127.0.0.1", echo.port), NULL);
	fd = dial_local(host.port);
	put(fd, "\4\1\0\x50\x7f\0\0\1", 8);
	assert_int_equal(get_all(fd, answer, sizeof(answer), false), 8);
	assert_memory_equal(answer, "\0\x5b", 2);
	(void)host_event(&host, KODA_EGRESS_BAD_REQUEST);
	(void)close(fd);
	host_stop(&host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allowed_and_refused),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_version_4),
		cmocka_unit_test(test_split_anywhere),
	};

	return cmocka_run_group_tests(tests, start_echo, stop_echo);
}
