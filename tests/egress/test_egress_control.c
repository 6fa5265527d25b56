/* SPDX-License-Identifier: MIT */
/* T-82. The control channel: what the host orders happens, what makes no sense is refused. */
#include "host.h"

#include "base/clock.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* New rules count for what comes, and end what they would refuse. */
static void test_rules(void **state)
{
	struct server second;
	struct host host;
	int status;
	int kept;
	int ended;
	char target[64];

	(void)state;
	server_start(&second, serve_echo, NULL);
	host_start(&host, "\"allowed_domains\":[\"127.0.0.1\"]", NULL);
	kept = tunnel_to(host.port, "127.0.0.1", echo.port);
	ended = tunnel_to(host.port, "127.0.0.1", second.port);
	echo_once(kept);
	echo_once(ended);
	host_rules(&host, 1, allow_one("127.0.0.1", echo.port));
	(void)host_event(&host, KODA_EGRESS_RULES_CHANGED);
	(void)host_expect(&host, KODA_EGRESS_RULED);
	get_end(ended);
	echo_once(kept);
	(void)close(ended);
	(void)snprintf(target, sizeof(target), "127.0.0.1:%u", second.port);
	ended = connect_through(host.port, target, &status);
	assert_int_equal(status, 403);
	(void)close(ended);
	(void)host_event(&host, KODA_EGRESS_NOT_LISTED);
	/* Rules that make no sense leave the old ones. */
	host_rules(&host, 1, "\"allowed_domains\":[\"*\"]");
	(void)host_expect(&host, KODA_EGRESS_REFUSED);
	echo_once(kept);
	(void)close(kept);
	(void)host_event(&host, KODA_EGRESS_OK);
	host_stop(&host);
	server_stop(&second);
}

static void test_remove(void **state)
{
	struct koda_egress_message remove = { .kind = KODA_EGRESS_REMOVE, .id = 1 };
	struct host host;
	uint16_t other;
	int mine;
	int theirs;

	(void)state;
	host_start(&host, allow_one("127.0.0.1", echo.port), NULL);
	other = host_add(&host, 2, 0, allow_one("127.0.0.1", echo.port));
	mine = tunnel_to(host.port, "127.0.0.1", echo.port);
	theirs = tunnel_to(other, "127.0.0.1", echo.port);
	host_send(&host, &remove, NULL, 0);
	get_end(mine);
	(void)host_event(&host, KODA_EGRESS_REMOVED);
	assert_int_equal(host_expect(&host, KODA_EGRESS_GONE).id, 1);
	echo_once(theirs);
	(void)close(mine);
	(void)close(theirs);
	(void)host_event(&host, KODA_EGRESS_OK);
	host_stop(&host);
}

/* Each sandbox has its own rules, whatever the other's are. */
static void test_sandboxes_are_apart(void **state)
{
	struct koda_egress_message event;
	struct host host;
	uint16_t other;
	char target[64];
	int status;
	int fd;

	(void)state;
	host_start(&host, allow_one("127.0.0.1", echo.port), NULL);
	other = host_add(&host, 7, 0, "\"denied_domains\":[\"*\"]");
	(void)snprintf(target, sizeof(target), "127.0.0.1:%u", echo.port);
	fd = connect_through(other, target, &status);
	assert_int_equal(status, 403);
	(void)close(fd);
	event = host_event(&host, KODA_EGRESS_RULE_DENIED);
	assert_int_equal(event.id, 7);
	fd = tunnel_to(host.port, "127.0.0.1", echo.port);
	(void)close(fd);
	event = host_event(&host, KODA_EGRESS_OK);
	assert_int_equal(event.id, 1);
	host_stop(&host);
}

