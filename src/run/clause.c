/* SPDX-License-Identifier: MIT */
#include <koda/clause.h>

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

bool koda_clause_contains(enum koda_clause clause)
{
	return (unsigned int)clause < KODA_CLAUSE_COUNT && clauses[clause].contains;
}

const char *koda_grip_name(enum koda_grip grip)
{
	switch (grip) {
	case KODA_GRIP_ENFORCED:
		return "enforced";
	case KODA_GRIP_EMULATED:
		return "emulated";
	case KODA_GRIP_REFUSED:
		break;
	}
	return "refused";
}
