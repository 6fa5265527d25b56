/* SPDX-License-Identifier: MIT */
/*
 * Denials that are known of, each once. Some are told by whoever refused; what the kernel refuses
 * nobody tells, so the command's error messages are read as well. A message is only a hint: it
 * counts if the rules, or what Landlock alone was made to refuse, deny what it speaks of.
 */
#ifndef KODA_RUN_VIOLATION_H
#define KODA_RUN_VIOLATION_H

#include "base/buf.h"
#include "base/macros.h"

#include <koda/event.h>
#include <koda/rules.h>

struct koda_grants;

#define KODA_VIOLATIONS_MAX 100

struct koda_noted {
	enum koda_violation kind;
	enum koda_source source;
	char *target; /* owned */
	char *rule;   /* owned; "" if there is none */
};

struct koda_violations {
	struct koda_noted list[KODA_VIOLATIONS_MAX];
	size_t count;
};

/* Adds one, unless it is there or there are too many. True if it was added. */
bool koda_violations_add(struct koda_violations *violations, const struct koda_noted *noted);
void koda_violations_clear(struct koda_violations *violations);

/* The block for people and models: one line each between two tags; empty if there is none. Targets
 * are escaped so that no name can forge a line or a tag. Fails: as koda_buf_add. */
KODA_CHECK int koda_violations_print(const struct koda_violations *violations,
				     struct koda_buf *out);

/* Reads an error stream as it passes. */
struct koda_reader {
	const struct koda_rules *rules;   /* borrowed */
	const char *cwd;                  /* borrowed; what relative names in messages start from */
	const struct koda_grants *grants; /* borrowed; what is refused besides; NULL: nothing */
	void (*found)(void *ctx, const struct koda_noted *noted); /* all in noted is borrowed */
	void *ctx;
	char line[4096]; /* as much of the current line as fits */
	size_t len;
};

/* The tap of a relay; ctx is the reader. */
void koda_reader_take(void *ctx, const char *bytes, size_t len);
/* The stream has ended, perhaps within a line. */
void koda_reader_end(struct koda_reader *reader);

#endif
