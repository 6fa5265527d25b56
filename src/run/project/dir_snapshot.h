/* SPDX-License-Identifier: MIT */
/*
 * The directories that a survey has found: for each its name, its parent, and its inode and times,
 * so that a later search can tell which of them have changed.
 */
#ifndef KODA_RUN_PROJECT_DIR_SNAPSHOT_H
#define KODA_RUN_PROJECT_DIR_SNAPSHOT_H

#include "base/set.h"
#include "run/project/survey_budget.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

/* What was found out about a directory. */
enum koda_dir_snapshot_flag {
	KODA_DIR_SNAPSHOT_SEEN = 1U << 0, /* it was opened */
	KODA_DIR_SNAPSHOT_FINE = 1U << 1, /* every change since has a new st_ctime */
	KODA_DIR_SNAPSHOT_GIT = 1U << 2,  /* it has a .git that git may obey */
	KODA_DIR_SNAPSHOT_BARE = 1U << 3, /* it is a git directory itself */
	KODA_DIR_SNAPSHOT_HG = 1U << 4,   /* it has a .hg */
	KODA_DIR_SNAPSHOT_COUNTED =
		1U << 5, /* st_nlink counts its subdirectories, which are all known */
	KODA_DIR_SNAPSHOT_SL = 1U << 6, /* it has a .sl */
	KODA_DIR_SNAPSHOT_JJ = 1U << 7, /* it has a .jj */
};

/* Repositories of other tools than git: of Mercurial, Sapling and Jujutsu. */
struct koda_dir_snapshot_other {
	const char *name;
	uint16_t flag;
};

#define KODA_DIR_SNAPSHOT_OTHERS 3
extern const struct koda_dir_snapshot_other koda_dir_snapshot_others[KODA_DIR_SNAPSHOT_OTHERS];

struct koda_dir_snapshot_dir {
	uint32_t parent; /* its number; KODA_DIR_SNAPSHOT_TOP: none, and the name is a path */
	uint32_t name;   /* where it begins in names */
	uint16_t len;    /* of the name */
	uint16_t flags;
	uint32_t nsec; /* with sec: its st_ctime */
	int64_t sec;
	uint64_t dev;
	uint64_t ino;
	uint64_t git_id; /* of the .git */
};

#define KODA_DIR_SNAPSHOT_TOP UINT32_MAX

/* A work tree that is not found by a .git in a directory of the snapshot: one above the project, or
 * one that the configuration of a git directory names. */
struct koda_dir_snapshot_tree {
	char *top;     /* owned; links resolved */
	char *git_dir; /* owned */
	bool writable; /* a command may write the index */
};

struct koda_dir_snapshot {
	struct timespec since;              /* when the scan began */
	unsigned int depth;                 /* of the scan */
	struct koda_dir_snapshot_dir *dirs; /* owned */
	size_t count;
	size_t cap;
	struct koda_buf names;
	struct koda_set gitlinks; /* paths of gitlinks in indexes (git_submodules.h) */
	struct koda_set stale;    /* paths of .git files and links that lead to no git directory */
	struct koda_dir_snapshot_tree *trees; /* owned (git_elsewhere.h) */
	size_t tree_count;
};

#define KODA_DIR_SNAPSHOT_INIT                                                                     \
	{                                                                                          \
		.names = KODA_BUF_INIT(KODA_SURVEY_BUDGET_BYTES)                                   \
	}

/* Adds a directory below number parent, or at the top. Fails: LIMIT, NOMEM. */
KODA_CHECK int koda_dir_snapshot_add(struct koda_dir_snapshot *snapshot, uint32_t parent,
				     const char *name, struct koda_survey_budget *budget,
				     struct koda_error *err);
/* Puts the path of number i into out, in place of what was there. Fails: NOMEM. */
KODA_CHECK int koda_dir_snapshot_path(const struct koda_dir_snapshot *snapshot, size_t i,
				      struct koda_buf *out, struct koda_error *err);
/* Returns the subdirectory of top that has most directories below it; top if it has none. */
size_t koda_dir_snapshot_fullest(const struct koda_dir_snapshot *snapshot, size_t top);
/* Keeps inode, times and flags of number i. */
void koda_dir_snapshot_note(struct koda_dir_snapshot *snapshot, size_t i, const struct stat *st,
			    unsigned int flags);
/* Tells whether no name was created or removed in number i since; st is its stat() now. */
bool koda_dir_snapshot_is_unchanged(const struct koda_dir_snapshot *snapshot, size_t i,
				    const struct stat *st);
/* Tells whether a file's st_ctime may be later than the start of the scan. */
bool koda_dir_snapshot_is_since(const struct koda_dir_snapshot *snapshot, struct timespec time);
/* Returns a number that changes if a .git is replaced, or a .git file is written to. */
uint64_t koda_dir_snapshot_git_id(const struct stat *git);
void koda_dir_snapshot_clear(struct koda_dir_snapshot *snapshot);

#define koda_auto_dir_snapshot __attribute__((cleanup(koda_dir_snapshot_clear)))

#endif
