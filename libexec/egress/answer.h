/* SPDX-License-Identifier: MIT */
/*
 * The proxy's own answers. Rules, hosts and reasons are written so that none of them can end a
 * header line; the text is meant for an agent that has to decide what to do next. There is no 407:
 * the proxy knows its client by the listener and never asks it for a password.
 */
#ifndef EGRESS_ANSWER_H
#define EGRESS_ANSWER_H

#include "base/buf.h"

/* How reading a piece of input went. MORE: nothing is decided yet, bring more bytes. */
enum egress_parse {
	EGRESS_BAD = 0,
	EGRESS_MORE,
	EGRESS_DONE
};

/* Why something is not done. code and text live as long as the program; rule is borrowed. */
struct egress_refusal {
	int status;            /* 400, 403, 405, 408, 421, 431, 502, 503, 504 */
	const char *code;      /* one word for machines: X-Koda-Reason, events */
	const char *text;      /* a sentence for the reader of the answer; may be NULL */
	struct koda_span rule; /* the deciding rule: X-Koda-Rule; may be empty */
};

/* No answer is longer; long rules and hosts are cut. */
#define EGRESS_ANSWER_MAX 2048

/* Writes head and body of an answer that also ends the connection; returns its length. host (may
 * be empty) is what the client asked for. head_only: the request was HEAD, the body is left out.
 * An unknown status becomes 502. */
size_t egress_answer(const struct egress_refusal *why, struct koda_span host, bool head_only,
		     char out[static EGRESS_ANSWER_MAX]);

/* "HTTP/1.1 200 Connection established" and an empty line. */
struct koda_span egress_answer_established(void);

#endif
