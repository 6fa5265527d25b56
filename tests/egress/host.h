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

/* Starts the proxy, waits until it is ready, adds sandbox 1 with this policy (JSON of "net").
 * env (may be NULL) is its environment. */
void host_start(struct host *host, const char *net, char *const *env);
/* The same without a sandbox. */
void host_start_bare(struct host *host, char *const *env);
/* Closes the control socket; the proxy must end by itself, with status 0. */
void host_stop(struct host *host);

/* A listening socket on 127.0.0.1 and its port. */
int listen_local(uint16_t *ret_port);
/* Sends ADD; the port of the sandbox's listener. No answer is awaited. */
uint16_t host_send_add(struct host *host, uint32_t id, uint32_t flags, const char *net);
/* ADD that must be followed. */
uint16_t host_add(struct host *host, uint32_t id, uint32_t flags, const char *net);
/* The same with a token. */
uint16_t host_add_token(struct host *host, uint32_t id, const char *token, const char *net);
void host_rules(struct host *host, uint32_t id, const char *net);
void host_send(struct host *host, const struct koda_egress_message *message, const int *fds,
	       size_t count);
/* The next message; fails the test after WAIT_MS. */
struct koda_egress_message host_next(struct host *host);
/* The next one must be of this kind. */
struct koda_egress_message host_expect(struct host *host, enum koda_egress_kind kind);
/* The next one must be an event with this reason. */
struct koda_egress_message host_event(struct host *host, enum koda_egress_reason reason);
/* Does a message come within ms? */
bool host_hears(struct host *host, int ms);

/* A blocking connection to 127.0.0.1 whose calls give up after WAIT_MS. */
int dial_local(uint16_t port);
/* Begins to connect a non-blocking socket, and does not look what becomes of it. */
void dial_later(int fd, uint16_t port);
void put(int fd, const void *bytes, size_t len);
void puts_to(int fd, const char *text);
/* Reads exactly len bytes. */
void get(int fd, void *bytes, size_t len);
/* Reads a head up to its empty line, a byte at a time; the status, 0 for none. */
int get_head(int fd, char *out, size_t size);
/* Everything up to the end; its length. A reset counts as the end if may_reset. */
size_t get_all(int fd, char *out, size_t size, bool may_reset);
/* The peer must have closed. */
void get_end(int fd);

/* CONNECT through the sandbox at port: the socket, status in *ret_status. */
int connect_through(uint16_t port, const char *target, int *ret_status);
/* The same, must be 200. */
int tunnel_to(uint16_t port, const char *host, uint16_t to);

/* The same by SOCKS, to localhost. */
int socks_to(uint16_t port, uint16_t to);

/* A server on 127.0.0.1 that runs serve(fd, arg) in a thread for each connection. */
struct server {
	int listener;
	uint16_t port;
	void (*serve)(int fd, void *arg);
	void *arg;
	pthread_t thread;
	_Atomic unsigned int served;
};
void server_start(struct server *server, void (*serve)(int fd, void *arg), void *arg);
/* The same on a socket that listens already, which is taken. */
void server_start_on(struct server *server, int listener, uint16_t port,
		     void (*serve)(int fd, void *arg));
void server_stop(struct server *server);
/* Sends back what it gets, then the end. */
void serve_echo(int fd, void *arg);

/* One of these that most tests need, as their group's fixture. */
extern struct server echo;
int start_echo(void **state);
int stop_echo(void **state);
/* A byte there and back. */
void echo_once(int fd);
/* As many descriptors as this process may have. */
void allow_many_files(void);

/* What reached an origin: servers note it, tests look for it, or begin anew. */
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
