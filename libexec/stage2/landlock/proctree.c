/* SPDX-License-Identifier: MIT */
/*
 * T-38. Ends a tree of processes that no pid namespace holds together. Guardian and init are
 * subreapers: an orphan, by a double fork or otherwise, becomes their child, so no children means
 * no descendants. Each is the outermost process of a Landlock domain that signals do not leave, so
 * kill(-1) reaches everything below at once, and no fork escapes it. Where Landlock has no signal
 * scope, descendants are searched for and killed until there are none.
 */
#include "landlock/proctree.h"

#include "fail.h"
#include "landlock/scope.h"
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

/* The pause doubles from PAUSE_NS to PAUSE_MAX_NS. The end is given up after END_SECONDS: the
 * runner waits five seconds for the guardian, which has to tidy up after it. */
#define PAUSE_NS     50000L
#define PAUSE_MAX_NS 50000000L
#define END_SECONDS  3

#define DESCENDANTS_MAX ((size_t)1 << 20)

static bool scoped;     /* signals do not leave the domain, which has been tried */
static uint64_t others; /* processes of this user that are not the command's */

struct list {
	pid_t *pids; /* owned */
	size_t count;
	size_t cap;
	bool cut; /* there are more descendants, or there may be */
};

/* Fails if the kernel does not list children (CONFIG_PROC_CHILDREN): descendants could not be
 * counted or ended. */
static void check_proc(void)
{
	char path[64];
	char text[16];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text)) < 0)
		stage2_fail(KODA_LAUNCH_PROCTREE_LIST, path, errno);
	(void)close(fd);
}

void stage2_proctree_begin(bool abstract)
{
	pid_t parent = getppid();
	long abi = stage2_landlock_abi();

	/* Without its version it is unknown whether Landlock has scopes. */
	if (abi < 1)
		stage2_fail(KODA_LAUNCH_LANDLOCK_MISSING, "", errno);
	check_proc();
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		stage2_fail(KODA_LAUNCH_SUBREAPER, "", errno);
	if (abi < SYS_LANDLOCK_ABI_SCOPES)
		return;
	/* That the parent could be signalled before, and cannot now, proves the scope. If the
	 * parent is gone, nothing is proved. */
	if (kill(parent, 0) < 0)
		parent = 0;
	stage2_landlock_scope(abstract);
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

/* Adds numbers separated by spaces, read in pieces of any size. */
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

/* Adds the children of all threads of a process. A process that is gone has none; one that cannot
 * be read may have any number. */
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

/* Returns everything below this process; the caller frees the list. */
static struct list find_descendants(void)
{
	struct list list = { NULL, 0, 0, false };

	add_children(&list, getpid());
	for (size_t i = 0; i < list.count; i++)
		add_children(&list, list.pids[i]);
	return list;
}

uint64_t stage2_proctree_sum(uint64_t (*count)(const char *pid), uint64_t enough)
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
	/* A limit that cannot be watched is not enforced, so everything ends. */
	if (list.cut && sum <= enough) {
		stage2_proctree_kill();
		stage2_fail(KODA_LAUNCH_PROCTREE_HIDDEN, "", 0);
	}
	free(list.pids);
	return sum;
}

void stage2_proctree_count_others(void)
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
		/* The link count of a directory is the number of its subdirectories plus two. */
		(void)snprintf(path, sizeof(path), "%.20s/task", entry->d_name);
		if (fstatat(dirfd(dir), path, &st, 0) == 0)
			others += st.st_nlink > 2 ? st.st_nlink - 2 : 1;
	}
	if (dir)
		(void)closedir(dir);
}

uint64_t stage2_proctree_others(void)
{
	return others;
}

/* SIGSTOP first: a stopped process does not fork, so every round finds fewer. */
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

void stage2_proctree_kill(void)
{
	if (scoped)
		(void)kill(-1, SIGKILL);
	else
		kill_each();
}

void stage2_proctree_signal(int number)
{
	if (scoped)
		(void)kill(-1, number);
}

/* Reaps children. Returns true if there are none left. */
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

bool stage2_proctree_end(void (*ended)(pid_t pid, int status))
{
	struct timespec pause = { .tv_nsec = PAUSE_NS };
	time_t last = seconds() + END_SECONDS;
	sigset_t child;

	(void)sigemptyset(&child);
	(void)sigaddset(&child, SIGCHLD);
	while (seconds() < last) {
		if (reap_all(ended))
			return true;
		stage2_proctree_kill();
		if (reap_all(ended))
			return true;
		/* SIGCHLD is blocked, as all signals are, so sigtimedwait returns when a child
		 * ends. */
		(void)sigtimedwait(&child, NULL, &pause);
		if (pause.tv_nsec < PAUSE_MAX_NS)
			pause.tv_nsec *= 2;
	}
	return false;
}
