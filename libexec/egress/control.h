/* SPDX-License-Identifier: MIT */
/* The host's orders, on descriptor 3. */
#ifndef KODA_EGRESS_CONTROL_H
#define KODA_EGRESS_CONTROL_H

#include "tenant.h"

/* Is there a socket of the right kind? */
bool koda_control_is_there(void);
/* Begins to follow orders. When the host is gone the loop stops. Fails: SYS. */
KODA_CHECK int koda_control_start(struct koda_proxy *proxy, struct koda_error *err);

#endif
