/* SPDX-License-Identifier: MIT */
/*
 * What a placeholder looks like. It is a socket that nobody listens on, of mode 000: it has no
 * contents, so making and removing it costs next to nothing; git does not show it; whoever opens
 * it gets an error at once and does not wait.
 */
#ifndef KODA_WIRE_HOLD_H
#define KODA_WIRE_HOLD_H

#include <stdbool.h>
#include <sys/stat.h>

#define KODA_HOLD_NODE S_IFSOCK

static inline bool koda_hold_is_node(mode_t mode)
{
	return S_ISSOCK(mode) && (mode & 07777) == 0;
}

/* Of the file that stands in a git directory. On files the sticky bit means nothing, so nobody's
 * own has it, and a placeholder has it from the moment it is made. */
#define KODA_HOLD_FILE_MARK S_ISVTX
#define KODA_HOLD_FILE_MODE (KODA_HOLD_FILE_MARK | 0444)

/* A default ACL of the directory, which a command can set, takes rights from a new file until it is
 * given its mode. */
static inline bool koda_hold_is_file_mode(mode_t mode)
{
	return S_ISREG(mode) && (mode & (07777 & ~0444)) == KODA_HOLD_FILE_MARK;
}

/* Unless it has contents it may have many names. */
static inline bool koda_hold_is_file(const struct stat *st)
{
	return S_ISREG(st->st_mode) && (st->st_mode & 07777) == KODA_HOLD_FILE_MODE &&
	       st->st_size == 0;
}

#endif