/* A question is answered with yes or no; yes does not lift the guard. */
static void test_ask(void **state)
{
	struct koda_egress_message answer = { .kind = KODA_EGRESS_ANSWER, .id = 1 };
	struct koda_egress_message ask;
	struct host host;
	uint16_t port;
	char head[1024];
	int fd;

	(void)state;
	host_start_bare(&host, NULL);
	port = host_add(&host, 1, KODA_EGRESS_CAN_ASK,
			"\"allowed_domains\":[\"a.example\"],\"denied_domains\":[\"b.example\"]");
	fd = dial_local(port);
	puts_to(fd, "CONNECT c.example:443 HTTP/1.1\r\nHost: c.example:443\r\n\r\n");
	ask = host_expect(&host, KODA_EGRESS_ASK);
	assert_string_equal(ask.host, "c.example");
	assert_int_equal(ask.port, 443);
	/* An answer to another question is none. */
	answer.question = ask.question + 1;
	answer.verdict = KODA_EGRESS_ALLOW;
	host_send(&host, &answer, NULL, 0);
	answer.question = ask.question;
	answer.verdict = KODA_EGRESS_DENY;
	host_send(&host, &answer, NULL, 0);
	assert_int_equal(get_head(fd, head, sizeof(head)), 403);
	(void)host_event(&host, KODA_EGRESS_ASK_DENIED);
	(void)close(fd);
	/* What a rule denies is not asked. */
	fd = dial_local(port);
	puts_to(fd, "CONNECT b.example:443 HTTP/1.1\r\nHost: b.example:443\r\n\r\n");
	assert_int_equal(get_head(fd, head, sizeof(head)), 403);
	(void)host_event(&host, KODA_EGRESS_RULE_DENIED);
	(void)close(fd);
	host_stop(&host);
}

/* A person is not asked about what the guard refuses whatever the answer is; the twin is a public
 * address, about which a question comes. */
static void test_ask_moot(void **state)
{
	static const char *const guarded[] = { "localhost",       "127.0.0.1", "10.1.2.3",
					       "169.254.169.254", "[::1]",     "[fd00::1]" };
	struct koda_egress_message answer = { .kind = KODA_EGRESS_ANSWER, .id = 1 };
	struct koda_egress_message ask;
	struct host host;
	uint16_t port;
	char text[256];
	int status;
	int fd;

	(void)state;
	host_start_bare(&host, NULL);
	port = host_add(&host, 1, KODA_EGRESS_CAN_ASK, "\"allowed_domains\":[\"a.example\"]");
	for (size_t i = 0; i < KODA_ARRAY_LEN(guarded); i++) {
		(void)snprintf(text, sizeof(text), "%s:443", guarded[i]);
		(void)close(connect_through(port, text, &status));
		assert_int_equal(status, 403);
		(void)host_event(&host, KODA_EGRESS_ADDRESS_GUARD);
	}
	fd = dial_local(port);
	puts_to(fd, "CONNECT 192.88.1.1:443 HTTP/1.1\r\nHost: 192.88.1.1:443\r\n\r\n");
	ask = host_expect(&host, KODA_EGRESS_ASK);
	assert_string_equal(ask.host, "192.88.1.1");
	answer.question = ask.question;
	host_send(&host, &answer, NULL, 0);
	assert_int_equal(get_head(fd, text, sizeof(text)), 403);
	(void)host_event(&host, KODA_EGRESS_ASK_DENIED);
	(void)close(fd);
	host_stop(&host);
}

