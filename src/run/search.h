/* SPDX-License-Identifier: MIT */
/*
 * Looking for inodes by reading directories. Costs a fraction of a microsecond per entry, so it is
 * only for what is rare: sockets that are not where they should be, protected files with more than
 * one name.
 */
#ifndef KODA_RUN_SEARCH_H
#define KODA_RUN_SEARCH_H

#include "base/macros.h"
#include "base/str.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* One search. Entries are shown by directory, device of that directory and inode number. */
struct koda_search {
	unsigned char type; /* DT_SOCK, DT_REG: only entries of this type are shown */
	bool deep;          /* go into subdirectories */
	size_t left;        /* how many more entries may be read; 0 at the end: not all were */
	/* Called for every entry of the type. A negative answer ends the search. */
	int (*see)(void *ctx, const char *dir, const char *name, dev_t dev, uint64_t ino,
		   struct koda_error *err);
	void *ctx;
	struct koda_strv *closed; /* may be NULL; the user's own directories that are closed */
};

/* Does not follow links. What is gone or somebody else's is passed over. Fails: SYS, NOMEM, and
 * what see fails with. */
KODA_CHECK int koda_search_run(struct koda_search *search, const char *root,
			       struct koda_error *err);

/* The next entry; NULL at the end, and then errno is 0 unless it could not be read. */
const struct dirent *koda_search_next(DIR *dir);

/* Is the directory, which could not be opened, closed itself? If not, the way to it was, for a
 * moment, by a command that runs beside us. */
bool koda_search_is_closed(const struct stat *st);

/* Is this a file system whose numbers are known to be plain? A directory's link count is two and
 * one for each subdirectory, reading a directory shows the inode number that stat shows, and the
 * device is the file system's own. Elsewhere none of this is believed. */
bool koda_search_is_plain(int fd);
/* And one where a change never has the time that somebody has seen before it, as from Linux 6.13
 * on?
 */
bool koda_search_is_fine(int fd);

#endif
