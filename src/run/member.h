/* SPDX-License-Identifier: MIT */
/* A way out and its members as structs, shared by the files that own parts of their life. */
#ifndef KODA_RUN_MEMBER_H
#define KODA_RUN_MEMBER_H

#include "base/proc.h"
#include "run/egress.h"

#include <pthread.h>

struct queued {
	struct koda_egress_message message;
	struct queued *next;
};

struct koda_member {
	struct koda_egress *egress; /* borrowed */
	struct koda_member *next;
	uint32_t id;
	int listener;                          /* owned; -1: nobody can connect any more */
	struct koda_terms terms;               /* borrowed; until they are sealed */
	int policy;                            /* owned; sealed; -1: nobody needed it yet */
	int next_policy;                       /* owned; that is about to replace it, or -1 */
	int ca[2];                             /* owned; certificate and key, -1: none */
	int wake;                              /* owned */
	bool can_ask;                          /* somebody answers questions */
	const void *of;                        /* whose rules it follows, or NULL */
	uint32_t rules;                        /* replaced so often */
	uint32_t ruled;                        /* of these, in force */
	char token[KODA_EGRESS_TOKEN_MAX + 1]; /* "": none */
	bool is_served;                        /* the proxy has it */
	bool is_removed;
	struct queued *first;
	struct queued **last;
	size_t queued;
	uint32_t dropped; /* events that nobody was told of yet */
	koda_member_fn *told;
	void *ctx;
};

struct koda_egress {
	struct koda_egress *next; /* this and refs: under the lock of all */
	unsigned int refs;
	pid_t owner;
	pthread_mutex_t lock; /* of everything here, and of the queues of members */
	struct koda_strv env;
	struct koda_proc proxy;
	int control; /* -1: no proxy runs */
	unsigned int starts;
	uint32_t next_id;
	struct koda_member *members;
};

/* With the lock held: takes what the proxy has said and gives it to whom it concerns. */
void koda_egress_listen(struct koda_egress *egress);
/* With the lock held: somebody wants to connect to this member. */
void koda_egress_serve(struct koda_member *member);
/* With the lock held: ends the proxy, or notes that it has ended. */
void koda_egress_lose(struct koda_egress *egress);
/* With the lock held; NULL if there is none. */
struct koda_member *koda_egress_find(const struct koda_egress *egress, uint32_t id);
/* With the lock held. Waits as long as a proxy that is busy may need; one that needs longer is
 * ended by the caller (koda_egress_lose). Fails: SYS. */
KODA_CHECK int koda_egress_tell(const struct koda_egress *egress,
				const struct koda_egress_message *message, const int *fds,
				size_t count, struct koda_error *err);
/* The same for an order about this member. */
KODA_CHECK int koda_egress_order(struct koda_member *member, enum koda_egress_kind kind,
				 const int *fds, size_t count, struct koda_error *err);

#endif
