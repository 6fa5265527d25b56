/* SPDX-License-Identifier: MIT */
/* What a person can do about a launch that failed. */
#ifndef KODA_RUN_REMEDY_H
#define KODA_RUN_REMEDY_H

#include <koda/error.h>

/* Appends a remedy to the message, if one is known for what failed and how. NULL is fine. */
void koda_remedy_add(struct koda_error *err);

#endif
