/* SPDX-License-Identifier: MIT */
/* The planner's half of the sealed plan: appending ops. */
#ifndef KODA_WIRE_ENCODE_H
#define KODA_WIRE_ENCODE_H

#include "base/buf.h"
#include "wire/op.h"

/* Appends one op; the first call also writes the header, which every call keeps true.
 * out's ceiling should be KODA_OP_PLAN_MAX. Fails: LIMIT, NOMEM. */
KODA_CHECK int koda_ops_add(struct koda_buf *out, const struct koda_op *op);

#endif
