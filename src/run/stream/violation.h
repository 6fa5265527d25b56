/* SPDX-License-Identifier: MIT */
/* The list of denials of a command, each once. */
#ifndef KODA_RUN_STREAM_VIOLATION_H
#define KODA_RUN_STREAM_VIOLATION_H

#include "base/buf.h"
#include "base/macros.h"

#include <koda/event.h>

#define KODA_VIOLATIONS_MAX 100

struct koda_denial {
	enum koda_violation kind;
	enum koda_source source;
	char *target; /* owned */
	char *rule;   /* owned; "" if there is none */
	char *call;   /* owned; NULL if it is unknown, and so the next two */
	char *process;
	char *hint; /* JSON */
};

struct koda_violations {
	struct koda_denial list[KODA_VIOLATIONS_MAX];
	size_t count;
};

/* Adds a denial, unless it is in the list or the list is full. True if it was added. */
bool koda_violations_add(struct koda_violations *violations, const struct koda_denial *denial);
void koda_violations_clear(struct koda_violations *violations);

/* Prints the list for people and models: one line each between two tags; nothing if it is empty.
 * Targets are escaped so that no file name can forge a line or a tag. Fails: as koda_buf_add. */
KODA_CHECK int koda_violations_print(const struct koda_violations *violations,
				     struct koda_buf *out);

#endif
