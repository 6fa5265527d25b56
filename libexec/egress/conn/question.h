/* SPDX-License-Identifier: MIT */
/* T-83. Questions to the host about names that no rule covers. Connections of one tenant to one
 * target share a question, and a tenant has a bounded number of connections that wait. */
#ifndef KODA_EGRESS_CONN_QUESTION_H
#define KODA_EGRESS_CONN_QUESTION_H

#include "conn/conn.h"

/* Returns whether the answer would not matter: the target's address is known without a lookup, and
 * the address guard refuses it. conn->route.decision says why then. */
bool egress_question_is_moot(struct egress_conn *conn);
/* Returns the number of the question to wait for, which is sent unless an earlier one has the same
 * target; 0 if too many connections wait or the question cannot be sent. */
uint32_t egress_question_for(struct egress_conn *conn);

/* Returns whether the connection waits for the host's answer. New rules do not affect it then. */
static inline bool egress_question_is_open(const struct egress_conn *conn)
{
	return conn->question != 0;
}

#endif
