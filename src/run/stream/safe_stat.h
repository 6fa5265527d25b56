/* SPDX-License-Identifier: MIT */
/*
 * T-95. Examines a path of the host that was chosen by the output of a command. That must have no
 * effect and must not block, because the caller also keeps the command's deadline.
 *
 * Every component is opened once with O_PATH, and no link is followed. RESOLVE_CACHED asks the
 * kernel for what is in its cache, where the command's failed call has just put it, so no file
 * server, daemon or automounter is waited for. On a local file system a name that is not in the
 * cache is looked up. All calls of one command share one budget.
 */
#ifndef KODA_RUN_STREAM_SAFE_STAT_H
#define KODA_RUN_STREAM_SAFE_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* Steps for one command. A step is about two system calls or a microsecond. */
#define KODA_SAFE_STAT_STEPS ((uint64_t)1 << 16)
/* How many file systems are looked up in the mount table, to learn whether they are local. */
#define KODA_SAFE_STAT_DEVICES 8

/* What a command has spent; all zero at its start. */
struct koda_safe_stat_budget {
	uint64_t steps;
	struct {
		uint64_t device;
		bool local;
	} known[KODA_SAFE_STAT_DEVICES];
	size_t known_count;
};

enum koda_safe_stat_state {
	KODA_SAFE_STAT_UNKNOWN = 0, /* not found out, or the budget is used up */
	KODA_SAFE_STAT_EXISTS,      /* the path exists */
	KODA_SAFE_STAT_MISSING,     /* a name on the way does not exist */
	KODA_SAFE_STAT_BLOCKED      /* something on the way is not a directory */
};

struct koda_safe_stat_result {
	enum koda_safe_stat_state state;
	size_t existing_len; /* length of the longest part of the path that exists */
	mode_t mode;         /* st_mode of that part */
	time_t mtime;        /* its st_mtime */
	size_t missing_len;  /* length of the path up to the first name that does not exist */
};

/* Takes steps off the budget. False if it is used up, and then it stays so. */
bool koda_safe_stat_spend(struct koda_safe_stat_budget *budget, uint64_t steps);

/* Examines a path in normal form. */
struct koda_safe_stat_result koda_safe_stat_path(struct koda_safe_stat_budget *budget,
						 const char *path);

#endif
