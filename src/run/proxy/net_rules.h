/* SPDX-License-Identifier: MIT */
/*
 * The network rules of a sandbox, which the listeners of all its commands follow. The host may
 * replace them and answer questions while commands run, from any thread.
 */
#ifndef KODA_RUN_PROXY_NET_RULES_H
#define KODA_RUN_PROXY_NET_RULES_H

#include "run/proxy/listener.h"

#include <pthread.h>

struct koda_net_rules {
	pthread_mutex_t lock;             /* of everything below; taken before proxy->lock */
	const struct koda_policy *policy; /* whose rules are in force */
	struct koda_policy *replaced;     /* owned; equals policy once that was replaced */
	struct koda_proxy *proxy;         /* a reference; NULL: no command has needed it yet */
	struct koda_strv tls_passthrough; /* owned; hosts whose TLS is not terminated */
	bool can_ask;                     /* connections that no rule decides are asked about */
	bool all_passthrough;             /* the policy's CA bundle has no key (ca_bundle.h) */
	bool ca_proven;                   /* the proxy can use the key of the CA bundle */
};

/* Borrows policy. */
void koda_net_rules_init(struct koda_net_rules *net, const struct koda_policy *policy,
			 bool can_ask);
/* All listeners that follow the rules must have been removed. */
void koda_net_rules_clear(struct koda_net_rules *net);

/* Adds a listener that follows these rules, like koda_listener_add. env is the host's. */
KODA_CHECK int koda_net_rules_add(struct koda_net_rules *net, const char *const *env, int fd,
				  koda_listener_fn *on_message, void *ctx,
				  struct koda_listener **ret_listener, struct koda_error *err);
/* Replaces the rules by the network rules of policy. When it returns, they hold for open and new
 * connections. Fails: INVALID (only one of the two policies terminates TLS), SYS, NOMEM. */
KODA_CHECK int koda_net_rules_set_rules(struct koda_net_rules *net,
					const struct koda_policy *policy, struct koda_error *err);

/* Keeps every thread from reading net->policy. All sandboxes that share the proxy wait meanwhile,
 * so nothing slow may be done between the two. */
void koda_net_rules_lock(struct koda_net_rules *net);
void koda_net_rules_unlock(struct koda_net_rules *net);

/* Returns the number under which the host knows the question of an ASK message. */
uint64_t koda_net_rules_question(const struct koda_egress_message *message);
/* Answers a question. Fails: INVALID (no connection waits for it any more), SYS. */
KODA_CHECK int koda_net_rules_answer(struct koda_net_rules *net, uint64_t question, bool allow,
				     struct koda_error *err);

#endif
