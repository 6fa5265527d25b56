/* SPDX-License-Identifier: MIT */
/* T-80. What a ClientHello must say before a byte of it reaches the origin. */
#include "host.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

/* localhost is in every hosts file, and listed by its exact name it may be loopback. */
static void start(struct host *host)
{
	char net[256];

	(void)snprintf(net, sizeof(net), "\"allowed_domains\":[\"localhost:%u\",\"127.0.0.1:%u\"]",
		       echo.port, echo.port);
	host_start(host, net, NULL);
}

static void expect_through(struct host *host, const char *target, const char *name)
{
	int fd = tunnel_to(host->port, target, echo.port);
	uint8_t hello[1024];
	uint8_t back[1024];
	size_t len = make_hello(name, false, hello, sizeof(hello));

	put(fd, hello, len);
	get(fd, back, len);
	assert_memory_equal(hello, back, len);
	(void)shutdown(fd, SHUT_WR);
	get_end(fd);
	(void)close(fd);
	(void)host_event(host, KODA_EGRESS_OK);
}

/* Nothing goes up, and the client gets an alert. */
static void expect_refused(struct host *host, const char *target, const uint8_t *hello, size_t len,
			   enum koda_egress_reason reason)
{
	struct koda_egress_message event;
	int fd = tunnel_to(host->port, target, echo.port);
	char alert[64];

	put(fd, hello, len);
	if (get_all(fd, alert, sizeof(alert), true) != 7 || alert[0] != 0x15)
		fail_msg("%s: no alert", target);
	(void)close(fd);
	event = host_event(host, reason);
	assert_int_equal(event.verdict, KODA_EGRESS_DENY);
	assert_int_equal(event.bytes_up, 0);
}

static void expect_mismatch(struct host *host, const char *target, const char *name)
{
	uint8_t hello[1024];
	size_t len = make_hello(name, false, hello, sizeof(hello));

	expect_refused(host, target, hello, len, KODA_EGRESS_SNI_MISMATCH);
}

static void test_name_must_fit(void **state)
{
	struct host host;

	(void)state;
	start(&host);
	expect_through(&host, "localhost", "localhost");
	expect_through(&host, "LocalHost.", "LOCALHOST");
	expect_mismatch(&host, "localhost", "evil.example");
	expect_mismatch(&host, "localhost", "localhost.evil.example");
	expect_mismatch(&host, "localhost", NULL);
	host_stop(&host);
}

/* For an address the name may be missing, or one that the rules allow there. */
static void test_name_for_address(void **state)
{
	struct host host;

	(void)state;
	start(&host);
	expect_through(&host, "127.0.0.1", NULL);
	expect_through(&host, "127.0.0.1", "localhost");
	expect_mismatch(&host, "127.0.0.1", "evil.example");
	host_stop(&host);
}

static void test_ech(void **state)
{
	struct host host;
	uint8_t hello[1024];
	size_t len;

	(void)state;
	start(&host);
	len = make_hello("localhost", true, hello, sizeof(hello));
	expect_refused(&host, "localhost", hello, len, KODA_EGRESS_ECH);
	expect_through(&host, "localhost", "localhost");
	host_stop(&host);
}

static void test_bad_hello(void **state)
{
	static const char versions[][3] = { "\2\0", "\0\0", "\4\0", "\x0f\1" };
	struct host host;
	uint8_t hello[1024];
	size_t len;

	(void)state;
	start(&host);
	len = make_hello("localhost", false, hello, sizeof(hello));
	hello[7] = 0xff; /* longer than it is, and than any may be */
	hello[6] = 0xff;
	expect_refused(&host, "localhost", hello, len, KODA_EGRESS_BAD_HELLO);
	/* Some servers do not mind which version the record is of. */
	for (size_t i = 0; i < KODA_ARRAY_LEN(versions); i++) {
		len = make_hello("evil.example", false, hello, sizeof(hello));
		memcpy(hello + 1, versions[i], 2);
		expect_refused(&host, "localhost", hello, len, KODA_EGRESS_BAD_HELLO);
	}
	memcpy(hello, "\x15\2\0\0\2\1\x5a", 7);
	len = 7 + make_hello("evil.example", false, hello + 7, sizeof(hello) - 7);
	expect_refused(&host, "localhost", hello, len, KODA_EGRESS_BAD_HELLO);
	host_stop(&host);
}

/* A hello that comes in pieces is held back until it is whole. */
static void test_split(void **state)
{
	struct host host;
	uint8_t hello[1024];
	uint8_t back[1024];
	struct pollfd polled;
	size_t len;

	(void)state;
	start(&host);
	len = make_hello("localhost", false, hello, sizeof(hello));
	for (size_t cut = 1; cut < len; cut += 7) {
		int fd = tunnel_to(host.port, "localhost", echo.port);

		polled = (struct pollfd){ .fd = fd, .events = POLLIN };
		put(fd, hello, cut);
		assert_int_equal(poll(&polled, 1, 5), 0);
		put(fd, hello + cut, len - cut);
		get(fd, back, len);
		assert_memory_equal(hello, back, len);
		(void)close(fd);
	}
	host_stop(&host);
}

/* Half a hello and then the end: the origin sees none of it. */
static void test_cut_off(void **state)
{
	struct koda_egress_message event;
	struct host host;
	uint8_t hello[1024];
	int fd;

	(void)state;
	start(&host);
	(void)make_hello("localhost", false, hello, sizeof(hello));
	fd = tunnel_to(host.port, "localhost", echo.port);
	put(fd, hello, 40);
	(void)shutdown(fd, SHUT_WR);
	event = host_event(&host, KODA_EGRESS_BAD_HELLO);
	assert_int_equal(event.bytes_up, 0);
	(void)close(fd);
	host_stop(&host);
}

static void serve_banner(int fd, void *arg)
{
	char text[64];
	ssize_t n;

	(void)arg;
	(void)send(fd, "SSH-2.0-test\r\n", 14, MSG_NOSIGNAL);
	n = recv(fd, text, sizeof(text), 0);
	if (n > 0)
		(void)send(fd, text, (size_t)n, MSG_NOSIGNAL);
}

/* Not TLS: passes as it is, and the server may speak first. */
static void test_server_first(void **state)
{
	struct server ssh;
	struct host host;
	char text[64];
	int fd;

	(void)state;
	server_start(&ssh, serve_banner, NULL);
	host_start(&host, allow_one("127.0.0.1", ssh.port), NULL);
	fd = tunnel_to(host.port, "127.0.0.1", ssh.port);
	get(fd, text, 14);
	assert_memory_equal(text, "SSH-2.0-test\r\n", 14);
	puts_to(fd, "SSH-2.0-me\r\n");
	(void)get_all(fd, text, sizeof(text), true);
	assert_string_equal(text, "SSH-2.0-me\r\n");
	(void)close(fd);
	host_stop(&host);
	server_stop(&ssh);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_name_must_fit), cmocka_unit_test(test_name_for_address),
		cmocka_unit_test(test_ech),           cmocka_unit_test(test_bad_hello),
		cmocka_unit_test(test_split),         cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_server_first),
	};

	return cmocka_run_group_tests(tests, start_echo, stop_echo);
}
