/* SPDX-License-Identifier: MIT */
/*
 * The one canonical form of a host, used for rules, requests, SNI and logs: a lower-case name of
 * A-labels without trailing dot, or a typed address. Text that cannot be brought into that form is
 * refused, so two readers never see different hosts in the same bytes.
 */
#ifndef KODA_HOST_H
#define KODA_HOST_H

#include <koda/error.h>
#include <koda/rules.h>
#include <koda/span.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KODA_HOST_NAME_MAX 253

struct koda_host {
	bool is_addr;
	struct koda_addr addr;
	size_t len;                        /* of name; 0 for an address */
	char name[KODA_HOST_NAME_MAX + 1]; /* NUL-terminated */
};

/* Reads a name, an IPv4 address in any spelling, or an IPv6 address with or without brackets.
 * Fails: POLICY. */
KODA_API KODA_CHECK int koda_host_parse(struct koda_span text, struct koda_host *ret_host,
					struct koda_error *err);
/* Splits HOST, HOST:PORT, [V6]:PORT or bare V6. *ret_host is borrowed from text, with brackets if
 * it has them. *ret_port is 0 without a port. Fails: POLICY. */
KODA_API KODA_CHECK int koda_host_split(struct koda_span text, struct koda_span *ret_host,
					uint16_t *ret_port, struct koda_error *err);
/* Writes the name, or the address without brackets, as text that ends with NUL. */
KODA_API void koda_host_format(const struct koda_host *host, char out[KODA_HOST_NAME_MAX + 1]);

#ifdef __cplusplus
}
#endif

#endif
