/* SPDX-License-Identifier: MIT */
/*
 * T-105. Violations as the kernel of macOS logs them. A line of log(1) is an object, so a name with
 * a newline cannot forge another line. Any process can log any message, but only the kernel has
 * processID 0. A message is
 *
 *	Sandbox: NAME(PID) deny(NUMBER) OPERATION TARGET
 *
 * and, on a line of its own, the tag of the rule. NAME and TARGET are chosen inside the sandbox;
 * the tag is what follows the last newline, so they cannot name another command.
 */
#include "base/ascii.h"
#include "base/error.h"
#include "plan/seatbelt.h"
#include "policy/json.h"
#include "run/stream/violation.h"

#include <koda/seatbelt.h>

#define LINE_DEPTH 8

/* A line, as far as it counts. */
struct message {
	struct koda_span text;
	bool by_kernel;
};

/* A message taken apart, borrowed from it. Spans may be empty. */
struct denial {
	struct koda_span process;
	struct koda_span operation;
	struct koda_span target;
	struct koda_span tag;
};

static int read_text(void *ctx, int arg, const struct koda_json *value, struct koda_error *err)
{
	struct message *message = ctx;

	(void)arg;
	return koda_json_string(value, &message->text, err);
}

static int read_process(void *ctx, int arg, const struct koda_json *value, struct koda_error *err)
{
	struct message *message = ctx;
	uint64_t process;
	int r = koda_json_u64(value, UINT32_MAX, &process, err);

	(void)arg;
	message->by_kernel = r == KODA_OK && process == 0;
	return r;
}

/* Takes prefix off text, if it begins with it. */
static bool take(struct koda_span *text, const char *prefix)
{
	size_t len = strlen(prefix);

	if (text->len < len || memcmp(text->ptr, prefix, len) != 0)
		return false;
	*text = koda_span_skip(*text, len);
	return true;
}

/* Takes digits off text, one at least. */
static bool take_number(struct koda_span *text)
{
	size_t len = 0;

	while (len < text->len && koda_ascii_is_digit(text->ptr[len]))
		len++;
	*text = koda_span_skip(*text, len);
	return len > 0;
}

/* Takes "NAME(PID) deny(NUMBER) " off text. */
static bool take_process(struct koda_span *text, struct koda_span *ret_process)
{
	for (size_t i = 0; i < text->len; i++) {
		struct koda_span rest = koda_span_skip(*text, i);

		if (take(&rest, "(") && take_number(&rest) && take(&rest, ") deny(") &&
		    take_number(&rest) && take(&rest, ") ")) {
			*ret_process = (struct koda_span){ text->ptr, i };
			*text = rest;
			return true;
		}
	}
	return false;
}

/* Takes the tag off the end of text, with the newline before it. */
static struct koda_span take_tag(struct koda_span *text)
{
	size_t start = text->len;
	struct koda_span tag;

	while (start > 0 && text->ptr[start - 1] != '\n')
		start--;
	tag = koda_span_skip(*text, start);
	if (start == 0 || !koda_seatbelt_is_tag(tag))
		return (struct koda_span){ NULL, 0 };
	text->len = start - 1;
	return tag;
}

static bool take_apart(struct koda_span text, struct denial *ret_denial)
{
	struct denial denial = { 0 };
	size_t len = 0;

	if (!take(&text, "Sandbox: ") || !take_process(&text, &denial.process))
		return false;
	denial.tag = take_tag(&text);
	while (len < text.len && text.ptr[len] != ' ' && text.ptr[len] != '\n')
		len++;
	denial.operation = (struct koda_span){ text.ptr, len };
	denial.target = koda_span_skip(text, len < text.len ? len + 1 : len);
	*ret_denial = denial;
	return len > 0;
}

