/* SPDX-License-Identifier: MIT */
/* Events about single requests: method and path, but no query and no credentials. */
#include "http_conn.h"
#include "reason.h"

static enum koda_egress_reason fill(const struct egress_record *record,
				    struct koda_egress_message *event)
{
	*event = (struct koda_egress_message){ .bytes_up = record->sent,
					       .bytes_down = record->received,
					       .status = (uint16_t)record->status };
	KODA_REPORT_TEXT(event->method, record->method);
	KODA_REPORT_TEXT(event->path, record->path);
	if (!record->refusal)
		return KODA_EGRESS_OK;
	if (record->refusal->text)
		KODA_REPORT_TEXT(event->text, koda_span_of(record->refusal->text));
	return koda_reason_of(record->refusal->code, record->refusal->status);
}

void koda_conn_report_terminated(struct koda_conn *conn, const struct egress_record *record,
				 uint64_t began)
{
	struct koda_egress_message event;
	enum koda_egress_reason reason = fill(record, &event);
	uint64_t of_connection = conn->began;

	conn->began = began;
	koda_conn_report_as(conn, reason, &event);
	conn->began = of_connection;
}

void koda_conn_report_request(struct koda_conn *conn, const struct egress_record *record,
			      uint64_t began)
{
	struct koda_egress_message event;
	enum koda_egress_reason reason = fill(record, &event);
	struct koda_target target;

	/* A request that could not be read says nothing about the one before it. In a tunnel it
	 * was to go where the tunnel goes. */
	if (!record->host && !((const struct koda_http *)conn->state)->in_tunnel)
		koda_deal_clear(conn);
	else if (record->host && koda_target_of(&target, record->host, record->port) == KODA_OK)
		KODA_REPORT_TEXT(event.host, koda_span_of(target.text));
	event.port = record->port;
	conn->began = began;
	koda_conn_report_as(conn, reason, &event);
}
