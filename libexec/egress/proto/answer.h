/* SPDX-License-Identifier: MIT */
/*
 * The proxy's own HTTP answers. Rules, hosts and reasons are escaped, so that none can end a header
 * line. The text is for an agent that has to decide what to do next. There is no 407: the listener
 * identifies the client, which needs no password.
 */
#ifndef KODA_EGRESS_PROTO_ANSWER_H
#define KODA_EGRESS_PROTO_ANSWER_H

#include "base/buf.h"

/* Result of a parser. MORE: more bytes are needed. */
enum egress_parse {
	EGRESS_BAD = 0,
	EGRESS_MORE,
	EGRESS_DONE
};

/* A refusal. code and text are static; rule is borrowed. */
struct egress_refusal {
	int status;            /* 400, 403, 405, 408, 421, 431, 502, 503, 504 */
	const char *code;      /* for programs: X-Koda-Reason, events */
	const char *text;      /* a sentence for the reader; may be NULL */
	struct koda_span rule; /* that decided: X-Koda-Rule; may be empty */
};

/* Longest answer; long rules and hosts are truncated. */
#define EGRESS_ANSWER_MAX 2048

/* Writes an answer that also ends the connection, and returns its length. host (may be empty) is
 * what the client asked for. head_only: the request was HEAD, so there is no body. An unknown
 * status becomes 502. */
size_t egress_answer(const struct egress_refusal *why, struct koda_span host, bool head_only,
		     char out[static EGRESS_ANSWER_MAX]);

/* Returns "HTTP/1.1 200 Connection established" and an empty line. */
struct koda_span egress_answer_established(void);

#endif
