/* SPDX-License-Identifier: MIT */
/*
 * One sandbox, as the proxy knows it: a listening socket, rules, connections. A connection belongs
 * to the sandbox whose listener it came from; nothing it says can change that.
 */
#ifndef KODA_EGRESS_TENANT_H
#define KODA_EGRESS_TENANT_H

#include "decide.h"
#include "input.h"
#include "proxy.h"

#include <koda/policy.h>

struct koda_intercept;
struct koda_tls_server;

struct koda_tenant {
	struct koda_link link;
	struct koda_proxy *proxy;
	uint32_t id;
	bool can_ask;
	char token[KODA_EGRESS_TOKEN_MAX + 1]; /* that connections begin with; "": none */
	struct koda_ruleset *ruleset;          /* a reference */
	struct koda_intercept *intercept;      /* owned */
	struct koda_tls_server *tls;           /* owned; NULL: TLS is not terminated */
	struct koda_link conns;
	size_t conn_count;
	struct koda_watch listener;
	struct koda_task accepting; /* goes on after a full batch, or when there is room again */
	struct koda_deadline retry; /* accepting stopped after an error */
	bool full;                  /* accepting stopped at a ceiling */
	uint64_t told_full;         /* when that was reported last */
	struct koda_budget budget;  /* of its connections' buffers */
	uint32_t dropped;           /* events that were lost since the last that was not */
};

/* Everything an ADD brings. The descriptors are taken, also on failure. */
struct koda_tenant_order {
	uint32_t id;
	bool can_ask;
	const char *token; /* borrowed; "": none */
	int listener;
	int policy;
	int ca;     /* -1: none */
	int ca_key; /* -1: none */
};

/* Fails: INVALID (the id is taken, a descriptor is not what it should be), POLICY, LIMIT, SYS,
 * NOMEM. */
KODA_CHECK int koda_tenant_add(struct koda_proxy *proxy, struct koda_tenant_order *order,
			       struct koda_error *err);
/* NULL if there is none. */
struct koda_tenant *koda_tenant_find(struct koda_proxy *proxy, uint32_t id);
/* New rules from a sealed policy (taken). Connections they refuse are closed. Fails: as above;
 * then the old ones stay. */
KODA_CHECK int koda_tenant_set_rules(struct koda_tenant *tenant, int policy,
				     struct koda_error *err);
/* Closes its connections and frees it; how many events about it are lost and not told of. */
uint32_t koda_tenant_remove(struct koda_tenant *tenant);

/* tenant_tls.c: what "mitm" of a policy asks for, with the authority that the order brings. A
 * policy that wants TLS terminated is never served by opaque tunnels instead, but for the hosts in
 * except. Fails: INVALID,
 * POLICY (the authority is no good), UNSUPPORTED, SYS, LIMIT, NOMEM, INTERNAL. */
KODA_CHECK int koda_tenant_set_tls(struct koda_tenant *tenant, const struct koda_policy *policy,
				   struct koda_span except, const struct koda_tenant_order *order,
				   struct koda_error *err);
/* The same for a policy that replaces the first one. */
KODA_CHECK int koda_tenant_change_tls(struct koda_tenant *tenant, const struct koda_policy *policy,
				      struct koda_span except, struct koda_error *err);
void koda_tenant_clear_tls(struct koda_tenant *tenant);

/* accept.c: takes what waits at the listener, a bounded number at a time. */
void koda_accept_ready(struct koda_watch *watch, uint32_t events);
/* The same when there is no news. */
void koda_accept_more(struct koda_tenant *tenant);
/* A connection has ended; whoever stopped accepting for want of room tries again. */
void koda_accept_again(struct koda_proxy *proxy);
void koda_accept_retry(struct koda_deadline *deadline);

#endif
