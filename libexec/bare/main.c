/* SPDX-License-Identifier: MIT */
/*
 * koda-sandbox-bare LIMITS CWD PROGRAM ARGV0 [ARG...]
 *
 * T-48. Runs a command without any sandbox, for --no-sandbox. It speaks to the runner as the
 * launcher does: reports on one descriptor, signals and the end on the other. When the command
 * ends, or the lifeline does, its process group is killed, and so is what left the group but comes
 * back here as an orphan. That is all that can be done without a pid namespace, and no guarantee.
 *
 * Its environment is the command's.
 */
#include "limits.h"
#include "wire/launch_step.h"
#include "wire/passed_fds.h"
#include "wire/report.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS_MAX  1000
#define ROUND_USECS 1000

static int reports = KODA_STAGE2_STATUS_FD;

static void report(const struct koda_report *report)
{
	(void)!write(reports, report, sizeof(*report));
}

static _Noreturn void fail(enum koda_launch_step step, const char *path)
{
	struct koda_report failed = { .kind = KODA_REPORT_SETUP_FAILED,
				      .sys_errno = errno,
				      .step = step };

	(void)snprintf(failed.path, sizeof(failed.path), "%s", path);
	report(&failed);
	_exit(KODA_STAGE2_FAILED);
}

/* Descriptors that the host passes; their numbers may be those of our own. */
static void take_passed_fds(void)
{
	struct koda_passed_fds passed = { .count = 0 };
	int fds[KODA_PASSED_FDS_MAX];

	if (!koda_passed_fds_receive(reports, &passed, fds)) {
		if (errno != EAGAIN)
			fail(KODA_LAUNCH_FDS_RECEIVE, "");
		return;
	}
	reports = fcntl(reports, F_DUPFD_CLOEXEC, KODA_PASSED_FDS_LAST + 1);
	if (reports < 0 || !koda_passed_fds_place(&passed, fds))
		fail(KODA_LAUNCH_PLACE_FD, "");
}

static _Noreturn void become_command(char *const argv[])
{
	struct koda_report failed = { .kind = KODA_REPORT_EXEC_FAILED };
	sigset_t none;

	if (setsid() < 0)
		fail(KODA_LAUNCH_COMMAND_SESSION, "");
	if (chdir(argv[2]) < 0)
		fail(KODA_LAUNCH_COMMAND_CWD, argv[2]);
	take_passed_fds();
	if (!bare_limits_apply(argv[1]))
		fail(KODA_LAUNCH_RLIMIT_SET, "");
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)execvp(argv[3], argv + 4);
	failed.sys_errno = errno;
	report(&failed);
	_exit(failed.sys_errno == ENOENT ? 127 : 126);
}

/* Reaps one child. Returns false when none is left. */
static bool reap(pid_t command, bool *ret_ended, int *ret_status)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == command) {
			*ret_ended = true;
			*ret_status = status;
		}
	}
	return pid == 0;
}

/* Passes signals on until the command has ended, and gives what wait says; the lifeline's end is
 * the command's. */
static int watch(pid_t command, int signals)
{
	struct pollfd polled[] = { { .fd = KODA_STAGE2_LIFE_FD, .events = POLLIN },
				   { .fd = signals, .events = POLLIN } };
	bool ended = false;
	int status = 0;

	while (reap(command, &ended, &status) && !ended) {
		struct signalfd_siginfo info;
		unsigned char number = 0;

		if (poll(polled, 2, -1) < 0)
			continue;
		if (polled[1].revents)
			(void)!read(signals, &info, sizeof(info));
		if (!polled[0].revents)
			continue;
		if (recv(KODA_STAGE2_LIFE_FD, &number, 1, 0) == 1) {
			(void)kill(-command, number);
		} else {
			(void)kill(-command, SIGKILL);
			polled[0].fd = -1;
		}
	}
	return status;
}

/* Ends every child that the kernel lists. */
static void end_children(void)
{
	char list[4096];
	int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, list, sizeof(list) - 1);
	char *at = list;

	if (fd >= 0)
		(void)close(fd);
	list[n > 0 ? n : 0] = '\0';
	for (;;) {
		char *end;
		long pid = strtol(at, &end, 10);

		/* A number that is cut off is not followed by a space. */
		if (end == at || *end != ' ' || pid <= 1)
			return;
		(void)kill((pid_t)pid, SIGKILL);
		at = end;
	}
}

/* Orphans of the command are children of this process. Each round ends those that are there; what
 * they leave behind is there in the next. */
static void end_orphans(void)
{
	bool ignored = false;
	int status;

	for (int round = 0; round < ROUNDS_MAX && reap(0, &ignored, &status); round++) {
		end_children();
		(void)usleep(ROUND_USECS);
	}
}

int main(int argc, char **argv)
{
	struct koda_report ended = { .kind = KODA_REPORT_EXITED };
	sigset_t all;
	sigset_t child;
	pid_t command;
	int signals;

	if (argc < 5 || syscall(SYS_close_range, KODA_STAGE2_LIFE_FD + 1, ~0U, 0) < 0 ||
	    fcntl(KODA_STAGE2_STATUS_FD, F_SETFD, FD_CLOEXEC) < 0 ||
	    fcntl(KODA_STAGE2_LIFE_FD, F_SETFD, FD_CLOEXEC) < 0)
		fail(KODA_LAUNCH_CLOSE_FDS, "");
	(void)close(KODA_STAGE2_PLAN_FD);
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)setsid(); /* the terminal's signals are the runner's to judge */
	(void)sigemptyset(&child);
	(void)sigaddset(&child, SIGCHLD);
	signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0)
		fail(KODA_LAUNCH_WATCH_SIGNALS, "");
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	command = fork();
	if (command < 0)
		fail(KODA_LAUNCH_COMMAND_START, "");
	if (command == 0)
		become_command(argv);
	for (int fd = 0; fd <= 2; fd++)
		(void)close(fd);
	ended.status = watch(command, signals);
	(void)kill(-command, SIGKILL);
	end_orphans();
	report(&ended);
	return 0;
}
