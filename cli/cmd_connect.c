/* SPDX-License-Identifier: MIT */
/*
 * koda-sandbox connect: a connection through the sandbox's proxy on standard input and output. It
 * is what ssh calls as a ProxyCommand, and runs inside the sandbox.
 */
#include "cli.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/parse.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEAD_MAX    ((size_t)64 * 1024)
#define CHUNK       ((size_t)64 * 1024)
#define HOST_MAX    255
#define TARGET_SIZE (HOST_MAX + sizeof("[]:65535"))
#define LINE_SIZE   512 /* bytes of the proxy's answer */

/* One direction: bytes that were read and not yet written. */
struct pump {
	int from; /* -1: at its end */
	int to;
	char *bytes; /* CHUNK bytes */
	size_t at;
	size_t len;
};

static const char *proxy_url(const char *const *env)
{
	static const char *const names[] = { "HTTPS_PROXY=", "https_proxy=", "ALL_PROXY=",
					     "HTTP_PROXY=" };

	for (size_t i = 0; i < KODA_ARRAY_LEN(names); i++)
		for (const char *const *e = env; *e; e++)
			if (strncmp(*e, names[i], strlen(names[i])) == 0)
				return *e + strlen(names[i]);
	return NULL;
}

/* "http://127.0.0.1:3128"; the sandbox's proxy is always given by address. */
static int parse_proxy(const char *url, struct sockaddr_in *ret_address, struct koda_error *err)
{
	static const char scheme[] = "http://";
	char host[INET_ADDRSTRLEN];
	const char *colon;
	uint64_t port;
	size_t len;

	*ret_address = (struct sockaddr_in){ .sin_family = AF_INET };
	if (strncmp(url, scheme, sizeof(scheme) - 1) == 0) {
		char digits[8];

		url += sizeof(scheme) - 1;
		colon = strchr(url, ':');
		len = colon ? strcspn(colon + 1, "/") : 0;
		if (colon && (size_t)(colon - url) < sizeof(host) && len < sizeof(digits)) {
			memcpy(host, url, (size_t)(colon - url));
			host[colon - url] = '\0';
			memcpy(digits, colon + 1, len);
			digits[len] = '\0';
			if (inet_pton(AF_INET, host, &ret_address->sin_addr) == 1 &&
			    koda_parse_u64(digits, UINT16_MAX, &port, NULL) == KODA_OK) {
				ret_address->sin_port = htons((uint16_t)port);
				return KODA_OK;
			}
		}
	}
	return koda_fail_at(err, KODA_E_INVALID, 0, "HTTPS_PROXY",
			    "is not of the form http://ADDRESS:PORT");
}

/* Refuses names with bytes that would end the request line. */
static int check_host(const char *host, struct koda_error *err)
{
	size_t len = strlen(host);

	if (len == 0 || len > HOST_MAX)
		return koda_fail(err, KODA_E_INVALID, 0, "not a host");
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)host[i] <= ' ' || host[i] == 0x7f)
			return koda_fail(err, KODA_E_INVALID, 0, "not a host");
	return KODA_OK;
}

static int read_port(const char *text, uint16_t *ret_port, struct koda_error *err)
{
	uint64_t port = 0;

	if (koda_parse_u64(text, UINT16_MAX, &port, NULL) < 0 || port == 0)
		return koda_fail(err, KODA_E_INVALID, 0, "port %.20s: must be 1 to %d", text,
				 UINT16_MAX);
	*ret_port = (uint16_t)port;
	return KODA_OK;
}

/* HOST:PORT, an IPv6 address in brackets. */
static void name_target(const char *host, uint16_t port, char target[static TARGET_SIZE])
{
	bool is_v6 = strchr(host, ':') && host[0] != '[';

	(void)snprintf(target, TARGET_SIZE, is_v6 ? "[%s]:%u" : "%s:%u", host, port);
}

static int ask(int fd, const char *target, struct koda_error *err)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(4096);
	int r = koda_buf_addf(&text, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target);

	return r < 0 ? koda_fail_nomem(err) : koda_fd_write_all(fd, text.ptr, text.len, err);
}

