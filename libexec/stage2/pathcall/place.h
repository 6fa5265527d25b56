/* SPDX-License-Identifier: MIT */
/* Where in the view a path of a call leads. */
#ifndef KODA_STAGE2_PATHCALL_PLACE_H
#define KODA_STAGE2_PATHCALL_PLACE_H

#include "pathcall/caller.h"

#include <stdbool.h>

/* A directory and a name, each of at most PATHCALL_PATH_BYTES. */
#define PATHCALL_PLACE_BYTES ((size_t)2 * PATHCALL_PATH_BYTES)

struct place {
	int dir;     /* O_PATH; the object's directory, or the object itself where it has no name */
	int object;  /* O_PATH; -1: missing */
	bool closed; /* a directory on the way cannot be searched; path is as the caller wrote it */
	bool mount_root;                 /* something is mounted on the object's name */
	bool reserved;                   /* the object is a placeholder */
	bool linked;                     /* a link at the end of the text was followed */
	uint32_t mode;                   /* of the object */
	char path[PATHCALL_PLACE_BYTES]; /* absolute, without links; "" if there is none */
};

/* Finds what a thread calls text, relative to dirfd; text has PATHCALL_PATH_BYTES and is changed.
 * Returns 0, or a negative errno: the call fails for a reason that is none of the view's, or the
 * object cannot be told. stage2_place_clear afterwards, in any case. */
int stage2_place_find(pid_t thread, int dirfd, char *text, bool follow, struct place *ret_place);
/* Finds what a descriptor of a thread refers to. */
int stage2_place_of_fd(pid_t thread, int fd, struct place *ret_place);
void stage2_place_clear(struct place *place);

/* Examines a name in a directory without following it, in one call. Returns a negative errno. */
int stage2_place_look(int dir, const char *name, struct place *ret_place);
/* Returns true if the mount of the object is read-only. */
bool stage2_place_is_readonly(int fd);

#endif
