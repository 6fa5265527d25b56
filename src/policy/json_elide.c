/* SPDX-License-Identifier: MIT */
#include "policy/json_elide.h"

#include <stdint.h>

/* Text with this byte, or with a backslash, which could spell it, is not elided; so a string that
 * begins with it stands for a run. */
#define SIGN '\x7f'
/* The number of the run follows, in digits that are printable and need no escape. */
#define DIGIT_MIN  '#'
#define DIGIT_BASE 57 /* up to '[', before the backslash */
#define DIGITS_MAX 4
/* More digits than the number of runs in any text needs. */
#define TEXT_MAX ((size_t)DIGIT_BASE * DIGIT_BASE * DIGIT_BASE * DIGIT_BASE)

/* Returns true for printable ASCII; quote, backslash and the sign were excluded before. */
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

/* Returns true if p is the start of a list. Elsewhere a string may be the name of a member. */
static bool begins_list(const char *start, const char *p)
{
	while (p > start && is_blank(p[-1]))
		p--;
	return p > start && p[-1] == '[';
}

/* Returns the end of the plain string at p; NULL if there is none. */
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

static int note(struct koda_json_elided *elided, struct koda_span run)
{
	if (elided->count == elided->cap) {
		size_t cap = elided->cap ? 2 * elided->cap : 8;
		struct koda_span *runs = reallocarray(elided->runs, cap, sizeof(*runs));

		if (!runs)
			return KODA_E_NOMEM;
		elided->runs = runs;
		elided->cap = cap;
	}
	elided->runs[elided->count++] = run;
	return KODA_OK;
}

/* Puts a string of the sign and the number of the next run, the least digit first. */
static int put_number(struct koda_json_elided *elided)
{
	char sign[1 + 1 + DIGITS_MAX + 1] = { '"', SIGN };
	size_t number = elided->count;
	size_t len = 2;

	do {
		sign[len++] = (char)(DIGIT_MIN + number % DIGIT_BASE);
		number /= DIGIT_BASE;
	} while (number > 0 && len < sizeof(sign) - 1);
	sign[len++] = '"';
	return koda_buf_add(&elided->text, sign, len);
}

/* Appends the text up to the run, and its number. */
static int replace(struct koda_json_elided *elided, const char *from, struct koda_span run)
{
	int r = koda_buf_add(&elided->text, from, (size_t)(run.ptr - from));

	if (r == KODA_OK)
		r = put_number(elided);
	return r < 0 ? r : note(elided, run);
}

int koda_json_elide(struct koda_span text, struct koda_json_elided *elided)
{
	const char *end = text.ptr + text.len;
	const char *from = text.ptr; /* not appended yet */
	const char *p = text.ptr;
	int r = KODA_OK;

	if (text.len > TEXT_MAX || memchr(text.ptr, '\\', text.len) ||
	    memchr(text.ptr, SIGN, text.len))
		return KODA_OK;
	while (r == KODA_OK && p < end && (p = memchr(p, '"', (size_t)(end - p)))) {
		const char *after = begins_list(text.ptr, p) ? run_end(p, end) : NULL;

		if (after) {
			r = replace(elided, from, (struct koda_span){ p, (size_t)(after - p) });
			p = from = after;
			continue;
		}
		p = memchr(p + 1, '"', (size_t)(end - p) - 1);
		if (!p)
			break; /* the parser reports it */
		p++;
	}
	if (r == KODA_OK && elided->count > 0)
		r = koda_buf_add(&elided->text, from, (size_t)(end - from));
	return r;
}

struct koda_span koda_json_elided_find(const struct koda_json_elided *elided,
				       struct koda_span string)
{
	const struct koda_span none = { NULL, 0 };
	size_t number = 0;

	if (string.len < 2 || string.len > 1 + DIGITS_MAX || string.ptr[0] != SIGN)
		return none;
	for (size_t i = string.len - 1; i > 0; i--)
		number = number * DIGIT_BASE + (size_t)(string.ptr[i] - DIGIT_MIN);
	return number < elided->count ? elided->runs[number] : none;
}

bool koda_json_elided_next(struct koda_span *run, struct koda_span *ret_string)
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

void koda_json_elided_clear(struct koda_json_elided *elided)
{
	koda_buf_clear(&elided->text);
	free(KODA_TAKE(elided->runs));
	elided->count = 0;
	elided->cap = 0;
}
