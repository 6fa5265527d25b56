/* SPDX-License-Identifier: MIT */
/*
 * T-70. Is it HTTP that a client begins to speak inside a tunnel? A server behind an allowed name
 * may serve others, and which one is meant a request says itself. So what any server might take for
 * a request is found here, and checked as one; everything else (ssh, git, mail) is no business of
 * ours.
 */
#ifndef EGRESS_GUESS_H
#define EGRESS_GUESS_H

#include "base/buf.h"

#include <stdint.h>

/* A first line that is longer and might be a request is no good. */
#define EGRESS_GUESS_MAX ((size_t)16384)

enum egress_guess {
	EGRESS_GUESS_MORE = 0, /* a line that has not ended; no server acts on it */
	EGRESS_GUESS_HTTP,
	EGRESS_GUESS_OTHER,
	EGRESS_GUESS_BAD
};

/* All zero for a new connection; no byte is looked at twice. */
struct egress_guess_scan {
	uint32_t at;     /* looked at */
	uint32_t method; /* where it ends; 0: not yet known */
	bool begun;      /* the empty lines are over */
	bool odd;        /* no method by the book; some servers do not look */
};

/* bytes is everything that was received. An answer other than MORE is the last one. */
enum egress_guess egress_guess_http(struct egress_guess_scan *scan, struct koda_span bytes);

#endif
