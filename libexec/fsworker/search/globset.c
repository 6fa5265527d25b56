/* SPDX-License-Identifier: MIT */
#include "globset.h"

#include "base/error.h"
#include "base/strlist.h"
#include "glob_text.h"

/* A pair of braces with a comma between them. */
struct group {
	const char *open;
	const char *close;
};

/* Returns the element behind the one at p: a character, an escaped one, a class. */
static const char *skip_element(const char *p, const char *end)
{
	const char *after = *p == '[' ? fsworker_glob_text_class(p, end) : NULL;

	if (after)
		return after;
	return *p == '\\' && p + 1 < end ? p + 2 : p + 1;
}

/* Returns the comma or closing brace of the group that p is in, or end. */
static const char *next_mark(const char *p, const char *end)
{
	size_t depth = 0;

	while (p < end && (depth > 0 || (*p != ',' && *p != '}'))) {
		depth += *p == '{';
		depth -= *p == '}' && depth > 0;
		p = skip_element(p, end);
	}
	return p;
}

static bool find_group(struct koda_span text, struct group *ret_group)
{
	const char *end = text.ptr + text.len;

	for (const char *p = text.ptr; p < end; p = skip_element(p, end)) {
		const char *mark;
		size_t commas = 0;

		if (*p != '{')
			continue;
		for (mark = next_mark(p + 1, end); mark < end && *mark == ',';
		     mark = next_mark(mark + 1, end))
			commas++;
		if (commas && mark < end) {
			*ret_group = (struct group){ p, mark };
			return true;
		}
	}
	return false;
}

/* Appends the texts that one alternative each of the group stands for. Fails: LIMIT, NOMEM. */
static int add_alternatives(struct koda_strlist *texts, struct koda_span text, struct group group)
{
	size_t before = (size_t)(group.open - text.ptr);
	struct koda_span after = koda_span_skip(text, (size_t)(group.close + 1 - text.ptr));
	const char *from = group.open + 1;
	int rc = KODA_OK;

	while (rc == KODA_OK && from <= group.close) {
		const char *mark = next_mark(from, group.close);
		koda_auto_buf struct koda_buf one = KODA_BUF_INIT(FSWORKER_GLOBSET_BYTES);

		rc = koda_buf_add(&one, text.ptr, before);
		if (rc == KODA_OK)
			rc = koda_buf_add(&one, from, (size_t)(mark - from));
		if (rc == KODA_OK)
			rc = koda_buf_add(&one, after.ptr, after.len);
		if (rc == KODA_OK)
			rc = koda_strlist_add(texts, koda_buf_span(&one));
		from = mark + 1;
	}
	return rc;
}

static int add_glob(struct fsworker_globset *set, struct koda_span text,
		    enum fsworker_glob_flag flags, struct koda_error *err)
{
	int rc;

	if (set->count == FSWORKER_GLOBSET_MAX)
		return koda_fail(err, KODA_E_LIMIT, 0, "the braces stand for more than %d patterns",
				 FSWORKER_GLOBSET_MAX);
	rc = fsworker_glob_compile(text, flags, &set->globs[set->count], err);
	set->count += rc == KODA_OK;
	return rc;
}

int fsworker_globset_compile(struct koda_span text, enum fsworker_glob_flag flags,
			     struct fsworker_globset *ret_set, struct koda_error *err)
{
	/* Every text is read once, and most lists end long before this. */
	koda_auto_strlist struct koda_strlist texts =
		KODA_STRLIST_INIT(FSWORKER_GLOBSET_BYTES * FSWORKER_GLOBSET_MAX);
	int rc = text.len > FSWORKER_GLOBSET_BYTES ? KODA_E_LIMIT : koda_strlist_add(&texts, text);

	*ret_set = (struct fsworker_globset){ 0 };
	if (rc == KODA_OK && text.len && memchr(text.ptr, '\0', text.len))
		rc = koda_fail(err, KODA_E_INVALID, 0, "the pattern has a NUL byte");
	else if (rc < 0)
		rc = koda_fail_room(err, rc, "the pattern");
	for (size_t i = 0; rc == KODA_OK && i < texts.count; i++) {
		struct koda_span one = koda_strlist_get(&texts, i);
		koda_auto_free char *copy = strndup(one.ptr, one.len);
		struct group group;

		if (!copy)
			rc = koda_fail_nomem(err);
		else if (!find_group((struct koda_span){ copy, one.len }, &group))
			rc = add_glob(ret_set, (struct koda_span){ copy, one.len }, flags, err);
		else
			rc = add_alternatives(&texts, (struct koda_span){ copy, one.len }, group);
		if (rc == KODA_OK && texts.count > (size_t)4 * FSWORKER_GLOBSET_MAX)
			rc = KODA_E_LIMIT;
		if (rc == KODA_E_LIMIT)
			rc = koda_fail(err, rc, 0, "the braces of the pattern stand for too much");
	}
	if (rc < 0)
		fsworker_globset_clear(ret_set);
	return rc;
}

void fsworker_globset_clear(struct fsworker_globset *set)
{
	for (size_t i = 0; i < set->count; i++)
		fsworker_glob_clear(&set->globs[i]);
	set->count = 0;
}

bool fsworker_globset_match_path(const struct fsworker_globset *set, struct koda_span path)
{
	for (size_t i = 0; i < set->count; i++) {
		if (fsworker_glob_match_path(&set->globs[i], path))
			return true;
	}
	return false;
}
