/* SPDX-License-Identifier: MIT */
#include "landlock/alarm.h"

#include <signal.h>
#include <stddef.h>
#include <sys/time.h>

#define INTERVAL_US 5000

/* The signal is only there to interrupt a call. */
static void ignore(int number)
{
	(void)number;
}

bool stage2_alarm_prepare(void)
{
	/* Without SA_RESTART: interrupted calls return EINTR. */
	const struct sigaction action = { .sa_handler = ignore };

	return sigaction(SIGALRM, &action, NULL) == 0;
}

void stage2_alarm_set(bool on)
{
	const struct timeval interval = { .tv_usec = on ? INTERVAL_US : 0 };
	const struct itimerval timer = { interval, interval };
	sigset_t one;

	(void)sigemptyset(&one);
	(void)sigaddset(&one, SIGALRM);
	/* The timer ends before SIGALRM is blocked again: a pending one would be read from the
	 * signalfd and passed on to the command. */
	(void)setitimer(ITIMER_REAL, &timer, NULL);
	(void)sigprocmask(on ? SIG_UNBLOCK : SIG_BLOCK, &one, NULL);
}
