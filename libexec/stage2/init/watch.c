/* SPDX-License-Identifier: MIT */
/*
 * T-31. Limits that the kernel does not enforce, watched by init: the number of root's processes,
 * and the memory of the whole tree where there is no control group. Above a limit the runner gets a
 * report that names it, and everything ends.
 *
 * Memory is what would be freed if the tree ended: private pages, the proportional share of shared
 * pages, shared memory, page tables, and the contents of private tmpfs mounts. A cheap sum counts
 * shared pages once for every process. Only if that exceeds the limit are the shares read.
 */
#include "init/watch.h"

#include "backend.h"
#include "init/count.h"
#include "landlock/proctree.h"
#include "report.h"
#include "sys.h"
#include "wire/report.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <time.h>

/* A fork bomb is fast, while memory has to be filled first. A command that ends before the first
 * look costs nothing. */
#define PROCESSES_MS 20
#define MEMORY_MS    50
#define MEMORY_MAX   500
/* No processor fills memory faster than this, so with more room left the next look can wait. */
#define BYTES_PER_MS (8ULL << 20)
/* Looking takes at most one part in COST_SHARE of a processor, unless it is urgent. A command that
 * makes looking expensive is unwatched for at most MEMORY_REST. */
#define COST_SHARE  20
#define MEMORY_REST 2000

/* After every STARVED_EACH processes: has the look taken longer than STARVED_US, with less than one
 * part in STARVED_SHARE of a processor? */
#define STARVED_EACH  16
#define STARVED_US    300000
#define STARVED_SHARE 8

#define TMPFS_MAGIC 0x01021994
/* What the kernel allocates for a file in tmpfs, even an empty one: inode, name and directory
 * entry. */
#define FILE_BYTES 2048

static struct {
	const struct plan *plan;
	uint64_t processes;    /* 0: not watched */
	uint64_t memory;       /* in bytes; 0: not watched */
	uint64_t processes_at; /* next look, in milliseconds */
	uint64_t memory_at;    /* next look whether it is urgent */
	uint64_t memory_last;  /* next look in any case */
	uint64_t room;         /* memory that was left to the command at the last look */
	uint64_t available;    /* memory that was left to the machine when that look began */
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

/* The look in progress. */
static struct {
	uint64_t began; /* in microseconds */
	uint64_t spent; /* processor time until then */
	uint64_t (*count)(const char *pid);
	unsigned int seen;
	bool stopped; /* the command is stopped meanwhile */
} look;

/* Sends a signal to everything but init. */
static void signal_tree(int number)
{
	if (stage2_backend_is_landlock)
		stage2_proctree_signal(number);
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

/* T-31. Autogroup scheduling gives every session an equal share of the processors, and a command
 * can make thousands of sessions. If init is starved by that, it stops the command (SIGSTOP) until
 * the look is done. */
static void check_starved(void)
{
	uint64_t took;

	if (look.stopped || ++look.seen % STARVED_EACH != 0)
		return;
	took = now_us() - look.began;
	if (took < STARVED_US ||
	    (clock_us(CLOCK_THREAD_CPUTIME_ID) - look.spent) * STARVED_SHARE > took)
		return;
	look.stopped = true;
	signal_tree(SIGSTOP);
}

static void end_look(void)
{
	if (look.stopped)
		signal_tree(SIGCONT);
	look.stopped = false;
}

void stage2_watch_start(const struct plan *plan, bool root, bool memory)
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

int stage2_watch_ms(void)
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

/* kill(-1) does not reach init itself, and init is not counted. */
static void end_tree(enum koda_report_limit which)
{
	(void)stage2_report_send(KODA_REPORT_LIMIT, (int)which);
	if (stage2_backend_is_landlock)
		stage2_proctree_kill();
	else
		(void)kill(-1, SIGKILL);
	watched.processes = 0;
	watched.memory = 0;
}

/* Counts one process, and checks whether init is starved. */
static uint64_t look_at(const char *pid)
{
	check_starved();
	return look.count(pid);
}

static uint64_t sum_processes(uint64_t (*count)(const char *pid), uint64_t enough)
{
	look.count = count;
	return stage2_count_all(look_at, enough);
}

/* Returns the bytes in private tmpfs mounts. */
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

/* Returns the memory that is available to the whole machine. */
static uint64_t count_available(void)
{
	char text[4096];

	return stage2_count_read(".", "meminfo", text, sizeof(text))
		       ? stage2_count_field(text, "\nMemAvailable:")
		       : 0;
}

/* Returns true if the machine has lost more memory since the last look than the command had left. A
 * command can make a look take seconds, by pages that many processes share, and must not gain the
 * time between two looks. Memory that other programs free meanwhile hides this; then MEMORY_REST
 * ends the wait. */
static bool is_urgent(void)
{
	return count_available() + watched.room < watched.available;
}

static void look_at_memory(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t available = count_available();
	uint64_t files = count_files();
	uint64_t used = files + sum_processes(stage2_count_resident, watched.memory);
	uint64_t pause = 0;
	uint64_t cost;

	if (used > watched.memory)
		used = files + sum_processes(stage2_count_share, watched.memory);
	if (used > watched.memory) {
		end_tree(KODA_REPORT_LIMIT_MEMORY);
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

void stage2_watch_look(void)
{
	uint64_t now = now_us() / 1000;

	if (watched.processes && now >= watched.processes_at) {
		begin_look();
		watched.processes_at = now + PROCESSES_MS;
		if (sum_processes(stage2_count_threads, watched.processes) > watched.processes)
			end_tree(KODA_REPORT_LIMIT_PROCESSES);
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
