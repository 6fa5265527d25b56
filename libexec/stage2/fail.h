/* SPDX-License-Identifier: MIT */
/*
 * The end of a launcher process whose set-up fails. No function of the launcher returns an error
 * code to main: the step that fails is reported to the runner, and the process exits with
 * KODA_STAGE2_FAILED.
 */
#ifndef KODA_STAGE2_FAIL_H
#define KODA_STAGE2_FAIL_H

#include "wire/launch_step.h"

#include <stdbool.h>

/* Points to true once a process of the launcher has failed. After stage2_fail_share all processes
 * forked from the guardian share the flag. A process that bubblewrap started has a flag of its own;
 * it sends INSIDE_FAILED to the guardian. */
extern bool *stage2_fail_flag;

/* Reports the step, the path and the errno to the runner, calls the tidy function in the guardian,
 * and exits. */
__attribute__((noreturn)) void stage2_fail(enum koda_launch_step step, const char *path,
					   int sys_errno);
/* Exits like stage2_fail, without a report: another process has sent one. */
__attribute__((noreturn)) void stage2_fail_silently(void);

/* Names the calling process the guardian. Its first call of stage2_fail runs tidy, once, after the
 * report and before exit. A clone of the guardian has another pid and does not run it. */
void stage2_fail_set_tidy(void (*tidy)(void));
/* Lets failures send INSIDE_FAILED on KODA_STAGE2_LIFE_FD: bubblewrap is between this process and
 * the guardian. */
void stage2_fail_set_inside(void);
/* Moves the flag into memory that children forked from now on share. */
void stage2_fail_share(void);

#endif
