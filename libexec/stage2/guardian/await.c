/* SPDX-License-Identifier: MIT */
/*
 * T-38, T-99. The end of a run, as the guardian sees it. The runner waits five seconds for the
 * guardian, and no process of the launcher outlives the guardian, so everything here is done by
 * then.
 *
 * The guardian waits for the end of the pid namespace, because until then a process may use what a
 * placeholder protects. That can take long: the kernel frees the memory of every process, up to
 * millions of mappings. All of them have got SIGKILL, and no new one can be made. A thread that has
 * begun to exit (PF_EXITING) executes no system call any more. Once all threads exit, the
 * placeholders can be removed, and the kernel does the rest alone. A thread that does not exit is
 * still in a call, for example one that waits for a FUSE server. Then the placeholders stay, and
 * the journal names the process that later runs have to wait for.
 */
#include "guardian/await.h"

#include "guardian/cache_slot.h"
#include "guardian/cgroup.h"
#include "guardian/clock.h"
#include "guardian/reserve.h"
#include "guardian/sweep.h"
#include "landlock/proctree.h"
#include "landlock/scratch.h"
#include "sys.h"
#include "wire/report.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* The runner waits five seconds for the guardian; these add up to less than the deadline of
 * clock.c. */
#define PATIENCE_MS 2500
#define EXITING_MS  700
#define ROUND_MS    20

#define PF_EXITING 0x4UL
#define CHAIN_MAX  4096 /* length of a chain of parents */

/* How far the end of the pid namespace has come. */
static enum {
	NS_ENDED,
	NS_EXITING,
	NS_ALIVE
} ns_state;
static pid_t first_pid; /* the first process of the pid namespace, or bubblewrap */

void stage2_await_started(pid_t pid)
{
	first_pid = pid;
}

static bool wait_for(int pidfd, int ms)
{
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };
	int n;

	do {
		n = poll(&ended, 1, ms);
	} while (n < 0 && errno == EINTR);
	return n != 0;
}

/* Reads a file of a process or thread in /proc, cut to size. Returns false if the process is
 * gone. */
static bool read_about(int at, const char *process, const char *file, char *out, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	out[0] = '\0';
	(void)snprintf(path, sizeof(path), "%.20s/%s", process, file);
	fd = openat(at, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno != ENOENT && errno != ESRCH;
	n = read(fd, out, size - 1);
	if (n < 0 && errno == ESRCH) {
		(void)close(fd);
		return false;
	}
	(void)close(fd);
	out[n > 0 ? n : 0] = '\0';
	return true;
}

/* Returns the value of a field of /proc/PID/status; NULL if it has none. */
static const char *find_field(const char *status, const char *field)
{
	const char *at = strstr(status, field);

	return at ? at + strlen(field) : NULL;
}

/* Finds out whether a process is in the pid namespace, by its chain of parents. An orphan becomes a
 * child of the first process, so every chain of the namespace leads there, through processes with
 * several numbers in NSpid. UNKNOWN: a process of the chain ended meanwhile. */
static enum {
	OUTSIDE,
	INSIDE,
	UNKNOWN
} find_place(int proc, const char *process)
{
	long pid = strtol(process, NULL, 10);

	for (int i = 0; i < CHAIN_MAX && pid != first_pid; i++) {
		char status[2048];
		char number[24];
		const char *parent;
		const char *numbers;

		(void)snprintf(number, sizeof(number), "%ld", pid);
		if (!read_about(proc, number, "status", status, sizeof(status)))
			return i == 0 ? OUTSIDE
				      : UNKNOWN; /* the process itself is gone, or its parent */
		parent = find_field(status, "\nPPid:\t");
		numbers = find_field(status, "\nNSpid:\t");
		if (!parent || !numbers)
			return UNKNOWN;
		if (numbers[strcspn(numbers, "\t\n")] == '\n')
			return OUTSIDE;
		pid = strtol(parent, NULL, 10);
	}
	return pid == first_pid ? INSIDE : UNKNOWN;
}

static bool is_thread_exiting(int tasks, const char *thread)
{
	char text[512];
	const char *at;

	if (!read_about(tasks, thread, "stat", text, sizeof(text)))
		return true;
	/* The name, in parentheses, may contain anything; the flags are the seventh field after
	 * it. */
	at = strrchr(text, ')');
	for (int field = 0; at && field < 7; field++)
		at = strchr(at + 1, ' ');
	return at && (strtoul(at, NULL, 10) & PF_EXITING);
}

static bool is_number(const char *name)
{
	return name[0] >= '1' && name[0] <= '9';
}

static bool is_exiting(const char *pid)
{
	const struct dirent *entry;
	char path[64];
	bool all = true;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/task", pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT;
	while (all && (entry = readdir(dir)))
		if (is_number(entry->d_name))
			all = is_thread_exiting(dirfd(dir), entry->d_name);
	(void)closedir(dir);
	return all;
}

/* Returns true if all threads of the pid namespace exit. /proc lists processes in the order of
 * their pids, and no new ones are made, so none is missed. Other users' processes are not in it. */
static bool is_all_exiting(void)
{
	const uid_t user = geteuid();
	const struct dirent *entry;
	bool all = true;
	DIR *dir = opendir("/proc");

	if (!dir)
		return false;
	while (all && (entry = readdir(dir))) {
		struct stat st;

		if (!is_number(entry->d_name) || fstatat(dirfd(dir), entry->d_name, &st, 0) < 0 ||
		    st.st_uid != user)
			continue;
		if (find_place(dirfd(dir), entry->d_name) != OUTSIDE)
			all = is_exiting(entry->d_name);
	}
	(void)closedir(dir);
	return all;
}

void stage2_await_end(pid_t pid, int pidfd)
{
	uint64_t last;

	first_pid = pid;
	if (wait_for(pidfd, PATIENCE_MS)) {
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		return;
	}
	for (last = stage2_clock_now() + EXITING_MS; stage2_clock_now() < last;) {
		if (is_all_exiting()) {
			ns_state = NS_EXITING;
			return;
		}
		(void)wait_for(pidfd, ROUND_MS);
	}
	ns_state = NS_ALIVE;
}

void stage2_await_fail(void)
{
	if (first_pid > 0)
		(void)kill(first_pid, SIGKILL);
	if (!stage2_proctree_end(NULL))
		ns_state = NS_ALIVE;
	stage2_await_tidy();
}

void stage2_await_tidy(void)
{
	stage2_cgroup_close();
	/* As long as the overlay is mounted the kernel uses the directories of the slot. */
	if (ns_state == NS_ENDED)
		stage2_cache_slot_undo();
	if (ns_state == NS_ALIVE)
		stage2_reserve_postpone(first_pid);
	else
		stage2_reserve_undo();
	stage2_sweep_last();
	stage2_scratch_remove();
}
