/* SPDX-License-Identifier: MIT */
/* UTF-8. */
#ifndef KODA_BASE_UTF8_H
#define KODA_BASE_UTF8_H

#include <koda/span.h>
#include <stdbool.h>

/* Returns true if text is well-formed UTF-8: no surrogates, no overlong forms. */
bool koda_utf8_is_valid(struct koda_span text);

#endif
