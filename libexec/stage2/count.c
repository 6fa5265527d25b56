/* SPDX-License-Identifier: MIT */
/* T-31. What processes have, as /proc tells it. */
#include "count.h"

#include "stage2.h"

#include "sys.h"

#include <dirent.h>
#include <errno.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A user may have 65536 groups, and status tells them all before it comes to memory. */
#define STATUS_MAX ((size_t)1 << 20)

/* Counting sets errno as it likes. */
static const struct dirent *next_entry(DIR *dir)
{
	errno = 0;
	return readdir(dir);
}

/* Limits that cannot be watched do not hold: with init everything ends. */
uint64_t koda_count_all(uint64_t (*count)(const char *pid), uint64_t enough)
{
	DIR *dir = koda_fenced ? NULL : opendir("/proc");
	const struct dirent *entry;
	uint64_t sum = 0;

	if (koda_fenced)
		return koda_family_sum(count, enough);
	if (!dir)
		koda_stage2_leave();
	while ((entry = next_entry(dir)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    strcmp(entry->d_name, "1") != 0)
			sum += count(entry->d_name);
	if (errno != 0)
		koda_stage2_leave();
	(void)closedir(dir);
	return sum;
}

bool koda_count_read(const char *pid, const char *name, char *out, size_t size)
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

/* The kernel's own limit counts threads, and so does this. The number is the eighteenth word after
 * the name; in status it comes after the groups, which can be many. */
uint64_t koda_count_threads(const char *pid)
{
	char text[1024];
	const char *at;
	uint64_t threads;

	at = koda_count_read(pid, "stat", text, sizeof(text)) ? strrchr(text, ')') : NULL;
	for (int words = 0; at && words < 18; words++)
		at = strchr(at + 1, ' ');
	threads = at ? strtoull(at, NULL, 10) : 0;
	return threads ? threads : 1;
}

/* "PID/task/TID" of a thread that has memory, in out. False if there is none: all have ended. */
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
			koda_count_read(out, "statm", text, sizeof(text)) &&
			strtoull(text, NULL, 10) > 0;
	}
	if (dir)
		(void)closedir(dir);
	return found;
}

uint64_t koda_count_field(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) * 1024 : 0;
}

/* The status of pid, or "" if it has no memory. A process whose first thread has ended says that it
 * has nothing; its other threads know. Then thread is one of them, and else pid. */
static const char *read_status(const char *pid, char *thread, size_t size)
{
	static char *text;

	/* Not before: until it is executed the command lives in this memory, and has its limit. */
	if (!text)
		text = malloc(STATUS_MAX);
	if (!text)
		koda_stage2_leave();
	(void)snprintf(thread, size, "%.20s", pid);
	if (!koda_count_read(pid, "status", text, STATUS_MAX))
		return "";
	if (!strstr(text, "\nVmRSS:") && (!find_thread(pid, thread, size) ||
					  !koda_count_read(thread, "status", text, STATUS_MAX)))
		return "";
	return text;
}

/* Everything that it has, pages shared with others included, and the tables that lead to them: a
 * table of 4 KiB needs no more than one page that is nobody's, as one that was only read. */
uint64_t koda_count_resident(const char *pid)
{
	char thread[64];
	const char *text = read_status(pid, thread, sizeof(thread));

	return koda_count_field(text, "\nVmRSS:") + koda_count_field(text, "\nVmSwap:") +
	       koda_count_field(text, "\nVmPTE:") + koda_count_field(text, "\nHugetlbPages:");
}

/* Does it live in the memory of its parent, which is counted there? So does who was made by vfork,
 * until it has executed something. */
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
	/* First threads that have ended are alike, too, in having none, and do not get any again.
	 */
	(void)read_status(pid, thread, sizeof(thread));
	return strcmp(thread, pid) == 0;
}

/* The process's share. One that closes itself to us is counted with all it has. */
uint64_t koda_count_share(const char *pid)
{
	bool guest = is_guest(pid);
	char thread[64];
	char shares[4096];
	const char *text = read_status(pid, thread, sizeof(thread));
	/* Huge pages are set aside by the administrator, and are in no other sum. */
	uint64_t besides =
		koda_count_field(text, "\nVmPTE:") + koda_count_field(text, "\nHugetlbPages:");

	if (guest)
		return 0;
	if (koda_count_read(thread, "smaps_rollup", shares, sizeof(shares)) &&
	    strstr(shares, "\nPss_Anon:"))
		return koda_count_field(shares, "\nPss_Anon:") +
		       koda_count_field(shares, "\nPss_Shmem:") +
		       koda_count_field(shares, "\nSwapPss:") + besides;
	return koda_count_field(text, "\nRssAnon:") + koda_count_field(text, "\nRssShmem:") +
	       koda_count_field(text, "\nVmSwap:") + besides;
}
