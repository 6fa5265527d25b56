/* SPDX-License-Identifier: MIT */
/*
 * pid1 RUNS PARALLEL PROGRAM [ARG...]: starts a program so many times, so many of them at once, as
 * PID 1 of a pid namespace that never waits for the children it adopts, as in most containers. The
 * number of the run is the program's last argument.
 *
 * Whatever outlives its runner becomes a child of this process and stays, if only as a zombie.
 * After each run, and after all of them, the processes of the namespace are listed; each that is
 * neither this process nor one of a run that goes on is printed. Exits with 0 if there was none and
 * every run left a status of 0; KODA_PID1_STATUS=any takes any status. 77: no namespace here.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PARALLEL_MAX  64
#define NONE_HERE     77
#define ORPHANS_MAX   256
#define SETTLE_ROUNDS 3000

static pid_t started[PARALLEL_MAX];
static int parallel;
static long orphans[ORPHANS_MAX];
static int orphan_count;
static int failures;

static bool is_started(pid_t pid)
{
	for (int i = 0; i < parallel; i++)
		if (started[i] == pid)
			return true;
	return false;
}

/* The parent of a process, and its name and state as "(name) S". False if it is gone. */
static bool look_at(long pid, int *ret_parent, char name[64])
{
	char path[64];
	char text[512];
	const char *open_at;
	char *close_at;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		(void)close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	open_at = strchr(text, '(');
	close_at = strrchr(text, ')');
	if (!open_at || !close_at || strlen(close_at) < 5)
		return false;
	*ret_parent = (int)strtol(close_at + 4, NULL, 10);
	close_at[3] = '\0';
	(void)snprintf(name, 64, "%.60s", open_at);
	return true;
}

/* Does one that was adopted still run? What it started ends with it, and is not counted. */
static bool lives_on(void)
{
	for (int i = 0; i < orphan_count && i < ORPHANS_MAX; i++) {
		char name[64];
		int parent;

		if (look_at(orphans[i], &parent, name) && name[strlen(name) - 1] != 'Z')
			return true;
	}
	return false;
}

static void add_orphan(long pid, const char *name, int run)
{
	for (int i = 0; i < orphan_count && i < ORPHANS_MAX; i++)
		if (orphans[i] == pid)
			return;
	if (orphan_count < ORPHANS_MAX) {
		orphans[orphan_count] = pid;
		(void)printf("outlived its runner, seen after run %d: %ld %s\n", run, pid, name);
	}
	orphan_count++;
}

/* all: no run goes on, so that everything but this process is one too many. */
static void list_orphans(int run, bool all)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		long pid = strtol(entry->d_name, NULL, 10);
		char name[64];
		int parent;

		if (pid > 1 && look_at(pid, &parent, name) &&
		    (all || (parent == 1 && !is_started((pid_t)pid))))
			add_orphan(pid, name, run);
	}
	if (!dir)
		_exit(NONE_HERE);
	(void)closedir(dir);
}

static pid_t start(char **argv, int count, int run)
{
	char number[16];
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	(void)snprintf(number, sizeof(number), "%d", run);
	argv[count] = number;
	(void)execvp(argv[0], argv);
	_exit(127);
}

/* Waits for one of the started, and for no other. */
static void end_one(void)
{
	siginfo_t info;

	for (;;) {
		/* Whoever was adopted and has ended is seen again and again, so each is asked. */
		for (int i = 0; i < parallel; i++) {
			int status = 0;

			if (started[i] <= 0 || waitpid(started[i], &status, WNOHANG) <= 0)
				continue;
			failures += status != 0;
			started[i] = 0;
			return;
		}
		if (orphan_count == 0) {
			if (waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) < 0 && errno == ECHILD)
				return;
			if (!is_started(info.si_pid))
				list_orphans(-1, false);
		} else {
			(void)usleep(1000);
		}
	}
}

static int free_place(void)
{
	for (int i = 0; i < parallel; i++)
		if (started[i] <= 0)
			return i;
	return -1;
}

static bool runs_something(void)
{
	for (int i = 0; i < parallel; i++)
		if (started[i] > 0)
			return true;
	return false;
}

static int be_pid1(int runs, char **argv, int count)
{
	const char *status = getenv("KODA_PID1_STATUS");
	char **with_number = calloc((size_t)count + 2, sizeof(*with_number));

	if (!with_number || mount("proc", "/proc", "proc", 0, NULL) < 0)
		return NONE_HERE;
	memcpy(with_number, argv, (size_t)count * sizeof(*argv));
	for (int run = 0; run < runs || runs_something();) {
		int place = run < runs ? free_place() : -1;

		if (place >= 0) {
			started[place] = start(with_number, count, run++);
			continue;
		}
		end_one();
		list_orphans(run, false);
	}
	list_orphans(runs, false);
	for (int i = 0; i < SETTLE_ROUNDS && lives_on(); i++)
		(void)usleep(10000);
	list_orphans(runs, true);
	(void)printf("%d runs, %d of them failed, %d processes left\n", runs, failures,
		     orphan_count);
	if (status && strcmp(status, "any") == 0)
		failures = 0;
	return orphan_count > 0 || failures > 0;
}

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		(void)close(fd);
	return done;
}

/* The user stays who it is. */
static bool enter_user_namespace(void)
{
	char users[64];
	char groups[64];

	(void)snprintf(users, sizeof(users), "%u %u 1", geteuid(), geteuid());
	(void)snprintf(groups, sizeof(groups), "%u %u 1", getegid(), getegid());
	return unshare(CLONE_NEWUSER) == 0 && write_file("/proc/self/setgroups", "deny") &&
	       write_file("/proc/self/uid_map", users) && write_file("/proc/self/gid_map", groups);
}

int main(int argc, char **argv)
{
	int status = 0;
	pid_t pid;
	int runs;

	if (argc < 4) {
		(void)fprintf(stderr, "usage: pid1 RUNS PARALLEL PROGRAM [ARG...]\n");
		return 2;
	}
	runs = (int)strtol(argv[1], NULL, 10);
	parallel = (int)strtol(argv[2], NULL, 10);
	if (runs < 1 || parallel < 1 || parallel > PARALLEL_MAX)
		return 2;
	if (geteuid() != 0 && !enter_user_namespace())
		return NONE_HERE;
	if (unshare(CLONE_NEWNS | CLONE_NEWPID) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return NONE_HERE;
	pid = fork();
	if (pid == 0) {
		int r = be_pid1(runs, argv + 3, argc - 3);

		(void)fflush(stdout);
		_exit(r);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return NONE_HERE;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
