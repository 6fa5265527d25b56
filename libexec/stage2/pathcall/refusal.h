/* SPDX-License-Identifier: MIT */
/* Whether the view refuses a call. */
#ifndef KODA_STAGE2_PATHCALL_REFUSAL_H
#define KODA_STAGE2_PATHCALL_REFUSAL_H

#include "pathcall/pathcall.h"
#include "pathcall/place.h"
#include "wire/report.h"

/* Returns true if the kernel refuses the call for what is at the place of its subject i: a
 * read-only mount, a mask, a placeholder or an anchor. A call that would fail without them is not
 * refused by them. Fills in what was refused. */
bool stage2_refusal_find(const struct pathcall *call, size_t i, const struct place *place,
			 enum koda_denied *ret_act);

#endif
