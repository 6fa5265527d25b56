/* SPDX-License-Identifier: MIT */
/* T-31. Memory and threads of processes, from /proc. */
#include "init/count.h"

#include "backend.h"
#include "fail.h"
#include "landlock/proctree.h"
#include "sys.h"

#include <dirent.h>
#include <errno.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A user may have 65536 groups, and /proc/PID/status lists them before the lines about memory. */
#define STATUS_MAX ((size_t)1 << 20)

/* Reads an entry with errno 0, so that the end of the directory can be told from an error. */
static const struct dirent *next_entry(DIR *dir)
{
	errno = 0;
	return readdir(dir);
}

/* A limit that cannot be watched is not enforced, so init exits, and the kernel ends everything. */
uint64_t stage2_count_all(uint64_t (*count)(const char *pid), uint64_t enough)
{
	DIR *dir = stage2_backend_is_landlock ? NULL : opendir("/proc");
	const struct dirent *entry;
	uint64_t sum = 0;

	if (stage2_backend_is_landlock)
		return stage2_proctree_sum(count, enough);
	if (!dir)
		stage2_fail_silently();
	while ((entry = next_entry(dir)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    strcmp(entry->d_name, "1") != 0)
			sum += count(entry->d_name);
	if (errno != 0)
		stage2_fail_silently();
	(void)closedir(dir);
	return sum;
}

bool stage2_count_read(const char *pid, const char *name, char *out, size_t size)
{
	char path[96];
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%.60s/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, out, size - 1);
	if (fd >= 0)
		(void)close(fd);
	out[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* Counts threads, as RLIMIT_NPROC does. The number is the eighteenth field after the name in stat;
 * in status it comes after the groups, which can be many. */
uint64_t stage2_count_threads(const char *pid)
{
	char text[1024];
	const char *at;
	uint64_t threads;

	at = stage2_count_read(pid, "stat", text, sizeof(text)) ? strrchr(text, ')') : NULL;
	for (int words = 0; at && words < 18; words++)
		at = strchr(at + 1, ' ');
	threads = at ? strtoull(at, NULL, 10) : 0;
	return threads ? threads : 1;
}

/* Writes "PID/task/TID" of a thread that has memory to out. Returns false if all have ended. */
static bool find_thread(const char *pid, char *out, size_t size)
{
	char path[64];
	char text[256];
	const struct dirent *entry;
	bool found = false;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/task", pid);
	dir = opendir(path);
	while (!found && dir && (entry = next_entry(dir))) {
		(void)snprintf(out, size, "%.20s/task/%.20s", pid, entry->d_name);
		found = entry->d_name[0] != '.' &&
			stage2_count_read(out, "statm", text, sizeof(text)) &&
			strtoull(text, NULL, 10) > 0;
	}
	if (dir)
		(void)closedir(dir);
	return found;
}

uint64_t stage2_count_field(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) * 1024 : 0;
}

/* Returns the status of pid, or "" if it has no memory. The status of a process whose first thread
 * has ended shows no memory; those of its other threads do. Then thread names one of them, and else
 * pid. */
static const char *read_status(const char *pid, char *thread, size_t size)
{
	static char *text;

	/* Not allocated at the start: until execve the command shares this memory, and has its own
	 * limit. */
	if (!text)
		text = malloc(STATUS_MAX);
	if (!text)
		stage2_fail_silently();
	(void)snprintf(thread, size, "%.20s", pid);
	if (!stage2_count_read(pid, "status", text, STATUS_MAX))
		return "";
	if (!strstr(text, "\nVmRSS:") && (!find_thread(pid, thread, size) ||
					  !stage2_count_read(thread, "status", text, STATUS_MAX)))
		return "";
	return text;
}

/* Sums up all pages, including pages shared with other processes, and page tables. A page table of
 * 4 KiB can be filled by a single page, as by one zero page that was only read. */
uint64_t stage2_count_resident(const char *pid)
{
	char thread[64];
	const char *text = read_status(pid, thread, sizeof(thread));

	return stage2_count_field(text, "\nVmRSS:") + stage2_count_field(text, "\nVmSwap:") +
	       stage2_count_field(text, "\nVmPTE:") + stage2_count_field(text, "\nHugetlbPages:");
}

/* Returns true if the process shares the memory of its parent, as after vfork until execve. That
 * memory is counted for the parent. */
static bool is_guest(const char *pid)
{
	char thread[64];
	const char *text = read_status(pid, thread, sizeof(thread));
	const char *at = strstr(text, "\nPPid:");
	long parent = at ? strtol(at + strlen("\nPPid:"), NULL, 10) : 0;

	/* Init is not counted. */
	if (parent <= 1 || parent == getpid() ||
	    syscall(SYS_kcmp, strtol(pid, NULL, 10), parent, KCMP_VM, 0, 0) != 0)
		return false;
	/* Two first threads that have ended compare equal, too, because both have no memory. They
	 * do not get any again. */
	(void)read_status(pid, thread, sizeof(thread));
	return strcmp(thread, pid) == 0;
}

/* Counts the process's proportional share (Pss). If smaps_rollup cannot be read, all its pages
 * count. */
uint64_t stage2_count_share(const char *pid)
{
	bool guest = is_guest(pid);
	char thread[64];
	char shares[4096];
	const char *text = read_status(pid, thread, sizeof(thread));
	/* Huge pages come from a reserved pool and are in no other sum. */
	uint64_t besides =
		stage2_count_field(text, "\nVmPTE:") + stage2_count_field(text, "\nHugetlbPages:");

	if (guest)
		return 0;
	if (stage2_count_read(thread, "smaps_rollup", shares, sizeof(shares)) &&
	    strstr(shares, "\nPss_Anon:"))
		return stage2_count_field(shares, "\nPss_Anon:") +
		       stage2_count_field(shares, "\nPss_Shmem:") +
		       stage2_count_field(shares, "\nSwapPss:") + besides;
	return stage2_count_field(text, "\nRssAnon:") + stage2_count_field(text, "\nRssShmem:") +
	       stage2_count_field(text, "\nVmSwap:") + besides;
}
