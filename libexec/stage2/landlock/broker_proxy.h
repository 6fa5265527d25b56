/* SPDX-License-Identifier: MIT */
/* Connections to the egress proxy, made for the command. */
#ifndef KODA_STAGE2_LANDLOCK_BROKER_PROXY_H
#define KODA_STAGE2_LANDLOCK_BROKER_PROXY_H

#include "landlock/brokered_call.h"

#include <poll.h>

#define STAGE2_TOKEN_BYTES 32
#define STAGE2_TOKEN_TEXT  (2 * STAGE2_TOKEN_BYTES + 1) /* in hexadecimal, with its NUL */

/* Connections that wait for the proxy to accept them. */
#define STAGE2_BROKER_PENDING 32

/* The way to the proxy: connections to port inside go to port real, and begin with the token. */
struct proxy_route {
	uint16_t inside; /* 0: the plan has no proxy */
	uint16_t real;
	int listener; /* until it is sent to the runner */
	char token[STAGE2_TOKEN_TEXT];
};

/* answer: sends the result of a call that was pending. */
void stage2_broker_proxy_start(const struct proxy_route *route,
			       void (*answer)(uint64_t id, long result));
/* Connects a duplicate of the command's socket. Returns a result as stage2_broker_connect does.
 * Closes fd, now or when the pending connection is decided. */
long stage2_broker_proxy_connect(const struct brokered_call *call, int fd,
				 struct sockaddr_storage *address, socklen_t len);
/* Like stage2_broker_wants and stage2_broker_step, for pending connections. */
size_t stage2_broker_proxy_wants(struct pollfd *polled, int *ret_ms);
void stage2_broker_proxy_step(void);

#endif
