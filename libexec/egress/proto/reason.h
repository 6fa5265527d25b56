/* SPDX-License-Identifier: MIT */
/* Reasons of events (KODA_EGRESS_REASONS), and the answers that belong to them. */
#ifndef KODA_EGRESS_PROTO_REASON_H
#define KODA_EGRESS_PROTO_REASON_H

#include "proto/answer.h"
#include "proto/socks5.h"
#include "wire/egress.h"

/* Returns the reason's sentence for people and agents; never NULL. */
const char *egress_reason_text(enum koda_egress_reason reason);
/* Returns DENY if the proxy refused, ALLOW if it allowed what then ended for another reason. */
enum koda_egress_verdict egress_reason_verdict(enum koda_egress_reason reason);
/* Returns the HTTP refusal for a reason; rule is borrowed. */
struct egress_refusal egress_reason_refusal(enum koda_egress_reason reason, struct koda_span rule);
/* Returns the SOCKS reply for a reason; sys_errno of connect(2), or 0, makes CONNECT_FAILED more
 * specific. */
enum egress_socks_reply egress_reason_socks(enum koda_egress_reason reason, int sys_errno);
/* Returns the reason of a refusal by the protocol code: the one with that code, else the one that
 * stands for the status. */
enum koda_egress_reason egress_reason_of(const char *code, int status);

#endif
