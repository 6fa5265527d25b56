/* SPDX-License-Identifier: MIT */
/*
 * From a target to a connected socket: decide by name, ask if that is wanted, look the name up,
 * judge each address, and connect to those that passed one after the other. Through the host's own
 * proxy the target is judged as far as its address is known without a lookup; where that proxy, or
 * one of socket_map, is reached is the host's business. A socket of the network is asked where it
 * led.
 */
#ifndef KODA_EGRESS_REACH_H
#define KODA_EGRESS_REACH_H

#include "conn.h"

enum koda_reach_mode {
	KODA_REACH_TUNNEL, /* bytes go end to end: an upstream proxy is asked to CONNECT */
	KODA_REACH_PLAIN   /* plain HTTP: an upstream proxy gets the request itself */
};

/* Works on conn->deal. done is called once, perhaps before this returns. With reason OK the origin
 * is connected and conn->deal says where; otherwise there is none, and conn->deal.decision.rule may
 * say why. */
void koda_reach_start(struct koda_conn *conn, enum koda_reach_mode mode,
		      void (*done)(struct koda_conn *conn, enum koda_egress_reason reason));
/* The socket on its way has news. */
void koda_reach_origin(struct koda_conn *conn);
/* Stops without calling done. Nothing happens if there is none. */
void koda_reach_cancel(struct koda_conn *conn);

/* conn->deal has other rules now: addresses that are still to be tried have to pass these too. */
void koda_reach_judge_again(struct koda_conn *conn);

/* The question that the connection waits for; 0: none. */
uint32_t koda_reach_question(const struct koda_conn *conn);
/* question.c: one to wait for, about the connection's target; 0: nobody can be asked. */
uint32_t koda_question_for(struct koda_conn *conn);
/* Is it waiting for the host's answer? Then nothing is decided that new rules could change. */
bool koda_reach_is_asking(const struct koda_conn *conn);
/* The host's answer to a question. */
void koda_reach_answer(struct koda_tenant *tenant, uint32_t question, bool allow);
/* For the queues. */
void koda_reach_late(struct koda_deadline *deadline);
void koda_reach_attempt_late(struct koda_deadline *deadline);

#endif
