/* SPDX-License-Identifier: MIT */
/*
 * T-84. What is left of runs that were killed whole, and of projects that nobody works on any more:
 * temporary directories where there are no namespaces, and copies of package caches. Whoever lives
 * has a lock on his, which the kernel drops with him; only what is unlocked, old and the user's own
 * goes, and no link is followed to anything.
 *
 * A process of its own does it, beside a command that takes its time; it ends with the guardian.
 * Short commands never wait for it. A sweep that is cut short is gone on with by another.
 */
#include "stage2.h"

#include "sys.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define LOOKS_MAX   4096 /* entries that are looked at */
#define REMOVED_MAX 16
#define SWEEP_MS    5000
/* A run that has just made its directory is about to lock it. */
#define SCRATCH_SECONDS 60
/* A copy that nobody used for so long only takes room. */
#define COPY_SECONDS (30L * 24 * 60 * 60)

#define SCRATCH_NAME   "/koda-"
#define SCRATCH_DIGITS 32
/* Where the copies of all projects are (run/cache.c), and how deep a slot can be below it: a path
 * in pieces, the cache, the slot. */
#define STORE      "/koda/caches/"
#define STORE_DEEP 128

static const struct plan *swept;
static pid_t sweeper;
static uint64_t until_ms;
static int looks;
static int removed;

static bool goes_on(void)
{
	return looks++ < LOOKS_MAX && removed < REMOVED_MAX && koda_remove_now() < until_ms;
}

static DIR *open_names(int fd)
{
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		(void)close(fd);
	return dir;
}

static bool is_own_dir(int at, const char *name, struct stat *ret_st)
{
	return fstatat(at, name, ret_st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(ret_st->st_mode) &&
	       ret_st->st_uid == geteuid();
}

/* The directory that was looked at, locked; -1 if it is another by now, or somebody's. */
static int open_locked(int at, const char *name, const struct stat *looked)
{
	int fd = koda_remove_open(at, name);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && st.st_dev == looked->st_dev &&
	    st.st_ino == looked->st_ino && flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

static bool is_old(const struct stat *st, long seconds)
{
	return st->st_mtime < time(NULL) - seconds;
}

static void remove_locked(int at, const char *name, int fd)
{
	/* It closes the descriptor it is given; the lock stays until the name is gone. */
	koda_remove_below(fcntl(fd, F_DUPFD_CLOEXEC, 3), until_ms);
	if (unlinkat(at, name, AT_REMOVEDIR) == 0)
		removed++;
}

/* "koda-" and digits, as the runner chooses it (run/scratch.c). */
static bool is_scratch(const char *name)
{
	size_t start = strlen(SCRATCH_NAME) - 1;

	return strncmp(name, &SCRATCH_NAME[1], start) == 0 &&
	       strspn(name + start, "0123456789abcdef") == SCRATCH_DIGITS &&
	       name[start + SCRATCH_DIGITS] == '\0';
}

/* The directory at the first len bytes of a path, by which no link leads. */
static DIR *open_start(const char *path, size_t len)
{
	char start[4096];

	if (len == 0 || len >= sizeof(start))
		return NULL;
	memcpy(start, path, len);
	start[len] = '\0';
	return open_names(sys_openat2(AT_FDCWD, start, O_RDONLY | O_DIRECTORY,
				      RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS));
}

static void sweep_scratch(const char *mine)
{
	DIR *dir = open_start(mine, (size_t)(strrchr(mine, '/') - mine));
	const struct dirent *entry;

	while (dir && goes_on() && (entry = readdir(dir))) {
		struct stat st;
		int fd;

		if (!is_scratch(entry->d_name) || !is_own_dir(dirfd(dir), entry->d_name, &st) ||
		    !is_old(&st, SCRATCH_SECONDS))
			continue;
		fd = open_locked(dirfd(dir), entry->d_name, &st);
		if (fd < 0)
			continue;
		remove_locked(dirfd(dir), entry->d_name, fd);
		(void)close(fd);
	}
	if (dir)
		(void)closedir(dir);
}

static bool is_slot(const char *name)
{
	return name[strspn(name, "0123456789")] == '\0';
}

static void sweep_slot(int at, const char *name, const struct stat *st)
{
	struct stat used = *st;
	char work[64];
	int fd;

	/* Mounting it makes something in its work directory, and the end takes that away. Without
	 * one it is half swept already. */
	(void)snprintf(work, sizeof(work), "%.16s/work", name);
	if (fstatat(at, work, &used, AT_SYMLINK_NOFOLLOW) < 0)
		used = *st;
	fd = is_old(&used, COPY_SECONDS) ? open_locked(at, name, st) : -1;
	if (fd < 0)
		return;
	remove_locked(at, name, fd);
	(void)close(fd);
}

/* Every slot below; directories that are empty afterwards go, too. */
/* NOLINTNEXTLINE(misc-no-recursion): bounded by deep */
static void sweep_copies(DIR *dir, int deep)
{
	const struct dirent *entry;

	while (dir && goes_on() && (entry = readdir(dir))) {
		const char *name = entry->d_name;
		struct stat st;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
		    !is_own_dir(dirfd(dir), name, &st))
			continue;
		if (is_slot(name)) {
			sweep_slot(dirfd(dir), name, &st);
		} else if (deep > 0) {
			sweep_copies(
				open_names(openat(dirfd(dir), name,
						  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)),
				deep - 1);
			/* One that a run has just made is about to be used. */
			if (is_old(&st, COPY_SECONDS))
				(void)unlinkat(dirfd(dir), name, AT_REMOVEDIR);
		}
	}
	if (dir)
		(void)closedir(dir);
}

static void sweep_store(const char *store)
{
	const char *last = NULL;

	/* The state directory's own path may have such a name in it; a project's has no slash. */
	for (const char *found = strstr(store, STORE); found; found = strstr(found + 1, STORE))
		last = found;
	if (last)
		sweep_copies(open_start(store, (size_t)(last - store) + strlen(STORE) - 1),
			     STORE_DEEP);
}

static _Noreturn void sweep(void)
{
	struct koda_op op;
	size_t at = 0;
	bool stored = false;

	until_ms = koda_remove_now() + SWEEP_MS;
	while (koda_ops_next(swept->bytes, &at, &op)) {
		if (op.kind == KODA_OP_SCRATCH)
			sweep_scratch(op.text1.ptr);
		/* All caches of a project are in one store. */
		if (op.kind == KODA_OP_OVERLAY && !stored) {
			sweep_store(op.text2.ptr);
			stored = true;
		}
	}
	_exit(0);
}

void koda_sweep_for(const struct plan *plan)
{
	struct koda_op op;
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, &op))
		if (op.kind == KODA_OP_SCRATCH || op.kind == KODA_OP_OVERLAY)
			swept = plan; /* else there is nowhere to look */
}

void koda_sweep_start(void)
{
	pid_t guardian = getpid();

	if (!swept || sweeper > 0)
		return;
	sweeper = fork();
	if (sweeper != 0)
		return;
	/* It has no part in the run: nobody is to wait for these to close, nor for it. */
	if (syscall(SYS_close_range, 3, ~0U, 0) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != guardian)
		_exit(1);
	sweep();
}

void koda_sweep_stop(void)
{
	if (sweeper <= 0)
		return;
	/* Not reaped before, so the number is still its own. */
	(void)kill(sweeper, SIGKILL);
	while (waitpid(sweeper, NULL, 0) < 0 && errno == EINTR)
		;
	sweeper = 0;
}
