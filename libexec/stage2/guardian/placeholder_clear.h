/* SPDX-License-Identifier: MIT */
/* Removes placeholder directories. */
#ifndef KODA_STAGE2_GUARDIAN_PLACEHOLDER_CLEAR_H
#define KODA_STAGE2_GUARDIAN_PLACEHOLDER_CLEAR_H

/* Removes a placeholder directory, unless it has got foreign entries since. */
void stage2_placeholder_clear(int parent, const char *name);
/* Removes the .gitignore that was made with the placeholder. */
void stage2_placeholder_clear_ignore(int dir);

#endif
