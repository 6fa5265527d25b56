/* SPDX-License-Identifier: MIT */
/* Borrowed bytes. They need not end with NUL, and any byte may occur. */
#ifndef KODA_SPAN_H
#define KODA_SPAN_H

#include <stddef.h>

struct koda_span {
	const char *ptr;
	size_t len;
};

#endif
