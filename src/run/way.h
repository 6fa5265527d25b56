/* SPDX-License-Identifier: MIT */
/*
 * A sandbox's way out: the rules that the listeners of all its commands follow. A host may replace
 * them and answer questions while commands run, from any thread.
 */
#ifndef KODA_RUN_WAY_H
#define KODA_RUN_WAY_H

#include "run/egress.h"

#include <pthread.h>

struct koda_way {
	pthread_mutex_t lock;             /* of everything below; taken before that of the egress */
	const struct koda_policy *policy; /* whose rules are in force */
	struct koda_policy *replaced;     /* owned; that policy, if it is not the first one */
	struct koda_egress *egress;       /* a reference; NULL: no command has needed it yet */
	struct koda_strv except;          /* owned; hosts whose TLS is not terminated */
	bool can_ask;                     /* what no rule speaks of is asked about */
};

/* policy is borrowed. */
void koda_way_init(struct koda_way *way, const struct koda_policy *policy, bool can_ask);
/* Its members must be gone. */
void koda_way_clear(struct koda_way *way);

/* Like koda_member_add, by the rules of the way; env is the host's. */
KODA_CHECK int koda_way_add(struct koda_way *way, const char *const *env, int listener,
			    koda_member_fn *told, void *ctx, struct koda_member **ret_member,
			    struct koda_error *err);
/* Connections, old and new, meet the network rules of this policy once it returns. Fails: INVALID
 * (it terminates TLS and the first one did not, or the other way round), SYS, NOMEM. */
KODA_CHECK int koda_way_set_rules(struct koda_way *way, const struct koda_policy *policy,
				  struct koda_error *err);

/* Between the two nobody reads the policy of the way. Every sandbox of the process waits
 * meanwhile, so nothing is done there that can take long. */
void koda_way_hold(struct koda_way *way);
void koda_way_release(struct koda_way *way);

/* An ASK, as the host knows it. */
uint64_t koda_way_question(const struct koda_egress_message *message);
/* Fails: INVALID (nobody waits for it any more), SYS. */
KODA_CHECK int koda_way_answer(struct koda_way *way, uint64_t question, bool allow,
			       struct koda_error *err);

#endif
