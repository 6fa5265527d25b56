/* SPDX-License-Identifier: MIT */
/* T-80. Tunnels: every byte and every end arrives, in both directions, however it is cut up. */
#include "host.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define BIG ((uint64_t)256 << 20)

static void test_allowed(void **state)
{
	struct koda_egress_message event;
	struct host host;
	char text[16];
	int fd;

	(void)state;
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
}

/* Bytes that follow the head in its packet belong to the tunnel. */
static void test_early_data(void **state)
{
	struct host host;
	char text[256];
	int fd;

	(void)state;
	host_start(&host, allow_one("127.0.0.1", echo.port), NULL);
	fd = dial_local(host.port);
	(void)snprintf(text, sizeof(text),
		       "CONNECT 127.0.0.1:%u HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\nearly",
		       echo.port, echo.port);
	puts_to(fd, text);
	assert_int_equal(get_head(fd, text, sizeof(text)), 200);
	get(fd, text, 5);
	assert_memory_equal(text, "early", 5);
	(void)close(fd);
	host_stop(&host);
}

/* A request, cut in two at every byte. */
static void test_split_anywhere(void **state)
{
	const int on = 1;
	struct host host;
	char request[256];
	char text[256];
	int len;

	(void)state;
	host_start(&host, allow_one("127.0.0.1", echo.port), NULL);
	len = snprintf(request, sizeof(request),
		       "CONNECT 127.0.0.1:%u HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\nhello",
		       echo.port, echo.port);
	for (int cut = 1; cut < len; cut++) {
		int fd = dial_local(host.port);

		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		put(fd, request, (size_t)cut);
		(void)poll(NULL, 0, 1);
		put(fd, request + cut, (size_t)(len - cut));
		if (get_head(fd, text, sizeof(text)) != 200)
			fail_msg("cut at %d: %s", cut, text);
		get(fd, text, 5);
		assert_memory_equal(text, "hello", 5);
		(void)shutdown(fd, SHUT_WR);
		get_end(fd);
		(void)close(fd);
		(void)host_event(&host, KODA_EGRESS_OK);
	}
	host_stop(&host);
}

static void serve_after_end(int fd, void *arg)
{
	char bytes[64];
	size_t total = 0;
	ssize_t n;

	(void)arg;
	while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
		total += (size_t)n;
	(void)snprintf(bytes, sizeof(bytes), "%zu bytes", total);
	(void)send(fd, bytes, strlen(bytes), MSG_NOSIGNAL);
}

/* The client says that it is done; the answer comes after that. */
static void test_client_half_closes(void **state)
{
	struct server server;
	struct host host;
	char text[64];
	int fd;

	(void)state;
	server_start(&server, serve_after_end, NULL);
	host_start(&host, allow_one("127.0.0.1", server.port), NULL);
	fd = tunnel_to(host.port, "127.0.0.1", server.port);
	puts_to(fd, "0123456789");
	(void)shutdown(fd, SHUT_WR);
	(void)get_all(fd, text, sizeof(text), false);
	assert_string_equal(text, "10 bytes");
	(void)close(fd);
	(void)host_event(&host, KODA_EGRESS_OK);
	host_stop(&host);
	server_stop(&server);
}

static void serve_end_first(int fd, void *arg)
{
	int *got = arg;
	char bytes[64];
	ssize_t n;

	(void)send(fd, "bye", 3, MSG_NOSIGNAL);
	(void)shutdown(fd, SHUT_WR);
	while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
		*got += (int)n;
}

/* The server speaks first and is done first; the client goes on sending. */
static void test_server_half_closes(void **state)
{
	struct koda_egress_message event;
	struct server server;
	struct host host;
	char text[64];
	int got = 0;
	int fd;

	(void)state;
	server_start(&server, serve_end_first, &got);
	host_start(&host, allow_one("127.0.0.1", server.port), NULL);
	fd = tunnel_to(host.port, "127.0.0.1", server.port);
	(void)get_all(fd, text, sizeof(text), false);
	assert_string_equal(text, "bye");
	puts_to(fd, "0123456789");
	(void)shutdown(fd, SHUT_WR);
	event = host_event(&host, KODA_EGRESS_OK);
	assert_int_equal(event.bytes_up, 10);
	assert_int_equal(event.bytes_down, 3);
	(void)close(fd);
	host_stop(&host);
	server_stop(&server);
	assert_int_equal(got, 10);
}

