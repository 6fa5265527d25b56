/* SPDX-License-Identifier: MIT */
#include "base/sigguard.h"

#include <pthread.h>
#include <stddef.h>
#include <time.h>

static const int numbers[] = { SIGPIPE, SIGXFSZ };

void koda_sigguard_begin(struct koda_sigguard *guard)
{
	(void)sigemptyset(&guard->blocked);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		(void)sigaddset(&guard->blocked, numbers[i]);
	(void)pthread_sigmask(SIG_BLOCK, &guard->blocked, &guard->before);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (sigismember(&guard->before, numbers[i]))
			(void)sigdelset(&guard->blocked, numbers[i]);
}

void koda_sigguard_end(const struct koda_sigguard *guard)
{
	const struct timespec now = { 0 };
	sigset_t pending;

	if (sigpending(&pending) < 0)
		(void)sigemptyset(&pending);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (sigismember(&pending, numbers[i]) && sigismember(&guard->blocked, numbers[i]))
			(void)sigtimedwait(&guard->blocked, NULL, &now);
	(void)pthread_sigmask(SIG_SETMASK, &guard->before, NULL);
}
