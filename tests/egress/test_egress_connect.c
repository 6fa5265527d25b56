/* SPDX-License-Identifier: MIT */
/* T-33. Tunnels by CONNECT: what is let through, and its twin that is not. */
#include "host.h"

#include <sys/socket.h>
#include <unistd.h>

static void test_allowed(void **state)
{
	struct server echo;
	struct host host;
	char text[16];
	int fd;
	struct koda_egress_message event;

	(void)state;
	server_start(&echo, serve_echo, NULL);
	host_start(&host, allow_one("127.0.0.1", echo.port), NULL);
	fd = tunnel_to(host.port, "127.0.0.1", echo.port);
	puts_to(fd, "hello");
	get(fd, text, 5);
	assert_memory_equal(text, "hello", 5);
	(void)shutdown(fd, SHUT_WR);
	get_end(fd);
	(void)close(fd);
	event = host_event(&host, KODA_EGRESS_OK);
	assert_int_equal(event.verdict, KODA_EGRESS_ALLOW);
	assert_int_equal(event.id, 1);
	assert_string_equal(event.host, "127.0.0.1");
	assert_string_equal(event.address, "127.0.0.1");
	assert_int_equal(event.port, echo.port);
	assert_int_equal(event.bytes_up, 5);
	assert_int_equal(event.bytes_down, 5);
	host_stop(&host);
	server_stop(&echo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allowed),
	};

	return KODA_TEST_RUN(tests);
}
