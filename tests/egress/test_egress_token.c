/* SPDX-License-Identifier: MIT */
/* T-37. A listener that others can reach: connections begin with the token, or end. */
#include "host.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define TOKEN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* Asks for a tunnel on a connection that begins with this text; the status, 0 for none. */
static int ask(int fd, const char *begin)
{
	char request[512];
	char head[1024];

	(void)snprintf(request, sizeof(request),
		       "%sCONNECT 127.0.0.1:%u HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n", begin,
		       echo.port, echo.port);
	puts_to(fd, request);
	return get_head(fd, head, sizeof(head));
}

static void test_with_token(void **state)
{
	struct host host;
	char byte = 'x';
	uint16_t port;
	int fd;

	(void)state;
	host_start_bare(&host, NULL);
	port = host_add_token(&host, 1, TOKEN, allow_one("127.0.0.1", echo.port));
	fd = dial_local(port);
	assert_int_equal(ask(fd, TOKEN), 200);
	put(fd, &byte, 1);
	get(fd, &byte, 1);
	(void)close(fd);
	(void)host_event(&host, KODA_EGRESS_OK);
	/* A byte at a time. */
	fd = dial_local(port);
	for (size_t i = 0; i < strlen(TOKEN); i++)
		put(fd, &TOKEN[i], 1);
	assert_int_equal(ask(fd, ""), 200);
	(void)close(fd);
	host_stop(&host);
}

static void test_without_token(void **state)
{
	static const struct {
		const char *name;
		const char *begin;
	} rows[] = {
		{ "no token", "" },
		{ "another", "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" },
		{ "different at the end",
		  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde0" },
		{ "something before it", "x" TOKEN },
		{ "too short", "0123456789abcdef" },
	};
	struct host host;
	uint16_t port;

	(void)state;
	host_start_bare(&host, NULL);
	port = host_add_token(&host, 1, TOKEN, allow_one("127.0.0.1", echo.port));
	KODA_EACH(row, rows) {
		struct koda_egress_message event;
		char text[256];
		char rest[64];
		int fd = dial_local(port);

		(void)snprintf(text, sizeof(text),
			       "%sCONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: 127.0.0.1:1\r\n"
			       "User-Agent: somebody else\r\n\r\n",
			       row->begin);
		puts_to(fd, text);
		KODA_EXPECT(row->name, get_all(fd, rest, sizeof(rest), true) == 0);
		event = host_event(&host, KODA_EGRESS_NO_TOKEN);
		KODA_EXPECT(row->name, event.verdict == KODA_EGRESS_DENY);
		(void)close(fd);
	}
	KODA_EXPECT("nobody was reached", echo.served == 0);
	host_stop(&host);
}

/* No answer to a part of a token, or each digit could be found out by itself. */
static void test_part(void **state)
{
	static const char *const parts[] = { "0", "x", "0123456789abcdef", "0123456789abcdex" };
	struct host host;
	uint16_t port;
	char rest[64];

	(void)state;
	host_start_bare(&host, NULL);
	port = host_add_token(&host, 1, TOKEN, allow_one("127.0.0.1", echo.port));
	KODA_EACH(part, parts) {
		int fd = dial_local(port);
		int other = dial_local(port);

		puts_to(fd, *part);
		/* A later client was served, so the proxy has seen the partial token. */
		assert_int_equal(ask(other, TOKEN), 200);
		(void)close(other);
		(void)host_event(&host, KODA_EGRESS_OK);
		KODA_EXPECT(*part,
			    recv(fd, rest, sizeof(rest), MSG_DONTWAIT) < 0 && errno == EAGAIN);
		/* The end decides, for a right part as for a wrong one. */
		(void)shutdown(fd, SHUT_WR);
		KODA_EXPECT(*part, get_all(fd, rest, sizeof(rest), true) == 0);
		(void)host_event(&host, KODA_EGRESS_NO_TOKEN);
		(void)close(fd);
	}
	host_stop(&host);
}

static void test_orders(void **state)
{
	struct host host;
	int status;

	(void)state;
	host_start(&host, allow_one("127.0.0.1", echo.port), NULL);
	/* An empty token would match every connection. */
	(void)host_send_add(&host, 2, KODA_EGRESS_TOKEN, allow_one("127.0.0.1", echo.port));
	(void)host_expect(&host, KODA_EGRESS_REFUSED);
	/* One sandbox's token is nothing to another, which has none. */
	(void)close(connect_through(host.port, "127.0.0.1:1", &status));
	assert_int_equal(status, 403);
	host_stop(&host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_token),
		cmocka_unit_test(test_with_token),
		cmocka_unit_test(test_part),
		cmocka_unit_test(test_orders),
	};

	return cmocka_run_group_tests(tests, start_echo, stop_echo);
}
