/* SPDX-License-Identifier: MIT */
/*
 * The one canonical form of a host, used for rules, requests, SNI and logs: a lower-case name of
 * A-labels without trailing dot, or a typed address. Whatever cannot be brought into that form is
 * refused, so two readers never see different hosts in the same bytes.
 */
#ifndef KODA_POLICY_HOST_H
#define KODA_POLICY_HOST_H

#include "policy/addr.h"

#define KODA_HOST_NAME_MAX 253

struct koda_host {
	bool is_addr;
	struct koda_addr addr;
	size_t len;                        /* of name; 0 for an address */
	char name[KODA_HOST_NAME_MAX + 1]; /* NUL-terminated */
};

/* text is a name, an IPv4 address in any spelling, or an IPv6 address with or without brackets.
 * Fails: POLICY. */
KODA_CHECK int koda_host_parse(struct koda_span text, struct koda_host *ret_host,
			       struct koda_error *err);

/* Splits HOST, HOST:PORT, [V6]:PORT or bare V6. *ret_port is 0 without a port.
 * Fails: POLICY. */
KODA_CHECK int koda_host_split(struct koda_span text, struct koda_span *ret_host,
			       uint16_t *ret_port, struct koda_error *err);

/* Both for most hosts, NAME or NAME:PORT in plain ASCII, at once. false: it has to be asked as
 * above what it is, if anything; *ret_host means nothing then. */
bool koda_host_read_plain(struct koda_span text, struct koda_host *ret_host, uint16_t *ret_port);

/* Is everything below name under different owners: a public suffix such as com or co.uk? Names
 * set aside for private networks (internal, lan, home.arpa ...) are not. */
bool koda_host_is_public_suffix(const char *name);

#endif
