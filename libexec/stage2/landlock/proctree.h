/* SPDX-License-Identifier: MIT */
/* A tree of processes that no pid namespace holds together. */
#ifndef KODA_STAGE2_LANDLOCK_PROCTREE_H
#define KODA_STAGE2_LANDLOCK_PROCTREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Makes this process the subreaper of everything below it, and, if Landlock knows scopes, the
 * outermost process of a domain that signals do not leave. abstract: see stage2_landlock_scope. */
void stage2_proctree_begin(bool abstract);
/* Kills and reaps everything below this process. Returns false if something would not end. ended,
 * which may be NULL, is called for each child with its wait status. */
bool stage2_proctree_end(void (*ended)(pid_t pid, int status));
/* Sends SIGKILL to everything below this process. */
void stage2_proctree_kill(void);
/* Sends a signal to everything below this process, if that is possible at once. */
void stage2_proctree_signal(int number);
/* Adds up count of everything below this process, until the sum is more than enough. */
uint64_t stage2_proctree_sum(uint64_t (*count)(const char *pid), uint64_t enough);
/* Counts the processes of this user besides the calling one, which becomes the command. The kernel
 * counts them against the command's RLIMIT_NPROC. */
void stage2_proctree_count_others(void);
uint64_t stage2_proctree_others(void);

#endif
