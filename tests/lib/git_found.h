/* SPDX-License-Identifier: MIT */
/* The repositories that a scan finds below a directory. */
#ifndef KODA_TEST_GIT_FOUND_H
#define KODA_TEST_GIT_FOUND_H

#include "base/strv.h"
#include "run/project/git_scan.h"
#include "scratch.h"

/* Makes dir/path and every directory on the way to it. */
static inline void koda_make_dirs(const char *dir, const char *path)
{
	koda_auto_free char *full = strdup(koda_in(dir, path));

	assert_non_null(full);
	for (char *at = full + strlen(dir) + 1;; at++) {
		char *slash = strchr(at, '/');

		if (slash)
			*slash = '\0';
		if (mkdir(full, 0755) < 0 && errno != EEXIST)
			fail_msg("mkdir %s: %s", full, strerror(errno));
		if (!slash)
			break;
		*slash = '/';
		at = slash;
	}
}

struct git_found {
	struct koda_strv dirs;
	struct koda_strv files;
	struct koda_strv closed;
};

/* Looks, and follows what was found. */
static inline int git_scan_all(const char *root, unsigned int depth,
			       const struct koda_git_found *found, struct koda_error *err)
{
	int r = koda_git_scan(root, depth, found, err);

	return r < 0 ? r : koda_git_related_follow(found, err);
}

static inline struct git_found git_scan(const char *root, unsigned int depth)
{
	struct git_found found = { KODA_STRV_INIT, KODA_STRV_INIT, KODA_STRV_INIT };
	struct koda_survey_budget budget = { 0 };
	const struct koda_git_found lists = { &found.dirs, &found.files, &found.closed, NULL,
					      &budget };
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(git_scan_all(root, depth, &lists, &err), err);
	return found;
}

static inline void git_found_clear(struct git_found *found)
{
	koda_strv_clear(&found->dirs);
	koda_strv_clear(&found->files);
	koda_strv_clear(&found->closed);
}

#endif
