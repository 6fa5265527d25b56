/* SPDX-License-Identifier: MIT */
#include "run/stream/violation.h"

#include "base/escape.h"

#include <string.h>

static const char *const texts[] = {
#define VIOLATION_TEXT(name, json, text) [KODA_VIOLATION_##name] = (text),
	KODA_VIOLATIONS(VIOLATION_TEXT)
#undef VIOLATION_TEXT
};

bool koda_violations_add(struct koda_violations *violations, const struct koda_denial *denial)
{
	struct koda_denial *new = &violations->list[violations->count];

	if (violations->count == KODA_VIOLATIONS_MAX)
		return false;
	for (size_t i = 0; i < violations->count; i++)
		if (violations->list[i].kind == denial->kind &&
		    strcmp(violations->list[i].target, denial->target) == 0)
			return false;
	*new = (struct koda_denial){ .kind = denial->kind,
				     .source = denial->source,
				     .target = strdup(denial->target),
				     .rule = strdup(denial->rule) };
	if (!new->target || !new->rule) {
		free(new->target);
		free(new->rule);
		return false;
	}
	violations->count++;
	return true;
}

void koda_violations_clear(struct koda_violations *violations)
{
	for (size_t i = 0; i < violations->count; i++) {
		free(violations->list[i].target);
		free(violations->list[i].rule);
	}
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

		r = koda_buf_addf(out, "deny %s ", texts[denial->kind]);
		if (r == KODA_OK)
			r = koda_escape_text(out, koda_span_of(denial->target), "<>\\");
		if (r == KODA_OK)
			r = koda_buf_add(out, "\n", 1);
	}
	return r < 0 ? r : koda_buf_addf(out, "</sandbox_violations>\n");
}
