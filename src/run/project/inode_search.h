/* SPDX-License-Identifier: MIT */
/*
 * Searches directories for inodes. Costs a fraction of a microsecond per entry, so it is used for
 * rare cases only: sockets that were moved, and protected files with hard links.
 */
#ifndef KODA_RUN_PROJECT_INODE_SEARCH_H
#define KODA_RUN_PROJECT_INODE_SEARCH_H

#include "base/macros.h"
#include "base/strv.h"
#include "run/project/survey_budget.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* A search. see gets the directory, the name, the device of the directory and the inode number. */
struct koda_inode_search {
	unsigned char type; /* DT_SOCK or DT_REG: see is called for entries of this type */
	bool deep;          /* go into subdirectories */
	size_t left; /* how many more entries may be read; 0 at the end: the search is incomplete */
	/* Called for every entry of the type. A negative result stops the search. */
	int (*see)(void *ctx, const char *dir, const char *name, dev_t dev, uint64_t ino,
		   struct koda_error *err);
	void *ctx;
	struct koda_strv
		*closed; /* may be NULL; gets directories of the user that cannot be opened */
	struct koda_survey_budget *budget; /* may be NULL; of the survey */
};

/* Searches below root without following links. Skips what is gone, and closed directories of other
 * users. Fails: SYS, NOMEM, and what see fails with. */
KODA_CHECK int koda_inode_search_run(struct koda_inode_search *search, const char *root,
				     struct koda_error *err);

/* Returns the next entry. NULL with errno 0 at the end, NULL with another errno on failure. */
const struct dirent *koda_inode_search_next(DIR *dir);

/* Tells whether a directory that could not be opened is closed itself. If not, a command that runs
 * at the same time had closed a directory above it. */
bool koda_inode_search_is_closed(const struct stat *st);

/* Tells whether the file system is one where st_nlink of a directory is two and one for each
 * subdirectory, d_ino equals st_ino, and st_dev is that of the whole file system. None of this is
 * relied on elsewhere. */
bool koda_inode_search_is_plain(int fd);
/* Tells whether, in addition, every change has an st_ctime that stat() has not returned before it
 * (multigrain timestamps, Linux 6.13). */
bool koda_inode_search_is_fine(int fd);

#endif
