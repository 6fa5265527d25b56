/* SPDX-License-Identifier: MIT */
/* T-105. Groups denials by cause, in bounded memory. */
#include "run/explain.h"

#include "base/error.h"
#include "run/event_names.h"

#include <stdio.h>

/* Bits of hint_of: parts of a hint. Lists to add and lists to remove come first. */
#define HINT_LIST(list)   (1U << (list))
#define HINT_REMOVE(list) (1U << (KODA_LIST_COUNT + (list)))
#define HINT_GIT_CONFIG   (1U << (2 * KODA_LIST_COUNT))
#define HINT_LIMIT        (1U << (2 * KODA_LIST_COUNT + 1))
#define HINT_FLOOR        (1U << (2 * KODA_LIST_COUNT + 2))

/* Bytes that the targets of a group may take, each with a terminator. */
#define TARGETS_BYTES ((KODA_EXPLAIN_TARGET_LEN + 1) * KODA_EXPLAIN_TARGETS_MAX)

int koda_explain_new(struct koda_explain **ret_explain, struct koda_error *err)
{
	struct koda_explain *explain = calloc(1, sizeof(*explain));

	if (!explain)
		return koda_fail_nomem(err);
	*ret_explain = explain;
	return KODA_OK;
}

static void free_group(struct koda_explain_group *group)
{
	if (!group)
		return;
	koda_hint_clear(&group->hint);
	koda_set_clear(&group->targets);
	free(group->rule);
	free(group);
}

void koda_explain_free(struct koda_explain *explain)
{
	for (size_t i = 0; explain && i < explain->group_count; i++)
		free_group(explain->groups[i]);
	free(explain);
}

/* Returns which parts a hint has, so that hints of one cause can be merged. */
static unsigned int parts_of(const struct koda_hint *hint)
{
	unsigned int parts = 0;

	if (!hint->add)
		return 0;
	if (hint->floor[0])
		return HINT_FLOOR;
	for (unsigned int list = 0; list < KODA_LIST_COUNT; list++) {
		if (koda_policy_count(hint->add, (enum koda_list)list) > 0)
			parts |= HINT_LIST(list);
		if (koda_policy_count(hint->remove, (enum koda_list)list) > 0)
			parts |= HINT_REMOVE(list);
	}
	if (koda_policy_flag(hint->add, KODA_FLAG_ALLOW_GIT_CONFIG))
		parts |= HINT_GIT_CONFIG;
	for (int limit = 0; limit < KODA_LIMIT_POLICY_COUNT; limit++)
		if (koda_policy_limit(hint->add, (enum koda_limit)limit, &(uint64_t){ 0 }))
			parts |= HINT_LIMIT;
	return parts;
}

/* A denial as the groups see it. */
struct denial {
	bool is_limit;
	enum koda_violation kind;
	const char *rule;
	const char *target; /* NULL: unknown */
	struct koda_hint hint;
	unsigned int hint_of;
};

static bool is_of(const struct koda_explain_group *group, const struct denial *denial)
{
	return group->is_limit == denial->is_limit && group->kind == denial->kind &&
	       group->hint_of == denial->hint_of &&
	       strncmp(group->rule, denial->rule, KODA_EXPLAIN_RULE_LEN) == 0 &&
	       strcmp(group->hint.floor, denial->hint.floor) == 0;
}

/* Makes the group of a denial. Fails: NOMEM. */
static int make_group(const struct denial *denial, struct koda_explain_group **ret_group)
{
	struct koda_explain_group *group = calloc(1, sizeof(*group));

	if (!group)
		return KODA_E_NOMEM;
	group->is_limit = denial->is_limit;
	group->kind = denial->kind;
	group->hint_of = denial->hint_of;
	group->targets = (struct koda_set)KODA_SET_INIT(TARGETS_BYTES);
	group->rule = strndup(denial->rule, KODA_EXPLAIN_RULE_LEN);
	if (!group->rule || koda_hint_init(&group->hint, NULL) < 0) {
		free_group(group);
		return KODA_E_NOMEM;
	}
	*ret_group = group;
	return KODA_OK;
}

/* Finds the group of a denial, or makes it; NULL if there are too many, or no memory. */
static struct koda_explain_group *find_group(struct koda_explain *explain,
					     const struct denial *denial)
{
	for (size_t i = 0; i < explain->group_count; i++)
		if (is_of(explain->groups[i], denial))
			return explain->groups[i];
	if (explain->group_count == KODA_EXPLAIN_CAUSES_MAX ||
	    make_group(denial, &explain->groups[explain->group_count]) < 0)
		return NULL;
	return explain->groups[explain->group_count++];
}

/* Keeps target and hint if there is room. */
static void add_target(struct koda_explain_group *group, const struct denial *denial)
{
	struct koda_span target;

	if (!denial->target) {
		if (denial->hint.add && koda_hint_merge(&group->hint, &denial->hint, NULL) < 0)
			return;
		return;
	}
	target = (struct koda_span){ denial->target,
				     strnlen(denial->target, KODA_EXPLAIN_TARGET_LEN) };
	if (koda_set_find(&group->targets, target) != KODA_SET_NONE)
		return;
	if (group->targets.count == KODA_EXPLAIN_TARGETS_MAX ||
	    koda_set_add(&group->targets, target, NULL) < 0)
		group->more++;
	else if (denial->hint.add && koda_hint_merge(&group->hint, &denial->hint, NULL) < 0)
		return;
}

static void add_denial(struct koda_explain *explain, struct denial *denial, const char *hint)
{
	struct koda_explain_group *group;

	/* A hint that cannot be read is none. */
	if (hint && koda_hint_parse(koda_span_of(hint), &denial->hint, NULL) < 0)
		koda_hint_clear(&denial->hint);
	denial->hint_of = parts_of(&denial->hint);
	group = find_group(explain, denial);
	explain->count++;
	if (group) {
		group->count++;
		add_target(group, denial);
	} else {
		explain->dropped++;
	}
	koda_hint_clear(&denial->hint);
}

void koda_explain_take_event(void *explain_, const struct koda_event *event)
{
	struct koda_explain *explain = explain_;
	const struct koda_event_violation *violation = &event->data.violation;
	const struct koda_event_limit *limit = &event->data.limit;
	struct denial denial = { .rule = "" };

	if (event->type == KODA_EVENT_EXIT)
		explain->lost += event->data.exit.lost;
	if (event->type == KODA_EVENT_LIMIT) {
		denial.is_limit = true;
		denial.rule = koda_event_limit_names[limit->which];
		add_denial(explain, &denial, limit->hint);
	} else if (event->type == KODA_EVENT_VIOLATION) {
		explain->dropped += violation->dropped;
		/* The event that ends a command with many denials counts the rest, and is none. */
		if (violation->dropped > 0 && !violation->target && !violation->rule)
			return;
		denial.kind = violation->kind;
		denial.rule = violation->rule ? violation->rule : "";
		denial.target = violation->target;
		add_denial(explain, &denial, violation->hint);
	}
}

uint64_t koda_explain_count(const struct koda_explain *explain)
{
	return explain->count;
}

void koda_explain_order(const struct koda_explain *explain, size_t order[KODA_EXPLAIN_CAUSES_MAX])
{
	for (size_t i = 0; i < explain->group_count; i++) {
		size_t at = i;

		for (; at > 0 && explain->groups[order[at - 1]]->count < explain->groups[i]->count;
		     at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
}
