/* SPDX-License-Identifier: MIT */
#include "guardian/lifeline.h"

#include "fail.h"
#include "guardian/clock.h"
#include "guardian/sweep.h"
#include "report.h"
#include "sys.h"
#include "wire/report.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

/* T-87. How much later than the runner the guardian ends a command that exceeds its wall time. */
#define WALL_GRACE_MS 1000

static int runner = -1;  /* a pidfd; -1: unknown */
static uint64_t wall_at; /* when the wall time ends, in milliseconds; 0: never */

/* The peer of the lifeline is the runner. If it is not the parent any more, the pid may be another
 * process's. getppid returns 0 if the runner is in another pid namespace; then it has no pid here.
 */
void stage2_lifeline_hold_runner(void)
{
	struct ucred made = { .pid = 0 };
	socklen_t len = sizeof(made);

	if (getppid() == 0)
		return;
	if (getsockopt(KODA_STAGE2_LIFE_FD, SOL_SOCKET, SO_PEERCRED, &made, &len) < 0)
		stage2_fail(KODA_LAUNCH_RUNNER_PEER, "", errno);
	runner = (int)syscall(SYS_pidfd_open, made.pid, 0);
	if (runner < 0 && errno != ESRCH && errno != EINVAL)
		stage2_fail(KODA_LAUNCH_RUNNER_PIDFD, "", errno);
	if (runner < 0 || getppid() != made.pid)
		stage2_fail(KODA_LAUNCH_RUNNER_GONE, "", 0);
}

/* Returns the milliseconds until the earlier of two times, for poll; 0: it never comes. */
static int until_first(uint64_t now, uint64_t a, uint64_t b)
{
	uint64_t at = b == 0 || (a != 0 && a < b) ? a : b;

	if (at == 0)
		return -1;
	return at <= now ? 0 : at - now > INT_MAX ? INT_MAX : (int)(at - now);
}

void stage2_lifeline_watch(int pidfd, int init_pipe,
			   bool (*pass)(int pidfd, int init_pipe, unsigned char number))
{
	/* A child that the runner has forked keeps the lifeline open when the runner dies, so the
	 * runner is watched by a pidfd, too. */
	struct pollfd polled[] = { { .fd = KODA_STAGE2_LIFE_FD, .events = POLLIN },
				   { .fd = pidfd, .events = POLLIN },
				   { .fd = runner, .events = POLLIN } };
	uint64_t sweep_at = stage2_clock_now() + STAGE2_SWEEP_AFTER_MS;

	for (;;) {
		unsigned char number = 0;
		int n = poll(polled, 3, until_first(stage2_clock_now(), sweep_at, wall_at));

		if (n < 0 && errno != EINTR)
			break;
		if (polled[1].revents && n > 0)
			return;
		/* The runner has not ended the command: it is stopped, or blocked on a terminal. */
		if (wall_at != 0 && stage2_clock_now() >= wall_at) {
			(void)stage2_report_send(KODA_REPORT_LIMIT, KODA_REPORT_LIMIT_WALL_TIME);
			break;
		}
		if (n == 0) {
			stage2_sweep_start();
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
			(void)stage2_report_send(KODA_REPORT_EXITED, SIGKILL);
		if (!pass(pidfd, init_pipe, number))
			break;
	}
	/* The kernel ends the pid namespace with its first process. */
	(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	(void)stage2_clock_deadline();
}

/* SIGSTOP would stop init, so init gets a byte and stops the command. SIGKILL ends init, which
 * cannot report it: stage2_lifeline_watch has. */
bool stage2_lifeline_pass(int pidfd, int init_pipe, unsigned char number)
{
	if (number == SIGSTOP)
		(void)!write(init_pipe, &number, sizeof(number));
	else
		(void)syscall(SYS_pidfd_send_signal, pidfd, number, NULL, 0);
	return true;
}

/* The runner makes the plan while the launcher makes the namespaces. */
bool stage2_lifeline_wait_for_plan(void)
{
	struct koda_life_plan message = { .word = KODA_LIFE_PLAN };
	ssize_t n;

	do {
		n = recv(KODA_STAGE2_LIFE_FD, &message, sizeof(message), 0);
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(message) || message.word != KODA_LIFE_PLAN)
		return false;
	if (message.wall_seconds != KODA_LIFE_FOREVER)
		wall_at = stage2_clock_now() + message.wall_seconds * 1000ULL + WALL_GRACE_MS;
	return true;
}
