/* SPDX-License-Identifier: MIT */
#include "conn/refuse.h"

#include "conn/conn_report.h"
#include "conn/final_answer.h"
#include "proto/answer.h"
#include "proto/reason.h"

void egress_refuse(struct egress_conn *conn, enum koda_egress_reason reason)
{
	struct egress_refusal why = egress_reason_refusal(reason, conn->route.decision.rule);
	struct koda_egress_message event = { .status = (uint16_t)(conn->socks ? 0 : why.status) };
	char answer[EGRESS_ANSWER_MAX];
	struct koda_span bytes = { answer, 0 };

	egress_conn_report_as(conn, reason, &event);
	if (conn->socks)
		bytes = egress_socks5_answer(egress_reason_socks(reason, conn->route.sys_errno));
	else
		bytes.len =
			egress_answer(&why, koda_span_of(conn->route.target.text), false, answer);
	egress_final_answer_begin(conn, bytes);
}
