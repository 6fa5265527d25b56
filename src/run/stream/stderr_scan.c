/* SPDX-License-Identifier: MIT */
/* T-95: what a line may cost is bounded by the budget of safe_stat.h. */
#include "run/stream/stderr_scan.h"

#include "base/path.h"
#include "policy/rules.h"
#include "run/stream/grants.h"
#include "run/stream/stderr_words.h"
#include "wire/placeholder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How much is one step of the budget: bytes of a line or path, marked paths that
 * koda_rules_replace compares, and the square of a path's length where each parent is hashed. */
#define LINE_STEP   64
#define MARKS_STEP  32
#define GRANTS_STEP ((size_t)4 * 512)

/* Which kind of call the message says was refused. */
enum act {
	ACT_ANY,    /* reading or writing */
	ACT_WRITE,  /* EROFS: only writing is refused so */
	ACT_UNSURE, /* EACCES: ordinary permissions refuse so too */
	ACT_TAKEN,  /* EEXIST, ENOTDIR: creating a name; counts only if that name is reserved */
	ACT_OPENED, /* EISDIR: like ACT_TAKEN, unless the file was opened to be read */
	ACT_HELD    /* EBUSY: removing or renaming a name, or a directory above one */
};

/* The texts of these errors, in the C locale, and sh's own for some of them. */
static const struct {
	const char *text;
	enum act act;
} refusals[] = {
	{ "Read-only file system", ACT_WRITE },  { "Permission denied", ACT_UNSURE },
	{ "Operation not permitted", ACT_ANY },  { "Device or resource busy", ACT_HELD },
	{ "Resource busy or locked", ACT_HELD }, { "File exists", ACT_TAKEN },
	{ "File already exists", ACT_TAKEN },    { "Not a directory", ACT_TAKEN },
	{ "Directory nonexistent", ACT_TAKEN },  { "Is a directory", ACT_OPENED },
};

/* The bit in which a small letter differs from its capital. */
#define ASCII_SMALL 0x20

/* Finds an error text. The libraries of some languages begin it with a small letter. */
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

/* Returns the word as an absolute path in normal form, owned by the caller; NULL if it is none. */
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

/* Finds an error text in a line. Returns the part before it, and what was refused. */
static bool find_refusal(struct koda_span line, struct koda_span *ret_before, enum act *ret_act)
{
	for (size_t i = 0; i < KODA_ARRAY_LEN(refusals); i++) {
		const char *at = find_text(line, refusals[i].text);

		if (!at)
			continue;
		*ret_before = (struct koda_span){ line.ptr, (size_t)(at - line.ptr) };
		*ret_act = refusals[i].act == ACT_OPENED ? ACT_TAKEN : refusals[i].act;
		return refusals[i].act != ACT_OPENED || !koda_stderr_tells_of_read(line);
	}
	return false;
}

/* Tells whether a path is missing, so that a refused call can only have been one that creates it.
 * False in directories that are private in the sandbox, where the host's files tell nothing. */
static bool is_missing(struct koda_stderr_scan *scan, const char *path)
{
	static const char *const own[] = { "/dev", "/proc", "/run", "/tmp", "/var/tmp" };

	for (size_t i = 0; i < KODA_ARRAY_LEN(own); i++)
		if (koda_path_covers(koda_span_of(own[i]), koda_span_of(path)))
			return false;
	return koda_safe_stat_path(&scan->budget, path).state == KODA_SAFE_STAT_MISSING;
}

static struct koda_verdict ask_replace(struct koda_stderr_scan *scan, const char *path, size_t len)
{
	const uint64_t steps = koda_rules_marked(scan->rules)->count / MARKS_STEP;

	if (!koda_safe_stat_spend(&scan->budget, steps))
		return (struct koda_verdict){ .answer = KODA_ALLOW };
	return koda_rules_replace(scan->rules, path, len);
}

/* Decides by mode and time alone; reading the directory would take longer. */
static bool is_placeholder(const struct koda_safe_stat_result *result)
{
	const struct stat st = { .st_mode = result->mode, .st_mtim = { .tv_sec = result->mtime } };

	return koda_placeholder_is_marked(&st);
}

