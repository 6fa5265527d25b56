/* SPDX-License-Identifier: MIT */
#include "proto/reason.h"

#include "proto/http_status.h"

#include <string.h>

struct reason_row {
	enum koda_egress_verdict verdict;
	int status;
	enum egress_socks_reply socks;
	const char *code;
	const char *text;
};

static const struct reason_row rows[] = {
#define REASON_ROW(name, verdict, status, socks, code, text)                                       \
	[KODA_EGRESS_##name] = { KODA_EGRESS_##verdict, (status),                                  \
				 (enum egress_socks_reply)(socks), (code), (text) },
	KODA_EGRESS_REASONS(REASON_ROW)
#undef REASON_ROW
};

static const struct reason_row *row_of(enum koda_egress_reason reason)
{
	return &rows[(unsigned int)reason < KODA_EGRESS_REASON_COUNT ? reason
								     : KODA_EGRESS_BAD_REQUEST];
}

const char *egress_reason_text(enum koda_egress_reason reason)
{
	return row_of(reason)->text;
}

enum koda_egress_verdict egress_reason_verdict(enum koda_egress_reason reason)
{
	return row_of(reason)->verdict;
}

struct egress_refusal egress_reason_refusal(enum koda_egress_reason reason, struct koda_span rule)
{
	const struct reason_row *row = row_of(reason);

	return (struct egress_refusal){
		.status = row->status, .code = row->code, .text = row->text, .rule = rule
	};
}

enum egress_socks_reply egress_reason_socks(enum koda_egress_reason reason, int sys_errno)
{
	if (reason == KODA_EGRESS_CONNECT_FAILED && sys_errno != 0)
		return egress_socks5_reply_for(sys_errno);
	return row_of(reason)->socks;
}

enum koda_egress_reason egress_reason_of(const char *code, int status)
{
	const struct egress_http_status *row;

	for (unsigned int i = 0; i < KODA_EGRESS_REASON_COUNT; i++)
		if (strcmp(rows[i].code, code) == 0)
			return (enum koda_egress_reason)i;
	row = egress_http_status_find(status);
	return row ? row->reason : KODA_EGRESS_BAD_REQUEST;
}
