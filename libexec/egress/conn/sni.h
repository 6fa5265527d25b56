/* SPDX-License-Identifier: MIT */
/* T-72. The server name of a ClientHello, compared with the tunnel's target. */
#ifndef KODA_EGRESS_CONN_SNI_H
#define KODA_EGRESS_CONN_SNI_H

#include "conn/conn.h"

/* Returns whether the tunnel may carry this ClientHello: its server name, or the lack of one, fits
 * conn->route. The name of a connection to an address is kept in conn->route.named. */
bool egress_sni_fits(struct egress_conn *conn, const struct egress_hello *hello);
/* Returns whether the proxy terminates TLS to conn->route's target. */
bool egress_sni_is_terminated(const struct egress_conn *conn);

#endif
