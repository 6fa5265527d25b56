/* SPDX-License-Identifier: MIT */
/* A search over a scratch directory, and what it reports as text. */
#ifndef KODA_TEST_SEARCH_RIG_H
#define KODA_TEST_SEARCH_RIG_H

#include "scratch.h"

#include "base/buf.h"
#include "search/search.h"
#include "wire/fs_frame.h"

struct search_rig {
	const char *dir;     /* the root */
	const char *below;   /* where the search begins, relative to it; NULL: there */
	const char *pattern; /* or span, if it is set */
	struct koda_span span;
	const char *include;
	uint32_t flags;
	const char *denied;  /* a path relative to the root that may not be read, with all below */
	size_t most;         /* results before emit says no; 0: any number */
	size_t looks;        /* questions before the search is cancelled; 0: never */
	struct koda_buf out; /* a line for each result */
	size_t asked, results;
	struct koda_error err;
};

static inline bool search_rig_may_read(void *ctx, struct koda_span path)
{
	struct search_rig *rig = ctx;
	const char *denied = rig->denied ? koda_in(rig->dir, rig->denied) : "";
	size_t len = strlen(denied);

	return !len || path.len < len || memcmp(path.ptr, denied, len) != 0 ||
	       (path.len > len && path.ptr[len] != '/');
}

static inline bool search_rig_emit(void *ctx, struct koda_span path, uint64_t line,
				   struct koda_span text)
{
	struct search_rig *rig = ctx;

	assert_int_equal(koda_buf_add(&rig->out, path.ptr, path.len), KODA_OK);
	if (line)
		assert_int_equal(koda_buf_addf(&rig->out, ":%llu:", (unsigned long long)line),
				 KODA_OK);
	assert_int_equal(koda_buf_add(&rig->out, text.ptr, text.len), KODA_OK);
	assert_int_equal(koda_buf_add(&rig->out, "\n", 1), KODA_OK);
	return ++rig->results != rig->most;
}

static inline bool search_rig_cancelled(void *ctx)
{
	struct search_rig *rig = ctx;

	return rig->looks && ++rig->asked >= rig->looks;
}

/* Runs it; what it reports is in rig->out. Returns what the search returned. */
static inline int search_rig_run(struct search_rig *rig, bool grep)
{
	const char *start = rig->below ? koda_in(rig->dir, rig->below) : rig->dir;
	struct fsworker_search search = {
		.dir = open(start, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		.path = koda_span_of(start),
		.root = koda_span_of(rig->dir),
		.root_dir = open(rig->dir, O_PATH | O_DIRECTORY | O_CLOEXEC),
		.pattern = rig->span.ptr ? rig->span : koda_span_of(rig->pattern),
		.include = koda_span_of(rig->include ? rig->include : ""),
		.flags = rig->flags,
		.may_read = search_rig_may_read,
		.emit = search_rig_emit,
		.cancelled = search_rig_cancelled,
		.ctx = rig,
	};
	int rc;

	assert_true(search.dir >= 0 && search.root_dir >= 0);
	koda_buf_clear(&rig->out);
	rig->out.max = (size_t)64 << 20;
	rig->asked = rig->results = 0;
	rig->err = (struct koda_error){ 0 };
	assert_int_equal(fsworker_search_init(), KODA_OK);
	rc = grep ? fsworker_search_grep(&search, &rig->err)
		  : fsworker_search_glob(&search, &rig->err);
	(void)close(search.dir);
	(void)close(search.root_dir);
	return rc;
}

/* The results of a search that must succeed. */
static inline const char *search_rig_report(struct search_rig *rig, bool grep)
{
	KODA_ASSERT_OK(search_rig_run(rig, grep), rig->err);
	return rig->out.len ? rig->out.ptr : "";
}

/* Replaces a file. */
static inline void search_rig_rewrite(const char *dir, const char *name, const char *text)
{
	(void)unlink(koda_in(dir, name));
	(void)koda_make_file(dir, name, text);
}

/* A file with the directories above it. */
static inline void search_rig_file(const char *dir, const char *name, const char *text)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s", name);
	for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		assert_true(mkdir(koda_in(dir, path), 0777) == 0 || errno == EEXIST);
		*slash = '/';
	}
	(void)koda_make_file(dir, name, text);
}

#endif
