/* SPDX-License-Identifier: MIT */
#include "host.h"

#include "base/clock.h"
#include "base/fd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct sockaddr_in local(uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons(port),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

void host_start_bare(struct host *host, char *const *env)
{
	static char *const no_env[] = { NULL };
	const char *program = getenv("KODA_EGRESS");
	char *const argv[] = { (char *)(uintptr_t) "koda-egress", NULL };
	struct koda_error err = { 0 };
	int theirs;

	assert_non_null(program);
	*host = (struct host){ .proc = KODA_PROC_INIT };
	KODA_ASSERT_OK(koda_fd_socketpair(&host->control, &theirs, &err), err);
	{
		const struct koda_fdmap give[] = { { 2, 2 }, { theirs, KODA_EGRESS_CONTROL_FD } };

		KODA_ASSERT_OK(koda_proc_spawn(&host->proc, program, argv, env ? env : no_env, give,
					       2, &err),
			       err);
	}
	(void)close(theirs);
	(void)host_expect(host, KODA_EGRESS_READY);
}

void host_start(struct host *host, const char *net, char *const *env)
{
	host_start_bare(host, env);
	host->port = host_add(host, 1, 0, net);
}

void host_stop(struct host *host)
{
	struct koda_exit how;
	struct koda_error err = { 0 };

	(void)close(host->control);
	host->control = -1;
	KODA_ASSERT_OK(
		koda_proc_wait(&host->proc, koda_clock_now() + WAIT_MS * 1000000ULL, &how, &err),
		err);
	assert_int_equal(how.signal, 0);
	assert_int_equal(how.code, 0);
}

void host_pause(struct host *host)
{
	siginfo_t info;

	/* A process that is only about to stop may still be given a part of what follows. */
	assert_int_equal(kill(host->proc.pid, SIGSTOP), 0);
	assert_int_equal(waitid(P_PID, (id_t)host->proc.pid, &info, WSTOPPED), 0);
}

void host_resume(struct host *host)
{
	assert_int_equal(kill(host->proc.pid, SIGCONT), 0);
}

int listen_local(uint16_t *ret_port)
{
	struct sockaddr_in at = local(0);
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 4096), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*ret_port = ntohs(at.sin_port);
	return fd;
}

static int sealed_policy(const char *net)
{
	char text[8192];
	struct koda_error err = { 0 };
	int fd;
	int len = snprintf(text, sizeof(text), "{\"net\":{%s}}", net);

	assert_true(len > 0 && (size_t)len < sizeof(text));
	KODA_ASSERT_OK(koda_fd_sealed("policy", text, (size_t)len, &fd, &err), err);
	return fd;
}

void host_send(struct host *host, const struct koda_egress_message *message, const int *fds,
	       size_t count)
{
	struct koda_egress_message copy = *message;
	struct koda_error err = { 0 };

	if (copy.magic == 0)
		copy.magic = KODA_EGRESS_MAGIC;
	KODA_ASSERT_OK(koda_fd_send(host->control, &copy, sizeof(copy), fds, count, &err), err);
}

static uint16_t send_add(struct host *host, const struct koda_egress_message *add, const char *net)
{
	uint16_t port;
	int fds[2] = { listen_local(&port), sealed_policy(net) };

	host_send(host, add, fds, 2);
	(void)close(fds[0]);
	(void)close(fds[1]);
	return port;
}

static void expect_added(struct host *host, uint32_t id)
{
	struct koda_egress_message added = host_next(host);

	if (added.kind != KODA_EGRESS_ADDED)
		fail_msg("not added: %s", added.text);
	assert_int_equal(added.id, id);
}

uint16_t host_send_add(struct host *host, uint32_t id, uint32_t flags, const char *net)
{
	const struct koda_egress_message add = { .kind = KODA_EGRESS_ADD,
						 .id = id,
						 .flags = flags };

	return send_add(host, &add, net);
}

uint16_t host_add(struct host *host, uint32_t id, uint32_t flags, const char *net)
{
	uint16_t port = host_send_add(host, id, flags, net);

	expect_added(host, id);
	return port;
}

uint16_t host_add_token(struct host *host, uint32_t id, const char *token, const char *net)
{
	struct koda_egress_message add = { .kind = KODA_EGRESS_ADD,
					   .id = id,
					   .flags = KODA_EGRESS_TOKEN };
	uint16_t port;

	(void)snprintf(add.text, sizeof(add.text), "%s", token);
	port = send_add(host, &add, net);
	expect_added(host, id);
	return port;
}

void host_rules(struct host *host, uint32_t id, const char *net)
{
	struct koda_egress_message rules = { .kind = KODA_EGRESS_RULES, .id = id };
	int fd = sealed_policy(net);

	host_send(host, &rules, &fd, 1);
	(void)close(fd);
}

bool host_has_message(struct host *host, int ms)
{
	struct pollfd polled = { .fd = host->control, .events = POLLIN };

	return poll(&polled, 1, ms) == 1;
}

