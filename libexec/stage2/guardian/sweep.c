/* SPDX-License-Identifier: MIT */
/*
 * T-84. Removes what killed runs and unused projects have left: temporary directories of the
 * landlock backend, copies of package caches, placeholders that another process kept locked
 * (handover.c), and directories in the store (store.c). A run holds a lock on its own, which the
 * kernel drops when it dies. Only what is unlocked, old and owned by the user is removed, and no
 * link is followed.
 *
 * A child process sweeps beside a command that takes longer than STAGE2_SWEEP_AFTER_MS, and ends
 * with the guardian, so short commands never wait for it. The next sweep goes on where one was cut
 * short.
 */
#include "guardian/sweep.h"

#include "guardian/clock.h"
#include "guardian/handover.h"
#include "guardian/remove.h"
#include "guardian/store.h"
#include "sys.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define EXAMINED_MAX 4096 /* entries that one sweep examines */
#define REMOVED_MAX  16
#define SWEEP_MS     5000
#define LAST_MS      500
/* How long the end of a process takes after SIGKILL. */
#define KILLED_MS 100
/* A run that has just made its directory is about to lock it. */
#define SCRATCH_SECONDS 60
/* Copies that no run has used for so long are removed. */
#define COPY_SECONDS (30L * 24 * 60 * 60)

#define SCRATCH_NAME   "/koda-"
#define SCRATCH_DIGITS 32
/* Where the copies of all projects are (run/project/cache.c), and how deep a slot can be below: a
 * path in pieces, the cache, the slot. */
#define CACHES       "/koda/caches/"
#define CACHES_DEPTH 128

static const struct plan *sweep_plan;
static pid_t sweeper;
static bool has_started;
static uint64_t until_ms;
static int examined;
static int removed;

static bool may_continue(void)
{
	return examined++ < EXAMINED_MAX && removed < REMOVED_MAX && stage2_clock_now() < until_ms;
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

/* Opens and locks the directory that was examined. Returns -1 if it was replaced, is another
 * user's, or is locked. */
static int open_locked(int at, const char *name, const struct stat *examined_st)
{
	int fd = stage2_remove_open(at, name);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && st.st_dev == examined_st->st_dev &&
	    st.st_ino == examined_st->st_ino && flock(fd, LOCK_EX | LOCK_NB) == 0)
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
	/* stage2_remove_below closes its descriptor; fd keeps the lock until the name is gone. */
	stage2_remove_below(fcntl(fd, F_DUPFD_CLOEXEC, 3), until_ms);
	if (unlinkat(at, name, AT_REMOVEDIR) == 0)
		removed++;
}

/* Returns true for "koda-" and digits, as the runner chooses them (run/backend/scratch.c). */
static bool is_scratch(const char *name)
{
	size_t start = strlen(SCRATCH_NAME) - 1;

	return strncmp(name, &SCRATCH_NAME[1], start) == 0 &&
	       strspn(name + start, "0123456789abcdef") == SCRATCH_DIGITS &&
	       name[start + SCRATCH_DIGITS] == '\0';
}

/* Opens the directory at the first len bytes of a path, following no link. */
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

static void sweep_scratch(const char *own_scratch)
{
	DIR *dir = open_start(own_scratch, (size_t)(strrchr(own_scratch, '/') - own_scratch));
	const struct dirent *entry;

	while (dir && may_continue() && (entry = readdir(dir))) {
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

	/* Mounting an overlay makes an entry in the work directory, and the end removes it, so its
	 * time tells the last use. A slot without one is half swept. */
	(void)snprintf(work, sizeof(work), "%.16s/work", name);
	if (fstatat(at, work, &used, AT_SYMLINK_NOFOLLOW) < 0)
		used = *st;
	fd = is_old(&used, COPY_SECONDS) ? open_locked(at, name, st) : -1;
	if (fd < 0)
		return;
	remove_locked(at, name, fd);
	(void)close(fd);
}

/* Sweeps every slot below, and removes directories that are empty then. */
/* NOLINTNEXTLINE(misc-no-recursion): bounded by deep */
static void sweep_copies(DIR *dir, int depth)
{
	const struct dirent *entry;

	while (dir && may_continue() && (entry = readdir(dir))) {
		const char *name = entry->d_name;
		struct stat st;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
		    !is_own_dir(dirfd(dir), name, &st))
			continue;
		if (is_slot(name)) {
			sweep_slot(dirfd(dir), name, &st);
		} else if (depth > 0) {
			sweep_copies(
				open_names(openat(dirfd(dir), name,
						  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)),
				depth - 1);
			/* One that a run has just made is about to be used. */
			if (is_old(&st, COPY_SECONDS))
				(void)unlinkat(dirfd(dir), name, AT_REMOVEDIR);
		}
	}
	if (dir)
		(void)closedir(dir);
}

