/* SPDX-License-Identifier: MIT */
/*
 * Finds denials in a command's error messages. The kernel does not report what it refuses, so
 * standard error is scanned as it passes. A message is only a hint: it counts if the rules, or
 * Landlock's grants, deny the path that it names.
 */
#ifndef KODA_RUN_STREAM_STDERR_SCAN_H
#define KODA_RUN_STREAM_STDERR_SCAN_H

#include "run/stream/safe_stat.h"
#include "run/stream/violation.h"

#include <koda/rules.h>

struct koda_grants;

struct koda_stderr_scan {
	const struct koda_rules *rules;   /* borrowed */
	const char *cwd;                  /* borrowed; where relative names in messages start */
	const struct koda_grants *grants; /* borrowed; of Landlock alone; NULL: none */
	void (*on_denial)(void *ctx, const struct koda_denial *denial); /* denial is borrowed */
	void *ctx;
	char line[4096]; /* as much of the current line as fits */
	size_t len;
	struct koda_safe_stat_budget
		budget; /* once it is used up, the stream is no longer scanned */
};

/* Scans bytes. It is the tap of a relay; ctx is the struct koda_stderr_scan. */
void koda_stderr_scan_take(void *ctx, const char *bytes, size_t len);
/* Scans a last line that has no newline. */
void koda_stderr_scan_end(struct koda_stderr_scan *scan);

#endif
