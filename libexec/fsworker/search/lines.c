/* SPDX-License-Identifier: MIT */
/* grep: lines that match an expression. Files are read in pieces; one with a NUL byte is binary,
 * and is left where the byte shows. */
#include "base/error.h"
#include "base/fd.h"
#include "file.h"
#include "globset.h"
#include "matcher.h"
#include "search.h"
#include "walk.h"
#include "wire/fs_frame.h"

#include <errno.h>
#include <unistd.h>

/* What is read at a time, and the longest line: a file with a longer one is left there. */
#define PIECE    ((size_t)64 << 10)
#define LINE_MAX ((size_t)8 << 20)

struct lines {
	const struct fsworker_search *search;
	struct fsworker_matcher matcher;
	struct fsworker_globset include; /* no pattern: all files */
	bool by_name;                    /* include is about the name, not the path */
	struct koda_buf text;            /* whole lines not searched yet, and what is behind them */
};

/* The file that is searched. */
struct file {
	int fd;
	struct koda_span path;
	uint64_t left; /* bytes that it had when it was opened, and are not read */
	uint64_t line; /* number of the line at counted */
	size_t counted;
};

static uint64_t count_newlines(const char *p, size_t len)
{
	const uint64_t ones = 0x0101010101010101U, newlines = '\n' * ones;
	uint64_t count = 0;

	for (; len >= 8; p += 8, len -= 8) {
		uint64_t word;

		memcpy(&word, p, sizeof(word));
		word ^= newlines;
		/* The high bit of each byte that is not zero now. */
		word = ((word & 0x7f * ones) + 0x7f * ones) | word;
		count += 8 - ((word >> 7 & ones) * ones >> 56);
	}
	for (; len > 0; p++, len--)
		count += *p == '\n';
	return count;
}

static enum fsworker_walk_want want(void *ctx, size_t depth, struct koda_span name, bool is_dir,
				    bool is_file)
{
	const struct lines *lines = ctx;
	bool hidden = name.ptr[0] == '.' && !(lines->search->flags & KODA_FS_HIDDEN);

	(void)depth;
	if (is_dir)
		return hidden ? FSWORKER_WALK_PASS : FSWORKER_WALK_ENTER;
	if (!is_file || (hidden && !lines->by_name))
		return FSWORKER_WALK_PASS;
	if (!lines->by_name)
		return FSWORKER_WALK_TELL;
	for (size_t i = 0; i < lines->include.count; i++) {
		const struct fsworker_glob *glob = &lines->include.globs[i];
		uint64_t parts = fsworker_glob_first(glob);

		parts = hidden ? fsworker_glob_dotted(glob, parts) : parts;
		if (parts && fsworker_glob_is_end(glob, fsworker_glob_next(glob, parts, name)))
			return FSWORKER_WALK_TELL;
	}
	return FSWORKER_WALK_PASS;
}

/* Reports the matching lines of the first len bytes. Returns 1 if the search is to end. */
static int search_text(struct lines *lines, struct file *file, size_t len, struct koda_error *err)
{
	struct koda_span text = { lines->text.ptr, len };
	struct fsworker_matcher_line line = { 0 };
	int rc;

	file->counted = 0;
	while ((rc = fsworker_matcher_next(&lines->matcher, text, line.next, &line, err)) > 0) {
		struct koda_span found = { text.ptr + line.at, line.len };

		file->line += count_newlines(text.ptr + file->counted, line.at - file->counted);
		file->counted = line.at;
		if (!lines->search->emit(lines->search->ctx, file->path, file->line, found))
			return 1;
	}
	if (rc < 0)
		koda_error_prefix(err, "%.*s: ", (int)file->path.len, file->path.ptr);
	return rc;
}

/* Reads the next piece behind the text. Returns its length; 0 at the end, on an error and in a
 * binary file. Fails: NOMEM. */
