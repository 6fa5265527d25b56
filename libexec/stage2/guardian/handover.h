/* SPDX-License-Identifier: MIT */
/* Gives up the placeholders of a run: removes them, or leaves them to other runs. */
#ifndef KODA_STAGE2_GUARDIAN_HANDOVER_H
#define KODA_STAGE2_GUARDIAN_HANDOVER_H

#include "guardian/reservation.h"

#include <stdint.h>
#include <sys/types.h>

/* Enters a name that is about to be reserved in the directory into its journal, so that it is
 * removed even if this run is killed. */
void stage2_handover_note(int dir, const struct koda_op *op);
/* Removes the placeholders that no other run needs; the others are entered into the journal, which
 * the last run reads. Takes a second at most. */
void stage2_handover_undo(struct reservation *list, size_t count);
/* Leaves all placeholders to later runs, which wait for the end of a process. */
void stage2_handover_postpone(struct reservation *list, size_t count, pid_t process);
/* Removes the placeholders of journals whose directories no process has locked, until until_ms. */
void stage2_handover_sweep(uint64_t until_ms);

#endif
