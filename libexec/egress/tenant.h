/* SPDX-License-Identifier: MIT */
/*
 * One sandbox in the proxy: a listener, rules, connections. A connection belongs to the tenant
 * whose listener accepted it; nothing that the client sends can change that.
 */
#ifndef KODA_EGRESS_TENANT_H
#define KODA_EGRESS_TENANT_H

#include "io/input.h"
#include "proxy.h"
#include "route/decide.h"

#include <koda/policy.h>

struct egress_intercept;
struct egress_tls_server;

struct egress_tenant {
	struct egress_link link;
	struct egress_proxy *proxy;
	uint32_t id;
	bool can_ask;
	bool tls_passthrough;                  /* the CA bundle has no key: TLS is not terminated */
	char token[KODA_EGRESS_TOKEN_MAX + 1]; /* prefix of every connection; "": none */
	struct egress_ruleset *ruleset;        /* a reference */
	struct egress_intercept *intercept;    /* owned */
	struct egress_tls_server *tls;         /* owned; NULL: TLS is not terminated */
	struct egress_link conns;
	struct egress_link turn;    /* in proxy->turns, while connections wait for a turn */
	struct egress_link waiting; /* connections that wait for a turn */
	size_t conn_count;
	struct egress_watch listener;
	struct egress_task accepting; /* accepts more, after a batch or a limit */
	struct egress_deadline retry; /* runs while accepting is suspended after an error */
	bool full;                    /* accepting is suspended at a limit */
	uint64_t limit_reported;      /* loop's clock at the last event about a limit */
	struct egress_budget budget;  /* for the buffers of its connections */
	uint32_t dropped;             /* events lost since the last one that was sent */
};

/* Parameters of a new tenant. egress_tenant_add takes over the descriptors, also on failure. */
struct egress_tenant_spec {
	uint32_t id;
	bool can_ask;
	bool tls_passthrough; /* the CA bundle has no key: TLS is not terminated */
	const char *token;    /* borrowed; "": none */
	int listener;
	int policy;
	int ca;     /* -1: none */
	int ca_key; /* -1: none */
};

/* Adds a tenant. Fails: INVALID (the id is in use, a descriptor is of the wrong kind), POLICY,
 * LIMIT, SYS, NOMEM. */
KODA_CHECK int egress_tenant_add(struct egress_proxy *proxy, struct egress_tenant_spec *spec,
				 struct koda_error *err);
/* Returns the tenant, or NULL. */
struct egress_tenant *egress_tenant_find(struct egress_proxy *proxy, uint32_t id);
/* Replaces the rules by those of a sealed policy (taken over), and closes connections that they
 * refuse. Fails like egress_tenant_add; the old rules stay in force then. */
KODA_CHECK int egress_tenant_set_rules(struct egress_tenant *tenant, int policy,
				       struct koda_error *err);
/* Closes the tenant's connections and frees it. Returns the number of lost events not reported
 * yet. */
uint32_t egress_tenant_remove(struct egress_tenant *tenant);

/* tenant_tls.c: sets up TLS termination as "mitm" of the policy asks for, with the CA of spec.
 * If the policy wants termination, connections are never tunnelled without it, except to hosts
 * in except. Fails: INVALID, POLICY (the CA cannot be used), UNSUPPORTED, SYS, LIMIT, NOMEM,
 * INTERNAL. */
KODA_CHECK int egress_tenant_set_tls(struct egress_tenant *tenant, const struct koda_policy *policy,
				     struct koda_span except, const struct egress_tenant_spec *spec,
				     struct koda_error *err);
/* Like egress_tenant_set_tls, for a policy that replaces the first one; the CA stays. */
KODA_CHECK int egress_tenant_change_tls(struct egress_tenant *tenant,
					const struct koda_policy *policy, struct koda_span except,
					struct koda_error *err);
void egress_tenant_clear_tls(struct egress_tenant *tenant);

#endif
