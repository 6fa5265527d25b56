/* SPDX-License-Identifier: MIT */
/* Modes, owners and times of files, changed for the command. */
#ifndef KODA_STAGE2_LANDLOCK_BROKER_FILE_H
#define KODA_STAGE2_LANDLOCK_BROKER_FILE_H

#include "landlock/brokered_call.h"

/* Returns the result of the call, or a negative errno. */
long stage2_broker_file(const struct brokered_call *call);

#endif
