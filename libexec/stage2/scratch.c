/* SPDX-License-Identifier: MIT */
/*
 * T-22. The command's temporary directory, where no namespace gives it a /tmp. Its name cannot be
 * guessed, and it must not exist. The guardian makes it and takes it away; if the guardian is gone,
 * init does.
 *
 * What is in it at the end was made by the command: as deep and as closed as it liked. So
 * directories are moved up to the top before they are emptied, and nothing here recurses. It can
 * also be so much that the runner does not wait for the end: a process of its own removes it, and
 * goes on when the guardian is gone.
 */
#include "stage2.h"

#include "sys.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Directories that are emptied; a command that makes more leaves some. */
#define DIRS_MAX 1000000

/* How long the removal is waited for, so that after most commands nothing is left. */
#define PATIENCE_MS 1000

static const char *mine; /* borrowed from the plan; NULL: there is none */

static void fill(const struct koda_op *op)
{
	int fd = open(op->text1.ptr, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		      (mode_t)op->n1);

	if (fd < 0 || write(fd, op->text2.ptr, op->text2.len) != (ssize_t)op->text2.len)
		koda_stage2_fail("fill the temporary directory", op->text1.ptr, errno);
	(void)close(fd);
}

static const char *find(const struct plan *plan)
{
	struct koda_op op;
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, &op))
		if (op.kind == KODA_OP_SCRATCH)
			return op.text1.ptr;
	koda_stage2_fail("the plan is for another backend", "", 0);
}

void koda_scratch_make(const struct plan *plan)
{
	const char *path = find(plan);
	mode_t mask = umask(0); /* the modes are ours to choose; the user's mask is the command's */
	struct koda_op op;
	size_t at = 0;

	if (mkdir(path, 0700) < 0)
		koda_stage2_fail("make a temporary directory", path, errno);
	mine = path;
	while (koda_ops_next(plan->bytes, &at, &op))
		if (op.kind == KODA_OP_FILE)
			fill(&op);
	(void)umask(mask);
}

void koda_scratch_adopt(const struct plan *plan)
{
	mine = find(plan);
}

static bool is_name(const char *name)
{
	return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* A stream over a directory that nobody else uses any more, whatever its mode was. */
static DIR *open_dir(int at, const char *name)
{
	int fd;
	DIR *dir;

	(void)!fchmodat(at, name, 0700, 0);
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir && fd >= 0)
		(void)close(fd);
	return dir;
}

/* Empties a directory directly below top: files go, directories move up. */
static void empty(int top, const char *name, unsigned int *moved)
{
	DIR *dir = open_dir(top, name);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char up[32];

		if (!is_name(entry->d_name) || unlinkat(dirfd(dir), entry->d_name, 0) == 0)
			continue;
		(void)!fchmodat(dirfd(dir), entry->d_name, 0700, 0);
		(void)snprintf(up, sizeof(up), ".koda-up-%u", (*moved)++);
		if (unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR) < 0)
			(void)renameat(dirfd(dir), entry->d_name, top, up);
	}
	if (dir)
		(void)closedir(dir);
}

/* One look through the top; false if nothing is left. */
static bool clear_top(DIR *top, unsigned int *moved)
{
	const struct dirent *entry;
	bool left = false;

	rewinddir(top);
	while ((entry = readdir(top))) {
		if (!is_name(entry->d_name) || unlinkat(dirfd(top), entry->d_name, 0) == 0)
			continue;
		left = true;
		empty(dirfd(top), entry->d_name, moved);
		(void)unlinkat(dirfd(top), entry->d_name, AT_REMOVEDIR);
	}
	return left;
}

static void remove_all(void)
{
	unsigned int moved = 0;
	DIR *top = open_dir(AT_FDCWD, mine);

	for (unsigned int before = 1; top && before != moved && moved < DIRS_MAX;) {
		before = moved;
		if (!clear_top(top, &moved))
			break;
	}
	if (top)
		(void)closedir(top);
	(void)rmdir(mine);
}

void koda_scratch_remove(void)
{
	struct pollfd polled = { .events = POLLIN };
	pid_t pid;

	if (!mine || (rmdir(mine) == 0 || errno == ENOENT))
		return;
	pid = fork();
	if (pid <= 0) {
		/* Nobody is to wait for what it has to close. */
		if (pid == 0)
			(void)syscall(SYS_close_range, 3, ~0U, 0);
		remove_all();
		if (pid == 0)
			_exit(0);
		return;
	}
	polled.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	(void)poll(&polled, 1, PATIENCE_MS);
	if (polled.fd >= 0)
		(void)close(polled.fd);
}