/* Connections to one target share a question, and the number of questions is bounded. */
static void test_many_questions(void **state)
{
	struct koda_egress_message answer = { .kind = KODA_EGRESS_ANSWER, .id = 1 };
	struct host host;
	uint16_t port;
	char text[256];
	int fds[66];

	(void)state;
	host_start_bare(&host, NULL);
	port = host_add(&host, 1, KODA_EGRESS_CAN_ASK, "\"allowed_domains\":[\"a.example\"]");
	for (int i = 0; i < 66; i++) {
		/* The first two have one target. */
		(void)snprintf(text, sizeof(text),
			       "CONNECT 192.88.1.%d:443 HTTP/1.1\r\nHost: 192.88.1.%d:443\r\n\r\n",
			       i < 2 ? 1 : i, i < 2 ? 1 : i);
		fds[i] = dial_local(port);
		puts_to(fds[i], text);
		if (i == 0)
			answer.question = host_expect(&host, KODA_EGRESS_ASK).question;
		else if (i > 1 && i < 64)
			(void)host_expect(&host, KODA_EGRESS_ASK);
		else if (i >= 64)
			(void)host_event(&host, KODA_EGRESS_ASK_DENIED);
	}
	host_send(&host, &answer, NULL, 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(get_head(fds[i], text, sizeof(text)), 403);
		(void)host_event(&host, KODA_EGRESS_ASK_DENIED);
	}
	for (int i = 0; i < 66; i++)
		(void)close(fds[i]);
	host_stop(&host);
}

