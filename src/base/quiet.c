/* SPDX-License-Identifier: MIT */
#include "base/quiet.h"

#include <pthread.h>
#include <stddef.h>
#include <time.h>

static const int numbers[] = { SIGPIPE, SIGXFSZ };

void koda_quiet_begin(struct koda_quiet *quiet)
{
	(void)sigemptyset(&quiet->held);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		(void)sigaddset(&quiet->held, numbers[i]);
	(void)pthread_sigmask(SIG_BLOCK, &quiet->held, &quiet->before);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (sigismember(&quiet->before, numbers[i]))
			(void)sigdelset(&quiet->held, numbers[i]);
}

void koda_quiet_end(const struct koda_quiet *quiet)
{
	const struct timespec now = { 0 };
	sigset_t pending;

	if (sigpending(&pending) < 0)
		(void)sigemptyset(&pending);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (sigismember(&pending, numbers[i]) && sigismember(&quiet->held, numbers[i]))
			(void)sigtimedwait(&quiet->held, NULL, &now);
	(void)pthread_sigmask(SIG_SETMASK, &quiet->before, NULL);
}
