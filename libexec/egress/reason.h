/* SPDX-License-Identifier: MIT */
/* Reasons as code and text. */
#ifndef KODA_EGRESS_REASON_H
#define KODA_EGRESS_REASON_H

#include "wire/egress.h"

/* "rule_denied" for KODA_EGRESS_RULE_DENIED and so on; never NULL. */
const char *koda_reason_code(enum koda_egress_reason reason);
/* A sentence for people and agents; never NULL. */
const char *koda_reason_text(enum koda_egress_reason reason);
/* The reason behind a refusal of the protocol code: by its code if that is one of ours, else by
 * the status. */
enum koda_egress_reason koda_reason_of(const char *code, int status);

#endif
