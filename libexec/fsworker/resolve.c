/* SPDX-License-Identifier: MIT */
/*
 * T-100. openat2 does not exist inside the sandbox. A component is opened with O_NOFOLLOW below the
 * descriptor of the directory before it, so exchanging a name for a link during the walk gives an
 * error and never another place. A link's text is walked like a path of the request: an absolute
 * one begins at a root again, and one that leads out of the roots ends the walk before anything
 * there is opened. Links of procfs are text here, too.
 */
#include "resolve.h"

#include "base/fd.h"
#include "judge.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Components walked for one path, those again that "..", and links, go back over. */
#define STEPS_MAX 4096

struct walk {
	struct fsworker_task *task;
	struct fsworker_place *place;
	unsigned int how;
	char pending[2 * (KODA_PATH_MAX + 1)]; /* what is still to be walked */
	size_t at, end;
	uint32_t links;
	uint32_t steps;
	bool wants_dir; /* the path ends with a slash */
	bool done;
};

void fsworker_resolve_clear(struct fsworker_place *place)
{
	if (!place->is_borrowed)
		koda_fd_close(&place->dir);
	place->dir = -1;
	place->is_borrowed = false;
}

static void set_dir(struct fsworker_place *place, int dir, bool is_borrowed)
{
	fsworker_resolve_clear(place);
	place->dir = dir;
	place->is_borrowed = is_borrowed;
}

/* Takes the next name that means something off the pending text; empty at its end. */
static struct koda_span next_name(struct walk *walk)
{
	struct koda_span name = { "", 0 };

	while (name.len == 0 && walk->at < walk->end) {
		const char *start = walk->pending + walk->at;
		const char *slash = memchr(start, '/', walk->end - walk->at);

		name = (struct koda_span){ start,
					   slash ? (size_t)(slash - start) : walk->end - walk->at };
		walk->at += name.len + (slash != NULL);
		if (koda_span_is(name, "."))
			name.len = 0;
	}
	return name;
}

/* Returns true if nothing but slashes and "." is left. */
static bool is_last(struct walk *walk)
{
	size_t at = walk->at;
	struct koda_span next = next_name(walk);

	walk->at = at;
	return next.len == 0;
}

/* Appends a name to the path of the place. */
static bool add_name(struct fsworker_place *place, struct koda_span name)
{
	size_t slash = place->len > 1;

	if (place->len + slash + name.len > KODA_PATH_MAX)
		return false;
	if (slash)
		place->path[place->len] = '/';
	memcpy(place->path + place->len + slash, name.ptr, name.len);
	place->len += slash + name.len;
	place->path[place->len] = '\0';
	return true;
}

/* Completes the path by what is left of its spelling. Denies it if it may not be read, so that the
 * reply does not tell whether something exists there. */
static bool complete(struct walk *walk)
{
	struct koda_span name;

	while ((name = next_name(walk)).len > 0 && !koda_span_is(name, ".."))
		if (!add_name(walk->place, name))
			break;
	if (!fsworker_judge_read(walk->task, fsworker_resolve_path(walk->place)))
		return false;
	fsworker_task_set_path(walk->task, fsworker_resolve_path(walk->place));
	return true;
}

/* Ends the walk. */
static bool fail(struct walk *walk, enum koda_fs_status status, int sys_errno)
{
	if (!complete(walk))
		return false;
	walk->task->reply.sys_errno = (uint32_t)sys_errno;
	return fsworker_task_fail(walk->task, status, "");
}

static bool fail_too_long(struct walk *walk)
{
	return fail(walk, KODA_FS_STATUS_TOO_LARGE, ENAMETOOLONG);
}

/* Ends the walk at a name in the directory that was reached. */
static bool fail_at(struct walk *walk, struct koda_span name, int sys_errno)
{
	if (!add_name(walk->place, name))
		return fail_too_long(walk);
	return complete(walk) && fsworker_task_fail_errno(walk->task, sys_errno);
}

/* Returns how much of an absolute path a root covers, or 0. */
static size_t covered(struct koda_span root, struct koda_span path)
{
	struct koda_span rest = path;
	struct koda_span want, name;

	while (koda_path_next(&root, &want) == KODA_STEP_NAME)
		if (koda_path_next(&rest, &name) != KODA_STEP_NAME || !koda_span_eq(want, name))
			return 0;
	return path.len - rest.len + 1;
}

