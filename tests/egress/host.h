/* SPDX-License-Identifier: MIT */
/*
 * A host process for tests of koda-egress: it starts the real program, gives it sandboxes whose
 * listeners are on 127.0.0.1, and plays the clients and the servers. Every wait has an end.
 */
#ifndef KODA_TEST_EGRESS_HOST_H
#define KODA_TEST_EGRESS_HOST_H

#include "../unit/koda_test.h"

#include "base/proc.h"
#include "wire/egress.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

#define WAIT_MS 20000

struct host {
	int control; /* -1: closed */
	struct koda_proc proc;
	uint16_t port; /* of sandbox 1 */
};

/* Starts the proxy, waits for READY, and adds sandbox 1 with this policy (JSON of "net"). env (may
 * be NULL) is its environment. */
void host_start(struct host *host, const char *net, char *const *env);
/* Starts the proxy without a sandbox. */
void host_start_bare(struct host *host, char *const *env);
/* Closes the control socket; the proxy must end by itself, with status 0. */
void host_stop(struct host *host);
/* Sends SIGSTOP and waits until the proxy has stopped; host_resume sends SIGCONT. */
void host_pause(struct host *host);
void host_resume(struct host *host);

/* Returns a listening socket on 127.0.0.1, and its port. */
int listen_local(uint16_t *ret_port);
/* Sends ADD without waiting for a reply. Returns the port of the sandbox's listener. */
uint16_t host_send_add(struct host *host, uint32_t id, uint32_t flags, const char *net);
/* Sends ADD and expects ADDED. */
uint16_t host_add(struct host *host, uint32_t id, uint32_t flags, const char *net);
/* Like host_add, with a token. */
uint16_t host_add_token(struct host *host, uint32_t id, const char *token, const char *net);
void host_rules(struct host *host, uint32_t id, const char *net);
void host_send(struct host *host, const struct koda_egress_message *message, const int *fds,
	       size_t count);
/* Returns the next message; fails the test after WAIT_MS. */
struct koda_egress_message host_next(struct host *host);
/* Returns the next message, which must be of this kind. */
struct koda_egress_message host_expect(struct host *host, enum koda_egress_kind kind);
/* Returns the next message, which must be an event with this reason. */
struct koda_egress_message host_event(struct host *host, enum koda_egress_reason reason);
/* Returns whether a message arrives within ms. */
bool host_has_message(struct host *host, int ms);

/* Returns a blocking connection to 127.0.0.1 whose calls fail after WAIT_MS. */
int dial_local(uint16_t port);
/* Calls connect(2) on a non-blocking socket, and ignores the result. */
void dial_later(int fd, uint16_t port);
void put(int fd, const void *bytes, size_t len);
void puts_to(int fd, const char *text);
/* Reads exactly len bytes. */
void get(int fd, void *bytes, size_t len);
/* Reads a head up to its empty line, a byte at a time. Returns the status, 0 for none. */
int get_head(int fd, char *out, size_t size);
/* Reads to the end of the stream. Returns the length. may_reset: ECONNRESET counts as the end. */
size_t get_all(int fd, char *out, size_t size, bool may_reset);
/* The peer must have closed. */
void get_end(int fd);

/* Sends CONNECT to the listener at port. Returns the socket, and the status in *ret_status. */
int connect_through(uint16_t port, const char *target, int *ret_status);
/* Like connect_through; the status must be 200. */
int tunnel_to(uint16_t port, const char *host, uint16_t to);

/* Opens a tunnel to localhost by SOCKS. */
int socks_to(uint16_t port, uint16_t to);

/* A server on 127.0.0.1 that runs serve(fd, arg) in a thread for each connection. */
struct server {
	int listener;
	uint16_t port;
	void (*serve)(int fd, void *arg);
	void *arg;
	pthread_t thread;
	_Atomic unsigned int served;
	pthread_mutex_t lock; /* of open */
	struct served *open;  /* connections whose thread was not joined yet */
};
void server_start(struct server *server, void (*serve)(int fd, void *arg), void *arg);
/* Starts a server on a listening socket, which is taken over. */
void server_start_on(struct server *server, int listener, uint16_t port,
		     void (*serve)(int fd, void *arg));
/* Starts a server on a web port of a loopback address that no other program uses. */
#define WEB_HOST "127.77.0.1"
void server_start_web(struct server *server, void (*serve)(int fd, void *arg));
/* Shuts its connections down and waits for their threads: nothing of them is left. */
void server_stop(struct server *server);
/* Echoes everything, then the end of the stream. */
void serve_echo(int fd, void *arg);

/* An echo server, as the fixture of a group of tests. */
extern struct server echo;
int start_echo(void **state);
int stop_echo(void **state);
/* Sends a byte and expects it back. */
void echo_once(int fd);
/* Raises RLIMIT_NOFILE to its hard limit. */
void allow_many_files(void);

/* Bytes that reached an origin: servers record them, tests search for them or clear them. */
void origin_note(const char *bytes, size_t len);
bool origin_saw(const char *text);
bool origin_saw_bytes(const void *bytes, size_t len);
void origin_forget(void);

/* A ClientHello with this server name (NULL: none), with or without an ECH extension; its length.
 */
size_t make_hello(const char *name, bool ech, uint8_t *out, size_t size);

/* "\"127.0.0.1:PORT\"" and so on: a policy's net with one allowed entry per argument. */
const char *allow_one(const char *host, uint16_t port);

#endif
