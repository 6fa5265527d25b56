/* SPDX-License-Identifier: MIT */
/*
 * From a target to a connected socket: decides by name, asks the host if the tenant may ask, looks
 * the name up, judges each address, and tries the allowed ones in turn. Behind an upstream proxy
 * only an address that is known without a lookup is judged, because that proxy resolves names. The
 * address of an upstream proxy is never judged. getpeername(2) confirms where a TCP socket led.
 */
#ifndef KODA_EGRESS_CONN_REACH_H
#define KODA_EGRESS_CONN_REACH_H

#include "conn/conn.h"

enum egress_reach_mode {
	EGRESS_REACH_TUNNEL, /* an upstream proxy gets a CONNECT request */
	EGRESS_REACH_PLAIN   /* an upstream proxy gets the HTTP request itself */
};

/* Starts to reach the target of conn->route. Calls done once, possibly before it returns. Reason
 * OK: the origin is connected, and conn->route says where. Otherwise there is no origin, and
 * conn->route.decision.rule may say why. */
void egress_reach_start(struct egress_conn *conn, enum egress_reach_mode mode,
			void (*done)(struct egress_conn *conn, enum koda_egress_reason reason));
/* T-80. Removes addresses not tried yet that conn->route's new rules refuse. */
void egress_reach_judge_again(struct egress_conn *conn);

/* Continues or ends the connections that wait for this question. */
void egress_reach_answer(struct egress_tenant *tenant, uint32_t question, bool allow);
/* For the queues of deadlines. */
void egress_reach_late(struct egress_deadline *deadline);
void egress_reach_attempt_late(struct egress_deadline *deadline);

#endif
