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
/* So many runs are in no text of this length. */
#define TEXT_MAX ((size_t)DIGIT_BASE * DIGIT_BASE * DIGIT_BASE * DIGIT_BASE)

/* Printable ASCII; quote, backslash and the sign are out of question already. */
static bool is_plain(const char *p, size_t len)
{
	const uint64_t high = 0x8080808080808080U;
	const uint64_t blanks = 0x2020202020202020U;
	uint64_t odd = 0;
	uint64_t word;

	if (len < sizeof(word)) {
		word = blanks;
		if (len > 0)
			memcpy(&word, p, len);
		return (((word - blanks) | word) & high) == 0;
	}
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

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Is what begins at p the first thing in a list? Anywhere else it might be the name of a member. */
static bool begins_list(const char *start, const char *p)
{
	while (p > start && is_blank(p[-1]))
		p--;
	return p > start && p[-1] == '[';
}

/* The end of the plain string that opens at p; NULL if there is none. */
static const char *plain_end(const char *p, const char *end)
{
	const char *close = memchr(p + 1, '"', (size_t)(end - p) - 1);

	return close && is_plain(p + 1, (size_t)(close - p) - 1) ? close + 1 : NULL;
}

/* The end of the plain strings that follow each other from p, which is a quote; NULL if there is
 * none. */
static const char *run_end(const char *p, const char *end)
{
	const char *last = NULL;
	const char *next = plain_end(p, end);

	while (next) {
		p = last = next;
		while (p < end && is_blank(*p))
			p++;
		if (p == end || *p != ',')
			break;
		do {
			p++;
		} while (p < end && is_blank(*p));
		next = p < end && *p == '"' ? plain_end(p, end) : NULL;
	}
	return last;
}

static int note(struct koda_abridged *abridged, struct koda_span run)
{
	if (abridged->count == abridged->cap) {
		size_t cap = abridged->cap ? 2 * abridged->cap : 8;
		struct koda_span *runs = reallocarray(abridged->runs, cap, sizeof(*runs));

		if (!runs)
			return KODA_E_NOMEM;
		abridged->runs = runs;
		abridged->cap = cap;
	}
	abridged->runs[abridged->count++] = run;
	return KODA_OK;
}

/* Puts a string of the sign and the number of the next run, the least digit first. */
static int put_number(struct koda_abridged *abridged)
{
	char sign[1 + 1 + DIGITS_MAX + 1] = { '"', SIGN };
	size_t number = abridged->count;
	size_t len = 2;

	do {
		sign[len++] = (char)(DIGIT_MIN + number % DIGIT_BASE);
		number /= DIGIT_BASE;
	} while (number > 0 && len < sizeof(sign) - 1);
	sign[len++] = '"';
	return koda_buf_add(&abridged->text, sign, len);
}

/* The text up to the run, and its number. */
static int replace(struct koda_abridged *abridged, const char *from, struct koda_span run)
{
	int r = koda_buf_add(&abridged->text, from, (size_t)(run.ptr - from));

	if (r == KODA_OK)
		r = put_number(abridged);
	return r < 0 ? r : note(abridged, run);
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
		const char *after = begins_list(text.ptr, p) ? run_end(p, end) : NULL;

		if (after) {
			r = replace(abridged, from, (struct koda_span){ p, (size_t)(after - p) });
			p = from = after;
			continue;
		}
		p = memchr(p + 1, '"', (size_t)(end - p) - 1);
		if (!p)
			break; /* the parser will say so */
		p++;
	}
	if (r == KODA_OK && abridged->count > 0)
		r = koda_buf_add(&abridged->text, from, (size_t)(end - from));
	return r;
}

struct koda_span koda_abridged_find(const struct koda_abridged *abridged, struct koda_span string)
{
	const struct koda_span none = { NULL, 0 };
	size_t number = 0;

	if (string.len < 2 || string.len > 1 + DIGITS_MAX || string.ptr[0] != SIGN)
		return none;
	for (size_t i = string.len - 1; i > 0; i--)
		number = number * DIGIT_BASE + (size_t)(string.ptr[i] - DIGIT_MIN);
	return number < abridged->count ? abridged->runs[number] : none;
}

bool koda_abridged_next(struct koda_span *run, struct koda_span *ret_string)
{
	const char *open = run->len ? memchr(run->ptr, '"', run->len) : NULL;
	const char *close;
	size_t left; /* behind it */

	if (!open)
		return false;
	left = run->len - (size_t)(open - run->ptr) - 1;
	close = memchr(open + 1, '"', left);
	if (!close)
		return false;
	*ret_string = (struct koda_span){ open + 1, (size_t)(close - open) - 1 };
	*run = (struct koda_span){ close + 1, left - ret_string->len - 1 };
	return true;
}

void koda_abridged_clear(struct koda_abridged *abridged)
{
	koda_buf_clear(&abridged->text);
	free(KODA_TAKE(abridged->runs));
	abridged->count = 0;
	abridged->cap = 0;
}
