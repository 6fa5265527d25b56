/* SPDX-License-Identifier: MIT */
/*
 * T-119. Experimental. A policy as a Seatbelt profile (SBPL), the sandbox language of macOS. Pure
 * text, so any system can print and test it. The last rule that matches decides.
 */
#ifndef KODA_PLAN_SEATBELT_H
#define KODA_PLAN_SEATBELT_H

#include "base/buf.h"

#include <koda/rules.h>

struct koda_policy;

/* A longer profile is refused: it has to pass as an argument of sandbox-exec. */
#define KODA_SEATBELT_MAX ((size_t)1 << 20)
/* PATH_MAX of macOS, without the terminator. */
#define KODA_SEATBELT_PATH_MAX ((size_t)1023)
/* Longest tag. */
#define KODA_SEATBELT_TAG_MAX ((size_t)64)

enum koda_seatbelt_net {
	KODA_SEATBELT_CLOSED = 0, /* no network */
	KODA_SEATBELT_PROXIED,    /* one port of the loopback device */
	KODA_SEATBELT_OPEN        /* every address: no rule about hosts is held */
};

struct koda_seatbelt {
	const struct koda_rules *rules;
	const struct koda_policy *policy; /* of those rules */
	enum koda_seatbelt_net net;
	uint16_t port;      /* of the egress proxy; PROXIED only */
	const char *tmpdir; /* the command's own, absolute, without links; NULL: none */
	const char *tag;    /* letters, digits and "-", reported with each denial; NULL: none */
};

/* Appends the profile. Refuses what a profile cannot hold; never leaves a rule out. Fails: DENIED,
 * INVALID, LIMIT, NOMEM. */
KODA_CHECK int koda_seatbelt_print(const struct koda_seatbelt *seatbelt, struct koda_buf *out,
				   struct koda_error *err);

/* Tells whether text can be a tag. */
bool koda_seatbelt_is_tag(struct koda_span text);

/* The two halves of koda_seatbelt_print, for a text that is printed with several tags. */

/* Appends the profile, with a mark in place of the tag, whichever it is. */
KODA_CHECK int koda_seatbelt_render(const struct koda_seatbelt *seatbelt, struct koda_buf *out,
				    struct koda_error *err);
/* Appends such a profile with the tag; NULL for one that has no marks. Fails: INVALID, LIMIT,
 * NOMEM.
 */
KODA_CHECK int koda_seatbelt_put_tag(struct koda_span text, const char *tag, struct koda_buf *out,
				     struct koda_error *err);

#endif
