/* SPDX-License-Identifier: MIT */
#include "ignore.h"

#include "base/error.h"
#include "base/fd.h"
#include "file.h"
#include "glob.h"

struct rule {
	struct fsworker_glob glob;
	bool negated;  /* what matches is not ignored */
	bool dir_only; /* matches directories */
	bool anchored; /* about the path from the file's directory; otherwise about the name */
};

struct fsworker_ignore_file {
	enum fsworker_ignore_kind kind;
	size_t base;
	struct rule *rules; /* owned */
	size_t count;
};

static void clear_file(struct fsworker_ignore_file *file)
{
	for (size_t i = 0; i < file->count; i++)
		fsworker_glob_clear(&file->rules[i].glob);
	free(file->rules);
	file->rules = NULL;
}

void fsworker_ignore_back(struct fsworker_ignore *ignore, struct fsworker_ignore_mark mark)
{
	while (ignore->count > mark.count) {
		struct fsworker_ignore_file *file = &ignore->files[--ignore->count];

		ignore->rules -= file->count;
		clear_file(file);
	}
	ignore->git_first = mark.git_first;
}

void fsworker_ignore_clear(struct fsworker_ignore *ignore)
{
	fsworker_ignore_back(ignore, (struct fsworker_ignore_mark){ 0 });
	free(ignore->files);
	*ignore = (struct fsworker_ignore){ 0 };
}

/* Cuts trailing blanks, of which a backslash keeps the first. */
static struct koda_span without_trailing_blanks(struct koda_span line)
{
	size_t kept = 0;

	for (size_t i = 0; i < line.len; i++) {
		if (line.ptr[i] == '\\') {
			/* A backslash at the end stays, and so do the blanks before it. */
			if (++i == line.len)
				return line;
			kept = i + 1;
		} else if (line.ptr[i] != ' ') {
			kept = i + 1;
		}
	}
	line.len = kept;
	return line;
}

/* Returns the next line, as git takes it from the file. */
static struct koda_span next_line(struct koda_span *rest)
{
	const char *newline = memchr(rest->ptr, '\n', rest->len);
	struct koda_span line = { rest->ptr, newline ? (size_t)(newline - rest->ptr) : rest->len };
	const char *nul;

	*rest = koda_span_skip(*rest, line.len + (newline != NULL));
	if (line.len && line.ptr[line.len - 1] == '\r')
		line.len--;
	nul = line.len ? memchr(line.ptr, '\0', line.len) : NULL;
	if (nul)
		line.len = (size_t)(nul - line.ptr);
	return without_trailing_blanks(line);
}

/* Makes a rule of a line. Returns 1, or 0 if the line is none. Fails: NOMEM. */
static int read_rule(struct koda_span line, struct rule *ret_rule)
{
	struct rule rule = { 0 };
	int rc;

	if (line.len && line.ptr[0] == '#')
		return 0;
	if (line.len && line.ptr[0] == '!') {
		rule.negated = true;
		line = koda_span_skip(line, 1);
	}
	if (line.len && line.ptr[line.len - 1] == '/') {
		rule.dir_only = true;
		line.len--;
	}
	if (line.len == 0)
		return 0;
	rule.anchored = memchr(line.ptr, '/', line.len) != NULL;
	if (line.ptr[0] == '/')
		line = koda_span_skip(line, 1);
	rc = fsworker_glob_compile(line, rule.anchored ? FSWORKER_GLOB_PLAIN : FSWORKER_GLOB_NAME,
				   &rule.glob, NULL);
	if (rc < 0)
		return rc == KODA_E_NOMEM ? rc : 0;
	*ret_rule = rule;
	return 1;
}

static int read_rules(struct fsworker_ignore_file *file, struct koda_span text, size_t most,
		      struct koda_error *err)
{
	static const char bom[] = "\xef\xbb\xbf";
	size_t cap = 0;

	if (text.len >= 3 && memcmp(text.ptr, bom, 3) == 0)
		text = koda_span_skip(text, 3);
	while (text.len) {
		int rc;

		if (file->count == cap) {
			size_t more = cap ? cap * 2 : 16;
			struct rule *grown = reallocarray(file->rules, more, sizeof(*grown));

			if (!grown)
				return koda_fail_nomem(err);
			file->rules = grown;
			cap = more;
		}
		rc = read_rule(next_line(&text), &file->rules[file->count]);
		if (rc < 0)
			return koda_fail_nomem(err);
		file->count += (size_t)rc;
		if (file->count > most)
			return koda_fail(err, KODA_E_LIMIT, 0,
					 "the ignore files have more than %zu rules",
					 FSWORKER_IGNORE_RULES);
	}
	return KODA_OK;
}

int fsworker_ignore_add(struct fsworker_ignore *ignore, enum fsworker_ignore_kind kind,
			struct koda_span text, size_t base, struct koda_error *err)
{
	struct fsworker_ignore_file file = { .kind = kind, .base = base };
	int rc;

	if (ignore->count == ignore->cap) {
		size_t cap = ignore->cap ? ignore->cap * 2 : 16;
		struct fsworker_ignore_file *grown =
			reallocarray(ignore->files, cap, sizeof(*grown));

		if (!grown)
			return koda_fail_nomem(err);
		ignore->files = grown;
		ignore->cap = cap;
	}
	rc = read_rules(&file, text, FSWORKER_IGNORE_RULES - ignore->rules, err);
	if (rc < 0 || file.count == 0) {
		clear_file(&file);
		return rc;
	}
	ignore->files[ignore->count++] = file;
	ignore->rules += file.count;
	return KODA_OK;
}

int fsworker_ignore_load(struct fsworker_ignore *ignore, enum fsworker_ignore_kind kind, int dir,
			 const char *name, size_t base, struct koda_error *err)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(FSWORKER_IGNORE_BYTES);
	koda_auto_fd int fd = fsworker_file_open(dir, name);
	int rc = fd < 0 ? KODA_OK : koda_fd_read_all(fd, &text, NULL);

	if (rc == KODA_E_NOMEM)
		return koda_fail_nomem(err);
	/* Of a file that is too long, its whole lines up to the ceiling count. */
	while (rc == KODA_E_LIMIT && text.len && text.ptr[text.len - 1] != '\n')
		text.len--;
	if (text.len == 0)
		return KODA_OK;
	return fsworker_ignore_add(ignore, kind, koda_buf_span(&text), base, err);
}

static const struct rule *find_rule(const struct fsworker_ignore_file *file, struct koda_span path,
				    size_t name, bool is_dir)
{
	for (size_t i = file->count; i-- > 0;) {
		const struct rule *rule = &file->rules[i];
		struct koda_span subject = koda_span_skip(path, rule->anchored ? file->base : name);

		if ((is_dir || !rule->dir_only) && fsworker_glob_match_path(&rule->glob, subject))
			return rule;
	}
	return NULL;
}

bool fsworker_ignore_covers(const struct fsworker_ignore *ignore, struct koda_span path,
			    size_t name, bool is_dir)
{
	static const enum fsworker_ignore_kind order[] = { FSWORKER_IGNORE_SEARCH,
							   FSWORKER_IGNORE_GIT };

	for (size_t k = 0; k < KODA_ARRAY_LEN(order); k++) {
		size_t first = order[k] == FSWORKER_IGNORE_GIT ? ignore->git_first : 0;

		for (size_t i = ignore->count; i-- > first;) {
			const struct rule *rule;

			if (ignore->files[i].kind != order[k])
				continue;
			rule = find_rule(&ignore->files[i], path, name, is_dir);
			if (rule)
				return !rule->negated;
		}
	}
	return false;
}
