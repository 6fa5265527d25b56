/* SPDX-License-Identifier: MIT */
#include "glob_text.h"

#include <stdint.h>

/* Names of classes such as [:alpha:], for ASCII. */
static bool is_in_named(struct koda_span name, uint32_t c)
{
	bool lower = c >= 'a' && c <= 'z';
	bool upper = c >= 'A' && c <= 'Z';
	bool digit = c >= '0' && c <= '9';
	bool hex = digit || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
	const struct {
		const char *name;
		bool is_in;
	} classes[] = {
		{ "alnum", lower || upper || digit },
		{ "alpha", lower || upper },
		{ "blank", c == ' ' || c == '\t' },
		{ "cntrl", c < ' ' || c == 0x7f },
		{ "digit", digit },
		{ "graph", c > ' ' && c < 0x7f },
		{ "lower", lower },
		{ "print", c >= ' ' && c < 0x7f },
		{ "punct", c > ' ' && c < 0x7f && !lower && !upper && !digit },
		{ "space", c == ' ' || (c >= '\t' && c <= '\r') },
		{ "upper", upper },
		{ "xdigit", hex },
	};

	for (size_t i = 0; i < KODA_ARRAY_LEN(classes); i++) {
		if (koda_span_is(name, classes[i].name))
			return classes[i].is_in;
	}
	return false;
}

/* Reads a character; bytes that are not UTF-8 are characters of their own, beyond Unicode. */
static uint32_t read_char(const char **text, const char *end, bool utf8)
{
	const unsigned char *p = (const unsigned char *)*text;
	size_t left = (size_t)(end - *text);
	uint32_t c = p[0];
	size_t more;

	*text += 1;
	if (!utf8 || c < 0x80)
		return c;
	more = c >= 0xf0 && c < 0xf5   ? 3
	       : c >= 0xe0 && c < 0xf0 ? 2
	       : c >= 0xc2 && c < 0xe0 ? 1
				       : 0;
	if (!more || more >= left)
		return 0x110000U + c;
	c &= 0x3fU >> more;
	for (size_t i = 1; i <= more; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0x110000U + p[0];
		c = c << 6 | (p[i] & 0x3fU);
	}
	*text += more;
	return c;
}

/* Returns the end of a [:name:] that begins at text, or NULL. */
static const char *named_end(const char *text, const char *end)
{
	if (end - text < 4 || text[0] != '[' || text[1] != ':')
		return NULL;
	for (const char *p = text + 2; p + 1 < end && *p != ']'; p++) {
		if (p[0] == ':' && p[1] == ']')
			return p + 2;
	}
	return NULL;
}

static uint32_t class_char(const char **p, const char *end, bool utf8)
{
	if (**p == '\\' && *p + 1 < end)
		*p += 1;
	return read_char(p, end, utf8);
}

/* Goes over a class that begins at "[" and says whether c is in it. Returns its end, or NULL. */
static const char *class_has(const char *p, const char *end, uint32_t c, bool utf8, bool *ret_has)
{
	bool negated, has = false;

	p++;
	negated = p < end && (*p == '!' || *p == '^');
	p += negated;
	/* A "]" that comes first is a member. */
	for (bool first = true; p < end && (first || *p != ']'); first = false) {
		const char *named = named_end(p, end);
		uint32_t low, high;

		if (named) {
			struct koda_span name = { p + 2, (size_t)(named - p) - 4 };

			has = has || is_in_named(name, c);
			p = named;
			continue;
		}
		low = high = class_char(&p, end, utf8);
		if (p + 1 < end && p[0] == '-' && p[1] != ']') {
			p++;
			high = class_char(&p, end, utf8);
		}
		has = has || (c >= low && c <= high);
	}
	*ret_has = has != negated;
	return p < end ? p + 1 : NULL;
}

const char *fsworker_glob_text_class(const char *text, const char *end)
{
	bool has;

	return class_has(text, end, 0, false, &has);
}

/* Matches one element of the pattern that is no star. Returns the end of the element, or NULL. */
static const char *match_element(const char *p, const char *end, uint32_t c, bool utf8)
{
	bool has;

	if (*p == '?')
		return p + 1;
	if (*p == '[') {
		p = class_has(p, end, c, utf8, &has);
		return p && has ? p : NULL;
	}
	if (*p == '\\') {
		if (++p == end)
			return NULL;
	}
	return read_char(&p, end, utf8) == c ? p : NULL;
}

/* After a failure only the last star has to take more: what an earlier one could gain, it can. */
bool fsworker_glob_text_match(struct koda_span pattern, struct koda_span name, bool utf8)
{
	const char *p = pattern.ptr, *p_end = pattern.ptr + pattern.len;
	const char *n = name.ptr, *n_end = name.ptr + name.len;
	const char *star = NULL, *star_n = NULL;

	while (n < n_end) {
		const char *after = n;
		const char *p_after;

		if (p < p_end && *p == '*') {
			star = ++p;
			star_n = n;
			continue;
		}
		p_after = p < p_end ? match_element(p, p_end, read_char(&after, n_end, utf8), utf8)
				    : NULL;
		if (p_after) {
			p = p_after;
			n = after;
			continue;
		}
		if (!star || star == p_end)
			return star != NULL;
		(void)read_char(&star_n, n_end, utf8);
		n = star_n;
		p = star;
	}
	while (p < p_end && *p == '*')
		p++;
	return p == p_end;
}
