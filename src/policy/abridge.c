/* SPDX-License-Identifier: MIT */
#include "policy/abridge.h"

#include <stdint.h>

/* No text that has this byte anywhere is abridged, nor one with a backslash, which could spell it:
 * so a string that begins with it is one of ours. */
#define SIGN '\x7f'
/* After it the number, in digits that are printable and need no escape. */
#define DIGIT_MIN  '#'
#define DIGIT_BASE 57 /* up to '[', before the backslash */
#define DIGITS_MAX 4
/* So many strings are in no text of this length. */
#define TEXT_MAX ((size_t)DIGIT_BASE * DIGIT_BASE * DIGIT_BASE * DIGIT_BASE)

/* Shorter ones are not worth it. */
#define LEN_MIN sizeof(uint64_t)

/* Printable ASCII; quote, backslash and the sign are out of question already. */
static bool is_plain(const char *p, size_t len)
{
	const uint64_t high = 0x8080808080808080U;
	const uint64_t blanks = 0x2020202020202020U;
	uint64_t odd = 0;
	uint64_t word;

	/* A byte below the blank borrows, whatever that makes of the next; the last words overlap.
	 */
	for (size_t i = 0; i + sizeof(word) < len; i += sizeof(word)) {
		memcpy(&word, p + i, sizeof(word));
		odd |= (word - blanks) | word;
	}
	memcpy(&word, p + len - sizeof(word), sizeof(word));
	odd |= (word - blanks) | word;
	return (odd & high) == 0;
}

/* Is what ends before p the name of a member? */
static bool is_key(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
		p++;
	return p < end && *p == ':';
}

static int note(struct koda_abridged *abridged, struct koda_span string)
{
	if (abridged->count == abridged->cap) {
		size_t cap = abridged->cap ? 2 * abridged->cap : 64;
		struct koda_span *strings = reallocarray(abridged->strings, cap, sizeof(*strings));

		if (!strings)
			return KODA_E_NOMEM;
		abridged->strings = strings;
		abridged->cap = cap;
	}
	abridged->strings[abridged->count++] = string;
	return KODA_OK;
}

/* Puts the sign and the number of the next string, the least digit first. */
static int put_number(struct koda_abridged *abridged)
{
	char sign[1 + DIGITS_MAX] = { SIGN };
	size_t number = abridged->count;
	size_t len = 1;

	do {
		sign[len++] = (char)(DIGIT_MIN + number % DIGIT_BASE);
		number /= DIGIT_BASE;
	} while (number > 0 && len < sizeof(sign));
	return koda_buf_add(&abridged->text, sign, len);
}

/* The text up to the string, the quotes included, and the string's number. */
static int replace(struct koda_abridged *abridged, const char *from, struct koda_span string)
{
	int r = koda_buf_add(&abridged->text, from, (size_t)(string.ptr - from));

	if (r == KODA_OK)
		r = put_number(abridged);
	return r < 0 ? r : note(abridged, string);
}

int koda_abridge(struct koda_span text, struct koda_abridged *abridged)
{
	const char *end = text.ptr + text.len;
	const char *from = text.ptr; /* what was not put yet */
	const char *p = text.ptr;
	int r = KODA_OK;

	if (text.len > TEXT_MAX || memchr(text.ptr, '\\', text.len) ||
	    memchr(text.ptr, SIGN, text.len))
		return KODA_OK;
	while (r == KODA_OK && p < end && (p = memchr(p, '"', (size_t)(end - p)))) {
		const char *close = memchr(p + 1, '"', (size_t)(end - p) - 1);
		struct koda_span string = { p + 1, close ? (size_t)(close - p) - 1 : 0 };

		if (!close)
			break; /* the parser will say so */
		p = close + 1;
		if (string.len < LEN_MIN || is_key(p, end) || !is_plain(string.ptr, string.len))
			continue;
		r = replace(abridged, from, string);
		from = close;
	}
	if (r == KODA_OK && abridged->count > 0)
		r = koda_buf_add(&abridged->text, from, (size_t)(end - from));
	return r;
}

const struct koda_span *koda_abridged_find(const struct koda_abridged *abridged,
					   struct koda_span string)
{
	size_t number = 0;

	if (string.len < 2 || string.len > 1 + DIGITS_MAX || string.ptr[0] != SIGN)
		return NULL;
	for (size_t i = string.len - 1; i > 0; i--)
		number = number * DIGIT_BASE + (size_t)(string.ptr[i] - DIGIT_MIN);
	return number < abridged->count ? &abridged->strings[number] : NULL;
}

void koda_abridged_clear(struct koda_abridged *abridged)
{
	koda_buf_clear(&abridged->text);
	free(KODA_TAKE(abridged->strings));
	abridged->count = 0;
	abridged->cap = 0;
}
