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

#include "count.h"
#include "sys.h"
#include "wire/report.h"

#include <errno.h>
#include <signal.h>
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
	uint64_t (*count)(const char *pid);
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

/* Looking at one process, and at all. */
static uint64_t look_at(const char *pid)
{
	go_on_looking();
	return look.count(pid);
}

static uint64_t sum_processes(uint64_t (*count)(const char *pid), uint64_t enough)
{
	look.count = count;
	return koda_count_all(look_at, enough);
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

	return koda_count_read(".", "meminfo", text, sizeof(text))
		       ? koda_count_field(text, "\nMemAvailable:")
		       : 0;
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
	uint64_t used = files + sum_processes(koda_count_resident, watched.memory);
	uint64_t pause = 0;
	uint64_t cost;

	if (used > watched.memory)
		used = files + sum_processes(koda_count_share, watched.memory);
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
		if (sum_processes(koda_count_threads, watched.processes) > watched.processes)
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
