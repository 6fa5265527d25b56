/* SPDX-License-Identifier: MIT */
/* The planner's half of the sealed plan: appends operations. */
#ifndef KODA_WIRE_OP_ENCODE_H
#define KODA_WIRE_OP_ENCODE_H

#include "base/buf.h"
#include "wire/op.h"

/* Appends one operation. The first call also writes the header, and every call updates it. The
 * ceiling of out should be KODA_OP_PLAN_MAX. Fails: LIMIT, NOMEM. */
KODA_CHECK int koda_ops_add(struct koda_buf *out, const struct koda_op *op);

#endif