/* Going away makes no room for another question: the first is still asked. */
static void test_ask_and_go(void **state)
{
	const struct linger at_once = { .l_onoff = 1, .l_linger = 0 };
	struct host host;
	uint16_t port;
	char text[256];

	(void)state;
	host_start_bare(&host, NULL);
	port = host_add(&host, 1, KODA_EGRESS_CAN_ASK, "\"allowed_domains\":[\"a.example\"]");
	for (int i = 0; i < 70; i++) {
		int fd = dial_local(port);

		(void)snprintf(text, sizeof(text),
			       "CONNECT 192.88.1.%d:443 HTTP/1.1\r\nHost: 192.88.1.%d:443\r\n\r\n",
			       i, i);
		puts_to(fd, text);
		if (i < 64)
			(void)host_expect(&host, KODA_EGRESS_ASK);
		else
			assert_int_equal(get_head(fd, text, sizeof(text)), 403);
		if (i >= 64)
			(void)host_event(&host, KODA_EGRESS_ASK_DENIED);
		(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
		(void)close(fd);
	}
	host_stop(&host);
}

static void expect_refusal(struct host *host, const struct koda_egress_message *message,
			   const int *fds, size_t count)
{
	host_send(host, message, fds, count);
	assert_true(host_expect(host, KODA_EGRESS_REFUSED).text[0] != '\0');
}

static void test_malformed(void **state)
{
	struct koda_egress_message add = { .kind = KODA_EGRESS_ADD, .id = 9 };
	struct koda_egress_message other = { .kind = 99, .id = 1 };
	struct koda_error err = { 0 };
	struct host host;
	uint16_t port;
	int fds[4];
	int fd;

	(void)state;
	host_start(&host, allow_one("127.0.0.1", echo.port), NULL);
	/* Too short, too long, wrong version, unknown kind, unknown id. */
	KODA_ASSERT_OK(koda_fd_send(host.control, "short", 5, NULL, 0, &err), err);
	(void)host_expect(&host, KODA_EGRESS_REFUSED);
	{
		char big[sizeof(add) + 1] = { 0 };

		KODA_ASSERT_OK(koda_fd_send(host.control, big, sizeof(big), NULL, 0, &err), err);
		(void)host_expect(&host, KODA_EGRESS_REFUSED);
	}
	expect_refusal(&host, &other, NULL, 0);
	other = (struct koda_egress_message){ .magic = 1, .kind = KODA_EGRESS_REMOVE, .id = 1 };
	expect_refusal(&host, &other, NULL, 0);
	other = (struct koda_egress_message){ .kind = KODA_EGRESS_REMOVE, .id = 42 };
	expect_refusal(&host, &other, NULL, 0);
	/* ADD without descriptors, with the wrong ones, with a number that is taken. */
	expect_refusal(&host, &add, NULL, 0);
	fds[0] = listen_local(&port);
	fds[1] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	expect_refusal(&host, &add, fds, 2);
	KODA_ASSERT_OK(koda_fd_sealed("policy", "{}", 2, &fds[2], &err), err);
	{
		const int swapped[] = { fds[2], fds[2] };

		expect_refusal(&host, &add, swapped, 2);
	}
	fds[3] = memfd_create("policy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_int_equal(write(fds[3], "{}", 2), 2);
	{
		const int unsealed[] = { fds[0], fds[3] };
		const int good[] = { fds[0], fds[2] };

		expect_refusal(&host, &add, unsealed, 2);
		other = add;
		other.id = 1;
		expect_refusal(&host, &other, good, 2);
		/* And its twin. */
		host_send(&host, &add, good, 2);
		(void)host_expect(&host, KODA_EGRESS_ADDED);
	}
	for (int i = 0; i < 4; i++)
		(void)close(fds[i]);
	fd = tunnel_to(host.port, "127.0.0.1", echo.port);
	echo_once(fd);
	(void)close(fd);
	(void)host_event(&host, KODA_EGRESS_OK);
	host_stop(&host);
}

/* The host is gone: so is the proxy, with everything that was open. */
static void test_end(void **state)
{
	struct host host;
	int fd;

	(void)state;
	host_start(&host, allow_one("127.0.0.1", echo.port), NULL);
	fd = tunnel_to(host.port, "127.0.0.1", echo.port);
	echo_once(fd);
	host_stop(&host);
	get_end(fd);
	(void)close(fd);
}

/* A host that does not read loses events, learns how many, and delays no connection. */
static void test_deaf_host(void **state)
{
	struct host host;
	uint64_t heard = 0;
	uint64_t lost = 0;
	const unsigned int many = 3000;
	int fd;

	(void)state;
	host_start(&host, allow_one("127.0.0.1", echo.port), NULL);
	for (unsigned int i = 0; i < many; i++) {
		int status;

		fd = connect_through(host.port, "example.com:443", &status);
		assert_int_equal(status, 403);
		(void)close(fd);
	}
	while (host_has_message(&host, 200)) {
		struct koda_egress_message event = host_event(&host, KODA_EGRESS_NOT_LISTED);

		heard++;
		lost += event.dropped;
	}
	fd = tunnel_to(host.port, "127.0.0.1", echo.port);
	(void)close(fd);
	lost += host_event(&host, KODA_EGRESS_OK).dropped;
	assert_true(lost > 0);
	assert_int_equal(heard + lost, many);
	host_stop(&host);
}

/* Without a host it does nothing at all. */
static void test_by_hand(void **state)
{
	char *const argv[] = { (char *)(uintptr_t) "koda-egress", NULL };
	char *const envp[] = { NULL };
	struct koda_proc proc = KODA_PROC_INIT;
	struct koda_error err = { 0 };
	struct koda_exit how;
	struct koda_fdmap give = { 2, 2 };
	char text[256];
	int out;

	(void)state;
	KODA_ASSERT_OK(koda_fd_pipe(&out, &give.ours, &err), err);
	KODA_ASSERT_OK(koda_proc_spawn(&proc, getenv("KODA_EGRESS"), argv, envp, &give, 1, &err),
		       err);
	(void)close(give.ours);
	KODA_ASSERT_OK(koda_proc_wait(&proc, koda_clock_now() + WAIT_MS * 1000000ULL, &how, &err),
		       err);
	assert_int_equal(how.code, KODA_EGRESS_FAILED);
	assert_true(read(out, text, sizeof(text)) > 0);
	(void)close(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ask_and_go),     cmocka_unit_test(test_rules),
		cmocka_unit_test(test_remove),         cmocka_unit_test(test_ask),
		cmocka_unit_test(test_ask_moot),       cmocka_unit_test(test_sandboxes_are_apart),
		cmocka_unit_test(test_malformed),      cmocka_unit_test(test_end),
		cmocka_unit_test(test_deaf_host),      cmocka_unit_test(test_by_hand),
		cmocka_unit_test(test_many_questions),
	};

	return cmocka_run_group_tests(tests, start_echo, stop_echo);
}
