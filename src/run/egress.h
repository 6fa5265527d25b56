/* SPDX-License-Identifier: MIT */
/*
 * The way out. A command's listener comes out of its network namespace; nobody accepts on it until
 * something connects, and then a proxy process is started that does. One proxy serves all members
 * of a struct koda_egress. If it cannot be started, the listener is closed: connections are
 * refused, never let through.
 */
#ifndef KODA_RUN_EGRESS_H
#define KODA_RUN_EGRESS_H

#include "base/macros.h"
#include "base/str.h"
#include "wire/egress.h"

#include <koda/error.h>
#include <koda/event.h>
#include <koda/policy.h>
#include <poll.h>

struct koda_egress;

/* The one of this process for this environment (the host's), of which the proxy gets what says how
 * to reach the network. Any thread may do this. Fails: NOMEM. */
KODA_CHECK int koda_egress_open(const char *const *env, struct koda_egress **ret_egress,
				struct koda_error *err);
/* The caller's members must be gone; the last one who closes it ends the proxy. NULL is fine. */
void koda_egress_close(struct koda_egress *egress);

/* One listener with its rules. */
struct koda_member;

/* What its owner is told, from koda_member_step. Everything in message is borrowed. */
typedef void koda_member_fn(void *ctx, const struct koda_egress_message *message);

/* What a member is served by. */
struct koda_terms {
	const struct koda_policy *policy;
	const struct koda_strv *except; /* hosts whose TLS is not terminated; NULL: none */
};

/* Checks the patterns. Fails: POLICY. */
KODA_CHECK int koda_terms_check(const struct koda_strv *except, struct koda_error *err);
/* As the proxy takes them. Fails: SYS, LIMIT, NOMEM. */
KODA_CHECK int koda_terms_seal(const struct koda_terms *terms, int *ret_fd, struct koda_error *err);

/* Is there no doubt that they fit? */
bool koda_terms_are_short(const struct koda_terms *terms);

/* Takes the listener over, also on failure. What the terms name is borrowed until the member is
 * removed, and does not change but with the egress locked. Fails: SYS (the CA cannot be opened),
 * NOMEM. */
KODA_CHECK int koda_member_add(struct koda_egress *egress, const struct koda_terms *terms,
			       int listener, koda_member_fn *told, void *ctx,
			       struct koda_member **ret_member, struct koda_error *err);
/* Only connections that begin with these bytes, which are copied, are the member's; for listeners
 * that others can reach too. Before anything is waited for. Fails: INVALID. */
KODA_CHECK int koda_member_set_token(struct koda_member *member, const char *token,
				     struct koda_error *err);
/* Starts the proxy now, and not at the first connection; told hears ADDED or REFUSED. */
void koda_member_start(struct koda_member *member);

enum koda_member_state {
	KODA_MEMBER_CLOSED = 0, /* nobody can connect any more */
	KODA_MEMBER_WAITING,    /* for the first connection, or for one after the proxy died */
	KODA_MEMBER_SERVED
};

enum koda_member_state koda_member_state(const struct koda_member *member);

/* What to poll for (at most KODA_MEMBER_POLLED); then a step, if any of it is ready. */
#define KODA_MEMBER_POLLED 2
size_t koda_member_wants(const struct koda_member *member, struct pollfd *polled);
void koda_member_step(struct koda_member *member);
/* Closes the listener and every connection; what is still to be told is told first, within
 * deadline_ns. NULL is fine. */
void koda_member_remove(struct koda_member *member, uint64_t deadline_ns);

/* The message as an event that borrows from it; false if it is none (heard.c). */
bool koda_egress_event(const struct koda_egress_message *message, struct koda_event *ret_event);

#endif
