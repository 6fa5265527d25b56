/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

/* Returns how many bytes follow lead byte b, and the range of the first of them; false if b is no
 * lead byte. */
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
