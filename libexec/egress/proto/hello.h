/* SPDX-License-Identifier: MIT */
/*
 * Parses a TLS ClientHello, in one record or in many. The bytes are not changed; the origin or
 * OpenSSL gets them.
 */
#ifndef KODA_EGRESS_PROTO_HELLO_H
#define KODA_EGRESS_PROTO_HELLO_H

#include "proto/answer.h"
#include "proto/latch.h"

#include <stdint.h>

#define EGRESS_HELLO_MAX         16384 /* bytes of the handshake message */
#define EGRESS_HELLO_RECORDS_MAX 64    /* records of one ClientHello */
/* Limit of raw bytes. */
#define EGRESS_HELLO_RAW_MAX  (EGRESS_HELLO_MAX + EGRESS_HELLO_RECORDS_MAX * 5)
#define EGRESS_HELLO_NAME_MAX 255
#define EGRESS_HELLO_ALPN_MAX 256 /* bytes of the ALPN list */

enum egress_hello_state {
	EGRESS_HELLO_BAD = 0,
	EGRESS_HELLO_NOT_TLS, /* the first bytes cannot begin a TLS connection */
	EGRESS_HELLO_MORE,
	EGRESS_HELLO_DONE
};

/* Zero it for a new connection. */
struct egress_hello_scan {
	uint32_t at;   /* raw bytes of complete records */
	uint32_t have; /* handshake bytes in these */
	uint32_t need; /* length of the message with its header; 0: unknown */
	uint32_t records;
	struct egress_latch latch; /* egress_hello_state */
};

struct egress_hello {
	bool has_name;
	bool ech;         /* encrypted_client_hello or its drafts */
	bool retriable;   /* it offers TLS 1.3 or a draft of it: a second ClientHello is possible */
	uint16_t version; /* highest offered: 0x0303, 0x0304 ... */
	size_t name_len;
	char name[EGRESS_HELLO_NAME_MAX + 1]; /* SNI as sent, NUL-terminated, no NUL inside */
	size_t alpn_len;
	char alpn[EGRESS_HELLO_ALPN_MAX]; /* list of length byte and name */
};

/* Parses raw, which is everything received since the first byte. DONE fills in *hello; BAD fills in
 * *ret_code, one word for events. Answers other than MORE are final: later calls return BAD after
 * BAD and after DONE, NOT_TLS after NOT_TLS. */
enum egress_hello_state egress_hello_read(struct egress_hello_scan *scan, struct koda_span raw,
					  struct egress_hello *hello, const char **ret_code);

/* Finds a second ClientHello in what the client sent after its first. Compatibility records and
 * early data, which the server discards, may come before it. DONE fills in *ret_at; NOT_TLS: there
 * is none. */
enum egress_hello_state egress_hello_second(struct koda_span raw, size_t *ret_at);

/* Returns whether ALPN lists this protocol. */
bool egress_hello_offers(const struct egress_hello *hello, const char *protocol);

#endif
