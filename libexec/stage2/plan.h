/* SPDX-License-Identifier: MIT */
/* The plan as the launcher reads it: a sealed memfd with a sequence of struct koda_op. */
#ifndef KODA_STAGE2_PLAN_H
#define KODA_STAGE2_PLAN_H

#include "wire/op.h"

struct plan {
	const char *bytes;
	size_t len;
};

/* Maps the plan and closes its descriptor. Fails unless the memfd is sealed and its ops are sound.
 */
struct plan stage2_plan_load(int fd);

#endif
