/* SPDX-License-Identifier: MIT */
/*
 * T-31. Limits that the kernel does not hold, watched by init: root's processes, and the memory of
 * the whole tree where there is no control group for it. Above a limit the runner is told which,
 * and everything ends.
 *
 * Memory is what would come free if the tree ended: pages of its own and its share of pages that
 * several have, shared memory, tables of pages, and what is in the private file systems. The cheap
 * sum counts shared pages once per process; only when that is too much are the shares looked up.
 */
#include "stage2.h"

#include "sys.h"
#include "wire/report.h"

#include <dirent.h>
#include <errno.h>
#include <linux/kcmp.h>
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
/* No processor fills memory faster than this, so with room for more the next look can wait. */
#define BYTES_PER_MS (8ULL << 20)
/* Looking takes at most one part in this many of a processor, unless it is urgent or would leave a
 * command unseen for longer than MEMORY_REST: whoever makes looking dear pays for it. */
#define COST_SHARE  20
#define MEMORY_REST 2000

/* After so many processes it is time to see whether looking takes longer than that, with less than
 * one part in so many of a processor. */
#define STARVED_EACH  16
#define STARVED_US    300000
#define STARVED_SHARE 8

#define TMPFS_MAGIC 0x01021994
/* What the kernel keeps of a file in such a file system, be it empty: inode, name, and their places
 * in the directory. */
#define FILE_BYTES 2048

/* A user may have 65536 groups, and status tells them all before it comes to memory. */
#define STATUS_MAX ((size_t)1 << 20)

static struct {
	const struct plan *plan;
	uint64_t processes;    /* 0: not watched */
	uint64_t memory;       /* in bytes; 0: not watched */
	uint64_t processes_at; /* when to look next, in milliseconds */
	uint64_t memory_at;    /* when to look whether it is urgent */
	uint64_t memory_last;  /* when to look even if it is not */
	uint64_t room;         /* memory that was left to the command at the last look */
	uint64_t available;    /* and to the machine, when that began */
} watched;

