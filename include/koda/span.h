/* SPDX-License-Identifier: MIT */
/* Bytes that belong to someone else: no terminator is promised, any byte may occur. */
#ifndef KODA_SPAN_H
#define KODA_SPAN_H

#include <stddef.h>

struct koda_span {
	const char *ptr;
	size_t len;
};

#endif
