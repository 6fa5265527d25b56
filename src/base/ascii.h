/* SPDX-License-Identifier: MIT */
/* ASCII, independent of the locale. */
#ifndef KODA_BASE_ASCII_H
#define KODA_BASE_ASCII_H

#include <stdbool.h>

static inline char koda_ascii_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static inline bool koda_ascii_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Returns the value of a hexadecimal digit, 0 to 15, or -1. */
static inline int koda_ascii_hex(char c)
{
	if (koda_ascii_is_digit(c))
		return c - '0';
	c = koda_ascii_lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif
