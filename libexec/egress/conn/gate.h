/* SPDX-License-Identifier: MIT */
/*
 * T-80. The gate of a tunnel holds the client's first bytes until they are identified: TLS whose
 * ClientHello names the allowed host; HTTP, whose requests are then checked one by one; SSH, if the
 * server speaks it too; or, on ports that are not for these protocols, anything else. Without the
 * gate one allowed name would open every site on the same servers.
 */
#ifndef KODA_EGRESS_CONN_GATE_H
#define KODA_EGRESS_CONN_GATE_H

#include "conn/conn.h"

/* Checks the client's bytes in conn->in. Returns false if the connection was refused, failed, or
 * entered another phase. */
bool egress_gate_judge(struct egress_conn *conn);
/* Reads from the client and checks, until recv(2) gives EAGAIN or the gate opens. Returns false
 * like egress_gate_judge. */
bool egress_gate_fill(struct egress_conn *conn);
/* Opens the gate: conn->in becomes the first bytes of the flow to the origin. Returns false if
 * memory is short; the connection has ended then. */
bool egress_gate_open(struct egress_conn *conn);
/* Refuses the tunnel: the client sent an SSH identification line, the origin did not. */
void egress_gate_refuse_origin(struct egress_conn *conn);

#endif
