/* SPDX-License-Identifier: MIT */
/*
 * T-32. Placeholders: a protected name that does not exist needs something to mount over, so that
 * the command cannot create it. Usually that is a dead socket (wire/hold.h); inside a git directory
 * it is a file that git reads as if it were not there.
 *
 * Runs in the same project share placeholders. Each holds a shared lock on the directory they are
 * in; whoever can get the exclusive lock at the end is the last and removes them. The kernel drops
 * the locks of whoever dies, so what a killed guardian leaves is taken over, and removed, by the
 * next run.
 */
#include "stage2.h"

#include "sys.h"
#include "wire/hold.h"
#include "wire/report.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

/* How long a directory may be kept locked by others: ten seconds. */
#define LOCK_WAIT_MS 2
#define LOCK_TRIES   5000

struct hold {
	struct koda_op op; /* borrowed from the plan */
	const char *name;  /* last component of its path */
	int parent;        /* locked; shared by neighbours */
	bool made;         /* is there, and not something else */
};

static struct hold *holds;
static size_t hold_count;
/* Looking at a placeholder takes a descriptor, also when reserving has used up all others. */
static int spare = -1;

static bool is_hold(const struct koda_op *op)
{
	return op->kind == KODA_OP_HOLD || op->kind == KODA_OP_HOLD_FILE;
}

static size_t parent_len(const struct hold *hold)
{
	return (size_t)(hold->name - hold->op.text1.ptr) - 1;
}

/* Somebody who removes placeholders holds the lock for a moment. A command of another sandbox that
 * can read the directory can hold it longer, but not for ever, and not against the runner's will.
 */
static void lock_shared(int fd, const char *path)
{
	struct pollfd life = { .fd = KODA_STAGE2_LIFE_FD, .events = 0 };

	for (int tries = 0; flock(fd, LOCK_SH | LOCK_NB) < 0; tries++) {
		if (errno != EWOULDBLOCK)
			koda_stage2_fail("lock the directory of a protected name", path, errno);
		if (tries == LOCK_TRIES)
			koda_stage2_fail("somebody keeps the directory locked", path, EBUSY);
		/* Only its end is waited for: messages keep. */
		if (poll(&life, 1, LOCK_WAIT_MS) > 0 && (life.revents & (POLLHUP | POLLERR)))
			koda_stage2_fail("the runner is gone", "", 0);
	}
}

