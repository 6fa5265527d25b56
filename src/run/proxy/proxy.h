/* SPDX-License-Identifier: MIT */
/*
 * The egress proxy process as the host knows it. All sandboxes of a process that reach the network
 * in the same way (HTTP_PROXY and the like) share one struct koda_proxy. The process is started by
 * the first connection to one of its listeners. If it cannot be started, the listener is closed, so
 * that connections are refused and never let through.
 */
#ifndef KODA_RUN_PROXY_PROXY_H
#define KODA_RUN_PROXY_PROXY_H

#include "base/macros.h"
#include "base/proc.h"
#include "base/strv.h"
#include "run/proxy/policy_blob.h"
#include "wire/egress.h"

#include <koda/error.h>
#include <poll.h>
#include <pthread.h>

struct koda_listener;

struct koda_proxy {
	struct koda_proxy *next; /* next and refs: under the lock of the list of all proxies */
	unsigned int refs;
	pid_t owner;          /* the process that opened it; a forked child must not use it */
	pthread_mutex_t lock; /* of everything below, and of the queues of its listeners */
	struct koda_strv env; /* owned; of the host's environment, what the proxy gets */
	struct koda_proc process;
	int control;         /* owned; the control socket, -1: no process runs */
	unsigned int starts; /* in a row, without an ADDED from the process */
	uint32_t next_id;    /* the last number given to a listener */
	struct koda_listener *listeners;
};

/* Returns the proxy of this process for the host's environment env. Any thread may call it. Fails:
 * NOMEM. */
KODA_CHECK int koda_proxy_open(const char *const *env, struct koda_proxy **ret_proxy,
			       struct koda_error *err);
/* Drops a reference; the last one ends the process. The caller's listeners must have been removed.
 * NULL is fine. */
void koda_proxy_close(struct koda_proxy *proxy);

/* The functions below are called with proxy->lock held. */

/* Reads the messages that the process has sent, and queues each for the listener it names. */
void koda_proxy_receive(struct koda_proxy *proxy);
/* Starts the process if none runs, and has it serve the listener. */
void koda_proxy_serve(struct koda_listener *listener);
/* Kills the process, or reaps one that has ended, and tells all its listeners. */
void koda_proxy_lose(struct koda_proxy *proxy);
/* Returns the listener with that number; NULL if there is none. */
struct koda_listener *koda_proxy_find(const struct koda_proxy *proxy, uint32_t id);

/* Sends a message to the process (proxy_send.c). Waits as long as a busy process may need. If it
 * fails, the caller ends the process with koda_proxy_lose. Fails: SYS. */
KODA_CHECK int koda_proxy_send(const struct koda_proxy *proxy,
			       const struct koda_egress_message *message, const int *fds,
			       size_t count, struct koda_error *err);
/* Sends an ADD, RULES or REMOVE for this listener. Fails: as koda_proxy_send. */
KODA_CHECK int koda_proxy_send_order(struct koda_listener *listener, enum koda_egress_kind kind,
				     const int *fds, size_t count, struct koda_error *err);

#endif
