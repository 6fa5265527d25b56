/* SPDX-License-Identifier: MIT */
/*
 * T-22. The command's temporary directory, where no namespace gives it a /tmp. Its name cannot be
 * guessed, and it must not exist. The guardian makes and removes it; if the guardian is gone, init
 * removes it.
 *
 * The command may have made more in it than can be removed while the runner waits: the rest is left
 * to a sweep. It is locked while the guardian or init runs, so that a sweep does not take it for
 * one of a run that has ended (sweep.c).
 */
#include "landlock/scratch.h"

#include "fail.h"
#include "guardian/clock.h"
#include "guardian/remove.h"
#include "sys.h"

#include <errno.h>
#include <sys/file.h>
#include <sys/stat.h>

static const char *scratch_path; /* borrowed from the plan; NULL: not made */

static void fill(const struct koda_op *op)
{
	int fd = open(op->text1.ptr, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		      (mode_t)op->n1);

	if (fd < 0 || write(fd, op->text2.ptr, op->text2.len) != (ssize_t)op->text2.len)
		stage2_fail(KODA_LAUNCH_SCRATCH_FILL, op->text1.ptr, errno);
	(void)close(fd);
}

static const char *find(const struct plan *plan)
{
	struct koda_op op;
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, &op))
		if (op.kind == KODA_OP_SCRATCH)
			return op.text1.ptr;
	stage2_fail(KODA_LAUNCH_PLAN_BACKEND, "", 0);
}

void stage2_scratch_make(const struct plan *plan)
{
	const char *path = find(plan);
	mode_t mask = umask(0); /* the plan's modes are exact; the command inherits the umask */
	struct koda_op op;
	size_t at = 0;
	int lock;

	if (mkdir(path, 0700) < 0)
		stage2_fail(KODA_LAUNCH_SCRATCH_MAKE, path, errno);
	scratch_path = path;
	/* Kept until this process ends. Where the file system has no locks a sweep cannot lock it
	 * either. */
	lock = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (lock < 0 ||
	    (flock(lock, LOCK_SH | LOCK_NB) < 0 && errno != EOPNOTSUPP && errno != ENOLCK))
		stage2_fail(KODA_LAUNCH_SCRATCH_LOCK, path, errno);
	while (koda_ops_next(plan->bytes, &at, &op))
		if (op.kind == KODA_OP_FILE)
			fill(&op);
	(void)umask(mask);
}

void stage2_scratch_adopt(const struct plan *plan)
{
	scratch_path = find(plan);
}

void stage2_scratch_remove(void)
{
	int top;

	if (!scratch_path || (rmdir(scratch_path) == 0 || errno == ENOENT))
		return;
	top = stage2_remove_open(AT_FDCWD, scratch_path);
	/* The guardian's lock may have ended with it. If a sweep has the lock, both remove. */
	if (top >= 0) {
		(void)flock(top, LOCK_SH | LOCK_NB);
		stage2_remove_below(top, stage2_clock_deadline());
	}
	(void)rmdir(scratch_path);
}
