/* SPDX-License-Identifier: MIT */
/* Checked numbers. */
#ifndef KODA_BASE_PARSE_H
#define KODA_BASE_PARSE_H

#include "base/macros.h"

#include <stdint.h>

/* Reads decimal digits: no sign, no space, no prefix. Fails: INVALID, LIMIT above max. */
KODA_CHECK int koda_parse_u64(const char *text, uint64_t max, uint64_t *ret_value,
			      struct koda_error *err);
/* Reads decimal digits and an optional K, M or G (powers of 1024, either case). Fails: INVALID,
 * LIMIT above max. */
KODA_CHECK int koda_parse_size(const char *text, uint64_t max, uint64_t *ret_value,
			       struct koda_error *err);

#endif
