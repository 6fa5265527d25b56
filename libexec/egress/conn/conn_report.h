/* SPDX-License-Identifier: MIT */
/* Events about connections and requests. A request is reported with method and path, but without
 * query and credentials. */
#ifndef KODA_EGRESS_CONN_CONN_REPORT_H
#define KODA_EGRESS_CONN_CONN_REPORT_H

#include "conn/conn.h"
#include "proto/exchange.h"

/* Reports conn->route with the byte counts of both flows and the time since conn->began. */
void egress_conn_report(struct egress_conn *conn, enum koda_egress_reason reason);
/* Reports *event, in which the caller may have set fields. Fills in id, verdict and those fields
 * of conn->route that are empty. */
void egress_conn_report_as(struct egress_conn *conn, enum koda_egress_reason reason,
			   struct koda_egress_message *event);
/* Reports a plain HTTP request that began at this time of the loop's clock. keep_route: a request
 * that could not be parsed is reported under conn->route; without it conn->route is cleared. */
void egress_conn_report_request(struct egress_conn *conn, const struct egress_record *record,
				uint64_t began, bool keep_route);
/* Reports a request inside terminated TLS, where the connection gets an event besides. */
void egress_conn_report_terminated(struct egress_conn *conn, const struct egress_record *record,
				   uint64_t began);

#endif
