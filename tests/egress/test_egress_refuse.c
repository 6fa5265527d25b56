/* SPDX-License-Identifier: MIT */
/* T-80. Each refusal with its status, its reason and its event, beside a twin that is let through.
 */
#include "host.h"

#include <sys/socket.h>
#include <unistd.h>

/* Sends raw bytes; the whole answer. */
static int ask_raw(uint16_t port, const char *request, size_t len, char *out, size_t size)
{
	int fd = dial_local(port);

	put(fd, request, len);
	(void)get_all(fd, out, size, true);
	(void)close(fd);
	return strncmp(out, "HTTP/1.1 ", 9) == 0 ? (int)strtol(out + 9, NULL, 10) : 0;
}

static void expect_refused(struct host *host, const char *target, int status,
			   enum koda_egress_reason reason, const char *header)
{
	char answer[4096];
	char request[1024];
	int len = snprintf(request, sizeof(request), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n",
			   target, target);
	int got = ask_raw(host->port, request, (size_t)len, answer, sizeof(answer));

	if (got != status || !strstr(answer, header))
		fail_msg("%s: %d, expected %d and %s: %s", target, got, status, header, answer);
	(void)host_event(host, reason);
}

static void expect_allowed(struct host *host, const char *name, uint16_t port)
{
	int fd = tunnel_to(host->port, name, port);
	char byte;

	puts_to(fd, "x");
	get(fd, &byte, 1);
	(void)shutdown(fd, SHUT_WR);
	get_end(fd);
	(void)close(fd);
	(void)host_event(host, KODA_EGRESS_OK);
}

static void test_not_listed(void **state)
{
	struct host host;
	char target[64];

	(void)state;
	host_start(&host, allow_one("127.0.0.1", echo.port), NULL);
	expect_refused(&host, "example.com:443", 403, KODA_EGRESS_NOT_LISTED,
		       "X-Koda-Reason: not_listed");
	/* Another port of that address. */
	(void)snprintf(target, sizeof(target), "127.0.0.1:%u", echo.port == 9 ? 10U : 9U);
	expect_refused(&host, target, 403, KODA_EGRESS_NOT_LISTED, "X-Koda-Reason: not_listed");
	expect_allowed(&host, "127.0.0.1", echo.port);
	host_stop(&host);
}

static void test_denied(void **state)
{
	struct host host;
	char net[256];
	char target[64];

	(void)state;
	(void)snprintf(net, sizeof(net),
		       "\"allowed_domains\":[\"127.0.0.0/8\"],\"denied_domains\":[\"127.0.0.2\"]");
	host_start(&host, net, NULL);
	(void)snprintf(target, sizeof(target), "127.0.0.2:%u", echo.port);
	expect_refused(&host, target, 403, KODA_EGRESS_RULE_DENIED, "X-Koda-Rule: 127.0.0.2");
	/* That address, spelt as IPv6. */
	(void)snprintf(target, sizeof(target), "[::ffff:127.0.0.2]:%u", echo.port);
	expect_refused(&host, target, 403, KODA_EGRESS_RULE_DENIED, "X-Koda-Rule: 127.0.0.2");
	expect_allowed(&host, "127.0.0.1", echo.port);
	host_stop(&host);
}

/* No rules: every public address, and nothing else. */
static void test_address_guard(void **state)
{
	static const char *const special[] = {
		"127.0.0.1:80",         "0.0.0.0:80",         "10.0.0.1:80",   "192.168.1.1:80",
		"172.16.0.1:80",        "169.254.169.254:80", "100.64.0.1:80", "[::1]:80",
		"[fe80::1]:80",         "[fd00::1]:80",       "224.0.0.1:80",  "[::ffff:7f00:1]:80",
		"[64:ff9b::7f00:1]:80", "[2002:7f00:1::]:80",
	};
	struct host host;
	char target[64];

	(void)state;
	host_start(&host, "", NULL);
	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++)
		expect_refused(&host, special[i], 403, KODA_EGRESS_ADDRESS_GUARD,
			       "X-Koda-Reason: address_guard");
	(void)snprintf(target, sizeof(target), "127.0.0.1:%u", echo.port);
	expect_refused(&host, target, 403, KODA_EGRESS_ADDRESS_GUARD, "address_guard");
	assert_int_equal(echo.served, 0);
	host_rules(&host, 1, allow_one("127.0.0.1", echo.port));
	(void)host_expect(&host, KODA_EGRESS_RULED);
	expect_allowed(&host, "127.0.0.1", echo.port);
	assert_int_equal(echo.served, 1);
	host_stop(&host);
}