static void sweep_caches(const char *store)
{
	const char *last = NULL;

	/* The path of the state directory may contain this name, too; a project's part has no
	 * slash. */
	for (const char *found = strstr(store, CACHES); found; found = strstr(found + 1, CACHES))
		last = found;
	if (last)
		sweep_copies(open_start(store, (size_t)(last - store) + strlen(CACHES) - 1),
			     CACHES_DEPTH);
}

static _Noreturn void sweep(void)
{
	struct koda_op op;
	size_t at = 0;
	bool stored = false;

	until_ms = stage2_clock_now() + SWEEP_MS;
	while (koda_ops_next(sweep_plan->bytes, &at, &op)) {
		if (op.kind == KODA_OP_SCRATCH)
			sweep_scratch(op.text1.ptr);
		if (op.kind == KODA_OP_STORE)
			stage2_store_sweep(op.text1.ptr, until_ms);
		/* All caches of a project are in one store. */
		if (op.kind == KODA_OP_OVERLAY && !stored) {
			sweep_caches(op.text2.ptr);
			stored = true;
		}
		if (op.kind == KODA_OP_JOURNAL)
			stage2_handover_sweep(until_ms);
	}
	_exit(0);
}

void stage2_sweep_use(const struct plan *plan)
{
	struct koda_op op;
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, &op))
		if (op.kind == KODA_OP_SCRATCH || op.kind == KODA_OP_OVERLAY ||
		    op.kind == KODA_OP_JOURNAL || op.kind == KODA_OP_STORE)
			sweep_plan = plan; /* else there is nothing to sweep */
}

/* Forks a process that keeps no descriptor of the run open, and ends with the guardian. Returns its
 * pid, and 0 in it. */
static pid_t start(void)
{
	pid_t guardian = getpid();
	pid_t pid = fork();

	if (pid == 0 && (syscall(SYS_close_range, 3, ~0U, 0) < 0 ||
			 prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != guardian))
		_exit(1);
	return pid;
}

void stage2_sweep_start(void)
{
	if (!sweep_plan || sweeper > 0)
		return;
	has_started = true;
	sweeper = start();
	if (sweeper == 0)
		sweep();
}

/* Waits up to ms milliseconds for a process. Returns false if it has not ended. */
static bool reap(pid_t pid, uint64_t ms)
{
	struct pollfd ended = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	int n = ended.fd < 0 ? 0 : poll(&ended, 1, (int)ms);

	if (ended.fd >= 0)
		(void)close(ended.fd);
	return n > 0 && waitpid(pid, NULL, WNOHANG) == pid;
}

/* The process is not reaped yet, so the pid is still its own. If no signal interrupts the call it
 * is in, the kernel ends it when that returns. */
static void stop(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	(void)reap(pid, KILLED_MS);
}

void stage2_sweep_stop(void)
{
	if (sweeper > 0)
		stop(sweeper);
	sweeper = 0;
}

/* In a child process: the directories are other projects', and opening one can block on its file
 * system. */
void stage2_sweep_last(void)
{
	uint64_t now = stage2_clock_now();
	uint64_t left;
	pid_t pid;

	if (!has_started || now >= stage2_clock_deadline())
		return;
	left = stage2_clock_deadline() - now;
	if (left > LAST_MS)
		left = LAST_MS;
	pid = start();
	if (pid == 0) {
		stage2_handover_sweep(now + left);
		_exit(0);
	}
	if (pid > 0 && !reap(pid, left))
		stop(pid);
}
