/* SPDX-License-Identifier: MIT */
/*
 * T-31. A control group for the command, where the user may make one: the kernel then limits the
 * memory and the processes of the whole tree. The guardian makes it, moves init into it and removes
 * it at the end. One that a killed guardian left is removed by the next guardian.
 *
 * If the group cannot be made, init watches the limits instead. If it was made, its limits are read
 * back and must be those of the plan.
 */
#include "guardian/cgroup.h"

#include "fail.h"
#include "report.h"
#include "sys.h"
#include "wire/report.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define NAME_START "koda-"
#define STALE_MAX  64 /* groups of other guardians that are examined */
#define REMOVE_MAX 50 /* attempts, REMOVE_NS apart */
#define REMOVE_NS  2000000

static int parent = -1;
static int group = -1;
static char name[32];

static ssize_t read_small(const char *file, char *out, size_t size)
{
	int fd = openat(group, file, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);

	if (fd >= 0)
		(void)close(fd);
	out[n > 0 ? n : 0] = '\0';
	return n;
}

static bool write_small(const char *file, const char *text)
{
	int fd = openat(group, file, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		(void)close(fd);
	return done;
}

/* Sets a limit and reads it back; the kernel rounds memory down to whole pages. */
static void set_limit(const char *file, uint64_t value)
{
	char text[32];
	uint64_t now;

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	if (!write_small(file, text) || read_small(file, text, sizeof(text)) <= 0)
		stage2_fail(KODA_LAUNCH_CGROUP_LIMIT, file, errno);
	now = strtoull(text, NULL, 10);
	if (text[0] < '0' || text[0] > '9' || now > value || value - now >= 65536)
		stage2_fail(KODA_LAUNCH_CGROUP_LIMIT_LOST, file, 0);
}

/* Removes groups of guardians that are gone. The kernel refuses to remove a group with
 * processes. */
static void remove_stale(void)
{
	int fd = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	for (int i = 0; dir && i < STALE_MAX && (entry = readdir(dir));) {
		struct stat st;
		char path[64];

		if (strncmp(entry->d_name, NAME_START, strlen(NAME_START)) != 0)
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%.20s",
			       entry->d_name + strlen(NAME_START));
		if (stat(path, &st) < 0)
			(void)unlinkat(parent, entry->d_name, AT_REMOVEDIR);
		i++;
	}
	if (dir)
		(void)closedir(dir);
	else if (fd >= 0)
		(void)close(fd);
}

/* Makes the group. Returns false, with nothing left behind, if that is not possible. */
static bool make_group(const char *path)
{
	parent = sys_openat2(AT_FDCWD, path, O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
	if (parent < 0)
		return false;
	remove_stale();
	(void)snprintf(name, sizeof(name), NAME_START "%d", (int)getpid());
	if (mkdirat(parent, name, 0755) < 0 && errno != EEXIST)
		return false;
	group = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return group >= 0;
}

bool stage2_cgroup_open(const struct plan *plan, pid_t init)
{
	struct koda_op op;
	size_t at = 0;
	char text[32];

	while (koda_ops_next(plan->bytes, &at, &op)) {
		if (op.kind != KODA_OP_CGROUP || !make_group(op.text1.ptr))
			continue;
		set_limit("memory.max", op.n1);
		set_limit("pids.max", op.n2);
		/* A kernel that does not count swap has no such file, and no swap to use. */
		if (read_small("memory.swap.max", text, sizeof(text)) > 0)
			set_limit("memory.swap.max", 0);
		if (!write_small("memory.oom.group", "1"))
			stage2_fail(KODA_LAUNCH_CGROUP_OOM_GROUP, name, errno);
		(void)snprintf(text, sizeof(text), "%d", (int)init);
		if (write_small("cgroup.procs", text))
			return true;
		/* The kernel does not let init be moved into it: init watches instead. */
		stage2_cgroup_close();
	}
	return false;
}

void stage2_cgroup_add(pid_t pid)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%d", (int)pid);
	if (!write_small("cgroup.procs", text))
		stage2_fail(KODA_LAUNCH_CGROUP_MOVE, name, errno);
}

/* Returns the number behind key in a file of "key number" lines; 0 if there is none. */
static uint64_t event(const char *file, const char *key)
{
	char text[1024];
	char line[64];
	const char *at;

	text[0] = '\n';
	if (read_small(file, text + 1, sizeof(text) - 1) <= 0)
		return 0;
	(void)snprintf(line, sizeof(line), "\n%s ", key);
	at = strstr(text, line);
	return at ? strtoull(at + strlen(line), NULL, 10) : 0;
}

bool stage2_cgroup_report(void)
{
	bool killed = group >= 0 && event("memory.events", "oom_kill") > 0;

	if (killed)
		(void)stage2_report_send(KODA_REPORT_LIMIT, KODA_REPORT_LIMIT_MEMORY);
	else if (group >= 0 && event("pids.events", "max") > 0)
		(void)stage2_report_send(KODA_REPORT_LIMIT, KODA_REPORT_LIMIT_PROCESSES);
	return killed;
}

void stage2_cgroup_close(void)
{
	const struct timespec pause = { .tv_nsec = REMOVE_NS };

	if (group < 0)
		return;
	(void)write_small("cgroup.kill", "1");
	(void)close(group);
	group = -1;
	/* Killed processes may take a moment to leave the group (EBUSY). */
	for (int i = 0; i < REMOVE_MAX; i++) {
		if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno != EBUSY)
			break;
		(void)nanosleep(&pause, NULL);
	}
	(void)close(parent);
}
