/* SPDX-License-Identifier: MIT */
/*
 * T-07. Names and what they lead to, in a mount namespace with a hosts file of our own: an allowed
 * name that leads to this machine or to a denied address is not connected to, whatever else it
 * leads to. T-83. In a network of our own there is a name server too, which never answers.
 */
#include "names.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

static const char hosts[] = "127.0.0.1 localhost\n"
			    "127.0.0.1 inside.test\n"
			    "10.1.2.3 private.test\n"
			    "169.254.169.254 metadata.test\n"
			    "127.0.0.1 two.test\n"
			    "127.0.0.9 two.test\n"
			    "::1 both.test\n"
			    "127.0.0.1 both.test\n"
			    "127.0.0.1 deep.wild.test\n";

static int silent = -1; /* the name server */

static void expect(struct host *host, const char *name, int status, enum koda_egress_reason reason,
		   const char *address)
{
	struct koda_egress_message event;
	char target[300];
	int got;
	int fd;

	(void)snprintf(target, sizeof(target), "%s:%u", name, echo.port);
	fd = connect_through(host->port, target, &got);
	if (got != status)
		fail_msg("%s: %d, expected %d", name, got, status);
	(void)close(fd);
	event = host_event(host, reason);
	assert_string_equal(event.address, address);
}

/* Any public host may be reached, so names pass; what they lead to does not. */
static void test_guard(void **state)
{
	struct host host;

	(void)state;
	names_need();
	host_start(&host, "", NULL);
	expect(&host, "inside.test", 403, KODA_EGRESS_ADDRESS_GUARD, "127.0.0.1");
	expect(&host, "private.test", 403, KODA_EGRESS_ADDRESS_GUARD, "10.1.2.3");
	expect(&host, "metadata.test", 403, KODA_EGRESS_ADDRESS_GUARD, "169.254.169.254");
	expect(&host, "nowhere.test", 502, KODA_EGRESS_RESOLVE_FAILED, "");
	assert_int_equal(echo.served, 0);
	/* The twin: listed by its exact name. */
	host_rules(&host, 1, "\"allowed_domains\":[\"inside.test\"]");
	(void)host_expect(&host, KODA_EGRESS_RULED);
	expect(&host, "inside.test", 200, KODA_EGRESS_OK, "127.0.0.1");
	expect(&host, "INSIDE.test.", 200, KODA_EGRESS_OK, "127.0.0.1");
	host_stop(&host);
}

/* Nor does a person's yes to a name lift the guard of what it leads to. */
static void test_asked(void **state)
{
	struct koda_egress_message yes = { .kind = KODA_EGRESS_ANSWER,
					   .id = 1,
					   .verdict = KODA_EGRESS_ALLOW };
	struct host host;
	uint16_t port;
	char text[512];
	int fd;

	(void)state;
	names_need();
	host_start_bare(&host, NULL);
	port = host_add(&host, 1, KODA_EGRESS_CAN_ASK, "\"allowed_domains\":[\"a.example\"]");
	fd = dial_local(port);
	puts_to(fd, "CONNECT private.test:443 HTTP/1.1\r\nHost: private.test:443\r\n\r\n");
	yes.question = host_expect(&host, KODA_EGRESS_ASK).question;
	host_send(&host, &yes, NULL, 0);
	assert_int_equal(get_head(fd, text, sizeof(text)), 403);
	(void)close(fd);
	assert_string_equal(host_event(&host, KODA_EGRESS_ADDRESS_GUARD).address, "10.1.2.3");
	host_stop(&host);
}

/* A pattern for names is no permission for this machine. */
static void test_wildcard(void **state)
{
	struct host host;

	(void)state;
	names_need();
	host_start(&host, "\"allowed_domains\":[\"*.wild.test\"]", NULL);
	expect(&host, "deep.wild.test", 403, KODA_EGRESS_ADDRESS_GUARD, "127.0.0.1");
	host_rules(&host, 1, "\"allowed_domains\":[\"*.wild.test\",\"deep.wild.test\"]");
	(void)host_expect(&host, KODA_EGRESS_RULED);
	expect(&host, "deep.wild.test", 200, KODA_EGRESS_OK, "127.0.0.1");
	host_stop(&host);
}

/* Two answers, one of them refused: only the other is ever connected to. */
static void test_two_answers(void **state)
{
	struct host host;

	(void)state;
	names_need();
	host_start(&host, "\"allowed_domains\":[\"two.test\"],\"denied_domains\":[\"127.0.0.9\"]",
		   NULL);
	expect(&host, "two.test", 200, KODA_EGRESS_OK, "127.0.0.1");
	host_rules(&host, 1,
		   "\"allowed_domains\":[\"two.test\"],"
		   "\"denied_domains\":[\"127.0.0.0/8\"]");
	(void)host_expect(&host, KODA_EGRESS_RULED);
	expect(&host, "two.test", 403, KODA_EGRESS_RULE_DENIED, "127.0.0.9");
	host_stop(&host);
}

/* The first address has no listener; the second is tried. */
static void test_fallback(void **state)
{
	struct host host;

	(void)state;
	names_need();
	host_start(&host, "\"allowed_domains\":[\"both.test\",\"two.test\"]", NULL);
	expect(&host, "both.test", 200, KODA_EGRESS_OK, "127.0.0.1");
	expect(&host, "two.test", 200, KODA_EGRESS_OK, "127.0.0.1");
	host_stop(&host);
}