struct koda_egress_message host_next(struct host *host)
{
	struct koda_egress_message message;

	if (!host_has_message(host, WAIT_MS))
		fail_msg("the proxy says nothing");
	assert_int_equal(recv(host->control, &message, sizeof(message), 0), sizeof(message));
	assert_int_equal(message.magic, KODA_EGRESS_MAGIC);
	return message;
}

struct koda_egress_message host_expect(struct host *host, enum koda_egress_kind kind)
{
	struct koda_egress_message message = host_next(host);

	if (message.kind != kind)
		fail_msg("message %u (reason %u, \"%s\"), expected %u", message.kind,
			 message.reason, message.text, kind);
	return message;
}

struct koda_egress_message host_event(struct host *host, enum koda_egress_reason reason)
{
	struct koda_egress_message event = host_expect(host, KODA_EGRESS_EVENT);

	if (event.reason != reason)
		fail_msg("reason %u (%s:%u \"%s\"), expected %u", event.reason, event.host,
			 event.port, event.text, reason);
	return event;
}

int dial_local(uint16_t port)
{
	const struct timeval patience = { .tv_sec = WAIT_MS / 1000 };
	struct sockaddr_in to = local(port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		fail_msg("connect: %s", strerror(errno));
	return fd;
}

void dial_later(int fd, uint16_t port)
{
	struct sockaddr_in to = local(port);

	assert_true(fd >= 0);
	(void)connect(fd, (struct sockaddr *)&to, sizeof(to));
}

void put(int fd, const void *bytes, size_t len)
{
	const char *at = bytes;

	while (len > 0) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

		if (n <= 0)
			fail_msg("send: %s", strerror(errno));
		at += n;
		len -= (size_t)n;
	}
}

void puts_to(int fd, const char *text)
{
	put(fd, text, strlen(text));
}

void get(int fd, void *bytes, size_t len)
{
	char *at = bytes;

	while (len > 0) {
		ssize_t n = recv(fd, at, len, 0);

		if (n <= 0)
			fail_msg("recv: %s, %zu bytes missing", n ? strerror(errno) : "end", len);
		at += n;
		len -= (size_t)n;
	}
}

int get_head(int fd, char *out, size_t size)
{
	size_t len = 0;

	while (len + 1 < size && recv(fd, out + len, 1, 0) == 1) {
		len++;
		if (len >= 4 && memcmp(out + len - 4, "\r\n\r\n", 4) == 0)
			break;
	}
	out[len] = '\0';
	return strncmp(out, "HTTP/1.1 ", 9) == 0 ? (int)strtol(out + 9, NULL, 10) : 0;
}

size_t get_all(int fd, char *out, size_t size, bool may_reset)
{
	size_t len = 0;

	for (;;) {
		ssize_t n = recv(fd, out + len, size - 1 - len, 0);

		if (n < 0 && !(may_reset && errno == ECONNRESET))
			fail_msg("recv: %s", strerror(errno));
		if (n <= 0)
			break;
		len += (size_t)n;
		assert_true(len < size - 1);
	}
	out[len] = '\0';
	return len;
}

void get_end(int fd)
{
	char byte;
	ssize_t n = recv(fd, &byte, 1, 0);

	if (n > 0 || (n < 0 && errno != ECONNRESET))
		fail_msg("the connection is still there");
}

int connect_through(uint16_t port, const char *target, int *ret_status)
{
	char text[1024];
	int fd = dial_local(port);

	(void)snprintf(text, sizeof(text), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target,
		       target);
	puts_to(fd, text);
	*ret_status = get_head(fd, text, sizeof(text));
	return fd;
}

int tunnel_to(uint16_t port, const char *host, uint16_t to)
{
	char target[300];
	int status;
	int fd;

	(void)snprintf(target, sizeof(target), "%s:%u", host, to);
	fd = connect_through(port, target, &status);
	if (status != 200)
		fail_msg("%s: status %d", target, status);
	return fd;
}

const char *allow_one(const char *host, uint16_t port)
{
	static char texts[8][400];
	static unsigned int turn;
	char *text = texts[turn++ % 8];

	(void)snprintf(text, sizeof(texts[0]), "\"allowed_domains\":[\"%s:%u\"]", host, port);
	return text;
}

int socks_to(uint16_t port, uint16_t to)
{
	const char hello[] = { 5, 1, 0 };
	char request[] = { 5,       1,   0,   3,   9,
			   'l',     'o', 'c', 'a', 'l',
			   'h',     'o', 's', 't', (char)(to >> 8),
			   (char)to };
	char answer[10];
	int fd = dial_local(port);

	put(fd, hello, sizeof(hello));
	get(fd, answer, 2);
	put(fd, request, sizeof(request));
	get(fd, answer, sizeof(answer));
	assert_int_equal(answer[1], 0);
	return fd;
}
