/* SPDX-License-Identifier: MIT */
/*
 * SOCKS5 (RFC 1928), server side: no authentication, CONNECT only. Names and addresses are
 * canonical.
 */
#ifndef KODA_EGRESS_PROTO_SOCKS5_H
#define KODA_EGRESS_PROTO_SOCKS5_H

#include "proto/latch.h"

#include "policy/host.h"

enum egress_socks_reply {
	EGRESS_SOCKS_OK = 0,
	EGRESS_SOCKS_FAILURE = 1,
	EGRESS_SOCKS_NOT_ALLOWED = 2,
	EGRESS_SOCKS_NET_UNREACHABLE = 3,
	EGRESS_SOCKS_HOST_UNREACHABLE = 4,
	EGRESS_SOCKS_REFUSED = 5,
	EGRESS_SOCKS_TTL_EXPIRED = 6,
	EGRESS_SOCKS_NO_COMMAND = 7,
	EGRESS_SOCKS_NO_ADDRESS_TYPE = 8
};

enum egress_socks_event {
	EGRESS_SOCKS_CLOSE = 0, /* send bytes (possibly none), then close */
	EGRESS_SOCKS_MORE,      /* more input is needed */
	EGRESS_SOCKS_SEND,      /* send bytes, then call again */
	EGRESS_SOCKS_CONNECT    /* request read: host, port; reply by egress_socks5_answer */
};

/* Zero it for a new connection. */
struct egress_socks {
	bool greeted;
	struct egress_latch latch; /* CLOSE, also after CONNECT */
};

struct egress_socks_output {
	struct koda_span bytes; /* SEND, CLOSE: static */
	struct koda_host host;  /* CONNECT */
	uint16_t port;
	const char *code; /* CLOSE: the reason, one word for events */
};

/* Handles one message. *in is everything received and not consumed; consumed bytes are removed
 * from its front. After CONNECT it begins with the client's early data. Messages have at most
 * 262 bytes. */
enum egress_socks_event egress_socks5_next(struct egress_socks *socks, struct koda_span *in,
					   struct egress_socks_output *out);

/* Returns the answer to CONNECT; static. */
struct koda_span egress_socks5_answer(enum egress_socks_reply reply);
/* Returns the reply for an errno of connect(2). */
enum egress_socks_reply egress_socks5_reply_for(int sys_errno);

#endif
