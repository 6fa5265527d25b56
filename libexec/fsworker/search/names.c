/* SPDX-License-Identifier: MIT */
/* glob: names that match a pattern. A directory is entered only if something below it can match. */
#include "base/error.h"
#include "globset.h"
#include "search.h"
#include "walk.h"
#include "wire/fs_frame.h"

struct names {
	const struct fsworker_search *search;
	struct fsworker_globset set;
	bool dir_only;
	/* For each depth, of each pattern: the parts that may match there. */
	uint64_t parts[FSWORKER_WALK_DEPTH + 2][FSWORKER_GLOBSET_MAX];
};

static enum fsworker_walk_want want(void *ctx, size_t depth, struct koda_span name, bool is_dir,
				    bool is_file)
{
	struct names *names = ctx;
	bool hidden = name.ptr[0] == '.' && !(names->search->flags & KODA_FS_HIDDEN);
	bool tell = false, enter = false;

	(void)is_file;
	for (size_t i = 0; i < names->set.count; i++) {
		const struct fsworker_glob *glob = &names->set.globs[i];
		uint64_t parts = names->parts[depth][i];
		uint64_t next;

		if (hidden)
			parts = fsworker_glob_dotted(glob, parts);
		next = parts ? fsworker_glob_next(glob, parts, name) : 0;
		tell = tell || fsworker_glob_is_end(glob, next);
		enter = enter || (next & (((uint64_t)1 << glob->count) - 1));
		names->parts[depth + 1][i] = next;
	}
	if (!is_dir)
		return tell && !names->dir_only ? FSWORKER_WALK_TELL : FSWORKER_WALK_PASS;
	return (tell ? FSWORKER_WALK_TELL : 0) | (enter ? FSWORKER_WALK_ENTER : 0);
}

static int tell(void *ctx, const struct fsworker_walk_entry *entry, struct koda_error *err)
{
	const struct names *names = ctx;
	const struct fsworker_search *search = names->search;

	(void)err;
	return search->emit(search->ctx, entry->path, 0, (struct koda_span){ "", 0 }) ? KODA_OK : 1;
}

/* Takes what a pattern may have around its components, and refuses what would lead elsewhere. */
static int trim(struct koda_span *pattern, bool *ret_dir_only, struct koda_error *err)
{
	struct koda_span text = *pattern;

	while (text.len >= 2 && text.ptr[0] == '.' && text.ptr[1] == '/') {
		text = koda_span_skip(text, 2);
		while (text.len && text.ptr[0] == '/')
			text = koda_span_skip(text, 1);
	}
	if (text.len == 0)
		return koda_fail(err, KODA_E_INVALID, 0, "the pattern is empty");
	if (text.ptr[0] == '/')
		return koda_fail(
			err, KODA_E_INVALID, 0,
			"the pattern begins with a slash: it is relative to the directory");
	*ret_dir_only = text.ptr[text.len - 1] == '/';
	text.len -= *ret_dir_only;
	for (struct koda_span rest = text; rest.len;) {
		const char *slash = memchr(rest.ptr, '/', rest.len);
		size_t len = slash ? (size_t)(slash - rest.ptr) : rest.len;

		if (koda_span_is((struct koda_span){ rest.ptr, len }, ".."))
			return koda_fail(
				err, KODA_E_INVALID, 0,
				"the pattern has \"..\": it only matches below the directory");
		rest = koda_span_skip(rest, len + (slash != NULL));
	}
	*pattern = text;
	return KODA_OK;
}

int fsworker_search_glob(const struct fsworker_search *search, struct koda_error *err)
{
	koda_auto_free struct names *names = calloc(1, sizeof(*names));
	struct koda_span pattern = search->pattern;
	int rc;

	if (!names)
		return koda_fail_nomem(err);
	names->search = search;
	rc = trim(&pattern, &names->dir_only, err);
	if (rc == KODA_OK)
		rc = fsworker_globset_compile(pattern, FSWORKER_GLOB_UTF8, &names->set, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < names->set.count; i++)
		names->parts[0][i] = fsworker_glob_first(&names->set.globs[i]);
	rc = fsworker_walk_run(&(struct fsworker_walk){ search, want, tell, names }, err);
	fsworker_globset_clear(&names->set);
	return rc;
}