/* Many names at once, some of them repeated. */
static void test_many_lookups(void **state)
{
	int fds[100];
	struct host host;
	char text[512];

	(void)state;
	names_need();
	host_start(&host, "\"allowed_domains\":[\"inside.test\",\"localhost\"]", NULL);
	for (int i = 0; i < 100; i++) {
		const char *name = i % 2 ? "inside.test" : "localhost";

		fds[i] = dial_local(host.port);
		(void)snprintf(text, sizeof(text), "CONNECT %s:%u HTTP/1.1\r\nHost: %s:%u\r\n\r\n",
			       name, echo.port, name, echo.port);
		puts_to(fds[i], text);
	}
	for (int i = 0; i < 100; i++) {
		assert_int_equal(get_head(fds[i], text, sizeof(text)), 200);
		(void)close(fds[i]);
	}
	host_stop(&host);
}

/* Listens at the address; with a port of 0 one is chosen. */
static int listen_at(const char *address, uint16_t *port, int backlog)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(*port) };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(inet_pton(AF_INET, address, &at.sin_addr), 1);
	assert_int_equal(bind(fd, (const struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(fd, backlog), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*port = ntohs(at.sin_port);
	return fd;
}

/* The first address does not answer, and meanwhile the rules change. */
static void go_meanwhile(uint16_t port, const char *rules, int status, const char *address)
{
	struct host host;
	char text[512];
	int fd;

	host_start(&host, "\"allowed_domains\":[\"two.test\"]", NULL);
	fd = dial_local(host.port);
	(void)snprintf(text, sizeof(text), "CONNECT two.test:%u HTTP/1.1\r\nHost: two.test\r\n\r\n",
		       port);
	puts_to(fd, text);
	(void)usleep(200000);
	host_rules(&host, 1, rules);
	(void)host_expect(&host, KODA_EGRESS_RULED);
	assert_int_equal(get_head(fd, text, sizeof(text)), status);
	(void)close(fd);
	assert_string_equal(host_next(&host).address, address);
	host_stop(&host);
}

/* T-80. An address that was to be tried next, and is refused by now, is not tried. */
static void test_rules_meanwhile(void **state)
{
	struct server second;
	uint16_t port = 0;
	int fillers[2];
	int full;

	(void)state;
	names_need();
	full = listen_at("127.0.0.9", &port, 16);
	server_start_on(&second, full, port, serve_echo);
	full = listen_at("127.0.0.1", &port, 0);
	for (int i = 0; i < 2; i++) {
		fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		dial_later(fillers[i], port);
		(void)usleep(20000);
	}
	go_meanwhile(port, "\"allowed_domains\":[\"two.test\"],\"denied_domains\":[\"127.0.0.9\"]",
		     504, "127.0.0.1");
	assert_int_equal(second.served, 0);
	go_meanwhile(port, "\"allowed_domains\":[\"two.test\"],\"denied_domains\":[\"127.0.0.8\"]",
		     200, "127.0.0.9");
	(void)close(fillers[0]);
	(void)close(fillers[1]);
	(void)close(full);
	server_stop(&second);
}

static void ask_slow(uint16_t port, int *fds, int count)
{
	char text[128];

	for (int i = 0; i < count; i++) {
		fds[i] = dial_local(port);
		(void)snprintf(text, sizeof(text),
			       "CONNECT n%d.slow.test:443 HTTP/1.1\r\nHost: n%d.slow.test\r\n\r\n",
			       i, i);
		puts_to(fds[i], text);
	}
}

static bool is_answered(int fd)
{
	struct pollfd polled = { .fd = fd, .events = POLLIN };

	return poll(&polled, 1, 0) != 0;
}

#define ASKERS                                                                                     \
	12 /* sandboxes that ask for names which nobody answers for, each for ASKED of them */
#define ASKED 10

/* A sandbox with many such names delays itself, and no other. */
static void test_slow_lookups(void **state)
{
	static int fds[ASKERS][ASKED];
	struct host host;
	char text[512];
	int asked = 0;

	(void)state;
	names_need();
	host_start(&host, "\"allowed_domains\":[\"inside.test\"]", NULL);
	for (uint32_t i = 0; i < ASKERS; i++)
		ask_slow(host_add(&host, i + 2, 0, "\"allowed_domains\":[\"*.slow.test\"]"), fds[i],
			 ASKED);
	/* They are being asked for, each by its own thread: 8 for each of the first two, and one
	 * for each of the others. */
	for (int i = 0; i < WAIT_MS / 10 && asked < 16 + ASKERS - 2; i++) {
		(void)usleep(10000);
		while (recv(silent, text, sizeof(text), 0) > 0)
			asked++;
	}
	assert_true(asked >= 16 + ASKERS - 2);
	expect(&host, "inside.test", 200, KODA_EGRESS_OK, "127.0.0.1");
	/* It has waited for none of them. */
	for (size_t i = 0; i < ASKERS; i++)
		for (size_t n = 0; n < ASKED; n++)
			assert_false(is_answered(fds[i][n]));
	/* And all of them come to their end. */
	for (size_t i = 0; i < ASKERS; i++)
		for (size_t n = 0; n < ASKED; n++) {
			int status = get_head(fds[i][n], text, sizeof(text));

			assert_true(status == 502 || status == 504);
			(void)close(fds[i][n]);
		}
	host_stop(&host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_asked),        cmocka_unit_test(test_guard),
		cmocka_unit_test(test_wildcard),     cmocka_unit_test(test_two_answers),
		cmocka_unit_test(test_fallback),     cmocka_unit_test(test_rules_meanwhile),
		cmocka_unit_test(test_many_lookups), cmocka_unit_test(test_slow_lookups),
	};

	names_isolated =
		names_isolate(hosts, "nameserver 127.0.0.1\noptions timeout:4 attempts:1\n") &&
		names_listen(&silent);
	return cmocka_run_group_tests(tests, start_echo, stop_echo);
}
