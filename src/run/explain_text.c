/* SPDX-License-Identifier: MIT */
/* T-10, T-105. Prints an explanation: as text, where everything foreign is escaped, and as JSON. */
#include "base/error.h"
#include "base/escape.h"
#include "run/explain.h"

/* The most that one explanation takes; every byte of it may be escaped. */
#define OUTPUT_MAX ((size_t)256 << 20)

/* Keeps the first failure. */
struct writer {
	struct koda_buf text;
	int failed;
};

static void put(struct writer *w, const char *text)
{
	if (w->failed == KODA_OK)
		w->failed = koda_buf_add(&w->text, text, strlen(text));
}

static void put_escaped(struct writer *w, struct koda_span text)
{
	if (w->failed == KODA_OK)
		w->failed = koda_escape_text(&w->text, text, "");
}

static void put_json(struct writer *w, struct koda_span text)
{
	if (w->failed == KODA_OK)
		w->failed = koda_escape_json_string(&w->text, text);
}

static void put_number(struct writer *w, uint64_t number)
{
	if (w->failed == KODA_OK)
		w->failed = koda_buf_addf(&w->text, "%llu", (unsigned long long)number);
}

static void put_hint(struct writer *w, const struct koda_hint *hint)
{
	if (w->failed == KODA_OK)
		w->failed = koda_hint_emit(hint, &w->text);
}

/* Appends the cause in words: what was tried, and what is in the way. */
static int add_cause(const struct koda_explain_group *group, struct koda_buf *out)
{
	static const char *const acts[] = {
		[KODA_VIOLATION_FILE_READ] = "reading",  [KODA_VIOLATION_FILE_WRITE] = "writing",
		[KODA_VIOLATION_NETWORK] = "connecting", [KODA_VIOLATION_EXEC] = "executing",
		[KODA_VIOLATION_OTHER] = "other",
	};
	const char *act = acts[group->kind];
	const bool by_default = !group->rule[0] || strcmp(group->rule, "default") == 0;

	if (group->is_limit)
		return koda_buf_addf(out, "the limit %s", group->rule);
	if (group->hint.floor[0])
		return koda_buf_addf(out, "%s: %s", act, group->hint.floor);
	if (by_default && koda_policy_count(group->hint.add, KODA_LIST_ALLOW_WRITE) > 0)
		return koda_buf_addf(out, "%s outside of fs.allow_write", act);
	if (by_default && koda_policy_count(group->hint.add, KODA_LIST_ALLOWED_DOMAINS) > 0)
		return koda_buf_addf(out, "%s to what net.allowed_domains does not list", act);
	return koda_buf_addf(out, by_default ? "%s" : "%s: %s", act, group->rule);
}

static void put_cause(struct writer *w, const struct koda_explain_group *group, bool json)
{
	koda_auto_buf struct koda_buf cause = KODA_BUF_INIT(2 * KODA_EXPLAIN_RULE_LEN);

	if (w->failed == KODA_OK)
		w->failed = add_cause(group, &cause);
	if (json)
		put_json(w, koda_buf_span(&cause));
	else
		put_escaped(w, koda_buf_span(&cause));
}

static void put_group(struct writer *w, const struct koda_explain_group *group)
{
	put(w, "\n");
	put_number(w, group->count);
	put(w, "  ");
	put_cause(w, group, false);
	put(w, "\n");
	for (size_t i = 0; i < group->targets.count; i++) {
		put(w, "     ");
		put_escaped(w, koda_set_get(&group->targets, i));
		put(w, "\n");
	}
	if (group->more > 0) {
		put(w, "     and ");
		put_number(w, group->more);
		put(w, " denials with other targets\n");
	}
	if (group->hint.floor[0]) {
		put(w, "   no policy allows it\n");
	} else if (group->hint_of) {
		put(w, "   would be allowed with ");
		put_hint(w, &group->hint);
		put(w, "\n");
	}
}

static int take(struct writer *w, char **ret_text, struct koda_error *err)
{
	if (w->failed == KODA_OK)
		w->failed = koda_buf_take(&w->text, ret_text);
	koda_buf_clear(&w->text);
	return w->failed < 0 ? koda_fail_nomem(err) : KODA_OK;
}

int koda_explain_text(const struct koda_explain *explain, char **ret_text, struct koda_error *err)
{
	struct writer w = { .text = KODA_BUF_INIT(OUTPUT_MAX) };
	size_t order[KODA_EXPLAIN_CAUSES_MAX];

	koda_explain_order(explain, order);
	if (explain->count == 0) {
		put(&w, "nothing was denied\n");
	} else {
		put_number(&w, explain->count);
		put(&w, explain->count == 1 ? " denial\n" : " denials\n");
	}
	for (size_t i = 0; i < explain->group_count; i++)
		put_group(&w, explain->groups[order[i]]);
	if (explain->dropped > 0) {
		put(&w, "\n");
		put_number(&w, explain->dropped);
		put(&w, " further denials have no event, or a cause that is not shown\n");
	}
	if (explain->lost > 0) {
		put(&w, "\n");
		put_number(&w, explain->lost);
		put(&w, " events were lost, because their reader was too slow\n");
	}
	return take(&w, ret_text, err);
}

static void put_json_group(struct writer *w, const struct koda_explain_group *group)
{
	put(w, "{\"cause\":");
	put_cause(w, group, true);
	put(w, ",\"rule\":");
	if (group->rule[0])
		put_json(w, koda_span_of(group->rule));
	else
		put(w, "null");
	put(w, ",\"count\":");
	put_number(w, group->count);
	put(w, ",\"targets\":[");
	for (size_t i = 0; i < group->targets.count; i++) {
		put(w, i ? "," : "");
		put_json(w, koda_set_get(&group->targets, i));
	}
	put(w, "],\"hint\":");
	if (group->hint_of)
		put_hint(w, &group->hint);
	else
		put(w, "null");
	if (group->more > 0) {
		put(w, ",\"more\":");
		put_number(w, group->more);
	}
	put(w, "}");
}

int koda_explain_json(const struct koda_explain *explain, char **ret_text, struct koda_error *err)
{
	struct writer w = { .text = KODA_BUF_INIT(OUTPUT_MAX) };
	size_t order[KODA_EXPLAIN_CAUSES_MAX];

	koda_explain_order(explain, order);
	put(&w, "[");
	for (size_t i = 0; i < explain->group_count; i++) {
		put(&w, i ? ",\n " : "");
		put_json_group(&w, explain->groups[order[i]]);
	}
	put(&w, "]\n");
	return take(&w, ret_text, err);
}
