/* SPDX-License-Identifier: MIT */
#include "reason.h"

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
	return &rows[(unsigned int)reason < KODA_EGRESS_REASON_COUNT ? reason :
								       KODA_EGRESS_BAD_REQUEST];
}

const char *koda_reason_code(enum koda_egress_reason reason)
{
	return row_of(reason)->code;
}

const char *koda_reason_text(enum koda_egress_reason reason)
{
	return row_of(reason)->text;
}
