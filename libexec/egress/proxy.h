/* SPDX-License-Identifier: MIT */
/* What the whole process has once. */
#ifndef KODA_EGRESS_PROXY_H
#define KODA_EGRESS_PROXY_H

#include "flow.h"
#include "http_head.h"
#include "loop.h"
#include "own.h"
#include "report.h"
#include "resolve.h"
#include "upstream.h"

#define KODA_DESCRIPTORS_OWN 64 /* neither connections nor pipes may use these */

struct koda_tls_client;

struct koda_queues {
	struct koda_queue head;
	struct koda_queue connect;
	struct koda_queue attempt;
	struct koda_queue ask;
	struct koda_queue idle;
	struct koda_queue linger;
	struct koda_queue retry; /* accepting again after an error */
};

struct koda_proxy {
	struct koda_loop *loop;
	struct koda_relay relay;
	struct koda_own own;
	struct koda_resolver resolver;
	struct koda_reports reports;
	struct koda_queues queues;
	struct egress_upstream upstream;
	struct koda_link tenants;
	size_t tenant_count;
	size_t tenant_max;
	size_t conn_count;
	size_t conn_max;
	size_t full_count; /* tenants that stopped accepting for want of room */
	size_t tenant_conn_max;
	size_t tenant_memory_max;    /* bytes */
	struct koda_budget budget;   /* of the buffers of all connections */
	uint32_t questions;          /* asked so far */
	int trust;                   /* the system's trusted authorities; -1: none */
	struct koda_tls_client *tls; /* owned; made when a policy terminates TLS */
	int reserve;                 /* a descriptor to give up when there are no others */
	struct egress_head head;     /* of the request being read; no one's between two calls */
};

#endif