/* The directory, reached without following any link, and locked. */
static int lock_parent(const struct hold *hold)
{
	const char *path = hold->op.text1.ptr;
	size_t len = parent_len(hold);
	char parent[4096];
	int fd;

	for (const struct hold *before = holds; before < hold; before++)
		if (parent_len(before) == len && memcmp(before->op.text1.ptr, path, len) == 0)
			return before->parent;
	memcpy(parent, path, len);
	parent[len] = '\0';
	fd = sys_openat2(AT_FDCWD, len ? parent : "/", O_RDONLY | O_DIRECTORY,
			 RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	if (fd < 0)
		koda_stage2_fail("open the directory of a protected name", path, errno);
	lock_shared(fd, path);
	return fd;
}

/* Is what is there what this run would have made? Another run may still be writing it. What the
 * planner of another run would take for somebody's file must not be taken for ours: that run holds
 * no lock for it, and is protected by its being there. */
static bool is_placeholder(const struct hold *hold)
{
	size_t len = hold->op.text2.len;
	char contents[16];
	struct stat st;
	ssize_t n;
	int fd;

	if (fstatat(hold->parent, hold->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	/* The planner takes a node for nothing, wherever it is. */
	if (koda_hold_is_node(st.st_mode))
		return true;
	if (hold->op.kind == KODA_OP_HOLD)
		return false;
	if (!koda_hold_is_file_mode(st.st_mode) || (size_t)st.st_size > len ||
	    len >= sizeof(contents))
		return false;
	if (st.st_size == 0)
		return true;
	fd = openat(hold->parent, hold->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, contents, sizeof(contents));
	(void)close(fd);
	return n >= 0 && (size_t)n <= len && memcmp(contents, hold->op.text2.ptr, (size_t)n) == 0;
}

/* Of the same directory only: whoever can exchange the one can also make the other. */
static bool is_alike(const struct hold *a, const struct hold *b)
{
	return a->parent == b->parent && a->op.kind == b->op.kind &&
	       !((a->op.flags | b->op.flags) & KODA_OP_ALONE) &&
	       a->op.text2.len == b->op.text2.len &&
	       memcmp(a->op.text2.ptr, b->op.text2.ptr, a->op.text2.len) == 0;
}

/* A further name for what is already there. Another inode costs more, and on ext4 more with every
 * one that was removed in the last minutes: those are passed over one by one. */
static int create_name(const struct hold *hold)
{
	for (const struct hold *before = hold; before-- > holds;) {
		if (!is_alike(before, hold))
			continue;
		if (linkat(before->parent, before->name, hold->parent, hold->name, 0) == 0) {
			if (is_placeholder(hold))
				return 0;
			(void)unlinkat(hold->parent, hold->name, 0);
			errno = EEXIST; /* in its place */
		}
		if (errno == EEXIST)
			return -1;
	}
	errno = ENOENT;
	return -1;
}

/* Some file systems have modes of their own. There it would be taken for somebody's, and stay. */
static int give_mode(int fd)
{
	struct stat st;

	if (fchmod(fd, KODA_HOLD_FILE_MODE) < 0 || fstat(fd, &st) < 0)
		return -1;
	if ((st.st_mode & 07777) == KODA_HOLD_FILE_MODE)
		return 0;
	errno = ENOTSUP;
	return -1;
}

static int create_file(const struct hold *hold)
{
	int fd = openat(hold->parent, hold->name,
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, KODA_HOLD_FILE_MODE);
	int failure = 0;
	ssize_t n = -1;

	if (fd < 0)
		return -1;
	if (give_mode(fd) == 0)
		n = write(fd, hold->op.text2.ptr, hold->op.text2.len);
	if (n != (ssize_t)hold->op.text2.len)
		failure = n < 0 ? errno : ENOSPC;
	(void)close(fd);
	if (failure == 0)
		return 0;
	(void)unlinkat(hold->parent, hold->name, 0);
	errno = failure;
	return -1;
}

static int create(const struct hold *hold)
{
	if (create_name(hold) == 0)
		return 0;
	if (errno == EEXIST)
		return -1;
	return hold->op.kind == KODA_OP_HOLD ? mknodat(hold->parent, hold->name, KODA_HOLD_NODE, 0)
					     : create_file(hold);
}

static void hold_one(struct hold *hold)
{
	const char *path = hold->op.text1.ptr;

	hold->parent = lock_parent(hold);
	hold->made = create(hold) == 0;
	if (!hold->made && errno != EEXIST)
		koda_stage2_fail("reserve a protected name", path, errno);
	if (!hold->made && !is_placeholder(hold))
		koda_stage2_fail("a protected name appeared meanwhile", path, EEXIST);
	hold->made = true;
}

void koda_hold_all(const struct plan *plan)
{
	struct koda_op op;
	size_t count = 0;
	size_t at = 0;
	mode_t mask;

	while (koda_ops_next(plan->bytes, &at, &op))
		count += is_hold(&op);
	if (count == 0)
		return;
	spare = open("/", O_PATH | O_CLOEXEC);
	if (spare < 0)
		koda_stage2_fail("keep a descriptor", "", errno);
	mask = umask(0); /* modes are exact */
	holds = calloc(count, sizeof(*holds));
	if (!holds)
		koda_stage2_fail("out of memory", "", ENOMEM);
	for (at = 0; koda_ops_next(plan->bytes, &at, &op);) {
		if (!is_hold(&op))
			continue;
		holds[hold_count].op = op;
		holds[hold_count].name = strrchr(op.text1.ptr, '/') + 1;
		hold_one(&holds[hold_count++]);
	}
	(void)umask(mask); /* the command's own */
}

/* What it takes to remove something from a directory of one's own. */
#define OPEN_MODE 0300

/* A command may have closed the directory. What is ours goes all the same, and the mode is as the
 * command left it. False if it was open. */
static bool open_parent(int parent, struct stat *ret_was)
{
	return fstat(parent, ret_was) == 0 && ret_was->st_uid == geteuid() &&
	       (ret_was->st_mode & OPEN_MODE) != OPEN_MODE &&
	       fchmod(parent, (ret_was->st_mode & 07777) | OPEN_MODE) == 0;
}

static void remove_in(int parent)
{
	for (size_t i = hold_count; i-- > 0;) {
		struct hold *hold = &holds[i];

		if (hold->parent != parent || !hold->made)
			continue;
		if (is_placeholder(hold))
			(void)unlinkat(parent, hold->name, 0);
		hold->made = false;
	}
}

/* Removes what is in the directory, if nobody else has it locked. Letting go of the shared lock
 * before asking for the exclusive one means that of several runs that end together, one always gets
 * it. */
static bool undo_in(int parent, bool wait)
{
	struct stat was;
	bool opened;

	if (flock(parent, LOCK_UN) < 0 || flock(parent, LOCK_EX | (wait ? 0 : LOCK_NB)) < 0)
		return false;
	opened = open_parent(parent, &was);
	remove_in(parent);
	if (opened)
		(void)fchmod(parent, was.st_mode & 07777);
	/* The descriptor may be shared with the process that stays. */
	(void)flock(parent, LOCK_UN);
	return true;
}

/* True if nothing is left to remove. */
static bool undo_all(bool wait)
{
	bool done = true;

	for (size_t i = 0; i < hold_count; i++)
		if (holds[i].made && !undo_in(holds[i].parent, wait))
			done = false;
	return done;
}

/* If others have a directory locked, they are runs that go on, which need the placeholders, or a
 * command of another sandbox that only wants them left behind. A process waits for whoever it is,
 * and holds no lock meanwhile. */
void koda_hold_undo(void)
{
	if (spare >= 0)
		(void)close(spare);
	if (undo_all(false) || fork() != 0)
		return;
	(void)close(KODA_STAGE2_STATUS_FD);
	(void)close(KODA_STAGE2_LIFE_FD);
	(void)undo_all(true);
	_exit(0);
}
