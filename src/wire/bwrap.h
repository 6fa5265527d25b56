/* SPDX-License-Identifier: MIT */
/*
 * What the runner, the guardian and the launcher inside agree on when bubblewrap makes the
 * namespaces. The guardian gets two descriptors more, and arranges others for bubblewrap.
 */
#ifndef KODA_WIRE_BWRAP_H
#define KODA_WIRE_BWRAP_H

#include "wire/op.h"

/* The launcher's first argument: which part it is to play. */
#define KODA_STAGE2_BWRAP  "bwrap"  /* guardian of a sandbox that bubblewrap makes */
#define KODA_STAGE2_OPEN   "open"   /* the same, where nobody inside is known to be able to mount */
#define KODA_STAGE2_INSIDE "inside" /* first process of such a sandbox; it makes the view */
#define KODA_STAGE2_VIEWER "viewer" /* the same where bubblewrap has made the view */

/* The guardian's, beside those of wire/report.h. */
#define KODA_BWRAP_PROGRAM_FD 6 /* bubblewrap itself */
#define KODA_BWRAP_START_FD   7 /* its arguments before there is a plan */
#define KODA_BWRAP_ARGS_FD    8 /* those for the whole view, sealed together with the plan */

/* Bubblewrap's own; those up to INSIDE_SELF go on to the first process inside. 0 to 2 are not the
 * command's streams: what bubblewrap has to say is the guardian's to read. */
#define KODA_INSIDE_PLAN    3
#define KODA_INSIDE_STATUS  4
#define KODA_INSIDE_BOND    5
#define KODA_INSIDE_STREAMS 6 /* and the next two: the command's streams */
#define KODA_INSIDE_SELF    9 /* the launcher, to be executed */
#define KODA_INSIDE_ARGS    10
/* Where bubblewrap makes the view, contents for it to copy: of files, which it reads from the
 * start, and then nothing, as often as a file is hidden. */
#define KODA_INSIDE_FILES   11
#define KODA_FILES_MAX      4
#define KODA_INSIDE_NOTHING (KODA_INSIDE_FILES + KODA_FILES_MAX)
#define KODA_NOTHING_MAX    200

/* Is it hidden by a file without contents? Directories are by a directory. */
static inline bool koda_bwrap_masks_file(const struct koda_op *op)
{
	return op->kind == KODA_OP_MASK && !(op->flags & (KODA_OP_DIRECTORY | KODA_OP_LATE));
}

#endif
