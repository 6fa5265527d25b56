/* SPDX-License-Identifier: MIT */
/*
 * T-22. The command's temporary directory, where no namespace gives it a /tmp. Its name cannot be
 * guessed, and it must not exist. The guardian makes it and takes it away; if the guardian is gone,
 * init does.
 *
 * What is in it at the end was made by the command, and can be so much that the runner does not
 * wait for the end: a process of its own removes it, and goes on when the guardian is gone. While
 * one of them lives it is locked, and so known from what is left of runs that were killed
 * (sweep.c).
 */
#include "stage2.h"

#include "sys.h"

#include <errno.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>

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
	int lock;

	if (mkdir(path, 0700) < 0)
		koda_stage2_fail("make a temporary directory", path, errno);
	mine = path;
	/* Until this process ends. Where there are no locks nobody can lock to sweep either. */
	lock = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (lock < 0 ||
	    (flock(lock, LOCK_SH | LOCK_NB) < 0 && errno != EOPNOTSUPP && errno != ENOLCK))
		koda_stage2_fail("lock the temporary directory", path, errno);
	while (koda_ops_next(plan->bytes, &at, &op))
		if (op.kind == KODA_OP_FILE)
			fill(&op);
	(void)umask(mask);
}

void koda_scratch_adopt(const struct plan *plan)
{
	mine = find(plan);
}

static void remove_all(void)
{
	int top = koda_remove_open(AT_FDCWD, mine);

	/* For when the guardian is gone, and its lock with it. Who sweeps it already may go on. */
	if (top >= 0) {
		(void)flock(top, LOCK_SH | LOCK_NB);
		koda_remove_below(top, UINT64_MAX);
	}
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
