/* SPDX-License-Identifier: MIT */
/*
 * Pid 1 of the sandbox. It maps the user, builds the view, starts the command, reaps processes,
 * passes signals on, and reports how the command ended. When it exits, the kernel ends everything
 * else in the pid namespace.
 */
#include "init/init.h"

#include "command/check.h"
#include "command/command.h"
#include "command/lock.h"
#include "command/passed_fds.h"
#include "fail.h"
#include "init/net.h"
#include "init/orders.h"
#include "init/terminal.h"
#include "init/userns.h"
#include "init/view.h"
#include "init/watch.h"
#include "pathcall/reporter.h"
#include "report.h"
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
	stage2_reporter_end();
	(void)stage2_report_send(KODA_REPORT_EXITED, status);
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
	if (stage2_terminal_continue(command, &status))
		report_exit(status);
}

/* T-38. The command has ended, but a process that traces it is told first, and may not wait for it.
 * SIGKILL to everything ends the tracer; then the kernel tells init. */
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

/* Reads a signal that the guardian cannot send by itself (SIGSTOP). Exits if the guardian is
 * gone. */
static void obey(pid_t command, int guardian_fd)
{
	unsigned char number;

	if (read(guardian_fd, &number, 1) != 1)
		_exit(1);
	stage2_terminal_pass(command, number);
}

static _Noreturn void serve(pid_t command, int command_pidfd, int signals, int guardian_fd)
{
	struct pollfd polled[] = { { .fd = signals, .events = POLLIN },
				   { .fd = guardian_fd, .events = POLLIN },
				   { .fd = command_pidfd, .events = POLLIN },
				   { .events = POLLIN } };

	for (;;) {
		struct signalfd_siginfo info;

		polled[3].fd = stage2_reporter_fd();
		if (poll(polled, 4, stage2_watch_ms()) < 0 && errno != EINTR)
			_exit(1);
		stage2_watch_look();
		if (polled[3].revents)
			stage2_reporter_step(polled[3].revents);
		if (polled[1].revents)
			obey(command, guardian_fd);
		if (polled[2].revents)
			end_traced(command);
		if (!polled[0].revents || read(signals, &info, sizeof(info)) != sizeof(info))
			continue;
		if (info.ssi_signo == SIGCHLD)
			reap(command);
		else
			stage2_terminal_pass(command, (int)info.ssi_signo);
	}
}

/* Reads the next message of the guardian. Exits if it is gone. */
static void wait_for_guardian(int guardian_fd, void *message, size_t size)
{
	ssize_t n;

	do {
		n = read(guardian_fd, message, size);
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)size)
		_exit(1);
}

/* Makes the kernel kill init when the guardian ends. A new user namespace clears PR_SET_PDEATHSIG,
 * because it changes capabilities. */
static void tie_to_guardian(void)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		stage2_fail(KODA_LAUNCH_INIT_PDEATHSIG, "", errno);
}

/* Does what no plan changes. The runner is still making the plan. */
static void prepare(uid_t user, gid_t gid)
{
	tie_to_guardian();
	stage2_userns_map(user, gid);
	stage2_view_prepare(false);
	stage2_net_make();
	if (sethostname("koda", 4) < 0)
		stage2_fail(KODA_LAUNCH_HOST_NAME, "", errno);
	/* The runner may wait for this report before it decides on the backend. */
	if (!stage2_report_send(KODA_REPORT_READY, KODA_REPORT_READY_LOCKED))
		_exit(1);
}

_Noreturn void stage2_init_run(const struct plan *plan, int listener, uid_t user, bool in_cgroup)
{
	sigset_t all;
	pid_t command;
	int command_pidfd;
	int signals;

	/* Opened in the command's view: a terminal opened in another one has no path there. */
	stage2_terminal_open(plan);
	tie_to_guardian();
	stage2_lock_privileges();
	(void)sigfillset(&all);
	signals = signalfd(-1, &all, SFD_CLOEXEC);
	if (signals < 0)
		stage2_fail(KODA_LAUNCH_WATCH_SIGNALS, "", errno);
	stage2_passed_fds_take(plan);
	command = stage2_command_start(plan, &command_pidfd);
	stage2_passed_fds_drop();
	/* Connections have been waiting at the listener. Sending it takes time, so the command was
	 * started before. */
	if (listener >= 0) {
		if (!stage2_report_send_fd(KODA_REPORT_LISTENER, listener, ""))
			_exit(1);
		(void)close(listener);
	}
	for (int fd = 0; fd <= 2; fd++)
		(void)close(fd);
	stage2_watch_start(plan, user == 0 && !in_cgroup, !in_cgroup);
	serve(command, command_pidfd, signals, KODA_STAGE2_LIFE_FD);
}

_Noreturn void stage2_init_main(int guardian_fd, uid_t user, gid_t gid)
{
	unsigned char planned;
	struct plan plan;
	struct init_orders orders;
	int listener;

	prepare(user, gid);
	wait_for_guardian(guardian_fd, &planned, sizeof(planned));
	plan = stage2_plan_load(KODA_STAGE2_PLAN_FD);
	stage2_view_begin(&plan);
	wait_for_guardian(guardian_fd, &orders, sizeof(orders));
	stage2_check_use_outside(orders.outside);
	stage2_view_build(&plan, &orders);
	/* Detached trees and mount points are not needed any more. guardian_fd takes the number
	 * of the lifeline, which init has closed. */
	if (dup3(guardian_fd, KODA_STAGE2_LIFE_FD, O_CLOEXEC) < 0 ||
	    syscall(SYS_close_range, KODA_STAGE2_LIFE_FD + 1, ~0U, 0) < 0)
		stage2_fail(KODA_LAUNCH_CLOSE_FDS, "", errno);
	listener = stage2_net_listen(&plan);
	stage2_check_remember_view();
	stage2_userns_lock_view(user, gid);
	stage2_init_run(&plan, listener, user, orders.cgroup);
}
