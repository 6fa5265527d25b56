/* SPDX-License-Identifier: MIT */
/* Plans with thousands of mounts in one tree. */
#ifndef KODA_STAGE2_INIT_NESTED_H
#define KODA_STAGE2_INIT_NESTED_H

#include "plan.h"

#include <stdbool.h>

/* Clones the trees that nested ops lie in. */
void stage2_nested_begin(const struct plan *plan);
/* Returns true if the plan has nested ops. */
bool stage2_nested_is_used(void);
/* Attaches the clones below dir. */
void stage2_nested_attach(const char *dir);
/* Clones the object of a nested op from them, like stage2_tree_clone. */
int stage2_nested_clone(const struct koda_op *op);
/* Detaches them. */
void stage2_nested_end(const char *dir);

#endif
