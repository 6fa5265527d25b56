/* SPDX-License-Identifier: MIT */
/* What a file has besides its content, and keeps when it is replaced. */
#ifndef FSWORKER_KEEP_H
#define FSWORKER_KEEP_H

#include "base/sha256.h"
#include "task.h"

#include <sys/stat.h>

/* Gives the file behind fd the group that st tells. Fails the request, as FOREIGN. */
bool fsworker_keep_owner(struct fsworker_task *task, const struct stat *st, int fd);
/* Gives it that mode, if it has another one. Fails the request. */
bool fsworker_keep_mode(struct fsworker_task *task, mode_t mode, int fd);
/* Copies the user's extended attributes and access lists. Fails the request. */
bool fsworker_keep_xattrs(struct fsworker_task *task, int from, int to);
/* Hashes the content of a file from its start. Fails the request. */
bool fsworker_keep_hash(struct fsworker_task *task, int fd, unsigned char *ret_hash);
/* Returns true if both tell about one file that has not changed in between. */
bool fsworker_keep_is_same(const struct stat *a, const struct stat *b);

#endif
