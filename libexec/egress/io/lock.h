/* SPDX-License-Identifier: MIT */
/*
 * T-81. The proxy parses input of hostile programs, so it restricts itself before it reads any: no
 * capabilities, no_new_privs, a Landlock domain without write access and without home directories,
 * no execve(2), and a short list of system calls. Every step is verified; the proxy does not start
 * if one failed.
 */
#ifndef KODA_EGRESS_IO_LOCK_H
#define KODA_EGRESS_IO_LOCK_H

#include "base/macros.h"

#include <stddef.h>

/* Closes inherited descriptors but 0-2 and the control socket. Call it first. Fails: SYS. */
KODA_CHECK int egress_lock_descriptors(struct koda_error *err);
/* Sets limits, drops privileges and enters the Landlock domain. Call it before threads exist.
 * *ret_files is the limit of descriptors. Fails: SYS, UNSUPPORTED (the kernel lacks something). */
KODA_CHECK int egress_lock_process(size_t *ret_files, struct koda_error *err);
/* Sets RLIMIT_DATA, in case other limits miss something. Call it before threads exist. Does nothing
 * in sanitized builds, which reserve terabytes. Fails: SYS. */
KODA_CHECK int egress_lock_memory(size_t bytes, struct koda_error *err);
/* Installs the system-call filter on all threads. Call it when all threads exist. Fails: SYS,
 * NOMEM. */
KODA_CHECK int egress_syscall_filter_install(struct koda_error *err);

#endif
