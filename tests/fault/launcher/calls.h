/* SPDX-License-Identifier: MIT */
/* What is known of the system calls on the way to a command. */
#ifndef KODA_FAULT_CALLS_H
#define KODA_FAULT_CALLS_H

#include "trace.h"

#include <sys/syscall.h>

/* Calls that newer architectures lack, and what their libc makes instead. */
#ifndef SYS_poll
#define SYS_poll     SYS_ppoll
#define SYS_dup2     SYS_dup3
#define SYS_open     SYS_openat
#define SYS_readlink SYS_readlinkat
#endif

const char *calls_name(long nr);

/* Has the kernel a way to let this call fail so, as it is made here? */
bool calls_can_fail(const struct trace_fault *fault, long nr);

/* Learns from a run without a fault which calls are about the journal of placeholders. False if
 * none is: then it is not known any more how they look. */
bool calls_learn(const struct trace_result *plain);

/* Can the launch do without the call that was made to fail? */
bool calls_are_dispensable(enum trace_shape shape, const struct trace_fault *fault,
			   const struct trace_result *result);

#endif