static uint64_t clock_us(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static uint64_t now_us(void)
{
	return clock_us(CLOCK_MONOTONIC);
}

/* The look that is being taken. */
static struct {
	uint64_t began; /* in microseconds */
	uint64_t spent; /* of the processor, until then */
	unsigned int seen;
	bool stopped; /* everything stands still for it */
} look;

/* Everything but init. */
static void signal_all(int number)
{
	if (koda_fenced)
		koda_family_signal(number);
	else
		(void)kill(-1, number);
}

static void begin_look(void)
{
	look.began = now_us();
	look.spent = clock_us(CLOCK_THREAD_CPUTIME_ID);
	look.seen = 0;
	look.stopped = false;
}

/* T-31. Every session has the same share of the processors, init's among them, and a command can
 * make thousands. So that it is not the one who decides when it is looked at, it has to stand still
 * for that, if there is no other way. */
static void go_on_looking(void)
{
	uint64_t took;

	if (look.stopped || ++look.seen % STARVED_EACH != 0)
		return;
	took = now_us() - look.began;
	if (took < STARVED_US ||
	    (clock_us(CLOCK_THREAD_CPUTIME_ID) - look.spent) * STARVED_SHARE > took)
		return;
	look.stopped = true;
	signal_all(SIGSTOP);
}

static void end_look(void)
{
	if (look.stopped)
		signal_all(SIGCONT);
	look.stopped = false;
}

void koda_watch_start(const struct plan *plan, bool root, bool memory)
{
	uint64_t now = now_us() / 1000;
	struct koda_op op;
	size_t at = 0;

	watched.plan = plan;
	watched.processes_at = now + PROCESSES_MS;
	watched.memory_at = now + MEMORY_MS;
	while (koda_ops_next(plan->bytes, &at, &op)) {
		if (op.kind == KODA_OP_RLIMIT && op.flags == RLIMIT_NPROC && root)
			watched.processes = op.n2;
		if (op.kind == KODA_OP_RLIMIT && op.flags == RLIMIT_RSS && memory)
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
	go_on_looking();
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

/* The value of a line "Name:  123 kB", in bytes. */
static uint64_t field(const char *text, const char *name)
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
	if (!read_about(pid, "status", text, STATUS_MAX))
		return "";
	if (!strstr(text, "\nVmRSS:") &&
	    (!find_thread(pid, thread, size) || !read_about(thread, "status", text, STATUS_MAX)))
		return "";
	return text;
}

/* Everything that it has, pages shared with others included, and the tables that lead to them: a
 * table of 4 KiB needs no more than one page that is nobody's, as one that was only read. */
static uint64_t count_resident(const char *pid)
{
	char thread[64];
	const char *text = read_status(pid, thread, sizeof(thread));

	go_on_looking();
	return field(text, "\nVmRSS:") + field(text, "\nVmSwap:") + field(text, "\nVmPTE:") +
	       field(text, "\nHugetlbPages:");
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
static uint64_t count_share(const char *pid)
{
	bool guest = is_guest(pid);
	char thread[64];
	char shares[4096];
	const char *text = read_status(pid, thread, sizeof(thread));
	/* Huge pages are set aside by the administrator, and are in no other sum. */
	uint64_t besides = field(text, "\nVmPTE:") + field(text, "\nHugetlbPages:");

	go_on_looking();
	if (guest)
		return 0;
	if (read_about(thread, "smaps_rollup", shares, sizeof(shares)) &&
	    strstr(shares, "\nPss_Anon:"))
		return field(shares, "\nPss_Anon:") + field(shares, "\nPss_Shmem:") +
		       field(shares, "\nSwapPss:") + besides;
	return field(text, "\nRssAnon:") + field(text, "\nRssShmem:") + field(text, "\nVmSwap:") +
	       besides;
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
			sum += (fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize +
			       (fs.f_files - fs.f_ffree) * FILE_BYTES;
	}
	return sum;
}

/* What the machine has left for anybody. */
static uint64_t count_available(void)
{
	char text[4096];

	return read_about(".", "meminfo", text, sizeof(text)) ? field(text, "\nMemAvailable:") : 0;
}

/* A command can make a look take seconds, by pages that many processes share. It must not win the
 * time in which nobody looks: what it takes beyond its limit the machine has lost. Where others
 * give memory back meanwhile this sees nothing; then MEMORY_REST ends the time. */
static bool is_urgent(void)
{
	return count_available() + watched.room < watched.available;
}

static void look_at_memory(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t available = count_available();
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
	pause = (watched.memory - used) / (BYTES_PER_MS * (uint64_t)(cpus > 0 ? cpus : 1));
	pause = pause < MEMORY_MS ? MEMORY_MS : pause > MEMORY_MAX ? MEMORY_MAX : pause;
	cost = (clock_us(CLOCK_THREAD_CPUTIME_ID) - look.spent) * COST_SHARE / 1000;
	cost = cost > MEMORY_REST ? MEMORY_REST : cost;
	watched.memory_at = now_us() / 1000 + pause;
	watched.memory_last = now_us() / 1000 + (pause > cost ? pause : cost);
	watched.room = watched.memory - used;
	watched.available = available;
}

void koda_watch_look(void)
{
	uint64_t now = now_us() / 1000;

	if (watched.processes && now >= watched.processes_at) {
		begin_look();
		watched.processes_at = now + PROCESSES_MS;
		if (sum_processes(count_threads, watched.processes) > watched.processes)
			end_all(KODA_REPORT_LIMIT_PROCESSES);
		end_look();
	}
	if (watched.memory && now >= watched.memory_at) {
		watched.memory_at = now + MEMORY_MS;
		begin_look();
		if (now >= watched.memory_last || is_urgent())
			look_at_memory();
		end_look();
	}
}
