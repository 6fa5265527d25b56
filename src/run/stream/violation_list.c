/* SPDX-License-Identifier: MIT */
/* T-10, T-105. Records of violations, lists of them, and the block of text for a model. */
#include "base/error.h"
#include "base/escape.h"
#include "run/stream/violation.h"

static const char *const kinds[] = {
#define VIOLATION_TEXT(name, json, text) [KODA_VIOLATION_##name] = (text),
	KODA_VIOLATIONS(VIOLATION_TEXT)
#undef VIOLATION_TEXT
};

/* The most that a line of the block takes: "deny", a kind, and a target that is escaped. */
#define LINE_MAX_BYTES ((size_t)4 * KODA_VIOLATION_TEXT_MAX + 64)

/* The members that are texts. */
enum {
	TEXT_COUNT = 7
};

static void list_texts(struct koda_violation_record *record, const char **ret_texts[TEXT_COUNT])
{
	ret_texts[0] = &record->target;
	ret_texts[1] = &record->rule;
	ret_texts[2] = &record->command;
	ret_texts[3] = &record->command_id;
	ret_texts[4] = &record->call;
	ret_texts[5] = &record->process;
	ret_texts[6] = &record->hint;
}

struct koda_violation_item *koda_violation_item_new(const struct koda_violation_record *record)
{
	struct koda_violation_record copy = *record;
	struct koda_violation_item *item;
	const char **texts[TEXT_COUNT];
	size_t lens[TEXT_COUNT] = { 0 };
	size_t total = 0;
	char *at;

	if (copy.hint && strnlen(copy.hint, KODA_VIOLATION_TEXT_MAX + 1) > KODA_VIOLATION_TEXT_MAX)
		copy.hint = NULL;
	list_texts(&copy, texts);
	for (size_t i = 0; i < TEXT_COUNT; i++)
		if (*texts[i]) {
			lens[i] = strnlen(*texts[i], KODA_VIOLATION_TEXT_MAX);
			total += lens[i] + 1;
		}
	item = calloc(1, sizeof(*item) + total);
	if (!item)
		return NULL;
	at = item->texts;
	for (size_t i = 0; i < TEXT_COUNT; i++)
		if (*texts[i]) {
			memcpy(at, *texts[i], lens[i]);
			*texts[i] = at;
			at += lens[i] + 1;
		}
	item->record = copy;
	atomic_init(&item->references, 1);
	return item;
}

struct koda_violation_item *koda_violation_item_share(struct koda_violation_item *item)
{
	atomic_fetch_add(&item->references, 1);
	return item;
}

void koda_violation_item_free(struct koda_violation_item *item)
{
	if (item && atomic_fetch_sub(&item->references, 1) == 1)
		free(item);
}

int koda_violation_list_new(size_t count, struct koda_violation_list **ret_list,
			    struct koda_error *err)
{
	struct koda_violation_list *list =
		calloc(1, sizeof(*list) + count * sizeof(struct koda_violation_item *));

	if (!list)
		return koda_fail_nomem(err);
	*ret_list = list;
	return KODA_OK;
}

size_t koda_violation_list_count(const struct koda_violation_list *list)
{
	return list->count;
}

const struct koda_violation_record *koda_violation_list_get(const struct koda_violation_list *list,
							    size_t i)
{
	return i < list->count ? &list->items[i]->record : NULL;
}

uint64_t koda_violation_list_dropped(const struct koda_violation_list *list)
{
	return list->dropped;
}

static int add_line(struct koda_buf *out, const struct koda_violation_record *record)
{
	int r = koda_buf_addf(out, kinds[record->kind][0] ? "deny %s" : "deny%s",
			      kinds[record->kind]);

	if (r == KODA_OK && record->target)
		r = koda_buf_add(out, " ", 1);
	if (r == KODA_OK && record->target)
		r = koda_escape_text(out, koda_span_of(record->target), "<>\\");
	return r < 0 ? r : koda_buf_add(out, "\n", 1);
}

int koda_violation_list_render(const struct koda_violation_list *list, char **ret_text,
			       struct koda_error *err)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(64 + list->count * LINE_MAX_BYTES);
	int r = list->count > 0 ? koda_buf_addf(&out, "<sandbox_violations>\n") : KODA_OK;

	for (size_t i = 0; i < list->count && r == KODA_OK; i++)
		r = add_line(&out, &list->items[i]->record);
	if (r == KODA_OK && list->count > 0)
		r = koda_buf_addf(&out, "</sandbox_violations>");
	if (r == KODA_OK)
		r = koda_buf_take(&out, ret_text);
	return r < 0 ? koda_fail_nomem(err) : KODA_OK;
}

void koda_violation_list_free(struct koda_violation_list *list)
{
	for (size_t i = 0; list && i < list->count; i++)
		koda_violation_item_free(list->items[i]);
	free(list);
}
