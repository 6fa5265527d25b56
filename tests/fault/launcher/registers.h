/* SPDX-License-Identifier: MIT */
/* Registers of a traced process that is stopped at a system call. */
#ifndef KODA_FAULT_REGISTERS_H
#define KODA_FAULT_REGISTERS_H

#include <stdbool.h>
#include <sys/types.h>

/* At the entry: getpid(2), which has no effect, takes the place of the call. */
bool registers_replace_call(pid_t pid);
/* At the exit: the call fails with this errno. */
bool registers_set_return(pid_t pid, int error);

#endif
