/* SPDX-License-Identifier: MIT */
/*
 * Pid 1 of the sandbox. It maps the user, builds the view, starts the command, reaps whatever
 * ends, passes signals on, and reports how the command ended. When it exits, the kernel ends
 * everything else in the namespace.
 */
#include "stage2.h"

#include "sys.h"
#include "wire/report.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

static _Noreturn void report_exit(int status)
{
	(void)koda_report_send(KODA_REPORT_EXITED, status, 0, "", "");
	_exit(0);
}

/* Reaps everything that has ended; does not return once the command is among it. */
static void reap(pid_t command)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == command)
			report_exit(status);
	}
	if (koda_terminal_continue(command, &status))
		report_exit(status);
}

/* T-38. The command has ended, but whoever of its own traces it is told first, and may keep that to
 * itself. With everything else the tracer ends. */
static _Noreturn void end_traced(pid_t command)
{
	int status;
	pid_t pid;

	reap(command);
	(void)kill(-1, SIGKILL);
	while ((pid = waitpid(-1, &status, __WALL)) != command)
		if (pid < 0 && errno != EINTR)
			_exit(1);
	report_exit(status);
}

/* A signal that the guardian cannot send itself; else the guardian is gone. */
static void obey(pid_t command, int guardian_fd)
{
	unsigned char number;

	if (read(guardian_fd, &number, 1) != 1)
		_exit(1);
	koda_terminal_pass(command, number);
}

static _Noreturn void serve(pid_t command, int signals, int guardian_fd)
{
	struct pollfd polled[] = { { .fd = signals, .events = POLLIN },
				   { .fd = guardian_fd, .events = POLLIN },
				   { .fd = koda_command_hold(command), .events = POLLIN } };

	for (;;) {
		struct signalfd_siginfo info;

		if (poll(polled, 3, koda_watch_ms()) < 0 && errno != EINTR)
			_exit(1);
		koda_watch_look();
		if (polled[1].revents)
			obey(command, guardian_fd);
		if (polled[2].revents)
			end_traced(command);
		if (!polled[0].revents || read(signals, &info, sizeof(info)) != sizeof(info))
			continue;
		if (info.ssi_signo == SIGCHLD)
			reap(command);
		else
			koda_terminal_pass(command, (int)info.ssi_signo);
	}
}

/* The next message of the guardian, or it is gone. */
static void wait_for_guardian(int guardian_fd, void *message, size_t size)
{
	ssize_t n;

	do {
		n = read(guardian_fd, message, size);
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)size)
		_exit(1);
}

/* Gaining capabilities, as by a new user namespace, undoes it. */
static void tie_to_guardian(void)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		koda_stage2_fail("tie init to the guardian", "", errno);
}

/* What no plan can change. The runner is still making it meanwhile. */
static void prepare(uid_t user, gid_t group)
{
	tie_to_guardian();
	koda_user_map(user, group);
	koda_view_prepare(false);
	koda_net_make();
	if (sethostname("koda", 4) < 0)
		koda_stage2_fail("set the host name", "", errno);
	/* Somebody may wait for this word. */
	if (!koda_report_send(KODA_REPORT_READY, KODA_REPORT_READY_LOCKED, 0, "", ""))
		_exit(1);
}

_Noreturn void koda_init_run(const struct plan *plan, int way_out, uid_t user, bool group)
{
	sigset_t all;
	pid_t command;
	int signals;

	/* In the view that the command has: what is opened in another has no path there. */
	koda_terminal_open(plan);
	tie_to_guardian();
	koda_lock_privileges();
	(void)sigfillset(&all);
	signals = signalfd(-1, &all, SFD_CLOEXEC);
	if (signals < 0)
		koda_stage2_fail("watch signals", "", errno);
	koda_handed_take(plan);
	command = koda_command_start(plan);
	koda_handed_drop();
	/* Connections have been waiting there; telling the runner takes time that the command need
	 * not wait. */
	if (way_out >= 0) {
		if (!koda_report_give(KODA_REPORT_LISTENER, way_out, ""))
			_exit(1);
		(void)close(way_out);
	}
	for (int fd = 0; fd <= 2; fd++)
		(void)close(fd);
	koda_watch_start(plan, user == 0 && !group, !group);
	serve(command, signals, KODA_STAGE2_LIFE_FD);
}

_Noreturn void koda_init_main(int guardian_fd, uid_t user, gid_t group)
{
	unsigned char planned;
	struct plan plan;
	struct go go;
	int way_out;

	prepare(user, group);
	wait_for_guardian(guardian_fd, &planned, sizeof(planned));
	plan = koda_plan_load(KODA_STAGE2_PLAN_FD);
	koda_view_begin(&plan);
	wait_for_guardian(guardian_fd, &go, sizeof(go));
	koda_check_take_outside(go.outside);
	koda_view_build(&plan, &go);
	/* Detached trees, mount points: all are done with. The lifeline's number is free, and the
	 * bond with the guardian takes its place. */
	if (dup3(guardian_fd, KODA_STAGE2_LIFE_FD, O_CLOEXEC) < 0 ||
	    syscall(SYS_close_range, KODA_STAGE2_LIFE_FD + 1, ~0U, 0) < 0)
		koda_stage2_fail("close descriptors", "", errno);
	way_out = koda_net_listen(&plan);
	koda_check_remember_view();
	koda_user_seclude(user, group);
	koda_init_run(&plan, way_out, user, go.cgroup);
}
