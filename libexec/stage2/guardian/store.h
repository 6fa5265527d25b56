/* SPDX-License-Identifier: MIT */
/* Placeholder directories kept between two runs. */
#ifndef KODA_STAGE2_GUARDIAN_STORE_H
#define KODA_STAGE2_GUARDIAN_STORE_H

#include "plan.h"

#include <stdbool.h>
#include <stdint.h>

/* Takes the path of the store from the plan and opens it if it exists. */
void stage2_store_use(const struct plan *plan);
/* Moves a directory from the store to the name in parent. tracked: one with a .gitignore. Returns
 * false if the store has none, or what was moved is no placeholder any more; then it is the
 * user's. */
bool stage2_store_take(int parent, const char *name, bool tracked);
/* Moves the placeholder at the name into the store. Returns false if it is still at the name. */
bool stage2_store_put(int parent, const char *name);
/* Removes directories that no run has used for a long time, until until_ms. */
void stage2_store_sweep(const char *path, uint64_t until_ms);

#endif
