/* SPDX-License-Identifier: MIT */
/*
 * T-31. Limits that the kernel does not hold, watched by init: root's processes, and the memory of
 * the whole tree where there is no control group for it. Above a limit the runner is told which,
 * and everything ends.
 *
 * Memory is what would come free if the tree ended: pages of its own and its share of pages that
 * several have, shared memory, and what is in the private file systems. The cheap sum counts
 * shared pages once per process; only when that is too much are the shares looked up.
 */
#include "stage2.h"

#include "sys.h"
#include "wire/report.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <time.h>

/* A fork bomb is fast; memory has to be filled first. A command that ends before costs nothing. */
#define PROCESSES_MS 20
#define MEMORY_MS    50
#define MEMORY_MAX   500
/* Nothing fills memory faster than this, so with room for more the next look can wait. */
#define BYTES_PER_MS (8ULL << 20)
/* Looking takes at most one part in this many of a processor. */
#define COST_SHARE 20

#define TMPFS_MAGIC 0x01021994

static struct {
	const struct plan *plan;
	uint64_t processes;    /* 0: not watched */
	uint64_t memory;       /* in bytes; 0: not watched */
	uint64_t processes_at; /* when to look next, in milliseconds */
	uint64_t memory_at;
	uint64_t page;
} watched;

static uint64_t now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

void koda_watch_start(const struct plan *plan, bool root, bool memory)
{
	uint64_t now = now_us() / 1000;
	struct koda_op op;
	size_t at = 0;

	watched.plan = plan;
	watched.page = (uint64_t)sysconf(_SC_PAGESIZE);
	watched.processes_at = now + PROCESSES_MS;
	watched.memory_at = now + MEMORY_MS;
	while (koda_ops_next(plan->bytes, &at, &op)) {
		if (op.kind == KODA_OP_RLIMIT && op.flags == RLIMIT_NPROC && root)
			watched.processes = op.n2;
		if (op.kind == KODA_OP_RLIMIT && op.flags == RLIMIT_DATA && memory)
			watched.memory = op.n2;
	}
}

int koda_watch_ms(void)
{
	uint64_t now = now_us() / 1000;
	uint64_t next = UINT64_MAX;

	if (watched.processes)
		next = watched.processes_at;
	if (watched.memory && watched.memory_at < next)
		next = watched.memory_at;
	if (next == UINT64_MAX)
		return -1;
	return next > now ? (int)(next - now) : 0;
}

/* Init is not counted, and not reached by its own signal. */
static void end_all(enum koda_report_limit which)
{
	(void)koda_report_send(KODA_REPORT_LIMIT, (int)which, 0, "", "");
	if (koda_fenced)
		koda_family_kill();
	else
		(void)kill(-1, SIGKILL);
	watched.processes = 0;
	watched.memory = 0;
}

/* Counting sets errno as it likes. */
static const struct dirent *next_entry(DIR *dir)
{
	errno = 0;
	return readdir(dir);
}

/* Adds up what count says of every process but init; it may stop when that is enough. Limits that
 * cannot be watched do not hold: with init everything ends. */
static uint64_t sum_processes(uint64_t (*count)(const char *pid), uint64_t enough)
{
	DIR *dir = koda_fenced ? NULL : opendir("/proc");
	const struct dirent *entry;
	uint64_t sum = 0;

	if (koda_fenced)
		return koda_family_sum(count, enough);
	if (!dir)
		_exit(KODA_STAGE2_FAILED);
	while ((entry = next_entry(dir)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    strcmp(entry->d_name, "1") != 0)
			sum += count(entry->d_name);
	if (errno != 0)
		_exit(KODA_STAGE2_FAILED);
	(void)closedir(dir);
	return sum;
}

/* /proc/PID/name as text; false if the process is gone or closed to us. */
static bool read_about(const char *pid, const char *name, char *out, size_t size)
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
static uint64_t count_threads(const char *pid)
{
	char text[1024];
	const char *at;
	uint64_t threads;

	at = read_about(pid, "stat", text, sizeof(text)) ? strrchr(text, ')') : NULL;
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
		found = entry->d_name[0] != '.' && read_about(out, "statm", text, sizeof(text)) &&
			strtoull(text, NULL, 10) > 0;
	}
	if (dir)
		(void)closedir(dir);
	return found;
}

/* Everything resident, pages shared with others included. A process whose first thread has ended
 * says that it has nothing; its other threads know. */
static uint64_t count_resident(const char *pid)
{
	char thread[64];
	char text[256];
	char *rest;

	if (!read_about(pid, "statm", text, sizeof(text)))
		return 0;
	if (strtoull(text, &rest, 10) == 0 && find_thread(pid, thread, sizeof(thread)) &&
	    read_about(thread, "statm", text, sizeof(text)))
		(void)strtoull(text, &rest, 10);
	return strtoull(rest, NULL, 10) * watched.page;
}

/* The value of a line "Name:  123 kB", in bytes. */
static uint64_t field(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) * 1024 : 0;
}

/* The process's share. One that closes itself to us is counted with all it has. */
static uint64_t count_share(const char *pid)
{
	char text[4096];
	char thread[64];

	if (read_about(pid, "statm", text, sizeof(text)) && strtoull(text, NULL, 10) == 0 &&
	    find_thread(pid, thread, sizeof(thread)))
		pid = thread;
	if (read_about(pid, "smaps_rollup", text, sizeof(text)) && strstr(text, "\nPss_Anon:"))
		return field(text, "\nPss_Anon:") + field(text, "\nPss_Shmem:") +
		       field(text, "\nSwapPss:");
	if (!read_about(pid, "status", text, sizeof(text)))
		return 0;
	return field(text, "\nRssAnon:") + field(text, "\nRssShmem:") + field(text, "\nVmSwap:");
}

/* What the private file systems hold. */
static uint64_t count_files(void)
{
	struct koda_op op;
	uint64_t sum = 0;
	size_t at = 0;

	while (koda_ops_next(watched.plan->bytes, &at, &op)) {
		struct statfs fs;

		if ((op.kind == KODA_OP_TMPFS || op.kind == KODA_OP_OVERLAY) &&
		    statfs(op.text1.ptr, &fs) == 0 && fs.f_type == TMPFS_MAGIC)
			sum += (fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
	}
	return sum;
}

static void look_at_memory(void)
{
	uint64_t start = now_us();
	uint64_t files = count_files();
	uint64_t used = files + sum_processes(count_resident, watched.memory);
	uint64_t pause = 0;
	uint64_t cost;

	if (used > watched.memory)
		used = files + sum_processes(count_share, watched.memory);
	if (used > watched.memory) {
		end_all(KODA_REPORT_LIMIT_MEMORY);
		return;
	}
	pause = (watched.memory - used) / BYTES_PER_MS;
	pause = pause < MEMORY_MS ? MEMORY_MS : pause > MEMORY_MAX ? MEMORY_MAX : pause;
	cost = (now_us() - start) * COST_SHARE / 1000;
	watched.memory_at = now_us() / 1000 + (pause > cost ? pause : cost);
}

void koda_watch_look(void)
{
	uint64_t now = now_us() / 1000;

	if (watched.processes && now >= watched.processes_at) {
		watched.processes_at = now + PROCESSES_MS;
		if (sum_processes(count_threads, watched.processes) > watched.processes)
			end_all(KODA_REPORT_LIMIT_PROCESSES);
	}
	if (watched.memory && now >= watched.memory_at)
		look_at_memory();
}
