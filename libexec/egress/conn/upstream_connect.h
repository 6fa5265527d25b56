/* SPDX-License-Identifier: MIT */
/* The CONNECT request to an upstream proxy, on a socket that is connected to it. */
#ifndef KODA_EGRESS_CONN_UPSTREAM_CONNECT_H
#define KODA_EGRESS_CONN_UPSTREAM_CONNECT_H

#include "io/input.h"
#include "proto/http_head.h"
#include "proto/upstream.h"
#include "route/target.h"

struct egress_upstream_connect {
	struct koda_buf request;
	size_t sent; /* bytes of request */
	struct egress_input reply;
	struct egress_head_scan scan;
	bool started;
};

/* Prepares an empty request; the reply is charged to budget. */
void egress_upstream_connect_init(struct egress_upstream_connect *talk,
				  struct egress_budget *budget);
/* Writes the request for target. Fails: NOMEM, LIMIT. */
KODA_CHECK int egress_upstream_connect_start(struct egress_upstream_connect *talk,
					     const struct egress_upstream_proxy *proxy,
					     const struct egress_target *target);
/* Sends the request and reads the reply, as far as fd allows now. Returns DONE after a 2xx status
 * (RFC 9110, 9.3.6), BAD after any other one or an error, else MORE. After DONE, reply holds what
 * the origin has sent already. *head is overwritten. */
enum egress_parse egress_upstream_connect_run(struct egress_upstream_connect *talk, int fd,
					      struct egress_head *head);
void egress_upstream_connect_clear(struct egress_upstream_connect *talk);

#endif