static void test_malformed(void **state)
{
	static const struct {
		const char *request;
		int status;
		enum koda_egress_reason reason;
	} rows[] = {
		{ "CONNECT 127.0.0.1 HTTP/1.1\r\n\r\n", 400, KODA_EGRESS_BAD_REQUEST },
		{ "CONNECT 127.0.0.1:0 HTTP/1.1\r\n\r\n", 400, KODA_EGRESS_BAD_REQUEST },
		{ "CONNECT 127.0.0.1:65536 HTTP/1.1\r\n\r\n", 400, KODA_EGRESS_BAD_REQUEST },
		{ "CONNECT a b:80 HTTP/1.1\r\n\r\n", 400, KODA_EGRESS_BAD_REQUEST },
		{ "CONNECT x:80 HTTP/1.1\nHost: x\n\n", 400, KODA_EGRESS_BAD_REQUEST },
		{ "CONNECT x:80 HTTP/1.1\r\nHost: y:80\r\n\r\n", 400, KODA_EGRESS_BAD_REQUEST },
		{ "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, KODA_EGRESS_BAD_REQUEST },
		{ "\x16\x03\x01 this is TLS\r\n\r\n", 400, KODA_EGRESS_BAD_REQUEST },
		{ "\r\n\r\n\r\n", 400, KODA_EGRESS_BAD_REQUEST },
	};
	struct host host;
	char answer[4096];

	(void)state;
	host_start(&host, allow_one("127.0.0.1", echo.port), NULL);
	KODA_EACH(row, rows) {
		int got = ask_raw(host.port, row->request, strlen(row->request), answer,
				  sizeof(answer));

		if (got != row->status)
			fail_msg("%s: %d, expected %d", row->request, got, row->status);
		(void)host_event(&host, row->reason);
	}
	expect_allowed(&host, "127.0.0.1", echo.port);
	host_stop(&host);
}

static void test_too_large(void **state)
{
	static char request[80000];
	struct host host;
	char answer[4096];
	size_t len;

	(void)state;
	host_start(&host, allow_one("127.0.0.1", echo.port), NULL);
	memset(request, 'a', sizeof(request));
	len = (size_t)snprintf(request, 64, "CONNECT 127.0.0.1:%u HTTP/1.1\r\nX: ", echo.port);
	request[len] = 'a';
	assert_int_equal(ask_raw(host.port, request, sizeof(request), answer, sizeof(answer)), 431);
	(void)host_event(&host, KODA_EGRESS_HEAD_TOO_LARGE);
	expect_allowed(&host, "127.0.0.1", echo.port);
	host_stop(&host);
}

static void test_unreachable(void **state)
{
	struct host host;
	uint16_t port;
	int fd = listen_local(&port);
	char target[64];

	(void)state;
	(void)close(fd);
	host_start(&host, "\"allowed_domains\":[\"127.0.0.1\"]", NULL);
	(void)snprintf(target, sizeof(target), "127.0.0.1:%u", port);
	expect_refused(&host, target, 502, KODA_EGRESS_CONNECT_FAILED,
		       "X-Koda-Reason: connect_failed");
	expect_allowed(&host, "127.0.0.1", echo.port);
	host_stop(&host);
}

/* A host whose queue is full does not answer at all. */
static void test_timeout(void **state)
{
	struct host host;
	uint16_t port;
	int listener = listen_local(&port);
	int waiting;
	char target[64];

	(void)state;
	assert_int_equal(listen(listener, 0), 0);
	waiting = dial_local(port);
	host_start(&host, "\"allowed_domains\":[\"127.0.0.1\"]", NULL);
	(void)snprintf(target, sizeof(target), "127.0.0.1:%u", port);
	expect_refused(&host, target, 504, KODA_EGRESS_CONNECT_TIMEOUT,
		       "X-Koda-Reason: connect_timeout");
	expect_allowed(&host, "127.0.0.1", echo.port);
	(void)close(waiting);
	(void)close(listener);
	host_stop(&host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_address_guard), cmocka_unit_test(test_not_listed),
		cmocka_unit_test(test_denied),        cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_too_large),     cmocka_unit_test(test_unreachable),
		cmocka_unit_test(test_timeout),
	};

	return cmocka_run_group_tests(tests, start_echo, stop_echo);
}
