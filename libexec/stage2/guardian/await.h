/* SPDX-License-Identifier: MIT */
/* The end of a run, as the guardian sees it. */
#ifndef KODA_STAGE2_GUARDIAN_AWAIT_H
#define KODA_STAGE2_GUARDIAN_AWAIT_H

#include <sys/types.h>

/* Remembers the process that stage2_await_fail kills, and with it its pid namespace. */
void stage2_await_started(pid_t pid);
/* Waits until the first process of the pid namespace, which got SIGKILL, has ended, and reaps it.
 * Gives up in time for the runner, which waits five seconds for the guardian. */
void stage2_await_end(pid_t pid, int pidfd);
/* Removes what the guardian has made on the host, as far as the pid namespace has ended. */
void stage2_await_tidy(void);
/* Kills everything below the guardian, then tidies up (stage2_fail_set_tidy). */
void stage2_await_fail(void);

#endif
