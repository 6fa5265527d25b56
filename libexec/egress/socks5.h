/* SPDX-License-Identifier: MIT */
/*
 * SOCKS5 (RFC 1928), the server's half: no authentication, CONNECT only. Names and addresses come
 * out in the same canonical form as everywhere else.
 */
#ifndef EGRESS_SOCKS5_H
#define EGRESS_SOCKS5_H

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
	EGRESS_SOCKS_CLOSE = 0, /* send bytes (may be none), then close */
	EGRESS_SOCKS_MORE,      /* bring more input */
	EGRESS_SOCKS_SEND,      /* send bytes and ask again */
	EGRESS_SOCKS_CONNECT /* the request is read: host, port; answer with egress_socks_reply */
};

/* All zero for a new connection. */
struct egress_socks {
	bool greeted;
	bool over;
};

struct egress_socks_output {
	struct koda_span bytes; /* SEND, CLOSE: lives as long as the program */
	struct koda_host host;  /* CONNECT */
	uint16_t port;
	const char *code; /* CLOSE: why, one word for events */
};

/* *in holds everything received and not yet taken; what is taken is cut off its front. After
 * CONNECT it begins with the client's early data. No message is longer than 262 bytes. */
enum egress_socks_event egress_socks_next(struct egress_socks *socks, struct koda_span *in,
					  struct egress_socks_output *out);

/* The answer to CONNECT; lives as long as the program. */
struct koda_span egress_socks_answer(enum egress_socks_reply reply);
/* The reply for a connect(2) that failed with this errno. */
enum egress_socks_reply egress_socks_reply_for(int sys_errno);

#endif
