/* SPDX-License-Identifier: MIT */
/*
 * Each line of the file is compared with each line of the wanted text. What they have in common is
 * added to the place where the text would begin, if the two lines belonged together. Places that
 * can still get better are kept in a ring, so the file is read once.
 */
#include "near.h"

/* Lines of the wanted text that are looked at. */
#define LINES_MAX 32
/* Points of a line: equal, equal but for space at its ends, and the most that others get. */
#define EQUAL  100U
#define SPACED 90U
#define ALIKE  80U
/* An empty line is like any other empty line. */
#define EMPTY 5U
/* Less is no likeness. */
#define LEAST 50U

struct place {
	uint64_t score;
	struct fsworker_near first; /* the first line that differs */
};

struct near_search {
	struct koda_span wanted[LINES_MAX];
	size_t count;
	struct place ring[LINES_MAX]; /* by the line where the text would begin */
	struct place best;
};

static struct koda_span take_line(struct koda_span *rest)
{
	const char *end = memchr(rest->ptr, '\n', rest->len);
	struct koda_span line = { rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len };

	*rest = koda_span_skip(*rest, line.len + (end != NULL));
	return line;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct koda_span trim(struct koda_span line)
{
	while (line.len > 0 && is_space(line.ptr[0]))
		line = koda_span_skip(line, 1);
	while (line.len > 0 && is_space(line.ptr[line.len - 1]))
		line.len--;
	return line;
}

/* Counts the bytes that two texts have in common at their ends. */
static size_t common(struct koda_span a, struct koda_span b)
{
	size_t least = a.len < b.len ? a.len : b.len;
	size_t head = 0, tail = 0;

	while (head < least && a.ptr[head] == b.ptr[head])
		head++;
	while (head + tail < least && a.ptr[a.len - 1 - tail] == b.ptr[b.len - 1 - tail])
		tail++;
	return head + tail;
}

static uint64_t likeness(struct koda_span a, struct koda_span b)
{
	struct koda_span x = trim(a), y = trim(b);
	size_t most = x.len > y.len ? x.len : y.len;

	if (most == 0)
		return EMPTY;
	if (koda_span_eq(x, y))
		return koda_span_eq(a, b) ? EQUAL : SPACED;
	return ALIKE * common(x, y) / most;
}

static void finish(struct near_search *search, uint64_t start)
{
	struct place *place = &search->ring[start % LINES_MAX];

	if (place->score > search->best.score && place->first.line)
		search->best = *place;
	*place = (struct place){ 0 };
}

/* Adds what a line of the file, counted from 0, says for the places that it may belong to. */
static void add_line(struct near_search *search, uint64_t number, struct koda_span line)
{
	for (size_t i = 0; i < search->count && i <= number; i++) {
		struct place *place = &search->ring[(number - i) % LINES_MAX];
		uint64_t points = likeness(line, search->wanted[i]);

		place->score += points;
		if (!place->first.line && !koda_span_eq(line, search->wanted[i]))
			place->first = (struct fsworker_near){ number + 1, line };
	}
	if (number + 1 >= search->count)
		finish(search, number + 1 - search->count);
}

struct fsworker_near fsworker_near_find(struct fsworker_task *task, struct koda_span content,
					struct koda_span wanted)
{
	struct near_search search = { .count = 0 };
	uint64_t number = 0;

	while (wanted.len > 0 && search.count < LINES_MAX)
		search.wanted[search.count++] = take_line(&wanted);
	while (content.len > 0 && (number % 4096 > 0 || fsworker_task_goes_on(task)))
		add_line(&search, number++, take_line(&content));
	/* Places near the end, where the text would go on beyond it. */
	for (size_t i = 0; i < LINES_MAX; i++)
		finish(&search, i);
	return search.best.score >= LEAST ? search.best.first : (struct fsworker_near){ 0 };
}
