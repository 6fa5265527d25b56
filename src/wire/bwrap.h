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
#define KODA_STAGE2_INSIDE "inside" /* first process of such a sandbox */

/* The guardian's, beside those of wire/report.h. */
#define KODA_BWRAP_PROGRAM_FD 6 /* bubblewrap itself */
#define KODA_BWRAP_ARGS_FD    7 /* its arguments, sealed together with the plan */

/* Bubblewrap's own; those up to INSIDE_SELF go on to the first process inside. 0 to 2 are not the
 * command's streams: what bubblewrap has to say is the guardian's to read. */
#define KODA_INSIDE_PLAN    3
#define KODA_INSIDE_STATUS  4
#define KODA_INSIDE_BOND    5
#define KODA_INSIDE_STREAMS 6 /* and the next two: the command's streams */
#define KODA_INSIDE_SELF    9 /* the launcher, to be executed */
#define KODA_INSIDE_ARGS    10
#define KODA_INSIDE_DATA    11 /* the first of those with contents */

/* Does bubblewrap get a descriptor with contents for it? A masked file is a new one without any.
 * The order is that of the plan. */
static inline bool koda_bwrap_wants_data(const struct koda_op *op)
{
	return op->kind == KODA_OP_FILE ||
	       (op->kind == KODA_OP_MASK && !(op->flags & (KODA_OP_DIRECTORY | KODA_OP_LATE)));
}

#endif
