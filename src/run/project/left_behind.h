/* SPDX-License-Identifier: MIT */
/*
 * T-92. What a command has left behind that tools on the host obey: git directories, pointer files
 * and the like, in directories that existed when it started.
 */
#ifndef KODA_RUN_PROJECT_LEFT_BEHIND_H
#define KODA_RUN_PROJECT_LEFT_BEHIND_H

#include "run/project/dir_snapshot.h"

#include <koda/event.h>

/* How many are listed; the rest is counted. */
#define KODA_LEFT_BEHIND_MAX 100

struct koda_left_behind {
	struct koda_left_behind_item {
		char *path; /* owned */
		enum koda_left what;
	} * items; /* owned */
	size_t count;
	uint64_t more;   /* found beyond KODA_LEFT_BEHIND_MAX */
	bool incomplete; /* the search was not finished */
};

#define KODA_LEFT_BEHIND_INIT                                                                      \
	{                                                                                          \
		0                                                                                  \
	}

/* How long the search after a command may take. */
#define KODA_LEFT_BEHIND_NS (2 * 1000000000ULL)

/* Compares the file system with the snapshot, until deadline_ns on the monotonic clock. Costs less
 * than a microsecond for a directory that has not changed. Fails: LIMIT at the deadline, SYS,
 * NOMEM; then left has what was found so far, and is marked as incomplete. */
KODA_CHECK int koda_left_behind_find(const struct koda_dir_snapshot *snapshot, uint64_t deadline_ns,
				     struct koda_left_behind *left, struct koda_error *err);

/* Adds dir, or name in it, once (left_behind_list.c). Fails: NOMEM. */
KODA_CHECK int koda_left_behind_add(struct koda_left_behind *left, const char *dir,
				    const char *name, enum koda_left what, struct koda_error *err);
void koda_left_behind_clear(struct koda_left_behind *left);

#endif