/* Reads exactly the head of the answer: the bytes after it are the connection's. */
static int read_head(int fd, struct koda_buf *head, struct koda_error *err)
{
	while (head->len < 4 || memcmp(head->ptr + head->len - 4, "\r\n\r\n", 4) != 0) {
		char c;
		ssize_t n = recv(fd, &c, 1, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return koda_fail(err, KODA_E_SYS, errno, "the proxy's answer");
		if (n == 0)
			return koda_fail(err, KODA_E_SYS, 0, "the proxy closed the connection");
		if (koda_buf_add(head, &c, 1) < 0)
			return koda_fail(err, KODA_E_LIMIT, 0, "the proxy's answer is too long");
	}
	return koda_buf_add(head, "", 1) < 0 ? koda_fail_nomem(err) : KODA_OK;
}

/* The first line of the answer's text, as far as it comes. */
static void read_line(int fd, char line[static LINE_SIZE])
{
	size_t len = 0;

	while (len + 1 < LINE_SIZE) {
		ssize_t n = recv(fd, line + len, 1, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || line[len] == '\n' || line[len] == '\r')
			break;
		len++;
	}
	line[len] = '\0';
}

/* text behind "word: ", if it begins so. */
static const char *behind(const char *text, const char *word, size_t len)
{
	if (strncmp(text, word, len) == 0 && strncmp(text + len, ": ", 2) == 0)
		return text + len + 2;
	return text;
}

/* Fails with the proxy's reason, unless it has connected. */
static int judge(int fd, const char *head, const char *host, const char *target,
		 struct koda_error *err)
{
	static const char field[] = "\r\nX-Koda-Reason: ";
	const char *reason = strstr(head, field);
	bool refused = strncmp(head, "HTTP/1.1 403", 12) == 0;
	char line[LINE_SIZE];
	const char *text = line;
	size_t reason_len;
	size_t len;

	if (strncmp(head, "HTTP/1.1 200", 12) == 0)
		return KODA_OK;
	if (!reason)
		return koda_fail_at(err, KODA_E_DENIED, 0, target, "the proxy answered: %.*s",
				    (int)strcspn(head, "\r"), head);
	reason += sizeof(field) - 1;
	reason_len = strcspn(reason, "\r");
	read_line(fd, line);
	/* The line repeats what is said here already. */
	text = behind(text, CLI_PROGRAM, strlen(CLI_PROGRAM));
	text = behind(text, reason, reason_len);
	text = behind(text, target, strlen(target));
	text = behind(text, host, strlen(host));
	len = strlen(text);
	if (len > 0 && text[len - 1] == '.')
		len--;
	return koda_fail_at(err, KODA_E_DENIED, 0, target, "%s: %.*s%s%.*s",
			    refused ? "refused by the sandbox" : "not connected", (int)reason_len,
			    reason, len > 0 ? ": " : "", (int)len, text);
}

static short wants(const struct pump *pump, int fd)
{
	if (pump->len > 0)
		return fd == pump->to ? POLLOUT : 0;
	return fd == pump->from ? POLLIN : 0;
}

/* Returns false once the direction is over. */
static bool step(struct pump *pump)
{
	ssize_t n;

	if (pump->len == 0) {
		n = read(pump->from, pump->bytes, CHUNK);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			return true;
		pump->at = 0;
		pump->len = n > 0 ? (size_t)n : 0;
		return n > 0;
	}
	n = write(pump->to, pump->bytes + pump->at, pump->len);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	pump->at += (size_t)n;
	pump->len -= (size_t)n;
	return true;
}

static void carry(int fd, struct pump *up, struct pump *down)
{
	while (down->from >= 0) {
		struct pollfd polled[] = {
			{ .fd = up->from < 0 ? -1 : STDIN_FILENO,
			  .events = wants(up, STDIN_FILENO) },
			{ .fd = STDOUT_FILENO, .events = wants(down, STDOUT_FILENO) },
			{ .fd = fd,
			  .events = (short)(wants(down, fd) | (up->from < 0 ? 0 : wants(up, fd))) },
		};

		/* poll() would report POLLHUP again and again for a descriptor without events. */
		for (size_t i = 0; i < KODA_ARRAY_LEN(polled); i++)
			if (polled[i].events == 0)
				polled[i].fd = -1;
		if (poll(polled, KODA_ARRAY_LEN(polled), -1) < 0 && errno != EINTR)
			return;
		if (up->from >= 0 &&
		    (polled[0].revents ||
		     (up->len > 0 && (polled[2].revents & (POLLOUT | POLLERR)))) &&
		    !step(up)) {
			up->from = -1;
			(void)shutdown(fd, SHUT_WR);
		}
		if ((polled[1].revents ||
		     (down->len == 0 && (polled[2].revents & (POLLIN | POLLHUP | POLLERR)))) &&
		    !step(down))
			down->from = -1;
	}
}

static int serve(int fd, struct koda_error *err)
{
	koda_auto_free char *bytes = malloc(2 * CHUNK);
	struct pump up = { .from = STDIN_FILENO, .to = fd, .bytes = bytes };
	struct pump down = { .from = fd, .to = STDOUT_FILENO, .bytes = bytes + CHUNK };

	if (!bytes)
		return koda_fail_nomem(err);
	carry(fd, &up, &down);
	return CLI_EXIT_OK;
}

int cli_cmd_connect(const struct cli_call *call, struct koda_error *err)
{
	static const struct option longs[] = { CLI_HELP_OPTION, { 0 } };
	static const struct cli_syntax syntax = { "+:h", longs };
	koda_auto_buf struct koda_buf head = KODA_BUF_INIT(HEAD_MAX);
	koda_auto_fd int fd = -1;
	const char *url = proxy_url(call->env);
	struct sockaddr_in address;
	const char *host;
	char target[TARGET_SIZE];
	uint16_t port = 0;
	int r = cli_args_read(call, &syntax, NULL, NULL, err);

	if (r <= 0)
		return r;
	r = cli_args_need_operands(call, 2, "HOST PORT", err);
	if (r < 0)
		return r;
	host = call->argv[optind];
	r = check_host(host, err);
	if (r == KODA_OK)
		r = read_port(call->argv[optind + 1], &port, err);
	if (r == KODA_OK && !url)
		return koda_fail(err, KODA_E_INVALID, 0,
				 "HTTPS_PROXY is not set: is this a sandbox with a network?");
	if (r == KODA_OK)
		r = parse_proxy(url, &address, err);
	if (r < 0)
		return r;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot reach the proxy");
	name_target(host, port, target);
	r = ask(fd, target, err);
	if (r == KODA_OK)
		r = read_head(fd, &head, err);
	if (r == KODA_OK)
		r = judge(fd, head.ptr, host, target, err);
	return r < 0 ? r : serve(fd, err);
}
