/* SPDX-License-Identifier: MIT */
#include "base/parse.h"

#include "base/ascii.h"
#include "base/error.h"

#include <string.h>

/* Reads digits from *text, leaving it after them. */
static int parse_digits(const char **text, uint64_t max, uint64_t *ret_value,
			struct koda_error *err)
{
	const char *s = *text;
	uint64_t value = 0;

	if (!koda_ascii_is_digit(*s))
		return koda_fail(err, KODA_E_INVALID, 0, "'%s' is not a whole number", *text);
	for (; koda_ascii_is_digit(*s); s++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*s - '0'), &value) || value > max)
			return koda_fail(err, KODA_E_LIMIT, 0, "'%s' is larger than %llu", *text,
					 (unsigned long long)max);
	}
	*text = s;
	*ret_value = value;
	return KODA_OK;
}

int koda_parse_u64(const char *text, uint64_t max, uint64_t *ret_value, struct koda_error *err)
{
	const char *rest = text;
	uint64_t value = 0;
	int r = parse_digits(&rest, max, &value, err);

	if (r < 0)
		return r;
	if (*rest)
		return koda_fail(err, KODA_E_INVALID, 0, "'%s' is not a whole number", text);
	*ret_value = value;
	return KODA_OK;
}

int koda_parse_size(const char *text, uint64_t max, uint64_t *ret_value, struct koda_error *err)
{
	static const char units[] = "kmg";
	const char *rest = text;
	uint64_t value = 0;
	int r = parse_digits(&rest, max, &value, err);
	const char *unit = r == KODA_OK && *rest ? strchr(units, koda_ascii_lower(*rest)) : NULL;

	if (r == KODA_E_INVALID || (r == KODA_OK && *rest && (!unit || rest[1])))
		return koda_fail(err, KODA_E_INVALID, 0,
				 "'%s' is not a size (a number, then K, M or G)", text);
	if (r < 0)
		return r;
	if (unit) {
		if (__builtin_mul_overflow(value, 1ULL << (10 * (unit - units + 1)), &value) ||
		    value > max)
			return koda_fail(err, KODA_E_LIMIT, 0, "'%s' is larger than %llu bytes",
					 text, (unsigned long long)max);
	}
	*ret_value = value;
	return KODA_OK;
}
