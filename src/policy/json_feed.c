/* SPDX-License-Identifier: MIT */
#include "policy/json_feed.h"

#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool is_number_byte(char c)
{
	return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

/* Returns the end of the string at p. */
static const char *after_string(const char *p, const char *end)
{
	const char *quote = p; /* the next one at or after p; found again only once it is passed */

	for (p++; p < end; p++) {
		const char *escape;

		if (quote < p) {
			quote = memchr(p, '"', (size_t)(end - p));
			if (!quote)
				return end;
		}
		escape = memchr(p, '\\', (size_t)(quote - p));
		if (!escape)
			return quote + 1;
		p = escape + 1; /* whatever follows a backslash does not end the string */
	}
	return end;
}

/* Counts nesting and lines for one byte outside strings and numbers. */
static void count_byte(struct koda_json_feed *feed, char c)
{
	if (c == '\n') {
		feed->line++;
		feed->line_start = feed->ready + 1;
	} else if (c == '[' || c == '{') {
		feed->too_deep = ++feed->depth > feed->max_depth;
	} else if ((c == ']' || c == '}') && feed->depth > 0) {
		feed->depth--;
	}
}

/* Returns the end of the next piece: a number, or the text up to the next number. */
static void look_ahead(struct koda_json_feed *feed)
{
	if (is_number_byte(*feed->ready)) {
		while (feed->ready < feed->end && is_number_byte(*feed->ready))
			feed->ready++;
		return;
	}
	while (feed->ready < feed->end && !feed->too_deep && !is_number_byte(*feed->ready)) {
		if (*feed->ready == '"') {
			feed->ready = after_string(feed->ready, feed->end);
		} else {
			count_byte(feed, *feed->ready);
			feed->ready += !feed->too_deep;
		}
	}
}

struct koda_json_feed koda_json_feed_start(struct koda_span text, unsigned int max_depth)
{
	return (struct koda_json_feed){ .given = text.ptr,
					.ready = text.ptr,
					.end = text.ptr + text.len,
					.line_start = text.ptr,
					.line = 1,
					.max_depth = max_depth };
}

size_t koda_json_feed_give(void *buffer, size_t size, void *data)
{
	struct koda_json_feed *feed = data;
	size_t len;

	feed->no_memory = feed->no_memory || errno == ENOMEM;
	if (feed->no_memory)
		return (size_t)-1;
	if (feed->given == feed->ready) {
		if (feed->ready == feed->end)
			return 0;
		look_ahead(feed);
	}
	len = (size_t)(feed->ready - feed->given);
	if (len == 0) /* too deep */
		return (size_t)-1;
	if (len > size)
		len = size;
	memcpy(buffer, feed->given, len);
	feed->given += len;
	return len;
}

int koda_json_feed_fail_deep(const struct koda_json_feed *feed, struct koda_error *err)
{
	char at[64];

	(void)snprintf(at, sizeof(at), "%zu:%zu", feed->line,
		       (size_t)(feed->ready - feed->line_start) + 1);
	return koda_fail_at(err, KODA_E_LIMIT, 0, at, "nested deeper than %u levels",
			    feed->max_depth);
}
