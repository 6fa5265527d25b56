/* SPDX-License-Identifier: MIT */
#include "conn/conn_report.h"

#include "proto/reason.h"

void egress_conn_report_as(struct egress_conn *conn, enum koda_egress_reason reason,
			   struct koda_egress_message *event)
{
	event->kind = KODA_EGRESS_EVENT;
	event->id = conn->tenant->id;
	event->verdict = egress_reason_verdict(reason);
	event->reason = reason;
	event->ms = (uint32_t)(egress_loop_now(conn->proxy->loop) - conn->began);
	if (!event->host[0])
		EGRESS_REPORT_TEXT(event->host, koda_span_of(conn->route.target.text));
	if (event->port == 0)
		event->port = conn->route.target.port;
	if (!event->rule[0])
		EGRESS_REPORT_TEXT(event->rule, conn->route.decision.rule);
	if (conn->route.named && !event->tls_name[0])
		EGRESS_REPORT_TEXT(event->tls_name, koda_span_of(conn->route.named->text));
	if (conn->route.addr.family != 0)
		koda_addr_format(&conn->route.addr, event->address);
	if (!event->text[0])
		EGRESS_REPORT_TEXT(event->text, koda_span_of(egress_reason_text(reason)));
	egress_report_event(&conn->proxy->reports, event, &conn->tenant->dropped);
}

void egress_conn_report(struct egress_conn *conn, enum koda_egress_reason reason)
{
	struct koda_egress_message event = { .bytes_up = conn->up.bytes,
					     .bytes_down = conn->down.bytes };

	egress_conn_report_as(conn, reason, &event);
}

static enum koda_egress_reason fill(const struct egress_record *record,
				    struct koda_egress_message *event)
{
	*event = (struct koda_egress_message){ .bytes_up = record->sent,
					       .bytes_down = record->received,
					       .status = (uint16_t)record->status };
	EGRESS_REPORT_TEXT(event->method, record->method);
	EGRESS_REPORT_TEXT(event->path, record->path);
	if (!record->refusal)
		return KODA_EGRESS_OK;
	if (record->refusal->text)
		EGRESS_REPORT_TEXT(event->text, koda_span_of(record->refusal->text));
	return egress_reason_of(record->refusal->code, record->refusal->status);
}

void egress_conn_report_terminated(struct egress_conn *conn, const struct egress_record *record,
				   uint64_t began)
{
	struct koda_egress_message event;
	enum koda_egress_reason reason = fill(record, &event);
	uint64_t of_connection = conn->began;

	conn->began = began;
	egress_conn_report_as(conn, reason, &event);
	conn->began = of_connection;
}

void egress_conn_report_request(struct egress_conn *conn, const struct egress_record *record,
				uint64_t began, bool keep_route)
{
	struct koda_egress_message event;
	enum koda_egress_reason reason = fill(record, &event);
	struct egress_target target;

	/* conn->route is that of an earlier request. */
	if (!record->host && !keep_route)
		egress_route_record_clear(&conn->route);
	else if (record->host && egress_target_of(&target, record->host, record->port) == KODA_OK)
		EGRESS_REPORT_TEXT(event.host, koda_span_of(target.text));
	event.port = record->port;
	conn->began = began;
	egress_conn_report_as(conn, reason, &event);
}
