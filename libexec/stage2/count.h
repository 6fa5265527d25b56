/* SPDX-License-Identifier: MIT */
/* What processes have. A process is named by its number, or as "PID/task/TID". */
#ifndef KODA_STAGE2_COUNT_H
#define KODA_STAGE2_COUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Adds up what count says of every process but init; it may stop when that is enough. */
uint64_t koda_count_all(uint64_t (*count)(const char *pid), uint64_t enough);

uint64_t koda_count_threads(const char *pid);
/* In bytes: the cheap sum, and the process's share. */
uint64_t koda_count_resident(const char *pid);
uint64_t koda_count_share(const char *pid);

/* /proc/PID/name as text; false if the process is gone or closed to us. */
bool koda_count_read(const char *pid, const char *name, char *out, size_t size);
/* The value of a line "Name:  123 kB", in bytes. */
uint64_t koda_count_field(const char *text, const char *name);

#endif
