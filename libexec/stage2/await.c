/* SPDX-License-Identifier: MIT */
/*
 * The end of a namespace of processes is waited for, because only then nobody is left to whom
 * the placeholders matter. It can take long: the kernel takes apart what a command made, be it
 * millions of mappings, and the runner would rather kill the guardian than wait for it. So the
 * guardian ends in time, and another process waits and tidies up.
 */
#include "stage2.h"

#include "sys.h"
#include "wire/report.h"

#include <errno.h>
#include <poll.h>

bool koda_guard_await(int pidfd, int patience_ms)
{
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };
	int n;

	do {
		n = poll(&ended, 1, patience_ms);
	} while (n < 0 && errno == EINTR);
	if (n != 0)
		return true;
	switch (fork()) {
	case -1:
		break; /* then the runner may have to wait */
	case 0:
		(void)close(KODA_STAGE2_STATUS_FD);
		(void)close(KODA_STAGE2_LIFE_FD);
		break;
	default:
		_exit(0);
	}
	while (poll(&ended, 1, -1) < 0 && errno == EINTR)
		;
	return false;
}
