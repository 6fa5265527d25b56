/* SPDX-License-Identifier: MIT */
#include "reason.h"

#include <string.h>

struct reason_row {
	const char *code;
	const char *text;
};

static const struct reason_row rows[] = {
#define REASON_ROW(name, code, text) [KODA_EGRESS_##name] = { (code), (text) },
	KODA_EGRESS_REASONS(REASON_ROW)
#undef REASON_ROW
};

static const struct reason_row *row_of(enum koda_egress_reason reason)
{
	return &rows[(unsigned int)reason < KODA_EGRESS_REASON_COUNT ? reason
								     : KODA_EGRESS_BAD_REQUEST];
}

const char *koda_reason_code(enum koda_egress_reason reason)
{
	return row_of(reason)->code;
}

const char *koda_reason_text(enum koda_egress_reason reason)
{
	return row_of(reason)->text;
}

enum koda_egress_reason koda_reason_of(const char *code, int status)
{
	for (unsigned int i = 0; i < KODA_EGRESS_REASON_COUNT; i++)
		if (strcmp(rows[i].code, code) == 0)
			return (enum koda_egress_reason)i;
	switch (status) {
	case 403:
		return KODA_EGRESS_NOT_LISTED;
	case 405:
		return KODA_EGRESS_BAD_METHOD;
	case 408:
		return KODA_EGRESS_CLIENT_TIMEOUT;
	case 421:
		return KODA_EGRESS_MISDIRECTED;
	case 431:
		return KODA_EGRESS_HEAD_TOO_LARGE;
	case 502:
		return KODA_EGRESS_BAD_RESPONSE;
	case 503:
		return KODA_EGRESS_LIMIT;
	case 504:
		return KODA_EGRESS_CONNECT_TIMEOUT;
	default:
		return KODA_EGRESS_BAD_REQUEST;
	}
}
