/* SPDX-License-Identifier: MIT */
/*
 * T-38. The end of a tree of processes that no namespace holds together. Guardian and init are
 * subreapers: whoever's parent is gone, by a double fork or otherwise, becomes their child, so that
 * no children means no descendants. And each is the outermost process of a Landlock domain that
 * signals do not leave: for them "everybody" (kill -1) is everything below, all at once, and a fork
 * cannot slip through. Where Landlock knows no signals, descendants are looked for and killed until
 * there are none.
 */
#include "stage2.h"

#include "sys.h"
#include "wire/report.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

/* Waiting doubles from here up to there, and ends after so many seconds, whatever the rounds took:
 * the runner does not wait much longer for the guardian, which has to tidy up after it. */
#define PAUSE_NS     50000L
#define PAUSE_MAX_NS 50000000L
#define END_SECONDS  3

#define DESCENDANTS_MAX ((size_t)1 << 20)

static bool scoped;     /* signals stay below, which has been tried */
static uint64_t others; /* processes of this user that are none of the command's */

struct list {
	pid_t *pids; /* owned */
	size_t count;
	size_t cap;
	bool cut; /* there are more, or there may be */
};

/* Where the kernel does not tell who is below whom, nobody could be counted, nor found and ended.
 */
static void check_proc(void)
{
	char path[64];
	char text[16];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text)) < 0)
		koda_stage2_fail("list child processes by", path, errno);
	(void)close(fd);
}

void koda_family_begin(bool abstract)
{
	pid_t parent = getppid();
	long abi = koda_lock_abi();

	/* Not to know is not the same as to know that there are no scopes. */
	if (abi < 1)
		koda_stage2_fail("Landlock is not available", "", errno);
	check_proc();
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		koda_stage2_fail("become the reaper of orphans", "", errno);
	if (abi < SYS_LANDLOCK_ABI_SCOPES)
		return;
	/* Only what could be signalled before tells anything afterwards. A parent that is gone
	 * tells nothing; then nothing is believed. */
	if (kill(parent, 0) < 0)
		parent = 0;
	koda_lock_scope(abstract);
	scoped = parent > 1 && kill(parent, 0) < 0 && errno == EPERM;
}

static void add(struct list *list, pid_t pid)
{
	if (list->count == DESCENDANTS_MAX) {
		list->cut = true;
		return;
	}
	if (list->count == list->cap) {
		size_t cap = list->cap ? list->cap * 2 : 64;
		pid_t *pids = realloc(list->pids, cap * sizeof(*pids));

		if (!pids) {
			list->cut = true;
			return;
		}
		list->pids = pids;
		list->cap = cap;
	}
	list->pids[list->count++] = pid;
}

/* Numbers with spaces between them, in pieces of any size. */
static void add_numbers(struct list *list, int fd)
{
	char text[4096];
	pid_t number = 0;
	ssize_t n;

	while ((n = read(fd, text, sizeof(text))) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (text[i] >= '0' && text[i] <= '9') {
				number = number * 10 + (text[i] - '0');
				continue;
			}
			if (number > 0)
				add(list, number);
			number = 0;
		}
	}
}

/* Children belong to the thread that made them. Who is gone has none; who is there but cannot be
 * looked at may have any number. */
static void add_children(struct list *list, pid_t pid)
{
	char path[96];
	const struct dirent *entry;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		int fd;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children", pid,
			       entry->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0) {
			list->cut = list->cut || (errno != ENOENT && errno != ESRCH);
			continue;
		}
		add_numbers(list, fd);
		(void)close(fd);
	}
	if (dir)
		(void)closedir(dir);
	else if (kill(pid, 0) == 0)
		list->cut = true;
}

/* Everything below this process that is there now; the caller frees the list. */
static struct list find_descendants(void)
{
	struct list list = { NULL, 0, 0, false };

	add_children(&list, getpid());
	for (size_t i = 0; i < list.count; i++)
		add_children(&list, list.pids[i]);
	return list;
}

uint64_t koda_family_sum(uint64_t (*count)(const char *pid), uint64_t enough)
{
	struct list list = { NULL, 0, 0, false };
	uint64_t sum = 0;

	add_children(&list, getpid());
	for (size_t i = 0; i < list.count && sum <= enough; i++) {
		char number[16];

		(void)snprintf(number, sizeof(number), "%d", list.pids[i]);
		sum += count(number);
		add_children(&list, list.pids[i]);
	}
	/* Limits that cannot be watched do not hold; the guardian ends what is left. */
	if (list.cut && sum <= enough) {
		koda_family_kill();
		koda_stage2_fail("a process hides from being counted, and all were ended", "", 0);
	}
	free(list.pids);
	return sum;
}

void koda_family_count_others(void)
{
	uid_t user = geteuid();
	long self = getpid();
	DIR *dir = opendir("/proc");
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char path[64];
		struct stat st;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
		    strtol(entry->d_name, NULL, 10) == self)
			continue;
		if (fstatat(dirfd(dir), entry->d_name, &st, 0) < 0 || st.st_uid != user)
			continue;
		/* A directory's links are its subdirectories and two more. */
		(void)snprintf(path, sizeof(path), "%.20s/task", entry->d_name);
		if (fstatat(dirfd(dir), path, &st, 0) == 0)
			others += st.st_nlink > 2 ? st.st_nlink - 2 : 1;
	}
	if (dir)
		(void)closedir(dir);
}

uint64_t koda_family_others(void)
{
	return others;
}

/* Stopped first: who is stopped does not fork, so every round finds fewer. */
static void kill_each(void)
{
	static const int signals[] = { SIGSTOP, SIGKILL };

	for (size_t s = 0; s < sizeof(signals) / sizeof(signals[0]); s++) {
		struct list list = find_descendants();

		for (size_t i = 0; i < list.count; i++)
			(void)kill(list.pids[i], signals[s]);
		free(list.pids);
	}
}

void koda_family_kill(void)
{
	if (scoped)
		(void)kill(-1, SIGKILL);
	else
		kill_each();
}

void koda_family_signal(int number)
{
	if (scoped)
		(void)kill(-1, number);
}

/* True if there are no children any more. */
static bool reap_all(void (*ended)(pid_t pid, int status))
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0)
		if (ended)
			ended(pid, status);
	return pid < 0 && errno == ECHILD;
}

static time_t seconds(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

bool koda_family_end(void (*ended)(pid_t pid, int status))
{
	struct timespec pause = { .tv_nsec = PAUSE_NS };
	time_t last = seconds() + END_SECONDS;
	sigset_t child;

	(void)sigemptyset(&child);
	(void)sigaddset(&child, SIGCHLD);
	while (seconds() < last) {
		if (reap_all(ended))
			return true;
		koda_family_kill();
		if (reap_all(ended))
			return true;
		/* Blocked, as all signals are: the end of a child ends the pause. */
		(void)sigtimedwait(&child, NULL, &pause);
		if (pause.tv_nsec < PAUSE_MAX_NS)
			pause.tv_nsec *= 2;
	}
	return false;
}
