/* SPDX-License-Identifier: MIT */
/* Writes SBPL. Keeps the first failure, so that callers check once. */
#ifndef KODA_PLAN_SEATBELT_WRITER_H
#define KODA_PLAN_SEATBELT_WRITER_H

#include "base/buf.h"

/* Stands for the tag. Every byte of a profile but newlines is printable, so it is nothing else. */
#define KODA_SEATBELT_MARK "\x01"

struct koda_seatbelt_writer {
	struct koda_buf *out;
	bool tagged; /* denials have a mark for a tag */
	int failed;
};

/* Writes text as it is. */
void koda_seatbelt_put(struct koda_seatbelt_writer *w, const char *text);
/* Writes bytes as a string of SBPL, in ASCII. */
void koda_seatbelt_put_string(struct koda_seatbelt_writer *w, struct koda_span bytes);
/* Writes "(allow OPERATIONS" or "(deny OPERATIONS", with a mark for the tag in a denial. */
void koda_seatbelt_begin(struct koda_seatbelt_writer *w, bool allow, const char *operations);
/* Writes " (FILTER "path")". */
void koda_seatbelt_filter(struct koda_seatbelt_writer *w, const char *filter,
			  struct koda_span path);
/* Writes the end of a rule, with the reason behind it as a comment. */
void koda_seatbelt_end(struct koda_seatbelt_writer *w, const char *why);
/* Writes a rule about one path. */
void koda_seatbelt_rule(struct koda_seatbelt_writer *w, bool allow, const char *operations,
			const char *filter, struct koda_span path, const char *why);

#endif
