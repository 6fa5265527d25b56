/* SPDX-License-Identifier: MIT */
/* Refuses what a client asked for. */
#ifndef KODA_EGRESS_CONN_REFUSE_H
#define KODA_EGRESS_CONN_REFUSE_H

#include "conn/conn.h"

/* Reports the reason, answers in the client's protocol (HTTP or SOCKS), and ends the connection. */
void egress_refuse(struct egress_conn *conn, enum koda_egress_reason reason);

#endif
