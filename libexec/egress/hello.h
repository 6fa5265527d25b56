/* SPDX-License-Identifier: MIT */
/*
 * What a TLS ClientHello says about where it wants to go. Reads raw record bytes, in one record or
 * in many, and changes nothing: the same bytes go on to the origin or into a TLS library.
 */
#ifndef EGRESS_HELLO_H
#define EGRESS_HELLO_H

#include "answer.h"

#include <stdint.h>

#define EGRESS_HELLO_MAX         16384 /* bytes of the handshake message */
#define EGRESS_HELLO_RECORDS_MAX 64    /* records it may be spread over */
/* No more raw bytes than this are ever asked for. */
#define EGRESS_HELLO_RAW_MAX  (EGRESS_HELLO_MAX + EGRESS_HELLO_RECORDS_MAX * 5)
#define EGRESS_HELLO_NAME_MAX 255
#define EGRESS_HELLO_ALPN_MAX 256 /* bytes of the protocol list */

enum egress_hello_state {
	EGRESS_HELLO_BAD = 0,
	EGRESS_HELLO_NOT_TLS, /* the first bytes cannot begin a TLS connection */
	EGRESS_HELLO_MORE,
	EGRESS_HELLO_DONE
};

/* All zero for a new connection. */
struct egress_hello_scan {
	uint32_t at;   /* raw bytes of complete record headers and payloads looked at */
	uint32_t have; /* handshake bytes among them */
	uint32_t need; /* length of the message with its header, 0: not yet known */
	uint32_t records;
};

struct egress_hello {
	bool has_name;
	bool ech;       /* encrypted_client_hello or its drafts */
	bool retriable; /* it offers more than TLS 1.2, be it a draft: there may be a second one */
	uint16_t version; /* highest offered: 0x0303, 0x0304 ... */
	size_t name_len;
	char name[EGRESS_HELLO_NAME_MAX + 1]; /* SNI as sent, NUL-terminated, no NUL inside */
	size_t alpn_len;
	char alpn[EGRESS_HELLO_ALPN_MAX]; /* length byte and name, again and again */
};

/* raw is everything received from the first byte on. DONE fills in *hello. BAD fills in *ret_code,
 * one word for events. */
enum egress_hello_state egress_hello_read(struct egress_hello_scan *scan, struct koda_span raw,
					  struct egress_hello *hello, const char **ret_code);

/* Where a second hello begins in what a client sent behind its first one: records for the sake of
 * old middle boxes and early data, which the server discards, may come before. DONE fills in
 * *ret_at; NOT_TLS: there is none. */
enum egress_hello_state egress_hello_second(struct koda_span raw, size_t *ret_at);

/* Is this protocol on the list? */
bool egress_hello_offers(const struct egress_hello *hello, const char *protocol);

#endif
