/* SPDX-License-Identifier: MIT */
/* T-43, T-44. Parses git's configuration format. */
#include "run/project/git_config.h"

#include "base/ascii.h"
#include "base/buf.h"
#include "base/error.h"
#include "run/project/git_pointer.h"
#include "run/project/survey_budget.h"

/* At the end of the text every read returns a newline. */
struct reader {
	struct koda_span rest;
	struct koda_buf section;
	struct koda_buf subsection;
	struct koda_buf name;
	struct koda_buf value;
	int failure; /* NOMEM */
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool is_letter(char c)
{
	c = koda_ascii_lower(c);
	return c >= 'a' && c <= 'z';
}

static bool is_key(char c)
{
	return is_letter(c) || koda_ascii_is_digit(c) || c == '-';
}

static char next(struct reader *reader)
{
	char c = '\n';

	if (reader->rest.len > 1 && reader->rest.ptr[0] == '\r' && reader->rest.ptr[1] == '\n')
		reader->rest = koda_span_skip(reader->rest, 1);
	if (reader->rest.len > 0) {
		c = reader->rest.ptr[0];
		reader->rest = koda_span_skip(reader->rest, 1);
	}
	return c;
}

/* Unreads a character. */
static void put_back(struct reader *reader, char c)
{
	if (c == '\n' && reader->rest.len == 0)
		return;
	reader->rest.ptr--;
	reader->rest.len++;
}

static void skip_line(struct reader *reader)
{
	const char *end = memchr(reader->rest.ptr, '\n', reader->rest.len);
	size_t len = end ? (size_t)(end - reader->rest.ptr) : reader->rest.len;

	reader->rest = koda_span_skip(reader->rest, len);
}

static void add(struct reader *reader, struct koda_buf *buf, char c)
{
	if (koda_buf_add(buf, &c, 1) < 0)
		reader->failure = KODA_E_NOMEM;
}

static void empty(struct reader *reader, struct koda_buf *buf)
{
	buf->len = 0;
	/* Makes the buffer a string even if nothing is appended. */
	if (koda_buf_add(buf, "", 0) < 0)
		reader->failure = KODA_E_NOMEM;
	else if (buf->ptr)
		buf->ptr[0] = '\0';
}

static const char *text_of(const struct koda_buf *buf)
{
	return buf->ptr ? buf->ptr : "";
}

/* Reads "subsection"], behind the blanks. */
static bool read_subsection(struct reader *reader)
{
	char c = next(reader);

	while (is_blank(c))
		c = next(reader);
	if (c != '"') {
		put_back(reader, c);
		return false;
	}
	for (c = next(reader); c != '"'; c = next(reader)) {
		if (c == '\\')
			c = next(reader);
		if (c == '\n') {
			put_back(reader, c);
			return false;
		}
		add(reader, &reader->subsection, c);
	}
	return next(reader) == ']';
}

/* Reads what follows a "[". In "[section.subsection]" the subsection is lower case too. */
static bool read_section(struct reader *reader)
{
	struct koda_buf *part = &reader->section;
	char c;

	empty(reader, &reader->section);
	empty(reader, &reader->subsection);
	for (c = next(reader); is_key(c) || c == '.'; c = next(reader)) {
		if (c == '.' && part == &reader->section)
			part = &reader->subsection;
		else
			add(reader, part, koda_ascii_lower(c));
	}
	if (c == ']')
		return true;
	if (is_blank(c))
		return read_subsection(reader);
	put_back(reader, c);
	return false;
}

/* Returns the character that a backslash and c stand for; 0 if none. */
static char unescape(char c)
{
	switch (c) {
	case 't':
		return '\t';
	case 'b':
		return '\b';
	case 'n':
		return '\n';
	case '\\':
	case '"':
		return c;
	default:
		return '\0';
	}
}

/* Reads the character behind a backslash in a value; false if it is no escape. */
static bool read_escape(struct reader *reader, size_t *ret_end)
{
	char c = next(reader);

	if (c == '\n')
		return true; /* the line goes on */
	c = unescape(c);
	if (c == '\0')
		return false;
	add(reader, &reader->value, c);
	*ret_end = reader->value.len;
	return true;
}

/* Reads what follows a "=", up to the end of the line. Blanks around it are dropped unless quoted.
 * */
static bool read_value(struct reader *reader)
{
	bool quoted = false;
	size_t end = 0; /* length without trailing blanks */
	char c;

	for (c = next(reader); c != '\n' && reader->failure == KODA_OK; c = next(reader)) {
		if (!quoted && (c == '#' || c == ';')) {
			skip_line(reader);
		} else if (c == '"') {
			quoted = !quoted;
			end = reader->value.len;
		} else if (c == '\\') {
			if (!read_escape(reader, &end))
				return false;
		} else if (quoted || !is_blank(c) || reader->value.len > 0) {
			add(reader, &reader->value, c);
			end = quoted || !is_blank(c) ? reader->value.len : end;
		}
	}
	put_back(reader, c);
	if (reader->value.ptr)
		reader->value.ptr[end] = '\0';
	reader->value.len = end;
	return !quoted;
}

/* Reads a setting; c is the first letter of its name. */
static bool read_setting(struct reader *reader, char c)
{
	empty(reader, &reader->name);
	empty(reader, &reader->value);
	for (; is_key(c); c = next(reader))
		add(reader, &reader->name, koda_ascii_lower(c));
	while (is_blank(c))
		c = next(reader);
	if (c == '=')
		return read_value(reader);
	put_back(reader, c);
	return c == '\n';
}

bool koda_git_config_key_is(const struct koda_git_setting *setting, const char *section,
			    const char *name)
{
	return strcmp(setting->section, section) == 0 && strcmp(setting->name, name) == 0;
}

static int read_all(struct reader *reader, koda_git_config_see *see, void *ctx,
		    struct koda_error *err)
{
	static const char mark[] = "\xEF\xBB\xBF";
	int r = KODA_OK;

