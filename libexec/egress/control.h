/* SPDX-License-Identifier: MIT */
/* The control socket: messages of the host, on descriptor 3 (wire/egress.h). */
#ifndef KODA_EGRESS_CONTROL_H
#define KODA_EGRESS_CONTROL_H

#include "proxy.h"

/* Returns whether descriptor 3 is a SOCK_SEQPACKET Unix socket. */
bool egress_control_is_open(void);
/* Starts to handle messages. The loop stops when the host closes its end. Fails: SYS. */
KODA_CHECK int egress_control_start(struct egress_proxy *proxy, struct koda_error *err);

#endif
