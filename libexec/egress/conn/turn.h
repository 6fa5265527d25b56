/* SPDX-License-Identifier: MIT */
/*
 * T-83. Fair scheduling of expensive work: handshakes, certificates, encryption, relaying.
 * Connections wait in the queue of their tenant, tenants take turns, and after TURNS_US other
 * events are handled first. So a tenant with a thousand handshakes or downloads delays the first
 * byte of another tenant by one or two turns only.
 */
#ifndef KODA_EGRESS_CONN_TURN_H
#define KODA_EGRESS_CONN_TURN_H

#include "io/loop.h"

struct egress_conn;

struct egress_turns {
	struct egress_link tenants; /* with connections that wait */
	struct egress_task task;
};

void egress_turns_init(struct egress_turns *turns);
/* Calls conn->phase->turn later, if the phase at that time has it; once, however often this is
 * called until then. */
void egress_turn_wait(struct egress_conn *conn);

#endif