struct big {
	int fd;
	uint64_t sum;
	uint64_t total;
};

/* A stream whose every byte depends on its place. */
static void fill_big(uint64_t *words, size_t count, uint64_t at)
{
	for (size_t i = 0; i < count; i++)
		words[i] = (at + i) * 0x9e3779b97f4a7c15;
}

static uint64_t sum_of(const uint64_t *words, size_t count, uint64_t sum)
{
	for (size_t i = 0; i < count; i++)
		sum = (sum << 5 | sum >> 59) ^ words[i];
	return sum;
}

static void *send_big(void *arg)
{
	static uint64_t words[32768];
	struct big *big = arg;

	for (uint64_t at = 0; at < BIG / 8; at += 32768) {
		const char *bytes = (const char *)words;
		size_t left = sizeof(words);

		fill_big(words, 32768, at);
		big->sum = sum_of(words, 32768, big->sum);
		while (left > 0) {
			ssize_t n = send(big->fd, bytes + sizeof(words) - left, left, MSG_NOSIGNAL);

			if (n <= 0)
				return NULL;
			left -= (size_t)n;
		}
		big->total += sizeof(words);
	}
	(void)shutdown(big->fd, SHUT_WR);
	return NULL;
}

/* Both ways at once through one tunnel: what was sent is what comes back. */
static void test_big(void **state)
{
	struct koda_egress_message event;
	static uint64_t words[32768];
	struct big big = { 0 };
	uint64_t total = 0;
	uint64_t sum = 0;
	pthread_t sender;
	struct host host;

	(void)state;
	host_start(&host, allow_one("127.0.0.1", echo.port), NULL);
	big.fd = tunnel_to(host.port, "127.0.0.1", echo.port);
	assert_int_equal(pthread_create(&sender, NULL, send_big, &big), 0);
	while (total < BIG) {
		get(big.fd, words, sizeof(words));
		sum = sum_of(words, 32768, sum);
		total += sizeof(words);
	}
	get_end(big.fd);
	(void)pthread_join(sender, NULL);
	assert_true(big.total == BIG && big.sum == sum);
	(void)close(big.fd);
	event = host_event(&host, KODA_EGRESS_OK);
	assert_true(event.bytes_up == BIG && event.bytes_down == BIG);
	host_stop(&host);
}

static void serve_reset(int fd, void *arg)
{
	const struct linger at_once = { .l_onoff = 1 };
	char byte;

	(void)arg;
	(void)recv(fd, &byte, 1, 0);
	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

/* A connection that breaks must not look like one that ended well. */
static void test_reset_is_passed_on(void **state)
{
	struct server server;
	struct host host;
	char byte;
	int fd;

	(void)state;
	server_start(&server, serve_reset, NULL);
	host_start(&host, allow_one("127.0.0.1", server.port), NULL);
	fd = tunnel_to(host.port, "127.0.0.1", server.port);
	puts_to(fd, "x");
	assert_int_equal(recv(fd, &byte, 1, 0), -1);
	(void)close(fd);
	(void)host_event(&host, KODA_EGRESS_RESET);
	host_stop(&host);
	server_stop(&server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allowed),
		cmocka_unit_test(test_early_data),
		cmocka_unit_test(test_split_anywhere),
		cmocka_unit_test(test_client_half_closes),
		cmocka_unit_test(test_server_half_closes),
		cmocka_unit_test(test_big),
		cmocka_unit_test(test_reset_is_passed_on),
	};

	return cmocka_run_group_tests(tests, start_echo, stop_echo);
}
