/* SPDX-License-Identifier: MIT */
/*
 * T-70. Recognises HTTP in a tunnel. A server behind an allowed name may serve other names, and a
 * request says which one it wants. So everything that a server might take for a request is found
 * here, and checked as one.
 *
 * Servers differ in what they accept, and no list of that is complete. So on web ports only valid
 * HTTP, TLS and SSH (ident.h) pass. On other ports, a first line that begins with an HTTP method
 * (also after bytes that some servers take for blanks), or that ends with an HTTP version, must be
 * a valid request; so must the line of the PROXY protocol, which a request would follow. Other
 * protocols (SSH, git, mail) pass.
 */
#ifndef KODA_EGRESS_PROTO_SNIFF_H
#define KODA_EGRESS_PROTO_SNIFF_H

#include "proto/latch.h"

#include "base/buf.h"

#include <stdint.h>

/* Limit of a first line that is a request. */
#define EGRESS_SNIFF_MAX ((size_t)16384)

enum egress_sniff {
	EGRESS_SNIFF_MORE = 0, /* an incomplete line that does not begin like a request */
	EGRESS_SNIFF_HOLD,     /* an incomplete line that does: the origin must not see it yet */
	EGRESS_SNIFF_LONG, /* an incomplete line longer than EGRESS_SNIFF_MAX: as MORE, but the next
			      call gets only what follows */
	EGRESS_SNIFF_HTTP,
	EGRESS_SNIFF_OTHER,
	EGRESS_SNIFF_BAD
};

/* The state of finding a version in a line that is not kept. */
struct egress_sniff_version {
	uint8_t matched; /* bytes of "HTTP/" so far */
	bool apart;      /* these follow a gap */
	bool seen;       /* "HTTP/" occurred */
	bool ends;       /* the line so far ends with a version */
	bool over;       /* and a gap after its number */
	bool gap;        /* the last byte was a gap */
};

/* The first word of a line that begins with gaps, at which some servers split. */
struct egress_sniff_front {
	bool led;  /* a gap came before the word */
	bool over; /* the word is known, or does not matter */
	uint8_t len;
	char word[10]; /* longer than any method */
};

/* Zero it for a new connection. Every byte is read once. */
struct egress_sniff_scan {
	uint32_t at;    /* bytes read */
	uint32_t begin; /* offset of the first line that is not empty */
	uint32_t word;  /* offset of the end of its first word; 0: unknown */
	bool begun;     /* the first line that is not empty has begun */
	bool odd;       /* the word is not a valid method, but some servers do not check */
	bool method;    /* the word is an HTTP method */
	bool control;   /* the line has control characters */
	bool longer;    /* LONG was returned */
	struct egress_sniff_front front;
	struct egress_sniff_version version; /* while longer */
	struct egress_latch latch;           /* egress_sniff */
};

/* Judges bytes, which is everything received or, after LONG, what followed; ended: there will be no
 * more. Answers other than MORE, HOLD and LONG are final; with ended every answer is. */
enum egress_sniff egress_sniff_http(struct egress_sniff_scan *scan, struct koda_span bytes,
				    bool ended);

/* Returns whether this is a web port, where only HTTP, TLS and SSH pass. */
bool egress_sniff_is_web(uint16_t port);

#endif
