/* SPDX-License-Identifier: MIT */
#include "policy/json.h"

#include "base/buf.h"
#include "base/diag.h"
#include "policy/abridge.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>

/* struct koda_json is never defined: it is jansson's value under a name of ours. */
static const json_t *in(const struct koda_json *value)
{
	return (const json_t *)value;
}

static const struct koda_json *out(const json_t *value)
{
	return (const struct koda_json *)value;
}

/*
 * The text on its way into the parser. Two things are watched that the parser does not watch:
 *
 * Nesting, so that its recursion never meets a depth bomb.
 *
 * Memory: a failed allocation must end the parse, whatever the parser makes of it. Its trace is
 * malloc's ENOMEM, which reading a number wipes out; so numbers are handed over by themselves, and
 * errno is looked at before and after each.
 */
struct feed {
	const char *at;
	const char *end;
	const char *line_start;
	size_t line;
	unsigned int depth;
	unsigned int max_depth;
	bool too_deep;
	bool no_memory;
};

static bool is_number_byte(char c)
{
	return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

/* The byte after the string that opens at p. */
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

/* Takes one byte that is in no string and no number into account. */
static void count_byte(struct feed *feed, char c)
{
	if (c == '\n') {
		feed->line++;
		feed->line_start = feed->at + 1;
	} else if (c == '[' || c == '{') {
		feed->too_deep = ++feed->depth > feed->max_depth;
	} else if ((c == ']' || c == '}') && feed->depth > 0) {
		feed->depth--;
	}
}

/* What can be handed over in one piece: a number, or everything up to the next one. */
static const char *piece_end(struct feed *feed)
{
	if (is_number_byte(*feed->at)) {
		while (feed->at < feed->end && is_number_byte(*feed->at))
			feed->at++;
		return feed->at;
	}
	while (feed->at < feed->end && !feed->too_deep && !is_number_byte(*feed->at)) {
		if (*feed->at == '"') {
			feed->at = after_string(feed->at, feed->end);
		} else {
			count_byte(feed, *feed->at);
			feed->at += !feed->too_deep;
		}
	}
	return feed->at;
}

struct reader {
	struct feed feed;
	const char *given; /* up to here the parser has it */
	const char *ready; /* up to here it may have it */
};

static size_t give(void *buffer, size_t size, void *data)
{
	struct reader *reader = data;
	size_t len;

	reader->feed.no_memory = reader->feed.no_memory || errno == ENOMEM;
	if (reader->feed.no_memory)
		return (size_t)-1;
	if (reader->given == reader->ready) {
		if (reader->ready == reader->feed.end)
			return 0;
		reader->ready = piece_end(&reader->feed);
	}
	len = (size_t)(reader->ready - reader->given);
	if (len == 0) /* too deep */
		return (size_t)-1;
	if (len > size)
		len = size;
	memcpy(buffer, reader->given, len);
	reader->given += len;
	return len;
}

static int fail_deep(const struct feed *feed, struct koda_error *err)
{
	char at[64];

	(void)snprintf(at, sizeof(at), "%zu:%zu", feed->line,
		       (size_t)(feed->at - feed->line_start) + 1);
	return koda_fail_at(err, KODA_E_LIMIT, 0, at, "nested deeper than %u levels",
			    feed->max_depth);
}

static int load(struct koda_span text, unsigned int max_depth, json_t **ret_root,
		struct koda_error *err)
{
	struct reader reader = { .feed = { .at = text.ptr,
					   .end = text.ptr + text.len,
					   .line_start = text.ptr,
					   .line = 1,
					   .max_depth = max_depth },
				 .given = text.ptr,
				 .ready = text.ptr };
	json_error_t why;
	json_t *root;
	char at[64];

	errno = 0;
	root = json_load_callback(give, &reader, JSON_REJECT_DUPLICATES, &why);
	if (reader.feed.no_memory || errno == ENOMEM || (!root && !why.text[0])) {
		json_decref(root);
		return koda_fail_nomem(err);
	}
	if (reader.feed.too_deep) {
		json_decref(root);
		return fail_deep(&reader.feed, err);
	}
	if (root) {
		*ret_root = root;
		return KODA_OK;
	}
	(void)snprintf(at, sizeof(at), "%d:%d", why.line, why.column > 0 ? why.column : 1);
	return koda_fail_at(err, KODA_E_POLICY, 0, at, "%s", why.text);
}

/* Puts back what was taken out. */
/* NOLINTNEXTLINE(misc-no-recursion): the text is nested no deeper than was asked for */
static int restore(const struct koda_abridged *abridged, json_t *value)
{
	const struct koda_span *string = NULL;
	const char *key;
	json_t *member;
	size_t i;
	int r = 0;

	if (json_is_string(value)) {
		string = koda_abridged_find(
			abridged,
			(struct koda_span){ json_string_value(value), json_string_length(value) });
		return string ? json_string_setn_nocheck(value, string->ptr, string->len) : 0;
	}
	json_object_foreach(value, key, member)
		r = r < 0 ? r : restore(abridged, member);
	json_array_foreach(value, i, member) r = r < 0 ? r : restore(abridged, member);
	return r;
}

/* The same tree as by load, sooner; NULL if it has to be told what is wrong with the text. */
static int load_abridged(struct koda_span text, unsigned int max_depth, json_t **ret_root,
			 struct koda_error *err)
{
	koda_auto_abridged struct koda_abridged abridged = KODA_ABRIDGED_INIT;
	int r = koda_abridge(text, &abridged);

	if (r < 0)
		return koda_fail_nomem(err);
	if (abridged.count == 0)
		return KODA_OK;
	r = load(koda_buf_span(&abridged.text), max_depth, ret_root, NULL);
	if (r == KODA_E_NOMEM || (r == KODA_OK && restore(&abridged, *ret_root) < 0)) {
		json_decref(KODA_TAKE(*ret_root));
		return koda_fail_nomem(err);
	}
	return KODA_OK;
}

int koda_json_load(struct koda_span text, size_t max_bytes, unsigned int max_depth,
		   struct koda_json **ret_root, struct koda_error *err)
{
	json_t *root = NULL;
	int r;

	if (text.len > max_bytes)
		return koda_fail(err, KODA_E_LIMIT, 0, "the text is longer than %zu bytes",
				 max_bytes);
	if (text.len == 0)
		return koda_fail_at(err, KODA_E_POLICY, 0, "1:1", "the text is empty");
	r = load_abridged(text, max_depth, &root, err);
	if (r == KODA_OK && !root)
		r = load(text, max_depth, &root, err);
	*ret_root = (struct koda_json *)root;
	return r;
}

void koda_json_free(struct koda_json **root)
{
	json_decref((json_t *)*root);
	*root = NULL;
}

static const char *kind_name(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "a list";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
		return "a whole number";
	case JSON_REAL:
		return "a fraction";
	case JSON_TRUE:
	case JSON_FALSE:
		return "a boolean";
	case JSON_NULL:
		break;
	}
	return "null";
}

