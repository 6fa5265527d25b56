/* SPDX-License-Identifier: MIT */
#include "base/str.h"

#include "base/diag.h"

#include <string.h>

int koda_strv_take(struct koda_strv *strv, char *item, struct koda_error *err)
{
	koda_auto_free char *owned = item;

	if (!owned)
		return koda_fail_nomem(err);
	if (strv->len + 2 > strv->cap) {
		size_t cap = strv->cap ? strv->cap * 2 : 8;
		char **items = reallocarray(strv->items, cap, sizeof(*items));

		if (!items)
			return koda_fail_nomem(err);
		strv->items = items;
		strv->cap = cap;
	}
	strv->items[strv->len++] = KODA_TAKE(owned);
	strv->items[strv->len] = NULL;
	return KODA_OK;
}

int koda_strv_add(struct koda_strv *strv, const char *item, struct koda_error *err)
{
	return koda_strv_take(strv, strdup(item), err);
}

int koda_strv_add_span(struct koda_strv *strv, struct koda_span item, struct koda_error *err)
{
	return koda_strv_take(strv, strndup(item.ptr, item.len), err);
}

bool koda_strv_has(const struct koda_strv *strv, const char *item)
{
	for (size_t i = 0; i < strv->len; i++)
		if (strcmp(strv->items[i], item) == 0)
			return true;
	return false;
}

void koda_strv_clear(struct koda_strv *strv)
{
	for (size_t i = 0; i < strv->len; i++)
		free(strv->items[i]);
	free(strv->items);
	*strv = (struct koda_strv)KODA_STRV_INIT;
}

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

/* Bytes that follow lead byte b, and the range of the first of them; false if b leads nothing. */
static bool utf8_lead(unsigned char b, size_t *ret_more, unsigned char *ret_low,
		      unsigned char *ret_high)
{
	*ret_low = 0x80;
	*ret_high = 0xbf;
	if (b >= 0xc2 && b <= 0xdf) {
		*ret_more = 1;
	} else if (b >= 0xe0 && b <= 0xef) {
		*ret_more = 2;
		if (b == 0xe0)
			*ret_low = 0xa0;
		if (b == 0xed)
			*ret_high = 0x9f;
	} else if (b >= 0xf0 && b <= 0xf4) {
		*ret_more = 3;
		if (b == 0xf0)
			*ret_low = 0x90;
		if (b == 0xf4)
			*ret_high = 0x8f;
	} else {
		return false;
	}
	return true;
}

bool koda_utf8_is_valid(struct koda_span text)
{
	const unsigned char *s = (const unsigned char *)text.ptr;
	size_t i = 0;

	while (i < text.len) {
		unsigned char low;
		unsigned char high;
		size_t more;

		if (s[i] < 0x80) {
			i++;
			continue;
		}
		if (!utf8_lead(s[i], &more, &low, &high) || text.len - i <= more)
			return false;
		if (s[i + 1] < low || s[i + 1] > high)
			return false;
		for (size_t k = 2; k <= more; k++)
			if ((s[i + k] & 0xc0) != 0x80)
				return false;
		i += more + 1;
	}
	return true;
}
