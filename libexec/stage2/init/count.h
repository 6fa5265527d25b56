/* SPDX-License-Identifier: MIT */
/* Memory and threads of processes. A process is named by its pid, or as "PID/task/TID". */
#ifndef KODA_STAGE2_INIT_COUNT_H
#define KODA_STAGE2_INIT_COUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Adds up count of every process but init; may stop when the sum is more than enough. */
uint64_t stage2_count_all(uint64_t (*count)(const char *pid), uint64_t enough);

uint64_t stage2_count_threads(const char *pid);
/* Return bytes: the cheap sum, and the proportional share. */
uint64_t stage2_count_resident(const char *pid);
uint64_t stage2_count_share(const char *pid);

/* Reads /proc/PID/name as text. Returns false if the process is gone or cannot be read. */
bool stage2_count_read(const char *pid, const char *name, char *out, size_t size);
/* Returns the value of a line "Name: 123 kB" in bytes. */
uint64_t stage2_count_field(const char *text, const char *name);

#endif
