/* SPDX-License-Identifier: MIT */
#include "walk.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "file.h"
#include "ignore.h"
#include "listing.h"
#include "wire/fs_frame.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

/* Entries between two looks at whether the search is over. */
#define LOOK_EVERY 32

/* A directory on the way. */
struct level {
	int fd; /* of the first, the caller's */
	size_t path;
	size_t first, next, end; /* of the listing */
	size_t names;            /* bytes of names before its own */
	struct fsworker_ignore_mark mark;
};

struct state {
	const struct fsworker_walk *walk;
	struct koda_buf path; /* absolute; of a directory with a slash behind it */
	size_t start;         /* where the relative part begins */
	struct fsworker_listing listing;
	struct fsworker_ignore ignore;
	struct level levels[FSWORKER_WALK_DEPTH + 1];
	size_t depth; /* levels in use */
	unsigned int until_look;
};

static bool may_read(const struct state *state)
{
	const struct fsworker_search *search = state->walk->search;

	return search->may_read(search->ctx, koda_buf_span(&state->path));
}

/* Makes name the end of the path, behind its first len bytes. Fails: LIMIT, NOMEM. */
static int set_name(struct state *state, size_t len, const char *name, struct koda_error *err)
{
	int rc;

	state->path.len = len;
	rc = koda_buf_add(&state->path, name, strlen(name));
	return rc < 0 ? koda_fail_room(err, rc, "a path") : KODA_OK;
}

/* Makes dir, with a slash behind it, the path. Fails: LIMIT, NOMEM. */
static int set_dir(struct state *state, struct koda_span dir, struct koda_error *err)
{
	int rc;

	state->path.len = 0;
	rc = koda_buf_add(&state->path, dir.ptr, dir.len);
	/* Of "/" it is there already. */
	if (rc == KODA_OK && dir.ptr[dir.len - 1] != '/')
		rc = koda_buf_add(&state->path, "/", 1);
	return rc < 0 ? koda_fail_room(err, rc, "a path") : KODA_OK;
}

/* Reads an ignore file of the directory whose path has len bytes, if the policy lets it. */
static int load_ignore(struct state *state, int dir, size_t len, const char *name,
		       enum fsworker_ignore_kind kind, struct koda_error *err)
{
	const char *slash = strrchr(name, '/');
	int rc = set_name(state, len, name, err);

	if (rc == KODA_OK && may_read(state))
		rc = fsworker_ignore_load(&state->ignore, kind, dir, slash ? slash + 1 : name, len,
					  err);
	state->path.len = len;
	return rc;
}

/* Begins a repository; dir has an entry ".git". Where that is no directory, git reads the file of
 * another place, which need not lie in the root. */
static int load_repository(struct state *state, int dir, size_t len, struct koda_error *err)
{
	koda_auto_fd int git = fsworker_file_open_dir(dir, ".git");
	koda_auto_fd int info = git < 0 ? -1 : fsworker_file_open_dir(git, "info");

	fsworker_ignore_begin_repository(&state->ignore);
	return info < 0 ? KODA_OK
			: load_ignore(state, info, len, ".git/info/exclude", FSWORKER_IGNORE_GIT,
				      err);
}

static int load_ignores(struct state *state, int dir, size_t len, bool has[3],
			struct koda_error *err)
{
	int rc = has[0] ? load_repository(state, dir, len, err) : KODA_OK;

	if (rc == KODA_OK && has[1])
		rc = load_ignore(state, dir, len, ".gitignore", FSWORKER_IGNORE_GIT, err);
	if (rc == KODA_OK && has[2])
		rc = load_ignore(state, dir, len, ".ignore", FSWORKER_IGNORE_SEARCH, err);
	return rc;
}

static bool ignores_count(const struct state *state)
{
	return !(state->walk->search->flags & KODA_FS_NO_IGNORE);
}

