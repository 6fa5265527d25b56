/* SPDX-License-Identifier: MIT */
#include "run/stream/violation.h"

#include "base/escape.h"

#include <string.h>

static const char *const texts[] = {
#define VIOLATION_TEXT(name, json, text) [KODA_VIOLATION_##name] = (text),
	KODA_VIOLATIONS(VIOLATION_TEXT)
#undef VIOLATION_TEXT
};

static void clear(struct koda_denial *denial)
{
	free(denial->target);
	free(denial->rule);
	free(denial->call);
	free(denial->process);
	free(denial->hint);
}

/* Copies a text that may be NULL. Sets *failed if there is no memory. */
static char *copy(const char *text, bool *failed)
{
	char *copied = text ? strdup(text) : NULL;

	*failed = *failed || (text && !copied);
	return copied;
}

bool koda_violations_add(struct koda_violations *violations, const struct koda_denial *denial)
{
	struct koda_denial *new = &violations->list[violations->count];
	bool failed = false;

	if (violations->count == KODA_VIOLATIONS_MAX)
		return false;
	for (size_t i = 0; i < violations->count; i++)
		if (violations->list[i].kind == denial->kind &&
		    strcmp(violations->list[i].target, denial->target) == 0)
			return false;
	*new = (struct koda_denial){ .kind = denial->kind,
				     .source = denial->source,
				     .target = copy(denial->target, &failed),
				     .rule = copy(denial->rule, &failed),
				     .call = copy(denial->call, &failed),
				     .process = copy(denial->process, &failed),
				     .hint = copy(denial->hint, &failed) };
	if (failed) {
		clear(new);
		return false;
	}
	violations->count++;
	return true;
}

void koda_violations_clear(struct koda_violations *violations)
{
	for (size_t i = 0; i < violations->count; i++)
		clear(&violations->list[i]);
	violations->count = 0;
}

int koda_violations_print(const struct koda_violations *violations, struct koda_buf *out)
{
	int r = KODA_OK;

	if (violations->count == 0)
		return KODA_OK;
	r = koda_buf_addf(out, "<sandbox_violations>\n");
	for (size_t i = 0; i < violations->count && r == KODA_OK; i++) {
		const struct koda_denial *denial = &violations->list[i];

		r = koda_buf_addf(out, "deny %s%s", texts[denial->kind],
				  texts[denial->kind][0] ? " " : "");
		if (r == KODA_OK)
			r = koda_escape_text(out, koda_span_of(denial->target), "<>\\");
		if (r == KODA_OK)
			r = koda_buf_add(out, "\n", 1);
	}
	return r < 0 ? r : koda_buf_addf(out, "</sandbox_violations>\n");
}
