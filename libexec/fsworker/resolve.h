/* SPDX-License-Identifier: MIT */
/*
 * From a path to an open directory and a name in it. The walk begins at a root and opens one
 * component after the other with O_PATH and O_NOFOLLOW. It reads symbolic links itself, so it knows
 * the path of the place that it reaches, and never opens anything outside of the roots.
 */
#ifndef FSWORKER_RESOLVE_H
#define FSWORKER_RESOLVE_H

#include "task.h"

#include <sys/stat.h>

struct fsworker_place {
	const struct fsworker_root *root;
	int dir;                      /* the directory; -1: nothing is resolved */
	bool is_borrowed;             /* it is the root's descriptor */
	char name[KODA_NAME_MAX + 1]; /* in the directory; "." for a root itself */
	char path[KODA_PATH_MAX + 1]; /* absolute, in normal form, without links */
	size_t len;
	struct stat st; /* of the name, if it exists; not followed */
	bool exists;
	bool is_linked; /* a link at the last name has led here */
	size_t rest;    /* PARENTS: where names of the path begin that are missing below name */
};

#define FSWORKER_PLACE_INIT                                                                        \
	{                                                                                          \
		.dir = -1                                                                          \
	}

enum fsworker_resolve_how {
	FSWORKER_RESOLVE_LAST = 0,   /* the last name is taken as it is */
	FSWORKER_RESOLVE_FOLLOW = 1, /* a link at the last name is followed */
	FSWORKER_RESOLVE_PARENTS = 2 /* directories above the last name may be missing */
};

/* Resolves a path of the request; how is of enum fsworker_resolve_how. A path that may not be read
 * is denied before anything is told about it. Fails the request and returns false; the place is
 * cleared then. */
bool fsworker_resolve(struct fsworker_task *task, struct koda_span path, unsigned int how,
		      struct fsworker_place *ret_place);
/* Makes the place the reply's path. Fails the request if nothing is there. */
bool fsworker_resolve_exists(struct fsworker_task *task, const struct fsworker_place *place);
/* Fails the request, as OUTSIDE, if the place is a root: the directory it is in is not inside. */
bool fsworker_resolve_is_inside(struct fsworker_task *task, const struct fsworker_place *place);
void fsworker_resolve_clear(struct fsworker_place *place);
#define fsworker_auto_place __attribute__((cleanup(fsworker_resolve_clear)))

static inline struct koda_span fsworker_resolve_path(const struct fsworker_place *place)
{
	return (struct koda_span){ place->path, place->len };
}

static inline bool fsworker_resolve_is_root(const struct fsworker_place *place)
{
	return place->name[0] == '.' && place->name[1] == '\0';
}

#endif
