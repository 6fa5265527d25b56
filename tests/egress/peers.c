/* SPDX-License-Identifier: MIT */
/* The servers behind the proxy, and what a TLS client would say first. */
#include "host.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

struct served {
	struct served *next;
	struct server *server;
	pthread_t thread;
	int fd; /* -1: closed, the thread ends */
};

static void *serve_one(void *arg)
{
	struct served *served = arg;
	struct server *server = served->server;

	server->serve(served->fd, server->arg);
	(void)pthread_mutex_lock(&server->lock);
	(void)close(served->fd);
	served->fd = -1;
	(void)pthread_mutex_unlock(&server->lock);
	return NULL;
}

/* Joins the threads whose connection is closed. */
static void join_ended(struct server *server)
{
	struct served **at = &server->open;

	(void)pthread_mutex_lock(&server->lock);
	while (*at) {
		struct served *served = *at;

		if (served->fd >= 0) {
			at = &served->next;
			continue;
		}
		*at = served->next;
		(void)pthread_join(served->thread, NULL);
		free(served);
	}
	(void)pthread_mutex_unlock(&server->lock);
}

/* Shuts all connections down, and joins the threads. */
static void join_all(struct server *server)
{
	(void)pthread_mutex_lock(&server->lock);
	for (struct served *served = server->open; served; served = served->next)
		if (served->fd >= 0)
			(void)shutdown(served->fd, SHUT_RDWR);
	(void)pthread_mutex_unlock(&server->lock);
	while (server->open) {
		struct served *served = server->open;

		server->open = served->next;
		(void)pthread_join(served->thread, NULL);
		free(served);
	}
}

static bool serve_next(struct server *server, const pthread_attr_t *attr)
{
	struct served *served = calloc(1, sizeof(*served));
	int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);

	if (!served || fd < 0) {
		free(served);
		return false;
	}
	served->server = server;
	served->fd = fd;
	server->served++;
	if (pthread_create(&served->thread, attr, serve_one, served) != 0) {
		(void)close(fd);
		free(served);
		return true;
	}
	(void)pthread_mutex_lock(&server->lock);
	served->next = server->open;
	server->open = served;
	(void)pthread_mutex_unlock(&server->lock);
	return true;
}

static void *accept_all(void *arg)
{
	struct server *server = arg;
	pthread_attr_t small;

	(void)pthread_attr_init(&small);
	(void)pthread_attr_setstacksize(&small, 256 * 1024);
	while (serve_next(server, &small))
		join_ended(server);
	(void)pthread_attr_destroy(&small);
	return NULL;
}

static void run_server(struct server *server, void (*serve)(int fd, void *arg), void *arg)
{
	server->serve = serve;
	server->arg = arg;
	server->served = 0;
	server->open = NULL;
	(void)pthread_mutex_init(&server->lock, NULL);
	assert_int_equal(pthread_create(&server->thread, NULL, accept_all, server), 0);
}

void server_start(struct server *server, void (*serve)(int fd, void *arg), void *arg)
{
	server->listener = listen_local(&server->port);
	run_server(server, serve, arg);
}

void server_start_on(struct server *server, int listener, uint16_t port,
		     void (*serve)(int fd, void *arg))
{
	server->listener = listener;
	server->port = port;
	run_server(server, serve, NULL);
}

void server_start_web(struct server *server, void (*serve)(int fd, void *arg))
{
	static const uint16_t ports[] = { 8888, 8008, 8443, 8000, 5000, 3000 };

	/* The first that is free. */
	for (size_t i = 0; i < KODA_ARRAY_LEN(ports); i++) {
		struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(ports[i]) };
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		const int on = 1;

		(void)inet_pton(AF_INET, WEB_HOST, &at.sin_addr);
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		if (bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(fd, 64) == 0) {
			server_start_on(server, fd, ports[i], serve);
			return;
		}
		(void)close(fd);
	}
	fail_msg("no web port is free on " WEB_HOST);
}

void server_stop(struct server *server)
{
	(void)shutdown(server->listener, SHUT_RDWR);
	(void)pthread_join(server->thread, NULL);
	join_all(server);
	(void)pthread_mutex_destroy(&server->lock);
	(void)close(server->listener);
}

void serve_echo(int fd, void *arg)
{
	char bytes[16384];
	ssize_t n;

	(void)arg;
	while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
		for (ssize_t at = 0; at < n;) {
			ssize_t sent = send(fd, bytes + at, (size_t)(n - at), MSG_NOSIGNAL);

			if (sent <= 0)
				return;
			at += sent;
		}
}

struct server echo;

int start_echo(void **state)
{
	(void)state;
	server_start(&echo, serve_echo, NULL);
	return 0;
}

int stop_echo(void **state)
{
	(void)state;
	server_stop(&echo);
	return 0;
}

void echo_once(int fd)
{
	char byte = 'x';

	put(fd, &byte, 1);
	get(fd, &byte, 1);
}

void allow_many_files(void)
{
	struct rlimit files;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = files.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
}

static struct {
	pthread_mutex_t lock;
	char text[65536];
	size_t len;
} seen = { .lock = PTHREAD_MUTEX_INITIALIZER };

void origin_note(const char *bytes, size_t len)
{
	(void)pthread_mutex_lock(&seen.lock);
	if (len <= sizeof(seen.text) - seen.len) {
		memcpy(seen.text + seen.len, bytes, len);
		seen.len += len;
	}
	(void)pthread_mutex_unlock(&seen.lock);
}

bool origin_saw_bytes(const void *bytes, size_t len)
{
	bool found;

	(void)pthread_mutex_lock(&seen.lock);
	found = memmem(seen.text, seen.len, bytes, len) != NULL;
	(void)pthread_mutex_unlock(&seen.lock);
	return found;
}

bool origin_saw(const char *text)
{
	return origin_saw_bytes(text, strlen(text));
}

void origin_forget(void)
{
	(void)pthread_mutex_lock(&seen.lock);
	seen.len = 0;
	(void)pthread_mutex_unlock(&seen.lock);
}

static size_t put16(uint8_t *out, size_t at, size_t value)
{
	out[at] = (uint8_t)(value >> 8);
	out[at + 1] = (uint8_t)value;
	return at + 2;
}

size_t make_hello(const char *name, bool ech, uint8_t *out, size_t size)
{
	size_t extensions;
	size_t at = 9;

	assert_true(size >= 512);
	memset(out, 0, size);
	at = put16(out, at, 0x0303) + 32; /* version, random */
	out[at++] = 0;                    /* session */
	at = put16(out, at, 2);           /* one cipher suite */
	at = put16(out, at, 0x1301);
	out[at++] = 1; /* one compression: none */
	out[at++] = 0;
	extensions = at;
	at += 2;
	if (name) {
		size_t len = strlen(name);

		at = put16(out, at, 0);
		at = put16(out, at, len + 5);
		at = put16(out, at, len + 3);
		out[at++] = 0;
		at = put16(out, at, len);
		memcpy(out + at, name, len);
		at += len;
	}
	if (ech) {
		at = put16(out, at, 0xfe0d);
		at = put16(out, at, 4);
		at += 4;
	}
	at = put16(out, at, 0x002b); /* versions: 1.3 */
	at = put16(out, at, 3);
	out[at++] = 2;
	at = put16(out, at, 0x0304);
	(void)put16(out, extensions, at - extensions - 2);
	out[0] = 0x16;
	(void)put16(out, 1, 0x0301);
	(void)put16(out, 3, at - 5);
	out[5] = 1;
	(void)put16(out, 7, at - 9);
	return at;
}
