/* SPDX-License-Identifier: MIT */
#include "plan/call_filter.h"

#include <stdlib.h>

/* Calls per group. A comparison in front of a group skips it. The kernel runs a new filter on every
 * call number when it is installed, so numbers outside the list must leave it soon. */
#define GROUP 8

static int add(struct koda_buf *out, const struct sock_filter *part, size_t count)
{
	return koda_buf_add(out, part, count * sizeof(*part));
}

/* Appends the part for one call; other calls continue behind it. */
static int add_word(struct koda_buf *out, const struct koda_call_filter_word *word)
{
	const struct sock_filter test = IS(word->number, 0, (unsigned char)word->count);
	int r = add(out, &test, 1);

	return r < 0 ? r : add(out, word->part, word->count);
}

/* Appends a jump over the group for numbers of at least beyond. */
static int add_group(struct koda_buf *out, const struct koda_call_filter_word *words, size_t count,
		     const struct koda_call_filter_word *beyond)
{
	static const struct sock_filter otherwise = ANSWER(ALLOW);
	unsigned int size = 1;
	int r = KODA_OK;

	for (size_t i = 0; i < count; i++)
		size += 1 + (unsigned int)words[i].count;
	if (beyond) {
		const struct sock_filter skip[] = {
			{ BPF_JMP | BPF_JGE | BPF_K, 0, 1, (unsigned int)beyond->number },
			{ BPF_JMP | BPF_JA, 0, 0, size },
		};

		r = add(out, skip, KODA_ARRAY_LEN(skip));
	}
	for (size_t i = 0; i < count && r == KODA_OK; i++)
		r = add_word(out, &words[i]);
	return r < 0 ? r : add(out, &otherwise, 1);
}

static int by_number(const void *a, const void *b)
{
	const struct koda_call_filter_word *x = a;
	const struct koda_call_filter_word *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

int koda_call_filter_program(struct koda_call_filter_word *words, size_t count,
			     struct koda_buf *out)
{
	static const struct sock_filter number = LOAD(nr);
	size_t from = 0;
	int r = add(out, &number, 1);

	qsort(words, count, sizeof(*words), by_number);
	while (from < count && words[from].number < 0)
		from++;
	for (size_t i = from; i < count && r == KODA_OK; i += GROUP) {
		size_t next = i + GROUP;

		r = add_group(out, words + i, next < count ? GROUP : count - i,
			      next < count ? words + next : NULL);
	}
	return r;
}
