/* SPDX-License-Identifier: MIT */
/* The state of the whole process. */
#ifndef KODA_EGRESS_PROXY_H
#define KODA_EGRESS_PROXY_H

#include "conn/turn.h"
#include "io/flow.h"
#include "io/loop.h"
#include "io/queues.h"
#include "io/report.h"
#include "proto/http_head.h"
#include "proto/upstream.h"
#include "route/host_addrs.h"
#include "route/resolver.h"

struct egress_conn_phase;
struct egress_tls_client;

/* What bounds.h and the number of descriptors allow. */
struct egress_limits {
	size_t tenants;
	size_t conns;
	size_t tenant_conns;
	size_t tenant_memory; /* bytes */
};

struct egress_proxy {
	struct egress_loop *loop;
	/* Set by main.c, so that conn.c does not call the files above it. */
	const struct egress_conn_phase *const *phases; /* by enum egress_phase */
	void (*on_conn_ended)(struct egress_proxy *proxy);
	struct egress_relay relay;
	struct egress_host_addrs host_addrs;
	struct egress_resolver resolver;
	struct egress_reports reports;
	struct egress_queues queues;
	struct egress_turns turns;
	struct egress_upstream upstream;
	struct egress_link tenants;
	struct egress_limits limits;
	size_t tenant_count;
	size_t conn_count;
	size_t full_count;             /* tenants that stopped accepting at a limit */
	struct egress_budget budget;   /* of the buffers of all connections */
	uint32_t questions;            /* number of the last question */
	int trust;                     /* file of trusted CAs; -1: none */
	struct egress_tls_client *tls; /* owned; created for the first policy that terminates TLS */
	int reserve;                   /* descriptor to close when accept4(2) fails with EMFILE */
	struct egress_head head;       /* for parsing; its content is lost between two calls */
};

#endif
