/* SPDX-License-Identifier: MIT */
/* T-105. Violations as a text tells them, without any rule asked. Linear in the text. */
#include "base/error.h"
#include "run/stream/violation.h"

/* Only what holds one of these counts. */
static const char *const refusals[] = { "Operation not permitted", "Permission denied",
					"Read-only file system" };

static const char read_only[] = "read-only file system";

static const char *const writers[] = {
	"touch", "mkdir", "cannot create", "cannot remove", "cannot move", "cannot copy",
	"rm:",   "mv:",   "rmdir:",        "chmod:",        "chown:"
};

static const char *const readers[] = { "cat:", "ls:", "head:", "tail:", "find:", "grep:" };

/* Which start a line of a shell, whose redirections write. */
static const char *const shells[] = { "sh:", "bash:" };

static char to_small(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool starts_with(struct koda_span line, const char *small)
{
	size_t i = 0;

	while (i < line.len && small[i] && to_small(line.ptr[i]) == small[i])
		i++;
	return small[i] == '\0';
}

/* Finds a text in small letters, whatever the case in the line. */
static bool has(struct koda_span line, const char *small)
{
	for (; line.len > 0; line = koda_span_skip(line, 1))
		if (starts_with(line, small))
			return true;
	return false;
}

static bool has_any(struct koda_span line, const char *const *small, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (has(line, small[i]))
			return true;
	return false;
}

static enum koda_violation kind_of(struct koda_span line)
{
	if (has(line, read_only) || has_any(line, writers, KODA_ARRAY_LEN(writers)))
		return KODA_VIOLATION_FILE_WRITE;
	if (has_any(line, readers, KODA_ARRAY_LEN(readers)))
		return KODA_VIOLATION_FILE_READ;
	for (size_t i = 0; i < KODA_ARRAY_LEN(shells); i++)
		if (starts_with(line, shells[i]))
			return KODA_VIOLATION_FILE_WRITE;
	return KODA_VIOLATION_OTHER;
}

static bool counts(struct koda_span line)
{
	for (size_t i = 0; i < KODA_ARRAY_LEN(refusals); i++)
		if (memmem(line.ptr, line.len, refusals[i], strlen(refusals[i])))
			return true;
	return false;
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* What surrounds a path in messages. */
static bool is_trimmed(char c)
{
	return c == ':' || c == ',' || c == '\'' || c == '"' || c == '`';
}

/* Returns the last word that is an absolute path; empty if there is none. */
static struct koda_span find_target(struct koda_span line)
{
	size_t end = line.len;

	while (end > 0) {
		struct koda_span word;
		size_t start;

		while (end > 0 && is_space(line.ptr[end - 1]))
			end--;
		start = end;
		while (start > 0 && !is_space(line.ptr[start - 1]))
			start--;
		word = (struct koda_span){ line.ptr + start, end - start };
		while (word.len > 0 && is_trimmed(word.ptr[0]))
			word = koda_span_skip(word, 1);
		while (word.len > 0 && is_trimmed(word.ptr[word.len - 1]))
			word.len--;
		/* No path holds a NUL, and a record could not. */
		if (word.len > 1 && word.ptr[0] == '/' && !memchr(word.ptr, '\0', word.len))
			return word;
		end = start;
	}
	return (struct koda_span){ NULL, 0 };
}

/* Adds the violation of a line that counts. */
static int add(struct koda_violation_list *list, struct koda_span line, const char *command)
{
	struct koda_span word = find_target(line);
	struct koda_violation_record record = { .size = sizeof(record),
						.kind = kind_of(line),
						.source = KODA_SOURCE_STDERR,
						.command = command };
	char target[KODA_VIOLATION_TEXT_MAX + 1];

	if (list->count == KODA_STDERR_VIOLATIONS_MAX) {
		list->dropped++;
		return KODA_OK;
	}
	if (word.len > KODA_VIOLATION_TEXT_MAX)
		word.len = KODA_VIOLATION_TEXT_MAX;
	if (word.len > 0) {
		memcpy(target, word.ptr, word.len);
		target[word.len] = '\0';
		record.target = target;
	}
	list->items[list->count] = koda_violation_item_new(&record);
	if (!list->items[list->count])
		return KODA_E_NOMEM;
	list->count++;
	return KODA_OK;
}

int koda_stderr_parse(const char *text, size_t len, const char *command,
		      struct koda_violation_list **ret_list, struct koda_error *err)
{
	koda_auto_violation_list struct koda_violation_list *list = NULL;
	struct koda_span rest = { text, len };
	int r = koda_violation_list_new(KODA_STDERR_VIOLATIONS_MAX, &list, err);

	if (r < 0)
		return r;
	while (rest.len > 0 && r == KODA_OK) {
		const char *end = memchr(rest.ptr, '\n', rest.len);
		struct koda_span line = { rest.ptr, end ? (size_t)(end - rest.ptr) : rest.len };

		if (counts(line))
			r = add(list, line, command);
		rest = koda_span_skip(rest, line.len + (end != NULL));
	}
	if (r < 0)
		return koda_fail_nomem(err);
	*ret_list = KODA_TAKE(list);
	return KODA_OK;
}
