/* SPDX-License-Identifier: MIT */
/* What a person can do about a launch that failed. */
#ifndef KODA_RUN_PROJECT_REMEDY_H
#define KODA_RUN_PROJECT_REMEDY_H

#include <koda/error.h>

#include <stdint.h>

/* Appends a remedy to the message of a failure of the runner, if one is known. NULL is fine. */
void koda_remedy_add(struct koda_error *err);
/* Appends a remedy for a step of the launcher that failed (wire/launch_step.h). */
void koda_remedy_add_for_step(struct koda_error *err, uint32_t step);

#endif
