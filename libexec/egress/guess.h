/* SPDX-License-Identifier: MIT */
/*
 * T-70. Is it HTTP that a client begins to speak inside a tunnel? A server behind an allowed name
 * may serve others, and which one is meant a request says itself. So what a server might take for a
 * request is found here, and checked as one.
 *
 * Servers differ in what they forgive, and no list of that is complete. So on ports that are for
 * the web nothing passes but what is a request by the book, or TLS. On others a first line that
 * begins with one of HTTP's methods, or ends with its version, is a request or nothing; so is the
 * line of a load balancer, behind which a request would follow. Everything else (ssh, git, mail) is
 * no business of ours.
 */
#ifndef EGRESS_GUESS_H
#define EGRESS_GUESS_H

#include "base/buf.h"

#include <stdint.h>

/* A first line that is longer and might be a request is no good. */
#define EGRESS_GUESS_MAX ((size_t)16384)

enum egress_guess {
	EGRESS_GUESS_MORE = 0, /* a line that has not ended, and does not begin like a request */
	EGRESS_GUESS_HOLD,     /* one that does: nobody is to see it before it is whole */
	EGRESS_GUESS_HTTP,
	EGRESS_GUESS_OTHER,
	EGRESS_GUESS_BAD
};

/* All zero for a new connection; no byte is looked at twice. */
struct egress_guess_scan {
	uint32_t at;    /* looked at */
	uint32_t begin; /* of the first line that is not empty */
	uint32_t word;  /* where its first word ends; 0: not yet known */
	bool begun;     /* the empty lines are over */
	bool odd;       /* the word is no method by the book; some servers do not look */
	bool method;    /* it is one of HTTP's */
	bool control;   /* the line has bytes that no text has */
};

/* bytes is everything that was received, and with ended all that will be. An answer other than MORE
 * and HOLD is the last one; with ended there is no other. */
enum egress_guess egress_guess_http(struct egress_guess_scan *scan, struct koda_span bytes,
				    bool ended);

/* Is this a port that is for HTTP and TLS, so that nothing else has to pass? */
bool egress_guess_is_web(uint16_t port);

#endif
