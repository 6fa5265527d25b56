/* SPDX-License-Identifier: MIT */
/* The process that has made a call: its memory, its descriptors and its names. */
#ifndef KODA_STAGE2_PATHCALL_CALLER_H
#define KODA_STAGE2_PATHCALL_CALLER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PATHCALL_PATH_BYTES 4096

/* Copies from the memory of a thread. Returns 0 or a negative errno. */
int stage2_caller_copy(pid_t thread, uint64_t at, void *out, size_t len);
/* Copies a text with its NUL into PATHCALL_PATH_BYTES bytes. Returns 0 or a negative errno. */
int stage2_caller_copy_text(pid_t thread, uint64_t at, char *out);
/* Reads the path of a descriptor of a thread, or of its working directory for AT_FDCWD. Returns its
 * length, or a negative errno. */
ssize_t stage2_caller_dir_text(pid_t thread, int dirfd, char *out, size_t size);
/* Opens (O_PATH) what a descriptor of a thread refers to, or its working directory for AT_FDCWD.
 * Returns a negative errno. */
int stage2_caller_open_dir(pid_t thread, int dirfd);
/* Returns the pid of the process that a thread belongs to; 0 if it is gone. */
pid_t stage2_caller_process(pid_t thread);

#endif
