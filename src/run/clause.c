/* SPDX-License-Identifier: MIT */
#include <koda/clause.h>

#include "base/error.h"

#include <string.h>

static const struct clause {
	const char *name;
	bool contains;
} clauses[] = {
#define CLAUSE_ROW(name, text, contains) [KODA_CLAUSE_##name] = { text, contains },
	KODA_CLAUSES(CLAUSE_ROW)
#undef CLAUSE_ROW
};

const char *koda_clause_name(enum koda_clause clause)
{
	return (unsigned int)clause < KODA_CLAUSE_COUNT ? clauses[clause].name : "?";
}

int koda_clause_parse(const char *text, enum koda_clause *ret_clause, struct koda_error *err)
{
	for (int i = 0; i < KODA_CLAUSE_COUNT; i++) {
		if (strcmp(clauses[i].name, text) == 0) {
			*ret_clause = (enum koda_clause)i;
			return KODA_OK;
		}
	}
	return koda_fail(err, KODA_E_INVALID, 0, "'%s' is not a clause; see koda-sandbox doctor",
			 text);
}

bool koda_clause_contains(enum koda_clause clause)
{
	return (unsigned int)clause < KODA_CLAUSE_COUNT && clauses[clause].contains;
}

const char *koda_enforcement_name(enum koda_enforcement enforcement)
{
	switch (enforcement) {
	case KODA_ENFORCEMENT_ENFORCED:
		return "enforced";
	case KODA_ENFORCEMENT_EMULATED:
		return "emulated";
	case KODA_ENFORCEMENT_REFUSED:
		break;
	}
	return "refused";
}
