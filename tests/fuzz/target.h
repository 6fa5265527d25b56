/* SPDX-License-Identifier: MIT */
/* What every fuzz target shares: the entry point and a check that no build option removes. */
#ifndef KODA_FUZZ_TARGET_H
#define KODA_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A broken promise ends the run where it was noticed. */
#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			(void)fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__,           \
				      #condition);                                                 \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

#endif
