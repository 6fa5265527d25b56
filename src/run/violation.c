/* SPDX-License-Identifier: MIT */
#include "run/violation.h"

#include "base/path.h"
#include "base/show.h"
#include "run/glance.h"
#include "run/grants.h"
#include "wire/hold.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char *const texts[] = {
#define VIOLATION_TEXT(name, json, text) [KODA_VIOLATION_##name] = (text),
	KODA_VIOLATIONS(VIOLATION_TEXT)
#undef VIOLATION_TEXT
};

bool koda_violations_add(struct koda_violations *violations, const struct koda_noted *noted)
{
	struct koda_noted *new = &violations->list[violations->count];

	if (violations->count == KODA_VIOLATIONS_MAX)
		return false;
	for (size_t i = 0; i < violations->count; i++)
		if (violations->list[i].kind == noted->kind &&
		    strcmp(violations->list[i].target, noted->target) == 0)
			return false;
	*new = (struct koda_noted){ .kind = noted->kind,
				    .source = noted->source,
				    .target = strdup(noted->target),
				    .rule = strdup(noted->rule) };
	if (!new->target || !new->rule) {
		free(new->target);
		free(new->rule);
		return false;
	}
	violations->count++;
	return true;
}

void koda_violations_clear(struct koda_violations *violations)
{
	for (size_t i = 0; i < violations->count; i++) {
		free(violations->list[i].target);
		free(violations->list[i].rule);
	}
	violations->count = 0;
}

int koda_violations_print(const struct koda_violations *violations, struct koda_buf *out)
{
	int r = KODA_OK;

	if (violations->count == 0)
		return KODA_OK;
	r = koda_buf_addf(out, "<sandbox_violations>\n");
	for (size_t i = 0; i < violations->count && r == KODA_OK; i++) {
		const struct koda_noted *noted = &violations->list[i];

		r = koda_buf_addf(out, "deny %s ", texts[noted->kind]);
		if (r == KODA_OK)
			r = koda_show_text(out, koda_span_of(noted->target), "<>\\");
		if (r == KODA_OK)
			r = koda_buf_add(out, "\n", 1);
	}
	return r < 0 ? r : koda_buf_addf(out, "</sandbox_violations>\n");
}

/* What a refusal was about. */
enum act {
	ACT_ANY,    /* reading or writing */
	ACT_WRITE,  /* nothing else is refused so */
	ACT_UNSURE, /* and ordinary permissions refuse with the same word */
	ACT_TAKEN,  /* making a name; it is so only if the name is one that is reserved */
	ACT_HELD    /* taking a name away, be it for what is below it */
};

/* What the kernel says when it refuses, in the C locale's words, or sh for it. */
static const struct {
	const char *text;
	enum act act;
} refusals[] = {
	{ "Read-only file system", ACT_WRITE },  { "Permission denied", ACT_UNSURE },
	{ "Operation not permitted", ACT_ANY },  { "Device or resource busy", ACT_HELD },
	{ "Resource busy or locked", ACT_HELD }, { "File exists", ACT_TAKEN },
	{ "File already exists", ACT_TAKEN },    { "Not a directory", ACT_TAKEN },
	{ "Directory nonexistent", ACT_TAKEN },
};

/* What a small letter has and its capital has not. */
#define ASCII_SMALL 0x20

/* Where the text is; some languages' libraries begin it with a small letter. */
static const char *find_text(struct koda_span line, const char *text)
{
	while (line.len > 1) {
		const char *at = memmem(line.ptr + 1, line.len - 1, text + 1, strlen(text) - 1);

		if (!at)
			break;
		if ((at[-1] | ASCII_SMALL) == (text[0] | ASCII_SMALL))
			return at - 1;
		line = koda_span_skip(line, (size_t)(at - line.ptr));
	}
	return NULL;
}

/* The part of the line before the refusal, or false. */
static bool find_refusal(struct koda_span line, struct koda_span *ret_before, enum act *ret_act)
{
	for (size_t i = 0; i < KODA_ARRAY_LEN(refusals); i++) {
		const char *at = find_text(line, refusals[i].text);

		if (!at)
			continue;
		*ret_before = (struct koda_span){ line.ptr, (size_t)(at - line.ptr) };
		*ret_act = refusals[i].act;
		return true;
	}
	return false;
}