/* Finds the first missing name of the path that is reserved: protected, or a parent of a protected
 * name. Returns the length of the path up to it, or 0. A placeholder is removed when the command
 * ends, so it counts as missing. Below the first missing name only the whole path can get another
 * verdict. */
static size_t find_reserved(struct koda_stderr_scan *scan, const char *path,
			    struct koda_verdict *ret_verdict)
{
	struct koda_safe_stat_result result = koda_safe_stat_path(&scan->budget, path);
	size_t lengths[3];
	size_t count = 0;

	if (result.state == KODA_SAFE_STAT_UNKNOWN)
		return 0;
	if (is_placeholder(&result))
		lengths[count++] = result.existing_len;
	if (result.state == KODA_SAFE_STAT_MISSING) {
		lengths[count++] = result.missing_len;
		lengths[count++] = strlen(path);
	}
	for (size_t i = 0; i < count; i++) {
		*ret_verdict = ask_replace(scan, path, lengths[i]);
		if (ret_verdict->answer == KODA_DENY && ret_verdict->rule.len > 0)
			return lengths[i];
	}
	return 0;
}

/* Tells whether Landlock refuses it though the rules do not. Each parent is looked up by its whole
 * path. */
static bool is_ungranted(struct koda_stderr_scan *scan, const char *path, enum act act, bool moves)
{
	size_t len = strlen(path);
	bool missing;

	if (!scan->grants || act == ACT_WRITE ||
	    !koda_safe_stat_spend(&scan->budget, 1 + len * len / GRANTS_STEP))
		return false;
	missing = is_missing(scan, path);
	return koda_grants_refuse(scan->grants, path, moves || missing) &&
	       (act != ACT_UNSURE || missing);
}

/* What the words of a line tell besides the error. */
struct tale {
	bool writes; /* a verb of writing, which is no part of the file name */
	bool moves;  /* a name is created, removed or renamed */
};

/* Tells whether the rules or Landlock deny the call; fills in the kind of the denial. */
static bool is_denied(struct koda_stderr_scan *scan, char *path, enum act act,
		      const struct tale *tale, struct koda_denial *denial,
		      struct koda_verdict *ret_verdict)
{
	size_t reserved;

	*ret_verdict = koda_rules_read(scan->rules, path, strlen(path));
	denial->kind = KODA_VIOLATION_FILE_READ;
	if ((act == ACT_ANY || act == ACT_UNSURE) && ret_verdict->answer == KODA_DENY &&
	    !tale->writes)
		return true;
	denial->kind = KODA_VIOLATION_FILE_WRITE;
	if (act == ACT_TAKEN)
		return find_reserved(scan, path, ret_verdict) > 0;
	if (act == ACT_HELD) {
		*ret_verdict = ask_replace(scan, path, strlen(path));
		return ret_verdict->answer == KODA_DENY;
	}
	*ret_verdict = koda_rules_write(scan->rules, path, strlen(path));
	if (ret_verdict->answer == KODA_DENY)
		return act != ACT_UNSURE || is_missing(scan, path);
	reserved = act == ACT_WRITE ? find_reserved(scan, path, ret_verdict) : 0;
	/* The denial is about the reserved name, not about a file below it. */
	if (reserved > 0)
		path[reserved] = '\0';
	return reserved > 0 || is_ungranted(scan, path, act, tale->moves);
}

/* How many blanks are tried as part of a path. */
#define BLANKS_MAX 8

/* An unquoted path may go on behind a blank, up to end. Chooses the reading whose existing part on
 * the host is longest; among equals, the shortest reading. Sets *rest behind it. */
