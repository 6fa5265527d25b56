/* SPDX-License-Identifier: MIT */
/*
 * T-18, T-21, T-23, T-26. The guardian. It stays outside the sandbox and does four things:
 * placeholders, start, wait, clean up. Whatever dies first - runner, init, command - it notices,
 * ends the rest and removes what it put into the project.
 */
#include "inside.h"

#include "sys.h"
#include "wire/bwrap.h"
#include "wire/report.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Init makes the network's itself. */
#define NAMESPACES                                                                                 \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

/* T-87. How much later than the runner the guardian looks at the wall time. */
#define WALL_GRACE_MS 1000

bool koda_fenced;
static bool failed_here;
bool *koda_failed = &failed_here;
static bool is_inside;   /* bubblewrap is between us and the guardian */
static int runner = -1;  /* a pidfd; -1: unknown */
static uint64_t wall_at; /* when the command has taken too long, in milliseconds; 0: never */
static pid_t guardian;   /* a clone of it has another number, in its own namespace */

/* Before the runner hears of it, who ends everything then. */
static void mark_failure(void)
{
	const unsigned char word = INSIDE_FAILED;

	*koda_failed = true;
	if (is_inside)
		(void)!send(KODA_STAGE2_LIFE_FD, &word, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

_Noreturn void koda_stage2_fail(const char *op, const char *path, int sys_errno)
{
	mark_failure();
	(void)koda_report_send(KODA_REPORT_SETUP_FAILED, 0, sys_errno, op, path);
	if (getpid() == guardian) {
		koda_cgroup_close();
		koda_hold_undo();
		koda_scratch_remove();
	}
	_exit(KODA_STAGE2_FAILED);
}

_Noreturn void koda_stage2_leave(void)
{
	mark_failure();
	_exit(KODA_STAGE2_FAILED);
}

/* Whoever is forked from now on can tell everybody. */
static void share_failure(void)
{
	void *map = mmap(NULL, sizeof(*koda_failed), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED)
		koda_stage2_fail("share memory", "", errno);
	koda_failed = map;
}

struct plan koda_plan_load(int fd)
{
	const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
	struct plan plan;
	struct stat st;
	void *map;

	if (fcntl(fd, F_GET_SEALS) != seals || fstat(fd, &st) < 0)
		koda_stage2_fail("the plan is not sealed", "", errno);
	plan.len = (size_t)st.st_size;
	if (plan.len == 0 || plan.len > KODA_OP_PLAN_MAX)
		koda_stage2_fail("the plan has an impossible size", "", 0);
	map = mmap(NULL, plan.len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		koda_stage2_fail("map the plan", "", errno);
	plan.bytes = map;
	if (!koda_ops_are_sound(plan.bytes, plan.len))
		koda_stage2_fail("the plan is malformed", "", 0);
	(void)close(fd);
	return plan;
}

/* Nothing but 0-2 and those up to last may come along, and none of ours may pass an exec. */
static void tidy_descriptors(unsigned int last)
{
	if (syscall(SYS_close_range, last + 1, ~0U, 0) < 0 ||
	    fcntl(KODA_STAGE2_STATUS_FD, F_SETFD, FD_CLOEXEC) < 0 ||
	    fcntl(KODA_STAGE2_LIFE_FD, F_SETFD, FD_CLOEXEC) < 0)
		koda_stage2_fail("close descriptors", "", errno);
}

/* Placeholders and views take descriptors, the more the more repositories there are. Init inherits
 * this; the command's limit is the plan's. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit); /* running out later is reported anyway */
	}
}

/* It has made the lifeline. If it is not our parent any more somebody else is, who would be held on
 * to in its place. It is nobody here if it is in another namespace of processes. */
static void hold_runner(void)
{
	struct ucred made = { .pid = 0 };
	socklen_t len = sizeof(made);

	if (getppid() == 0)
		return;
	if (getsockopt(KODA_STAGE2_LIFE_FD, SOL_SOCKET, SO_PEERCRED, &made, &len) < 0)
		koda_stage2_fail("learn who the runner is", "", errno);
	runner = (int)syscall(SYS_pidfd_open, made.pid, 0);
	if (runner < 0 && errno != ESRCH && errno != EINVAL)
		koda_stage2_fail("hold on to the runner", "", errno);
	if (runner < 0 || getppid() != made.pid)
		koda_stage2_fail("the runner is gone", "", 0);
}

static pid_t start_init(int *ret_pidfd, int *ret_bond)
{
	int bond[2]; /* lets init go on; the guardian's end closes with it, and init notices */
	long pid;
	int pidfd = -1;
	uid_t user = geteuid();
	gid_t group = getegid();
	struct {
		uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
	} args = { .flags = NAMESPACES | CLONE_PIDFD,
		   .pidfd = (uint64_t)(uintptr_t)&pidfd,
		   .exit_signal = SIGCHLD };

	if (pipe2(bond, O_CLOEXEC) < 0)
		koda_stage2_fail("make a pipe", "", errno);
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid < 0)
		koda_stage2_fail("create namespaces", "", errno);
	if (pid == 0) {
		(void)close(bond[1]);
		(void)close(KODA_STAGE2_LIFE_FD);
		koda_init_main(bond[0], user, group);
	}
	(void)close(bond[0]);
	*ret_bond = bond[1];
	*ret_pidfd = pidfd;
	return (pid_t)pid;
}