/* Goes to the root that an absolute pending path leads to, the deepest one. */
static bool start_at_root(struct walk *walk)
{
	struct fsworker *worker = walk->task->worker;
	struct koda_span path = { walk->pending + walk->at, walk->end - walk->at };
	const struct fsworker_root *best = NULL;
	size_t most = 0;

	for (size_t i = 0; i < worker->root_count; i++) {
		size_t len = covered(worker->roots[i].path, path);

		if (len > most) {
			most = len;
			best = &worker->roots[i];
		}
	}
	if (!best) {
		fsworker_task_set_path(walk->task, path);
		return fsworker_task_fail(walk->task, KODA_FS_STATUS_OUTSIDE, "");
	}
	walk->at += most - 1;
	walk->place->root = best;
	walk->place->len = 0;
	set_dir(walk->place, best->fd, true);
	return add_name(walk->place, best->path);
}

/* Puts text in front of what is pending. */
static bool redirect(struct walk *walk, const char *text, size_t len)
{
	size_t left = walk->end - walk->at;
	size_t slash = left > 0;

	if (len + slash + left > sizeof(walk->pending))
		return fail(walk, KODA_FS_STATUS_LINK, ENAMETOOLONG);
	memmove(walk->pending + len + slash, walk->pending + walk->at, left);
	memcpy(walk->pending, text, len);
	if (slash)
		walk->pending[len] = '/';
	walk->at = 0;
	walk->end = len + slash + left;
	return text[0] != '/' || start_at_root(walk);
}

/* Goes to the directory above, by its path: the one that it is in by now may be outside. Going on
 * from a directory that may not be read would tell that it exists. */
static bool go_up(struct walk *walk)
{
	struct fsworker_place *place = walk->place;
	char above[KODA_PATH_MAX + 1];
	size_t len = place->len;

	if (!fsworker_judge_read(walk->task, fsworker_resolve_path(place)))
		return false;
	while (len > 1 && place->path[len - 1] != '/')
		len--;
	if (len > 1)
		len--;
	memcpy(above, place->path, len);
	if (is_last(walk))
		walk->wants_dir = true;
	return redirect(walk, above, len);
}

/* Reads the link behind an O_PATH descriptor and goes on with its text. */
static bool follow(struct walk *walk, struct koda_span name, int link)
{
	struct fsworker_place *place = walk->place;
	size_t before = place->len;
	char text[KODA_PATH_MAX + 1];
	ssize_t len;

	if (!add_name(place, name))
		return fail_too_long(walk);
	if (!fsworker_judge_read(walk->task, fsworker_resolve_path(place)))
		return false;
	if (++walk->links > walk->task->worker->link_depth)
		return fail(walk, KODA_FS_STATUS_LINK, ELOOP);
	len = readlinkat(link, "", text, sizeof(text));
	if (len < 0 || (size_t)len > KODA_PATH_MAX)
		return fail(walk, KODA_FS_STATUS_LINK, len < 0 ? errno : ENAMETOOLONG);
	place->len = before;
	place->path[before] = '\0';
	return redirect(walk, text, (size_t)len);
}