static int read_piece(struct lines *lines, struct file *file, size_t *ret_len)
{
	char *room;
	ssize_t got;
	int rc = koda_buf_room(&lines->text, PIECE, &room);

	*ret_len = 0;
	if (rc < 0)
		return rc == KODA_E_LIMIT ? KODA_OK : rc;
	do
		got = read(file->fd, room, PIECE);
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		return KODA_OK;
	if (memchr(room, '\0', (size_t)got)) {
		lines->text.len = 0;
		return KODA_OK;
	}
	koda_buf_grew(&lines->text, (size_t)got);
	file->left -= file->left < (uint64_t)got ? file->left : (uint64_t)got;
	*ret_len = (size_t)got;
	return KODA_OK;
}

/* Searches the whole lines of the text and keeps the rest of it. */
static int search_piece(struct lines *lines, struct file *file, size_t len, struct koda_error *err)
{
	struct koda_buf *text = &lines->text;
	const char *newline = memrchr(text->ptr + text->len - len, '\n', len);
	size_t whole = newline ? (size_t)(newline - text->ptr) + 1 : 0;
	int rc = whole ? search_text(lines, file, whole, err) : KODA_OK;

	if (rc != KODA_OK || !whole)
		return rc;
	file->line += count_newlines(text->ptr + file->counted, whole - file->counted);
	memmove(text->ptr, text->ptr + whole, text->len - whole);
	text->len -= whole;
	return KODA_OK;
}

static int search_file(struct lines *lines, struct file *file, struct koda_error *err)
{
	const struct fsworker_search *search = lines->search;
	bool has_size = file->left > 0;
	size_t len;
	int rc;

	lines->text.len = 0;
	do {
		if (search->cancelled(search->ctx))
			return 1;
		rc = read_piece(lines, file, &len);
		if (rc < 0)
			return koda_fail_nomem(err);
		/* A file that was read whole does not need a further read to say so. */
		if (len == 0 || (has_size && file->left == 0))
			break;
		rc = search_piece(lines, file, len, err);
	} while (rc == KODA_OK);
	if (rc != KODA_OK || lines->text.len == 0 || lines->text.len > LINE_MAX)
		return rc;
	return search_text(lines, file, lines->text.len, err);
}

static int tell(void *ctx, const struct fsworker_walk_entry *entry, struct koda_error *err)
{
	struct lines *lines = ctx;
	struct file file = { .path = entry->path, .line = 1 };
	koda_auto_fd int fd = -1;

	if (lines->include.count && !lines->by_name &&
	    !fsworker_globset_match_path(&lines->include, entry->path))
		return KODA_OK;
	fd = fsworker_file_open_listed(entry->dir, entry->name, &file.left);
	if (fd < 0)
		return KODA_OK;
	file.fd = fd;
	return search_file(lines, &file, err);
}

static int compile_include(struct lines *lines, struct koda_error *err)
{
	struct koda_span include = lines->search->include;
	int rc;

	if (include.len == 0)
		return KODA_OK;
	lines->by_name = !memchr(include.ptr, '/', include.len);
	if (include.len > 1 && include.ptr[0] == '/')
		include = koda_span_skip(include, 1);
	rc = fsworker_globset_compile(include, FSWORKER_GLOB_UTF8, &lines->include, err);
	if (rc < 0)
		koda_error_prefix(err, "the names to search: ");
	return rc;
}

int fsworker_search_init(void)
{
	return fsworker_matcher_init();
}

int fsworker_search_grep(const struct fsworker_search *search, struct koda_error *err)
{
	koda_auto_free struct lines *lines = calloc(1, sizeof(*lines));
	int rc;

	if (!lines)
		return koda_fail_nomem(err);
	lines->search = search;
	lines->text.max = LINE_MAX + PIECE;
	rc = compile_include(lines, err);
	if (rc < 0)
		return rc;
	rc = fsworker_matcher_make(search, &lines->matcher, err);
	if (rc == KODA_OK)
		rc = fsworker_walk_run(&(struct fsworker_walk){ search, want, tell, lines }, err);
	fsworker_matcher_clear(&lines->matcher);
	fsworker_globset_clear(&lines->include);
	koda_buf_clear(&lines->text);
	return rc;
}
