/* SPDX-License-Identifier: MIT */
/* Waits, and ends waiting when a signal asks the program to end. */
#ifndef FSCOMPAT_STOP_H
#define FSCOMPAT_STOP_H

#include "base/macros.h"

struct fscompat_stop {
	int fd;     /* owned */
	int number; /* the signal that came; 0: none */
};

#define FSCOMPAT_STOP_INIT                                                                         \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* Has SIGTERM, SIGINT and SIGHUP wait for fscompat_stop_wait, and SIGPIPE ignored. Fails: SYS. */
KODA_CHECK int fscompat_stop_open(struct fscompat_stop *stop, struct koda_error *err);
/* Closes it. If a signal has come, the program ends by it. */
void fscompat_stop_close(struct fscompat_stop *stop);

/* Waits until fd has one of the events. Returns 1 if a signal came. Fails: SYS, TIMEOUT. */
KODA_CHECK int fscompat_stop_wait(struct fscompat_stop *stop, int fd, short events, int timeout_ms,
				  struct koda_error *err);

#endif