static enum koda_violation kind_of(struct koda_span operation)
{
	static const struct {
		const char *prefix;
		enum koda_violation kind;
	} kinds[] = {
		{ "file-read", KODA_VIOLATION_FILE_READ },
		{ "file-map-executable", KODA_VIOLATION_FILE_READ },
		{ "file-write", KODA_VIOLATION_FILE_WRITE },
		{ "file-link", KODA_VIOLATION_FILE_WRITE },
		{ "file-clone", KODA_VIOLATION_FILE_WRITE },
		{ "network-", KODA_VIOLATION_NETWORK },
		{ "process-exec", KODA_VIOLATION_EXEC },
	};

	for (size_t i = 0; i < KODA_ARRAY_LEN(kinds); i++)
		if (take(&operation, kinds[i].prefix))
			return kinds[i].kind;
	return KODA_VIOLATION_OTHER;
}

/* Copies a span into text[KODA_VIOLATION_TEXT_MAX + 1], cut to fit; NULL if it is empty. */
static const char *copy(struct koda_span span, char *text)
{
	size_t len = span.len < KODA_VIOLATION_TEXT_MAX ? span.len : KODA_VIOLATION_TEXT_MAX;

	if (len == 0)
		return NULL;
	memcpy(text, span.ptr, len);
	text[len] = '\0';
	return text;
}

static int add(struct koda_violation_list *list, const struct denial *denial)
{
	char target[KODA_VIOLATION_TEXT_MAX + 1];
	char process[KODA_VIOLATION_TEXT_MAX + 1];
	char operation[KODA_VIOLATION_TEXT_MAX + 1];
	char tag[KODA_VIOLATION_TEXT_MAX + 1];
	const struct koda_violation_record record = {
		.size = sizeof(record),
		.kind = kind_of(denial->operation),
		.source = KODA_SOURCE_KERNEL,
		.target = copy(denial->target, target),
		.process = copy(denial->process, process),
		.call = copy(denial->operation, operation),
		.command_id = copy(denial->tag, tag),
	};

	if (list->count == KODA_SEATBELT_LOG_MAX) {
		list->dropped++;
		return KODA_OK;
	}
	list->items[list->count] = koda_violation_item_new(&record);
	if (!list->items[list->count])
		return KODA_E_NOMEM;
	list->count++;
	return KODA_OK;
}

/* Reads one line. What log(1) writes besides objects does not count. Fails: NOMEM. */
static int read_line(struct koda_violation_list *list, struct koda_span line, const char *tag)
{
	static const struct koda_json_field fields[] = { { "eventMessage", read_text, 0 },
							 { "processID", read_process, 0 } };
	koda_auto_json struct koda_json *root = NULL;
	struct message message = { .by_kernel = false };
	struct denial denial;
	int r = koda_json_load(line, KODA_SEATBELT_LOG_LINE_MAX, LINE_DEPTH, &root, NULL);

	if (r == KODA_OK)
		r = koda_json_known(root, fields, KODA_ARRAY_LEN(fields), &message, NULL);
	if (r < 0)
		return r == KODA_E_NOMEM ? r : KODA_OK;
	if (!message.by_kernel || !take_apart(message.text, &denial) ||
	    (tag && !koda_span_is(denial.tag, tag)))
		return KODA_OK;
	return add(list, &denial);
}

int koda_seatbelt_log_parse(const char *text, size_t len, const char *tag,
			    struct koda_violation_list **ret_list, struct koda_error *err)
{
	koda_auto_violation_list struct koda_violation_list *list = NULL;
	struct koda_span rest = { text, len };
	int r = koda_violation_list_new(KODA_SEATBELT_LOG_MAX, &list, err);

	if (r < 0)
		return r;
	while (rest.len > 0 && r == KODA_OK) {
		const char *end = memchr(rest.ptr, '\n', rest.len);
		struct koda_span line = { rest.ptr, end ? (size_t)(end - rest.ptr) : rest.len };

		if (line.len > 0 && line.ptr[0] == '{')
			r = read_line(list, line, tag);
		rest = koda_span_skip(rest, line.len + (end != NULL));
	}
	if (r < 0)
		return koda_fail_nomem(err);
	*ret_list = KODA_TAKE(list);
	return KODA_OK;
}
