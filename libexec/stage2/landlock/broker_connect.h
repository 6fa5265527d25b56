/* SPDX-License-Identifier: MIT */
/* connect and listen, performed for the command. */
#ifndef KODA_STAGE2_LANDLOCK_BROKER_CONNECT_H
#define KODA_STAGE2_LANDLOCK_BROKER_CONNECT_H

#include "landlock/brokered_call.h"
#include "plan.h"

/* Takes the host's sockets from the plan. */
void stage2_broker_connect_start(const struct plan *plan);
/* Return the result of the call, a negative errno, or STAGE2_BROKERED_CALL_PENDING. */
long stage2_broker_connect(const struct brokered_call *call);
long stage2_broker_connect_listen(const struct brokered_call *call);

#endif
