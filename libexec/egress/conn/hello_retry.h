/* SPDX-License-Identifier: MIT */
/*
 * T-72. A TLS 1.3 server may ask for a second ClientHello (HelloRetryRequest), and some servers use
 * the name in that one. So after the first ClientHello the client's bytes wait until the server has
 * answered. A second ClientHello is checked like the first one.
 */
#ifndef KODA_EGRESS_CONN_HELLO_RETRY_H
#define KODA_EGRESS_CONN_HELLO_RETRY_H

#include "conn/conn.h"

/* Peeks at the origin's answer to the first ClientHello. Returns NONE, ASKED or WAIT. */
enum egress_retry egress_hello_retry_look(struct egress_conn *conn);

#endif
