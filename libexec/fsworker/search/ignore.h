/* SPDX-License-Identifier: MIT */
/*
 * Ignore files, as git reads .gitignore and .git/info/exclude. They form a stack: a directory that
 * is entered adds its own, and takes them back when it is left. Of one kind the deepest file
 * decides, and of a file the last line that matches. .ignore goes before those of git, and those of
 * git end at the directory with .git.
 */
#ifndef FSWORKER_SEARCH_IGNORE_H
#define FSWORKER_SEARCH_IGNORE_H

#include "base/buf.h"

#include <stdbool.h>

/* Ceilings: bytes of a file that are read, rules of all files on the stack. */
#define FSWORKER_IGNORE_BYTES ((size_t)1 << 20)
#define FSWORKER_IGNORE_RULES ((size_t)1 << 16)

enum fsworker_ignore_kind {
	FSWORKER_IGNORE_GIT,   /* .gitignore, .git/info/exclude */
	FSWORKER_IGNORE_SEARCH /* .ignore */
};

struct fsworker_ignore_file;

struct fsworker_ignore {
	struct fsworker_ignore_file *files; /* owned; the deepest last */
	size_t count;
	size_t cap;
	size_t git_first; /* files of git before it are of another repository */
	size_t rules;     /* of all files */
};

/* What fsworker_ignore_back goes back to. */
struct fsworker_ignore_mark {
	size_t count;
	size_t git_first;
};

static inline struct fsworker_ignore_mark fsworker_ignore_mark(const struct fsworker_ignore *ignore)
{
	return (struct fsworker_ignore_mark){ ignore->count, ignore->git_first };
}
void fsworker_ignore_back(struct fsworker_ignore *ignore, struct fsworker_ignore_mark mark);
void fsworker_ignore_clear(struct fsworker_ignore *ignore);

/* Begins a repository: rules of git that stand above do not count below. */
static inline void fsworker_ignore_begin_repository(struct fsworker_ignore *ignore)
{
	ignore->git_first = ignore->count;
}

/* Adds the lines of a file. Its rules are about what comes after the first base bytes of a path.
 * Lines that cannot match anything are passed over. Fails: LIMIT, NOMEM; the stack is unchanged
 * then. */
KODA_CHECK int fsworker_ignore_add(struct fsworker_ignore *ignore, enum fsworker_ignore_kind kind,
				   struct koda_span text, size_t base, struct koda_error *err);
/* Reads the file called name and adds it. One that is not there, is no regular file or cannot be
 * read counts as empty. Fails: LIMIT, NOMEM. */
KODA_CHECK int fsworker_ignore_load(struct fsworker_ignore *ignore, enum fsworker_ignore_kind kind,
				    int dir, const char *name, size_t base, struct koda_error *err);

/* Returns true if path is ignored; its last component begins at name. Asked from the top down: what
 * lies below a directory that is ignored is never asked about. */
bool fsworker_ignore_covers(const struct fsworker_ignore *ignore, struct koda_span path,
			    size_t name, bool is_dir);

#endif
