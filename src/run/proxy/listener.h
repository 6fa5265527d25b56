/* SPDX-License-Identifier: MIT */
/*
 * A listening socket whose connections the egress proxy serves, with its network rules. The socket
 * comes out of a command's network namespace. Its owner polls it until the first connection, which
 * starts the proxy; from then on the proxy accepts, and the owner hears of each connection.
 */
#ifndef KODA_RUN_PROXY_LISTENER_H
#define KODA_RUN_PROXY_LISTENER_H

#include "run/proxy/proxy.h"

/* Takes a message of the proxy, from koda_listener_step. Everything in message is borrowed. */
typedef void koda_listener_fn(void *ctx, const struct koda_egress_message *message);

/* A message that waits for the owner. */
struct koda_listener_entry {
	struct koda_egress_message message;
	struct koda_listener_entry *next;
};

/* Questions without an answer that are remembered. The proxy has fewer connections that wait. */
#define KODA_LISTENER_QUESTIONS 128
/* How long the proxy waits for an answer. */
#define KODA_LISTENER_ANSWER_NS 60000000000ULL

struct koda_listener {
	struct koda_proxy *proxy; /* borrowed */
	struct koda_listener *next;
	uint32_t id;                  /* how host and proxy call it; new for each ADD */
	int fd;                       /* owned; the socket, -1: closed */
	struct koda_policy_blob blob; /* borrowed; read when it is sealed */
	int policy_fd;                /* owned; the sealed blob, -1: not yet */
	int next_policy_fd;           /* owned; about to replace policy_fd, or -1 */
	int ca_fd[2];                 /* owned; certificate and key, -1: none */
	int wake_fd;                  /* owned; eventfd, written when a message is queued */
	bool can_ask;                 /* the host answers questions */
	const void *rules_owner;      /* the struct koda_net_rules that it follows, or NULL */
	uint32_t rules_sent;          /* RULES messages sent to the process */
	uint32_t rules_confirmed;     /* of these, how many the process has confirmed */
	char token[KODA_EGRESS_TOKEN_MAX + 1]; /* "": none */
	bool is_served;                        /* the process has the socket */
	bool is_removed;                       /* the process has sent its last message about it */
	struct koda_listener_entry *first;     /* owned; the queue */
	struct koda_listener_entry **last;
	size_t queued;
	uint32_t dropped; /* events that did not fit; told with the next one */
	struct {
		uint32_t number; /* 0: free, or answered */
		uint64_t asked_ns;
	} questions[KODA_LISTENER_QUESTIONS];
	size_t next_question; /* where the next question is put */
	koda_listener_fn *on_message;
	void *ctx;
};

/* Takes the socket fd over, also on failure. What blob refers to is borrowed until the listener is
 * removed, and may change only under proxy->lock. Fails: SYS (the CA cannot be opened), NOMEM. */
KODA_CHECK int koda_listener_add(struct koda_proxy *proxy, const struct koda_policy_blob *blob,
				 int fd, koda_listener_fn *on_message, void *ctx,
				 struct koda_listener **ret_listener, struct koda_error *err);
/* Has the proxy refuse connections that do not begin with these bytes, which are copied. Needed
 * where processes outside the sandbox can connect too. Call it before the first step. Fails:
 * INVALID. */
KODA_CHECK int koda_listener_set_token(struct koda_listener *listener, const char *token,
				       struct koda_error *err);
/* Starts the proxy now instead of at the first connection; on_message gets ADDED or REFUSED. */
void koda_listener_start(struct koda_listener *listener);

enum koda_listener_state {
	KODA_LISTENER_CLOSED = 0, /* connections are refused */
	KODA_LISTENER_WAITING,    /* for a connection, which starts the proxy */
	KODA_LISTENER_SERVED      /* the proxy accepts */
};

enum koda_listener_state koda_listener_state(const struct koda_listener *listener);

/* Fills in what to poll, at most KODA_LISTENER_POLLED entries, and returns how many. If one of them
 * is ready, koda_listener_step is to be called. */
#define KODA_LISTENER_POLLED 2
size_t koda_listener_wants(const struct koda_listener *listener, struct pollfd *polled);
void koda_listener_step(struct koda_listener *listener);
/* Closes the socket, and has the proxy close its connections. Its last messages still come. */
void koda_listener_close(struct koda_listener *listener);
/* Tells whether the proxy has sent its last message, or never served the listener. */
bool koda_listener_is_gone(const struct koda_listener *listener);
/* Passes on what is queued and frees the listener, which was closed. */
void koda_listener_free(struct koda_listener *listener);
/* Does all three: closes the socket and its connections. Waits until deadline_ns for the proxy's
 * last message, and passes on what is queued. NULL is fine. */
void koda_listener_remove(struct koda_listener *listener, uint64_t deadline_ns);

/* The queue (listener_queue.c). These are called with proxy->lock held. */

/* Appends a message and wakes the owner. An event or a question that does not fit is dropped;
 * dropped events are counted. */
void koda_listener_queue_add(struct koda_listener *listener,
			     const struct koda_egress_message *message);
/* Returns the first message, owned by the caller; NULL if there is none. */
struct koda_listener_entry *koda_listener_queue_take(struct koda_listener *listener);
/* Makes the owner's poll() return. */
void koda_listener_queue_wake(const struct koda_listener *listener);
/* Forgets a question that waits for an answer. False if it is unknown, answered, or the proxy has
 * given it up. */
bool koda_listener_queue_answer(struct koda_listener *listener, uint32_t question);

#endif
