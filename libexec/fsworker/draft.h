/* SPDX-License-Identifier: MIT */
/*
 * The new content of a file. It goes into a file of its own in the file's directory, which replaces
 * the file in one step, or with IN_PLACE into the file itself.
 */
#ifndef FSWORKER_DRAFT_H
#define FSWORKER_DRAFT_H

#include "base/sha256.h"
#include "resolve.h"

#define FSWORKER_DRAFT_NAME_MAX 32

struct fsworker_draft {
	struct fsworker_place place;
	int fd;
	char name[FSWORKER_DRAFT_NAME_MAX]; /* of the file in the directory; "": it has none */
	mode_t mode;                        /* if there is no file to replace */
	uint64_t len;
	struct koda_sha256 hash;
	const struct stat *origin; /* the file that must be replaced, as it was; may be NULL */
};

/* Resolves the request's path to a file that may be written; how is as for fsworker_resolve. A link
 * that leads nowhere is no place to write. Fails the request. */
bool fsworker_draft_resolve(struct fsworker_task *task, struct fsworker_draft *draft,
			    unsigned int how);
/* Prepares to write. The request's flags IN_PLACE, NEW and
 * EXPECT count. Fails the request. */
bool fsworker_draft_open(struct fsworker_task *task, struct fsworker_draft *draft);
/* Appends to the content. Fails the request. */
bool fsworker_draft_add(struct fsworker_task *task, struct fsworker_draft *draft, const void *bytes,
			size_t len);
/* Makes it the file's content, and fills in the hash that HASH asks for. *ret_mode is the file's
 * mode. Fails the request; the file is as it was then, unless it was written in place. */
bool fsworker_draft_commit(struct fsworker_task *task, struct fsworker_draft *draft,
			   mode_t *ret_mode);
/* Takes back what is left of it. A file that is written in place by halves makes a request that has
 * failed PARTIAL. */
void fsworker_draft_clear(struct fsworker_task *task, struct fsworker_draft *draft);

#endif