static char *to_longer_path(struct koda_stderr_scan *scan, struct koda_span word, const char *end,
			    char *path, struct koda_span *rest)
{
	size_t best = koda_safe_stat_path(&scan->budget, path).existing_len;
	struct koda_span left = *rest;
	struct koda_span next;
	bool quoted;

	for (int i = 0; i < BLANKS_MAX && left.ptr < end && left.ptr[-1] != ':' &&
			koda_stderr_next_word(&left, &next, &quoted) && !quoted && next.ptr < end;
	     i++) {
		const struct koda_span longer = { word.ptr,
						  (size_t)(next.ptr + next.len - word.ptr) };
		koda_auto_free char *other = to_path(longer, scan->cwd);
		size_t existing =
			other ? koda_safe_stat_path(&scan->budget, other).existing_len : 0;

		if (existing <= best)
			continue;
		free(path);
		path = KODA_TAKE(other);
		best = existing;
		*rest = left;
	}
	return path;
}

/* Scans a line; at most one denial is found in it. */
static void read_line(struct koda_stderr_scan *scan, struct koda_span line)
{
	struct koda_denial denial = { .source = KODA_SOURCE_STDERR };
	struct koda_verdict verdict;
	struct koda_span before;
	struct koda_span rest = line;
	struct koda_span word = { NULL, 0 };
	char rule[512];
	enum act act;
	size_t telling;
	struct tale tale;
	bool quoted;

	if (!find_refusal(line, &before, &act) ||
	    !koda_safe_stat_spend(&scan->budget, 1 + line.len / LINE_STEP))
		return;
	telling = koda_stderr_count_of_write(line);
	tale.moves = koda_stderr_tells_of_move(before);
	for (struct koda_span previous = word; koda_stderr_next_word(&rest, &word, &quoted);
	     previous = word) {
		koda_auto_free char *path = NULL;
		enum act meant = act;
		bool last = word.ptr + word.len + 2 == before.ptr + before.len &&
			    !koda_stderr_precedes_verb(previous);

		/* Only quoted words, words with a slash, and the word before the error text count.
		 */
		if (!quoted && !last && !memchr(word.ptr, '/', word.len))
			continue;
		if (act == ACT_WRITE && koda_stderr_is_copied(line, word, rest))
			continue;
		/* A verb of writing decides, but not if it is part of the file name. */
		tale.writes = telling > (!quoted && koda_stderr_tells_of_write(word));
		if (act == ACT_UNSURE && tale.writes)
			meant = ACT_ANY;
		path = koda_safe_stat_spend(&scan->budget, 1) ? to_path(word, scan->cwd) : NULL;
		if (path && !quoted && word.ptr[0] == '/' && word.ptr < before.ptr + before.len)
			path = to_longer_path(scan, word, before.ptr + before.len, path, &rest);
		if (!path || !koda_safe_stat_spend(&scan->budget, strlen(path) / LINE_STEP) ||
		    !is_denied(scan, path, meant, &tale, &denial, &verdict))
			continue;
		if (verdict.answer == KODA_DENY)
			(void)snprintf(rule, sizeof(rule), "%s%s%.*s",
				       koda_reason_name(verdict.reason),
				       verdict.rule.len ? " " : "", (int)verdict.rule.len,
				       verdict.rule.len ? verdict.rule.ptr : "");
		else
			(void)snprintf(rule, sizeof(rule), "backend landlock");
		denial.target = path;
		denial.rule = rule;
		scan->on_denial(scan->ctx, &denial);
		return;
	}
}

void koda_stderr_scan_take(void *ctx, const char *bytes, size_t len)
{
	struct koda_stderr_scan *scan = ctx;

	while (len > 0) {
		const char *end = memchr(bytes, '\n', len);
		size_t part = end ? (size_t)(end - bytes) : len;
		size_t room = sizeof(scan->line) - scan->len;
		size_t kept = part < room ? part : room;

		memcpy(scan->line + scan->len, bytes, kept);
		scan->len += kept;
		if (end) {
			read_line(scan, (struct koda_span){ scan->line, scan->len });
			scan->len = 0;
		}
		bytes += part + (end != NULL);
		len -= part + (end != NULL);
	}
}

void koda_stderr_scan_end(struct koda_stderr_scan *scan)
{
	read_line(scan, (struct koda_span){ scan->line, scan->len });
	scan->len = 0;
}
