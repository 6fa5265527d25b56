/* SPDX-License-Identifier: MIT */
/*
 * The proxy reads what hostile programs send, so it locks itself up before it reads a byte: no
 * capabilities, no new privileges, nothing to write anywhere, nothing of anybody's home to read, no
 * program to start, a short list of system calls. Each step is read back, and one that did not take
 * means that the proxy does not start.
 */
#ifndef KODA_EGRESS_LOCK_H
#define KODA_EGRESS_LOCK_H

#include "base/macros.h"

#include <stddef.h>

/* First of all: nothing but 0-2 and the control socket came along. Fails: SYS. */
KODA_CHECK int koda_lock_descriptors(struct koda_error *err);
/* Before there are threads: limits, privileges, file system. *ret_files is how many
 * descriptors there may be. Fails: SYS, UNSUPPORTED (the kernel lacks something). */
KODA_CHECK int koda_lock_process(size_t *ret_files, struct koda_error *err);
/* Before there are threads, too: no more memory than that, whatever the ceilings overlooked.
 * Without effect in sanitized builds, which reserve terabytes. Fails: SYS. */
KODA_CHECK int koda_lock_memory(size_t bytes, struct koda_error *err);
/* When all threads are there: the system-call filter, on every one of them. */
KODA_CHECK int koda_lock_calls(struct koda_error *err);

#endif