/* The time until one of two moments, for poll; 0: it never comes. */
static int until_first(uint64_t now, uint64_t a, uint64_t b)
{
	uint64_t at = b == 0 || (a != 0 && a < b) ? a : b;

	if (at == 0)
		return -1;
	return at <= now ? 0 : at - now > INT_MAX ? INT_MAX : (int)(at - now);
}

void koda_guard_watch(int pidfd, int bond, bool (*pass)(int pidfd, int bond, unsigned char number))
{
	/* A process that the runner has forked keeps the lifeline when the runner dies. */
	struct pollfd polled[] = { { .fd = KODA_STAGE2_LIFE_FD, .events = POLLIN },
				   { .fd = pidfd, .events = POLLIN },
				   { .fd = runner, .events = POLLIN } };
	uint64_t sweep_at = koda_remove_now() + KODA_SWEEP_AFTER_MS;

	for (;;) {
		unsigned char number = 0;
		int n = poll(polled, 3, until_first(koda_remove_now(), sweep_at, wall_at));

		if (n < 0 && errno != EINTR)
			break;
		if (polled[1].revents && n > 0)
			return;
		/* The runner is stopped, or waits for a terminal that takes nothing. */
		if (wall_at != 0 && koda_remove_now() >= wall_at) {
			(void)koda_report_send(KODA_REPORT_LIMIT, KODA_REPORT_LIMIT_WALL_TIME, 0,
					       "", "");
			break;
		}
		if (n == 0) {
			koda_sweep_start();
			sweep_at = 0;
			continue;
		}
		if (n < 0)
			continue;
		if (polled[2].revents)
			break;
		if (!polled[0].revents)
			continue;
		if (recv(KODA_STAGE2_LIFE_FD, &number, 1, 0) != 1)
			break;
		if (number == SIGKILL)
			(void)koda_report_send(KODA_REPORT_EXITED, SIGKILL, 0, "", "");
		if (!pass(pidfd, bond, number))
			break;
	}
	/* Its pid namespace goes with it. */
	(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

/* Two signals work on init itself: of one it is told, of the other it cannot tell what became. */
bool koda_guard_pass(int pidfd, int bond, unsigned char number)
{
	if (number == SIGSTOP)
		(void)!write(bond, &number, sizeof(number));
	else
		(void)syscall(SYS_pidfd_send_signal, pidfd, number, NULL, 0);
	return true;
}

/* The plan is being made while the namespaces are. False: there will be none. */
bool koda_guardian_wait_for_plan(void)
{
	struct koda_life_plan message = { .word = KODA_LIFE_PLAN };
	ssize_t n;

	do {
		n = recv(KODA_STAGE2_LIFE_FD, &message, sizeof(message), 0);
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(message) || message.word != KODA_LIFE_PLAN)
		return false;
	if (message.wall_seconds != KODA_LIFE_FOREVER)
		wall_at = koda_remove_now() + message.wall_seconds * 1000ULL + WALL_GRACE_MS;
	return true;
}

/* From the plan to the end of the command. */
static void guard(pid_t init, int pidfd, int bond)
{
	const unsigned char planned = 1;
	struct plan plan;
	struct go go = { .cgroup = false };

	/* Init has much to do before it needs what is made here. */
	if (write(bond, &planned, sizeof(planned)) != (ssize_t)sizeof(planned))
		koda_stage2_fail("init is gone", "", errno);
	plan = koda_plan_load(KODA_STAGE2_PLAN_FD);
	koda_check_tell_outside(go.outside);
	koda_hold_all(&plan);
	koda_cache_hold(&plan, &go);
	go.cgroup = koda_cgroup_open(&plan, init);
	if (write(bond, &go, sizeof(go)) != (ssize_t)sizeof(go))
		koda_stage2_fail("init is gone", "", errno);
	koda_sweep_for(&plan);
	koda_guard_watch(pidfd, bond, koda_guard_pass);
	koda_sweep_stop();
}

/* Namespaces of our own making. */
static void guard_native(void)
{
	int pidfd;
	int bond;
	pid_t init = start_init(&pidfd, &bond);

	/* The command's streams must end when the command does, not when we do. */
	for (int fd = 0; fd <= 2; fd++)
		(void)close(fd);
	if (koda_guardian_wait_for_plan())
		guard(init, pidfd, bond);
	else
		(void)kill(init, SIGKILL);
	if (!koda_guard_await(pidfd, KODA_GUARD_PATIENCE_MS))
		return;
	while (waitpid(init, NULL, 0) < 0 && errno == EINTR)
		;
}

int main(int argc, char **argv)
{
	const char *part = argc > 1 ? argv[1] : "";
	bool open_view = strcmp(part, KODA_STAGE2_OPEN) == 0;
	bool bwrap = open_view || strcmp(part, KODA_STAGE2_BWRAP) == 0;
	sigset_t all;

	is_inside = strcmp(part, KODA_STAGE2_INSIDE) == 0 || strcmp(part, KODA_STAGE2_VIEWER) == 0;
	if (is_inside)
		koda_inside_main(strcmp(part, KODA_STAGE2_VIEWER) == 0);
	guardian = getpid();
	koda_fenced = strcmp(part, KODA_STAGE2_LANDLOCK) == 0;
	tidy_descriptors(bwrap         ? KODA_BWRAP_ARGS_FD
			 : koda_fenced ? KODA_STAGE2_FILTERS_FD
				       : KODA_STAGE2_LIFE_FD);
	hold_runner();
	(void)sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, NULL) < 0)
		koda_stage2_fail("block signals", "", errno);
	(void)setsid(); /* the terminal's signals are the runner's to judge */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		koda_stage2_fail("become undumpable", "", errno);
	share_failure();
	if (!koda_fenced)
		raise_descriptor_limit();
	if (koda_fenced)
		koda_fence_guard();
	else if (bwrap)
		koda_bwrap_guard(open_view);
	else
		guard_native();
	/* Init was in the group and could not tell. */
	if (koda_cgroup_report())
		(void)koda_report_send(KODA_REPORT_EXITED, SIGKILL, 0, "", "");
	koda_cgroup_close();
	koda_cache_undo();
	koda_hold_undo();
	koda_scratch_remove();
	koda_bwrap_wait();
	return *koda_failed ? KODA_STAGE2_FAILED : 0;
}
