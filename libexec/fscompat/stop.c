/* SPDX-License-Identifier: MIT */
#include "stop.h"

#include "base/error.h"
#include "base/fd.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

static sigset_t ending_signals(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	return set;
}

int fscompat_stop_open(struct fscompat_stop *stop, struct koda_error *err)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	const sigset_t set = ending_signals();

	if (sigaction(SIGPIPE, &ignore, NULL) < 0 || pthread_sigmask(SIG_BLOCK, &set, NULL) != 0)
		return koda_fail(err, KODA_E_SYS, errno, "signals cannot be blocked");
	stop->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (stop->fd < 0)
		return koda_fail(err, KODA_E_SYS, errno, "signals cannot be waited for");
	return KODA_OK;
}

void fscompat_stop_close(struct fscompat_stop *stop)
{
	const struct sigaction by_default = { .sa_handler = SIG_DFL };
	const sigset_t set = ending_signals();

	koda_fd_close(&stop->fd);
	if (!stop->number)
		return;
	(void)sigaction(stop->number, &by_default, NULL);
	(void)raise(stop->number);
	(void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static bool take_signal(struct fscompat_stop *stop)
{
	struct signalfd_siginfo info;

	if (read(stop->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return false;
	stop->number = (int)info.ssi_signo;
	return true;
}

int fscompat_stop_wait(struct fscompat_stop *stop, int fd, short events, int timeout_ms,
		       struct koda_error *err)
{
	struct pollfd polled[] = { { .fd = stop->fd, .events = POLLIN },
				   { .fd = fd, .events = events } };
	int n;

	do {
		n = poll(polled, KODA_ARRAY_LEN(polled), timeout_ms);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot wait");
	if (n == 0)
		return koda_fail(err, KODA_E_TIMEOUT, 0, "nothing came in time");
	return polled[0].revents && take_signal(stop) ? 1 : KODA_OK;
}
