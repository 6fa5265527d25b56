/* SPDX-License-Identifier: MIT */
/* What the two halves of a scan for repositories share: going down directories (world.c), and what
 * belongs to the git directories that were found (gitkin.c). */
#ifndef KODA_RUN_SCAN_H
#define KODA_RUN_SCAN_H

#include "base/set.h"
#include "run/world.h"

#include <stddef.h>
#include <sys/stat.h>
#include <time.h>

/* Directories looked at in one scan; more than this is told, not skipped. */
#define KODA_SCAN_MAX 200000

/* One file system: whether a directory's link count there is two and one for each subdirectory, and
 * whether times of changes are told finely. */
struct koda_kind {
	dev_t dev;
	bool counts;
	bool fine;
};

/* Directories still to be looked at, breadth first. */
struct koda_queue {
	struct koda_strv dirs;
	size_t next;
	size_t level_end;          /* those before it are on the current level */
	struct koda_kind kinds[8]; /* of the file systems met; one beyond is asked each time */
	size_t kind_count;
	struct timespec since; /* when the scan began */
};

/* Opens a directory to look into it; -1 if it is closed, or gone. Fails: DENIED, SYS, NOMEM. */
KODA_CHECK int koda_scan_open(const struct koda_found *found, const char *path, int *ret_fd,
			      struct koda_error *err);
/* Adds the subdirectories of dir. counted is what was seen of it first, where the file system tells
 * how many there are by its link count (else NULL); reading stops when they are found. Fails: as
 * koda_scan_open. */
KODA_CHECK int koda_scan_subdirs(struct koda_queue *queue, int fd, const char *path,
				 const struct stat *counted, struct koda_error *err);
/* Notes a directory that is closed, but the user's own: the command could open it. It stays as it
 * is. Fails: NOMEM. */
KODA_CHECK int koda_scan_note_closed(const struct koda_found *found, const char *path,
				     const struct stat *st, struct koda_error *err);
/* There is too much to look at. */
KODA_CHECK int koda_scan_fail_many(const char *dir, struct koda_error *err);

/* Finds what belongs to the git directories and pointers found: submodules, worktrees, what they
 * share. known is empty, and the caller's. Fails: as koda_world_scan. */
KODA_CHECK int koda_scan_kin(const struct koda_found *found, struct koda_set *known,
			     struct koda_error *err);

#endif
