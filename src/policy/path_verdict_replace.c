/* SPDX-License-Identifier: MIT */
/*
 * T-11. Renaming or removing a directory affects everything below it, so all of it must be
 * writable. The mount view has anchors for this. Code that renames by path, such as the broker,
 * asks here.
 */
#include "policy/path_verdict.h"

/* Returns true if path is dir or lies below it; dir need not be in normal form. */
static bool is_below(struct koda_span path, struct koda_span dir)
{
	struct koda_span want;
	struct koda_span name;

	while (koda_path_next(&dir, &want) == KODA_STEP_NAME)
		if (koda_path_next(&path, &name) != KODA_STEP_NAME || name.len != want.len ||
		    memcmp(name.ptr, want.ptr, name.len) != 0)
			return false;
	return true;
}

/* Returns the parent directory. */
static struct koda_span directory_of(struct koda_span path)
{
	struct koda_span rest = path;
	struct koda_span name;
	size_t len = 1;

	while (koda_path_next(&rest, &name) == KODA_STEP_NAME)
		len = (size_t)(name.ptr - path.ptr);
	return (struct koda_span){ path.ptr, len };
}

struct koda_verdict koda_path_verdict_replace(const struct koda_pathindex *index,
					      struct koda_span path)
{
	struct koda_verdict now = koda_path_verdict_write(index, path);
	struct koda_verdict v;

	if (now.answer == KODA_DENY)
		return now;
	v = koda_path_verdict_write(index, directory_of(path));
	if (v.answer == KODA_DENY || !koda_pathindex_leads_to(index, path))
		return v.answer == KODA_DENY ? v : now;
	for (size_t i = 0; i < index->texts.count; i++) {
		struct koda_span mark = koda_strlist_get(&index->texts, i);

		if (!is_below(mark, path))
			continue;
		v = koda_path_verdict_write(index, mark);
		if (v.answer == KODA_DENY)
			return v;
	}
	return now;
}
