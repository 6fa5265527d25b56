/* SPDX-License-Identifier: MIT */
/* The file system as the planner sees it. Tests give one of their own. */
#ifndef KODA_PLAN_FS_OPS_H
#define KODA_PLAN_FS_OPS_H

#include "base/strv.h"

#include <stdbool.h>
#include <stdint.h>

/* Type of the file at a path; symbolic links are not followed. A placeholder of any run counts as
 * missing. */
enum koda_file_type {
	KODA_FILE_MISSING = 0,
	KODA_FILE_DIR,
	KODA_FILE_LINK,
	KODA_FILE_OTHER
};

struct koda_fs_stat {
	enum koda_file_type type;
	uint64_t dev;
	uint64_t ino;
	bool is_git_placeholder; /* a file with the mode of a placeholder, which git ignores */
	bool closed; /* the type is unknown, because a parent directory is unreadable; MISSING */
};

struct koda_fs_ops {
	/* Examines path. Fails: SYS, LIMIT, NOMEM. */
	int (*look)(void *ctx, const char *path, struct koda_fs_stat *ret_look,
		    struct koda_error *err);
	void *ctx;
	/* Appends the names in a directory, none if it is missing or unreadable. May be NULL if no
	 * plan of the backend landlock is made. Fails: LIMIT above max names. */
	int (*list)(void *ctx, const char *dir, size_t max, struct koda_strv *names,
		    struct koda_error *err);
	/* Returns true if the user has this access (R_OK, W_OK, X_OK) to path without a sandbox.
	 * NULL: never. */
	bool (*may)(void *ctx, const char *path, int mode);
};

#endif