static bool exists(int dir, const char *name)
{
	return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Reads the ignore files of the directories above the first one, from the root down. */
static int load_above(struct state *state, struct koda_error *err)
{
	const struct fsworker_search *search = state->walk->search;
	koda_auto_fd int dir = fsworker_file_open_dir(search->root_dir, ".");
	struct koda_span rest, name;
	size_t len = search->root.len;
	int rc = KODA_OK;

	if (dir < 0 || !koda_path_covers(search->root, search->path))
		return KODA_OK;
	rest = koda_span_skip(search->path, len);
	while (rc == KODA_OK && koda_path_next(&rest, &name) == KODA_STEP_NAME) {
		char text[KODA_NAME_MAX + 1] = { 0 };
		bool has[3] = { exists(dir, ".git"), exists(dir, ".gitignore"),
				exists(dir, ".ignore") };
		int below;

		rc = set_dir(state, (struct koda_span){ search->path.ptr, len }, err);
		if (rc == KODA_OK)
			rc = load_ignores(state, dir, state->path.len, has, err);
		len = (size_t)(name.ptr - search->path.ptr) + name.len;
		memcpy(text, name.ptr, name.len);
		below = fsworker_file_open_dir(dir, text);
		if (below < 0)
			break;
		koda_fd_close(&dir);
		dir = below;
	}
	return rc;
}

/* Lists a directory, whose descriptor it takes over; the path ends with it and a slash. */
static int push(struct state *state, int fd, struct koda_error *err)
{
	struct level *level = &state->levels[state->depth];
	size_t first = state->listing.count;
	int rc;

	*level = (struct level){ .fd = fd,
				 .path = state->path.len,
				 .first = first,
				 .next = first,
				 .end = first,
				 .names = state->listing.names.len,
				 .mark = fsworker_ignore_mark(&state->ignore) };
	state->depth++;
	rc = fsworker_listing_add(&state->listing, fd);
	if (rc < 0)
		return koda_fail_room(err, rc, "a directory");
	level->end = state->listing.count;
	if (ignores_count(state)) {
		bool has[3] = { fsworker_listing_has(&state->listing, first, ".git"),
				fsworker_listing_has(&state->listing, first, ".gitignore"),
				fsworker_listing_has(&state->listing, first, ".ignore") };

		rc = load_ignores(state, fd, level->path, has, err);
	}
	return rc;
}

static void pop(struct state *state)
{
	struct level *level = &state->levels[--state->depth];

	if (state->depth > 0)
		koda_fd_close(&level->fd);
	fsworker_ignore_back(&state->ignore, level->mark);
	fsworker_listing_back(&state->listing, level->first, level->names);
}

static bool is_over(struct state *state)
{
	const struct fsworker_search *search = state->walk->search;

	if (state->until_look-- > 0)
		return false;
	state->until_look = LOOK_EVERY;
	return search->cancelled(search->ctx);
}

/* Opens and lists the directory that the path names. One that is gone is passed over. */
static int enter(struct state *state, const struct level *level, const char *name,
		 struct koda_error *err)
{
	const struct fsworker_search *search = state->walk->search;
	koda_auto_fd int fd = -1;

	if (search->cancelled(search->ctx))
		return 1;
	/* Nothing longer has a path by which it could be judged. */
	if (state->depth > FSWORKER_WALK_DEPTH || state->path.len + 1 >= KODA_PATH_MAX ||
	    (fd = fsworker_file_open_dir(level->fd, name)) < 0)
		return KODA_OK;
	if (koda_buf_add(&state->path, "/", 1) < 0)
		return koda_fail_nomem(err);
	return push(state, koda_take_fd(&fd), err);
}

/* Deals with the next entry of the deepest directory. Returns 1 if the walk is over. */
static int step(struct state *state, struct koda_error *err)
{
	struct level *level = &state->levels[state->depth - 1];
	const struct fsworker_walk *walk = state->walk;
	size_t i = level->next++;
	struct koda_span name = fsworker_listing_name(&state->listing, i);
	uint8_t type = state->listing.entries[i].type;
	enum fsworker_walk_want want =
		walk->want(walk->ctx, state->depth - 1, name, type == DT_DIR, type == DT_REG);
	int rc;

	if (is_over(state))
		return 1;
	if (want == FSWORKER_WALK_PASS || level->path + name.len > KODA_PATH_MAX)
		return KODA_OK;
	rc = set_name(state, level->path, name.ptr, err);
	if (rc < 0)
		return rc;
	if (ignores_count(state) &&
	    fsworker_ignore_covers(&state->ignore, koda_buf_span(&state->path), level->path,
				   type == DT_DIR))
		return KODA_OK;
	if (!may_read(state))
		return KODA_OK;
	if (want & FSWORKER_WALK_TELL) {
		struct fsworker_walk_entry entry = { level->fd, name.ptr,
						     koda_span_skip(koda_buf_span(&state->path),
								    state->start) };

		rc = walk->tell(walk->ctx, &entry, err);
		if (rc != KODA_OK)
			return rc;
	}
	return want & FSWORKER_WALK_ENTER ? enter(state, level, name.ptr, err) : KODA_OK;
}

static int start(struct state *state, struct koda_error *err)
{
	const struct fsworker_search *search = state->walk->search;
	int rc = ignores_count(state) ? load_above(state, err) : KODA_OK;

	if (rc == KODA_OK)
		rc = set_dir(state, search->path, err);
	if (rc < 0)
		return rc;
	state->start = state->path.len;
	/* The descriptor may have been read before. */
	(void)lseek(search->dir, 0, SEEK_SET);
	return push(state, search->dir, err);
}

int fsworker_walk_run(const struct fsworker_walk *walk, struct koda_error *err)
{
	struct state *state = calloc(1, sizeof(*state));
	int rc;

	if (!state)
		return koda_fail_nomem(err);
	state->walk = walk;
	state->path.max = KODA_PATH_MAX * 2;
	state->listing.names.max = FSWORKER_WALK_NAMES;
	rc = start(state, err);
	while (rc == KODA_OK && state->depth > 0) {
		if (state->levels[state->depth - 1].next < state->levels[state->depth - 1].end)
			rc = step(state, err);
		else
			pop(state);
	}
	while (state->depth > 0)
		pop(state);
	fsworker_listing_clear(&state->listing);
	fsworker_ignore_clear(&state->ignore);
	koda_buf_clear(&state->path);
	free(state);
	return rc < 0 ? rc : KODA_OK;
}