/* Length of the quotation mark that text begins with, or 0. */
static size_t quote_len(struct koda_span text)
{
	if (text.len && (text.ptr[0] == '\'' || text.ptr[0] == '"' || text.ptr[0] == '`'))
		return 1;
	if (text.len >= 3 &&
	    (memcmp(text.ptr, "\xe2\x80\x98", 3) == 0 || memcmp(text.ptr, "\xe2\x80\x99", 3) == 0))
		return 3;
	return 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* The next word of a message: what is between quotes, or up to a blank, without punctuation. */
static bool next_word(struct koda_span *rest, struct koda_span *ret_word, bool *ret_quoted)
{
	size_t quote;
	size_t end = 0;

	while (rest->len && is_blank(rest->ptr[0]))
		*rest = koda_span_skip(*rest, 1);
	if (rest->len == 0)
		return false;
	quote = quote_len(*rest);
	*rest = koda_span_skip(*rest, quote);
	while (end < rest->len &&
	       (quote ? quote_len(koda_span_skip(*rest, end)) == 0 : !is_blank(rest->ptr[end])))
		end++;
	*ret_word = (struct koda_span){ rest->ptr, end };
	*ret_quoted = quote > 0;
	*rest = koda_span_skip(*rest, end);
	*rest = koda_span_skip(*rest, quote ? quote_len(*rest) : 0);
	while (!quote && ret_word->len && strchr(":,", ret_word->ptr[ret_word->len - 1]))
		ret_word->len--;
	return true;
}

/* The word as an absolute path in normal form, owned by the caller; NULL if it cannot be one. */
static char *to_path(struct koda_span word, const char *cwd)
{
	koda_auto_buf struct koda_buf joined = KODA_BUF_INIT(2 * KODA_PATH_MAX + 2);
	char *path = NULL;

	if (word.len == 0 || memchr(word.ptr, '\0', word.len))
		return NULL;
	if (word.ptr[0] != '/' &&
	    (koda_buf_add(&joined, cwd, strlen(cwd)) < 0 || koda_buf_add(&joined, "/", 1) < 0))
		return NULL;
	if (koda_buf_add(&joined, word.ptr, word.len) < 0 || koda_buf_add(&joined, "", 1) < 0 ||
	    koda_path_absolute(joined.ptr, &path, NULL) < 0)
		return NULL;
	return path;
}

/* Does the word speak of a change? */
static bool tells_of_write(struct koda_span word)
{
	static const char *const stems[] = { "chang", "creat", "delete", "link",   "lock",
					     "mkdir", "mov",   "overwr", "remov",  "renam",
					     "tee",   "touch", "trunc",  "unlink", "writ" };

	for (size_t i = 0; i < KODA_ARRAY_LEN(stems); i++)
		if (word.len >= strlen(stems[i]) &&
		    memcmp(word.ptr, stems[i], strlen(stems[i])) == 0)
			return true;
	return false;
}

/* Of a name that comes or goes, which is a matter of the directory? */
static bool tells_of_move(struct koda_span line)
{
	static const char *const stems[] = { "delete", "link",  "mkdir", "mov",
					     "remov",  "renam", "unlink" };
	struct koda_span word;
	bool quoted;

	while (next_word(&line, &word, &quoted))
		for (size_t i = 0; !quoted && i < KODA_ARRAY_LEN(stems); i++)
			if (word.len >= strlen(stems[i]) &&
			    memcmp(word.ptr, stems[i], strlen(stems[i])) == 0)
				return true;
	return false;
}

static size_t count_of_write(struct koda_span line)
{
	struct koda_span word;
	size_t count = 0;
	bool quoted;

	while (next_word(&line, &word, &quoted))
		count += !quoted && tells_of_write(word);
	return count;
}

/* What does not exist can only have been created. What the host has where a command has something
 * of its own is nobody's business inside: there it is never said to be missing. */
static bool is_missing(const char *path)
{
	static const char *const own[] = { "/dev", "/proc", "/run", "/tmp", "/var/tmp" };
	struct stat st;

	for (size_t i = 0; i < KODA_ARRAY_LEN(own); i++)
		if (koda_path_covers(koda_span_of(own[i]), koda_span_of(path)))
			return false;
	return koda_glance(path, &st) == 0;
}

/* Is there nothing, or a placeholder? That goes when the command does. */
static bool is_vacant(const char *path)
{
	struct stat st;
	int there = koda_glance(path, &st);

	return there == 0 || (there > 0 && koda_hold_is_node(st.st_mode));
}

/* Is a name on the way that does not exist reserved: protected, or above something that is? */
static bool is_reserved(const struct koda_rules *rules, const char *path,
			struct koda_verdict *ret_verdict)
{
	koda_auto_free char *name = strdup(path);

	for (size_t end = 1; name && path[end - 1]; end++) {
		if (path[end] != '/' && path[end] != '\0')
			continue;
		name[end] = '\0';
		*ret_verdict = koda_rules_replace(rules, name, end);
		if (ret_verdict->answer == KODA_DENY && ret_verdict->rule.len > 0 &&
		    is_vacant(name))
			return true;
		name[end] = path[end];
	}
	return false;
}

/* Do the rules deny it? */
static bool is_denied(const struct koda_reader *reader, const char *path, enum act act, bool moves,
		      struct koda_noted *noted, struct koda_verdict *ret_verdict)
{
	*ret_verdict = koda_rules_read(reader->rules, path, strlen(path));
	noted->kind = KODA_VIOLATION_FILE_READ;
	if ((act == ACT_ANY || act == ACT_UNSURE) && ret_verdict->answer == KODA_DENY)
		return true;
	noted->kind = KODA_VIOLATION_FILE_WRITE;
	if (act == ACT_TAKEN)
		return is_reserved(reader->rules, path, ret_verdict);
	if (act == ACT_HELD) {
		*ret_verdict = koda_rules_replace(reader->rules, path, strlen(path));
		return ret_verdict->answer == KODA_DENY;
	}
	*ret_verdict = koda_rules_write(reader->rules, path, strlen(path));
	if (ret_verdict->answer == KODA_DENY)
		return act != ACT_UNSURE || is_missing(path);
	return reader->grants && act != ACT_WRITE &&
	       koda_grants_refuse(reader->grants, path, moves || is_missing(path)) &&
	       (act != ACT_UNSURE || is_missing(path));
}

/* "Cannot open: Permission denied": what follows these says what was done, and names no file. */
static bool precedes_verb(struct koda_span word)
{
	static const char *const words[] = { "Cannot", "can't", "cannot", "not", "to" };

	for (size_t i = 0; i < KODA_ARRAY_LEN(words); i++)
		if (word.len == strlen(words[i]) && memcmp(word.ptr, words[i], word.len) == 0)
			return true;
	return false;
}

/* A whole line of an error stream. */
static void read_line(struct koda_reader *reader, struct koda_span line)
{
	struct koda_noted noted = { .source = KODA_SOURCE_STDERR };
	struct koda_verdict verdict;
	struct koda_span before;
	struct koda_span rest = line;
	struct koda_span word = { NULL, 0 };
	char rule[512];
	enum act act;
	size_t telling;
	bool quoted;
	bool moves;

	if (!find_refusal(line, &before, &act))
		return;
	telling = count_of_write(line);
	moves = tells_of_move(before);
	for (struct koda_span previous = word; next_word(&rest, &word, &quoted); previous = word) {
		koda_auto_free char *path = NULL;
		enum act meant = act;
		bool last = word.ptr + word.len + 2 == before.ptr + before.len &&
			    !precedes_verb(previous);

		/* Any word could name a file; these are meant to. */
		if (!quoted && !last && !memchr(word.ptr, '/', word.len))
			continue;
		/* A name says nothing about what is done to it. */
		if (act == ACT_UNSURE && telling > (!quoted && tells_of_write(word)))
			meant = ACT_ANY;
		path = to_path(word, reader->cwd);
		if (!path || !is_denied(reader, path, meant, moves, &noted, &verdict))
			continue;
		if (verdict.answer == KODA_DENY)
			(void)snprintf(rule, sizeof(rule), "%s%s%.*s", koda_why_name(verdict.why),
				       verdict.rule.len ? " " : "", (int)verdict.rule.len,
				       verdict.rule.len ? verdict.rule.ptr : "");
		else
			(void)snprintf(rule, sizeof(rule), "backend landlock");
		noted.target = path;
		noted.rule = rule;
		reader->found(reader->ctx, &noted);
		return;
	}
}

void koda_reader_take(void *ctx, const char *bytes, size_t len)
{
	struct koda_reader *reader = ctx;

	while (len > 0) {
		const char *end = memchr(bytes, '\n', len);
		size_t part = end ? (size_t)(end - bytes) : len;
		size_t room = sizeof(reader->line) - reader->len;
		size_t kept = part < room ? part : room;

		memcpy(reader->line + reader->len, bytes, kept);
		reader->len += kept;
		if (end) {
			read_line(reader, (struct koda_span){ reader->line, reader->len });
			reader->len = 0;
		}
		bytes += part + (end != NULL);
		len -= part + (end != NULL);
	}
}

void koda_reader_end(struct koda_reader *reader)
{
	read_line(reader, (struct koda_span){ reader->line, reader->len });
	reader->len = 0;
}