	if (reader->rest.len >= strlen(mark) && memcmp(reader->rest.ptr, mark, strlen(mark)) == 0)
		reader->rest = koda_span_skip(reader->rest, strlen(mark));
	while (reader->rest.len > 0 && r == KODA_OK) {
		char c = next(reader);

		if (c == '\n' || is_blank(c))
			continue;
		if (c == '[') {
			if (!read_section(reader))
				skip_line(reader);
		} else if (is_letter(c) && read_setting(reader, c)) {
			const struct koda_git_setting setting = { text_of(&reader->section),
								  text_of(&reader->subsection),
								  text_of(&reader->name),
								  text_of(&reader->value) };

			r = reader->failure == KODA_OK ? see(ctx, &setting, err) : KODA_OK;
		} else {
			skip_line(reader);
		}
		if (r == KODA_OK && reader->failure != KODA_OK)
			r = koda_fail_nomem(err);
	}
	return r;
}

int koda_git_config_parse(struct koda_span text, koda_git_config_see *see, void *ctx,
			  struct koda_error *err)
{
	/* No part can be longer than the text. */
	struct reader reader = { .rest = text,
				 .section = KODA_BUF_INIT(text.len),
				 .subsection = KODA_BUF_INIT(text.len),
				 .name = KODA_BUF_INIT(text.len),
				 .value = KODA_BUF_INIT(text.len) };
	int r = read_all(&reader, see, ctx, err);

	koda_buf_clear(&reader.section);
	koda_buf_clear(&reader.subsection);
	koda_buf_clear(&reader.name);
	koda_buf_clear(&reader.value);
	return r;
}

int koda_git_config_read(const char *file, koda_git_config_see *see, void *ctx, bool *is_link,
			 struct koda_survey_budget *budget, struct koda_error *err)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(KODA_GIT_CONFIG_MAX);
	int r = koda_git_pointer_load(file, &text, is_link, err);

	if (r == KODA_E_LIMIT)
		return koda_fail_at(err, r, 0, file,
				    "git's configuration is too large to be read; it may have %zu "
				    "bytes: make it smaller, or remove the repository",
				    KODA_GIT_CONFIG_MAX);
	if (r == KODA_OK && budget)
		r = koda_survey_budget_take_config(budget, text.len, file, err);
	return r < 0 || text.len == 0 ? r
				      : koda_git_config_parse(koda_buf_span(&text), see, ctx, err);
}
