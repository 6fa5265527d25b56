/* SPDX-License-Identifier: MIT */
/*
 * The queue of directories of a scan for repositories, shared by the walk below a directory
 * (git_scan.c) and the search in git directories (git_related.c).
 */
#ifndef KODA_RUN_PROJECT_GIT_SCAN_QUEUE_H
#define KODA_RUN_PROJECT_GIT_SCAN_QUEUE_H

#include "base/set.h"
#include "run/project/dir_snapshot.h"
#include "run/project/git_scan.h"
#include "run/project/survey_budget.h"

#include <stddef.h>
#include <sys/stat.h>
#include <time.h>

/* A file system: whether st_nlink of a directory is two and one for each subdirectory, and whether
 * every change has a new st_ctime. */
struct koda_git_scan_kind {
	dev_t dev;
	bool counts;
	bool fine;
};

/* Directories still to be scanned, breadth first. */
struct koda_git_scan_queue {
	struct koda_dir_snapshot dirs;
	struct koda_survey_budget *budget;
	size_t top; /* where the search began */
	size_t next;
	size_t level_end;     /* those before it are on the current level */
	struct koda_buf path; /* of the directory that is being scanned */
	struct koda_git_scan_kind
		kinds[8]; /* of the first file systems found; further ones are asked each time */
	size_t kind_count;
	struct timespec since; /* when the scan began */
};

#define KODA_QUEUE_INIT(spent)                                                                     \
	{                                                                                          \
		.dirs = KODA_DIR_SNAPSHOT_INIT, .budget = (spent),                                 \
		.path = KODA_BUF_INIT(SIZE_MAX / 2)                                                \
	}

void koda_git_scan_queue_clear(struct koda_git_scan_queue *queue);

#define koda_auto_queue __attribute__((cleanup(koda_git_scan_queue_clear)))

/* Takes the next directory, whose path is then in queue->path; *ret_is is false if there is none.
 * If the budget is spent, the error names the directory that has most of those found. Fails: LIMIT,
 * NOMEM. */
KODA_CHECK int koda_git_scan_queue_next(struct koda_git_scan_queue *queue, bool *ret_is,
					struct koda_error *err);

/* Opens a directory; -1 if it is closed (EACCES) or gone. Fails: DENIED, SYS, NOMEM. */
KODA_CHECK int koda_git_scan_open(const struct koda_git_found *found, const char *path, int *ret_fd,
				  struct koda_error *err);
/* Adds the subdirectories of the directory that is being scanned, open as fd. counted: its stat()
 * from before, if st_nlink counts subdirectories there, so that reading stops when all are found;
 * NULL otherwise. Fails: as koda_git_scan_open, LIMIT. */
KODA_CHECK int koda_git_scan_subdirs(struct koda_git_scan_queue *queue, int fd,
				     const struct stat *counted, struct koda_error *err);
/* Notes a closed directory that the user owns, to be made read-only: the command could chmod() it.
 * Fails: LIMIT, NOMEM. */
KODA_CHECK int koda_git_scan_note_closed(const struct koda_git_found *found, const char *path,
					 const struct stat *st, struct koda_error *err);
/* Adds the path of a repository to one of the lists. Fails: LIMIT, NOMEM. */
KODA_CHECK int koda_git_scan_note(const struct koda_git_found *found, struct koda_strv *list,
				  const char *path, struct koda_error *err);

#endif
