/* SPDX-License-Identifier: MIT */
/*
 * Placeholders: a protected name that does not exist needs something to mount over, so that the
 * command cannot create it. For a name in the project that is an empty directory, which git does
 * not show; inside a git directory it is a file that git reads as if it were not there. The mode
 * is part of the plan and tells a placeholder from what someone made.
 *
 * Runs in the same project share a placeholder. Each holds a shared lock on it; whoever can get
 * the exclusive lock at the end is the last and removes it. The kernel drops the locks of whoever
 * dies, so what a killed guardian leaves is taken over, and removed, by the next run.
 */
#include "stage2.h"

#include "sys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define TRIES 100

struct hold {
	int parent; /* descriptor of the directory it is in */
	int fd;     /* locked */
	bool is_dir;
	bool ours;        /* to take away */
	const char *path; /* in the plan */
	const char *name; /* its last component */
};

static struct hold *holds;
static size_t hold_count;

/* The parent directory, reached without following any link, and the last component. */
static int open_parent(const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char parent[4096];
	size_t len = (size_t)(slash - path);

	memcpy(parent, path, len);
	parent[len] = '\0';
	*ret_name = slash + 1;
	return sys_openat2(AT_FDCWD, len ? parent : "/", O_PATH | O_DIRECTORY,
			   RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

static int create(const struct hold *hold, const struct koda_op *op)
{
	int fd;

	if (hold->is_dir)
		return mkdirat(hold->parent, hold->name, 0) < 0
			       ? -1
			       : fchmodat(hold->parent, hold->name, (mode_t)op->n2, 0);
	fd = openat(hold->parent, hold->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0444);
	if (fd < 0)
		return -1;
	if (write(fd, op->text2.ptr, op->text2.len) != (ssize_t)op->text2.len) {
		(void)close(fd);
		(void)unlinkat(hold->parent, hold->name, 0);
		errno = ENOSPC;
		return -1;
	}
	return close(fd);
}

static int open_for_lock(const struct hold *hold)
{
	int flags =
		O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (hold->is_dir ? O_DIRECTORY : 0);

	return openat(hold->parent, hold->name, flags);
}

/* What another run left or holds looks exactly like what this one would have made. */
static bool is_placeholder(const struct hold *hold, const struct koda_op *op)
{
	char contents[64];
	struct stat st;

	if (fstat(hold->fd, &st) < 0)
		return false;
	if (hold->is_dir)
		return S_ISDIR(st.st_mode) && (st.st_mode & 07777) == op->n2;
	return S_ISREG(st.st_mode) && (size_t)st.st_size == op->text2.len &&
	       op->text2.len <= sizeof(contents) &&
	       pread(hold->fd, contents, op->text2.len, 0) == (ssize_t)op->text2.len &&
	       memcmp(contents, op->text2.ptr, op->text2.len) == 0;
}

/* Is name still the object behind fd? */
static bool is_still(const struct hold *hold)
{
	struct stat by_name;
	struct stat by_fd;

	return fstat(hold->fd, &by_fd) == 0 &&
	       fstatat(hold->parent, hold->name, &by_name, AT_SYMLINK_NOFOLLOW) == 0 &&
	       by_fd.st_dev == by_name.st_dev && by_fd.st_ino == by_name.st_ino;
}

static void hold_one(struct hold *hold, const struct koda_op *op)
{
	const char *path = op->text1.ptr;

	hold->path = path;
	hold->is_dir = op->kind == KODA_OP_HOLD_DIR;
	hold->parent = open_parent(path, &hold->name);
	if (hold->parent < 0)
		stage2_fail("open the directory of a protected name", path, errno);
	for (int i = 0; i < TRIES; i++) {
		if (create(hold, op) < 0 && errno != EEXIST)
			stage2_fail("reserve a protected name", path, errno);
		hold->fd = open_for_lock(hold);
		if (hold->fd < 0 && errno == ENOENT)
			continue; /* another run ended between the two calls */
		if (hold->fd < 0)
			stage2_fail("open a reserved name", path, errno);
		if (flock(hold->fd, LOCK_SH) < 0)
			stage2_fail("lock a reserved name", path, errno);
		if (is_still(hold)) {
			if (!is_placeholder(hold, op))
				stage2_fail("a protected name appeared meanwhile", path, EEXIST);
			return;
		}
		(void)close(hold->fd);
	}
	stage2_fail("a protected name keeps changing", path, EAGAIN);
}

void hold_all(const struct plan *plan)
{
	struct koda_op op;
	size_t count = 0;
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, &op))
		count += op.kind == KODA_OP_HOLD_DIR || op.kind == KODA_OP_HOLD_FILE;
	if (count == 0)
		return;
	holds = calloc(count, sizeof(*holds));
	if (!holds)
		stage2_fail("out of memory", "", ENOMEM);
	/* A failure on the way must undo what is already there. */
	for (at = 0; koda_ops_next(plan->bytes, &at, &op);)
		if (op.kind == KODA_OP_HOLD_DIR || op.kind == KODA_OP_HOLD_FILE)
			hold_one(&holds[hold_count++], &op);
}

/* A directory that has become someone's stays, with the mode it would have had. */
static void give_back(const struct hold *hold)
{
	if (unlinkat(hold->parent, hold->name, hold->is_dir ? AT_REMOVEDIR : 0) < 0 &&
	    hold->is_dir && errno == ENOTEMPTY)
		(void)fchmod(hold->fd, 0755);
}

/* Is nobody else using it? Letting go of the shared lock before asking for the exclusive one means
 * that of several runs that end together, one always gets it. */
static bool is_last(const struct hold *hold)
{
	return flock(hold->fd, LOCK_UN) == 0 && flock(hold->fd, LOCK_EX | LOCK_NB) == 0 &&
	       is_still(hold);
}

/* The placeholder that this one was made in, or NULL. */
static const struct hold *passage_of(const struct hold *hold)
{
	size_t len = (size_t)(hold->name - hold->path) - 1;

	for (const struct hold *above = holds; above < hold; above++)
		if (strlen(above->path) == len && memcmp(above->path, hold->path, len) == 0)
			return above;
	return NULL;
}

/* Whoever holds something inside a passage holds the passage too, so the last one there may take
 * all of it away. Decided from the top, done from the bottom. */
void hold_undo(void)
{
	for (size_t i = 0; i < hold_count; i++) {
		const struct hold *passage = passage_of(&holds[i]);

		holds[i].ours = passage ? passage->ours : is_last(&holds[i]);
	}
	while (hold_count > 0) {
		struct hold *hold = &holds[--hold_count];

		if (hold->ours)
			give_back(hold);
		(void)close(hold->fd);
		(void)close(hold->parent);
	}
}
