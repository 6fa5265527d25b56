/* SPDX-License-Identifier: MIT */
/* The groups of an explanation, shared by the files that fill and print them. */
#ifndef KODA_RUN_EXPLAIN_H
#define KODA_RUN_EXPLAIN_H

#include "base/set.h"
#include "policy/hint.h"

#include <koda/explain.h>

/* A longer target is cut. */
#define KODA_EXPLAIN_TARGET_LEN ((size_t)4096)
/* A longer rule is cut. */
#define KODA_EXPLAIN_RULE_LEN ((size_t)512)

/* Denials with one cause: one kind, one rule, and one kind of hint. */
struct koda_explain_group {
	bool is_limit; /* kind is unused, rule names the limit */
	enum koda_violation kind;
	char *rule;            /* owned; "": unknown */
	unsigned int hint_of;  /* which parts the hint has */
	struct koda_hint hint; /* of all targets */
	struct koda_set targets;
	uint64_t count;
	uint64_t more; /* of count: with targets that are not kept */
};

struct koda_explain {
	struct koda_explain_group *groups[KODA_EXPLAIN_CAUSES_MAX];
	size_t group_count;
	uint64_t count;   /* of all groups */
	uint64_t dropped; /* denials without an event, or without a group */
	uint64_t lost;    /* events of any type that were not written */
};

/* Fills order with the numbers of the groups: most frequent first, then as they came. */
void koda_explain_order(const struct koda_explain *explain, size_t order[KODA_EXPLAIN_CAUSES_MAX]);

#endif
