/* SPDX-License-Identifier: MIT */
/*
 * Arguments and descriptor numbers of the launcher where bubblewrap makes the namespaces: those
 * that the guardian gets from the runner, and those that bubblewrap gets from the guardian.
 */
#ifndef KODA_WIRE_BWRAP_H
#define KODA_WIRE_BWRAP_H

#include "wire/op.h"

/* The launcher's first argument: which process it is. */
#define KODA_STAGE2_BWRAP "bwrap" /* guardian of a sandbox that bubblewrap makes */
#define KODA_STAGE2_OPEN                                                                           \
	"open" /* that guardian, if processes inside are known not to be allowed to mount */
#define KODA_STAGE2_INSIDE "inside" /* first process inside; it makes the view */
#define KODA_STAGE2_VIEWER "viewer" /* first process inside; bubblewrap has made the view */

/* The guardian's descriptors, besides those of wire/report.h. */
#define KODA_BWRAP_PROGRAM_FD 6 /* bubblewrap itself */
#define KODA_BWRAP_START_FD   7 /* its arguments before there is a plan */
#define KODA_BWRAP_ARGS_FD    8 /* those for the whole view, sealed together with the plan */

/* Bubblewrap's descriptors; those up to INSIDE_SELF are inherited by the first process inside. 0 to
 * 2 are not the command's streams: the guardian reads bubblewrap's stderr. */
#define KODA_INSIDE_PLAN      3
#define KODA_INSIDE_STATUS    4
#define KODA_INSIDE_INIT_PIPE 5
#define KODA_INSIDE_STREAMS   6 /* and the next two: the command's streams */
#define KODA_INSIDE_SELF      9 /* the launcher, to be executed */
#define KODA_INSIDE_ARGS      10
/* Where bubblewrap makes the view, it copies the contents of files from descriptors: memfds for the
 * plan's files, and /dev/null once for every hidden file. */
#define KODA_INSIDE_FILES   11
#define KODA_FILES_MAX      4
#define KODA_INSIDE_NOTHING (KODA_INSIDE_FILES + KODA_FILES_MAX)
#define KODA_NOTHING_MAX    200

/* Returns true if the op hides a file, by an empty file; directories are hidden by a directory. */
static inline bool koda_bwrap_masks_file(const struct koda_op *op)
{
	return op->kind == KODA_OP_MASK && !(op->flags & (KODA_OP_DIRECTORY | KODA_OP_LATE));
}

#endif