static int wrong_type(const struct koda_json *value, const char *wanted, struct koda_error *err)
{
	return koda_fail(err, KODA_E_POLICY, 0, "expected %s, found %s", wanted,
			 kind_name(in(value)));
}

/* Adds "/key" in front of the place, escaped as RFC 6901 asks. */
static void place_key(struct koda_error *err, const char *key)
{
	char step[sizeof(err->field)];
	size_t used = 0;

	step[used++] = '/';
	for (; *key && used < sizeof(step) - 2; key++) {
		if (*key == '~' || *key == '/') {
			step[used++] = '~';
			step[used++] = *key == '~' ? '0' : '1';
		} else {
			step[used++] = *key;
		}
	}
	step[used] = '\0';
	koda_error_within(err, step);
}

static const struct koda_json_field *find_field(const struct koda_json_field *fields, size_t count,
						const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(fields[i].name, name) == 0)
			return &fields[i];
	return NULL;
}

int koda_json_object(const struct koda_json *value, const struct koda_json_field *fields,
		     size_t count, void *ctx, struct koda_error *err)
{
	json_t *object = (json_t *)(uintptr_t)in(value); /* jansson's iterator is not const */
	const char *key;
	json_t *member;

	if (!json_is_object(object))
		return wrong_type(value, "an object", err);
	json_object_foreach(object, key, member) {
		const struct koda_json_field *field = find_field(fields, count, key);
		int r = field ? field->read(ctx, field->arg, out(member), err)
			      : koda_fail(err, KODA_E_POLICY, 0, "unknown key");

		if (r < 0) {
			place_key(err, key);
			return r;
		}
	}
	return KODA_OK;
}

static void place_index(struct koda_error *err, size_t i)
{
	char step[32];

	(void)snprintf(step, sizeof(step), "/%zu", i);
	koda_error_within(err, step);
}

int koda_json_array(const struct koda_json *value,
		    int (*read)(void *ctx, int arg, const struct koda_json *value,
				struct koda_error *err),
		    int arg, void *ctx, struct koda_error *err)
{
	size_t count = json_array_size(in(value));

	if (!json_is_array(in(value)))
		return wrong_type(value, "a list", err);
	for (size_t i = 0; i < count; i++) {
		int r = read(ctx, arg, out(json_array_get(in(value), i)), err);

		if (r < 0) {
			place_index(err, i);
			return r;
		}
	}
	return KODA_OK;
}

int koda_json_element(const struct koda_json *value, size_t count, size_t i,
		      const struct koda_json **ret_element, struct koda_error *err)
{
	if (!json_is_array(in(value)))
		return wrong_type(value, "a list", err);
	if (json_array_size(in(value)) != count)
		return koda_fail(err, KODA_E_POLICY, 0,
				 "expected a list of %zu elements, found %zu", count,
				 json_array_size(in(value)));
	*ret_element = out(json_array_get(in(value), i));
	return KODA_OK;
}

bool koda_json_is_null(const struct koda_json *value)
{
	return json_is_null(in(value));
}

int koda_json_bool(const struct koda_json *value, bool *ret, struct koda_error *err)
{
	if (!json_is_boolean(in(value)))
		return wrong_type(value, "true or false", err);
	*ret = json_is_true(in(value));
	return KODA_OK;
}

int koda_json_u64(const struct koda_json *value, uint64_t max, uint64_t *ret,
		  struct koda_error *err)
{
	json_int_t number = json_integer_value(in(value));

	if (!json_is_integer(in(value)))
		return wrong_type(value, "a whole number", err);
	if (number < 0 || (uint64_t)number > max)
		return koda_fail(err, KODA_E_POLICY, 0, "%lld is not in the range 0 to %llu",
				 (long long)number, (unsigned long long)max);
	*ret = (uint64_t)number;
	return KODA_OK;
}

int koda_json_string(const struct koda_json *value, struct koda_span *ret, struct koda_error *err)
{
	if (!json_is_string(in(value)))
		return wrong_type(value, "a string", err);
	*ret = (struct koda_span){ json_string_value(in(value)), json_string_length(in(value)) };
	return KODA_OK;
}