/* Follows a name that is no directory, if it is a link. */
static bool follow_name(struct walk *walk, struct koda_span name)
{
	koda_auto_fd int link =
		openat(walk->place->dir, walk->place->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (link < 0 || fstat(link, &st) < 0)
		return fail_at(walk, name, errno);
	if (!S_ISLNK(st.st_mode))
		return fail_at(walk, name, ENOTDIR);
	return follow(walk, name, link);
}

/* Ends the walk at the first of several names that are missing. */
static bool stop_at_missing(struct walk *walk, struct koda_span name)
{
	struct fsworker_place *place = walk->place;
	struct koda_span more;

	if (!add_name(place, name))
		return fail_too_long(walk);
	place->rest = place->len;
	while ((more = next_name(walk)).len > 0) {
		if (koda_span_is(more, ".."))
			return fail(walk, KODA_FS_STATUS_MISSING, ENOENT);
		if (more.len > KODA_NAME_MAX || !add_name(place, more))
			return fail_too_long(walk);
	}
	walk->done = true;
	return true;
}

/* Enters a directory on the way. */
static bool enter(struct walk *walk, struct koda_span name)
{
	struct fsworker_place *place = walk->place;
	int next = openat(place->dir, place->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (next < 0 && (errno == ENOTDIR || errno == ELOOP))
		return follow_name(walk, name);
	if (next < 0 && errno == ENOENT && (walk->how & FSWORKER_RESOLVE_PARENTS))
		return stop_at_missing(walk, name);
	if (next < 0)
		return fail_at(walk, name, errno);
	set_dir(place, next, false);
	return add_name(place, name) || fail_too_long(walk);
}

/* Arrives at the last name. */
static bool arrive(struct walk *walk, struct koda_span name)
{
	struct fsworker_place *place = walk->place;

	/* The text behind the last name is nothing, or slashes. */
	walk->wants_dir =
		walk->wants_dir || walk->at < walk->end || walk->pending[walk->at - 1] == '/';
	place->exists = fstatat(place->dir, place->name, &place->st, AT_SYMLINK_NOFOLLOW) == 0;
	if (!place->exists && errno != ENOENT)
		return fail_at(walk, name, errno);
	if (place->exists && S_ISLNK(place->st.st_mode) && (walk->how & FSWORKER_RESOLVE_FOLLOW)) {
		walk->at = walk->end;
		place->is_linked = true;
		return follow_name(walk, name);
	}
	if (place->exists && !S_ISDIR(place->st.st_mode) && walk->wants_dir)
		return fail_at(walk, name, ENOTDIR);
	walk->done = true;
	return add_name(place, name) || fail_too_long(walk);
}

static bool step(struct walk *walk)
{
	struct koda_span name = next_name(walk);
	struct fsworker_place *place = walk->place;

	if (++walk->steps > STEPS_MAX)
		return fail(walk, KODA_FS_STATUS_LINK, ELOOP);
	if (koda_span_is(name, ".."))
		return go_up(walk);
	if (name.len > KODA_NAME_MAX)
		return fail_too_long(walk);
	if (name.len == 0)
		name = koda_span_of(".");
	memcpy(place->name, name.ptr, name.len);
	place->name[name.len] = '\0';
	if (fsworker_resolve_is_root(place)) {
		walk->done = true;
		place->exists = fstat(place->dir, &place->st) == 0;
		return place->exists || fail(walk, KODA_FS_STATUS_SYSTEM, errno);
	}
	/* Following moves the pending text, so the name is taken from the place from here on. */
	name.ptr = place->name;
	return is_last(walk) ? arrive(walk, name) : enter(walk, name);
}

bool fsworker_resolve(struct fsworker_task *task, struct koda_span path, unsigned int how,
		      struct fsworker_place *ret_place)
{
	struct walk walk = { .task = task, .place = ret_place, .how = how };
	bool ok;

	fsworker_resolve_clear(ret_place);
	ret_place->rest = 0;
	ret_place->is_linked = false;
	memcpy(walk.pending, path.ptr, path.len);
	walk.end = path.len;
	if (path.ptr[0] == '/') {
		ok = start_at_root(&walk);
	} else {
		ret_place->root = &task->worker->roots[0];
		ret_place->len = 0;
		set_dir(ret_place, ret_place->root->fd, true);
		ok = add_name(ret_place, ret_place->root->path);
	}
	while (ok && !walk.done)
		ok = step(&walk);
	if (!ok)
		fsworker_resolve_clear(ret_place);
	return ok;
}

bool fsworker_resolve_exists(struct fsworker_task *task, const struct fsworker_place *place)
{
	fsworker_task_set_path(task, fsworker_resolve_path(place));
	if (place->exists)
		return true;
	task->reply.sys_errno = ENOENT;
	return fsworker_task_fail(
		task, place->is_linked ? KODA_FS_STATUS_LINK : KODA_FS_STATUS_MISSING, "");
}

bool fsworker_resolve_is_inside(struct fsworker_task *task, const struct fsworker_place *place)
{
	if (!fsworker_resolve_is_root(place))
		return true;
	fsworker_task_set_path(task, fsworker_resolve_path(place));
	return fsworker_task_fail(task, KODA_FS_STATUS_OUTSIDE, "");
}
