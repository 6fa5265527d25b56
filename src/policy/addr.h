/* SPDX-License-Identifier: MIT */
/* IP addresses: parses every spelling, formats one, and classifies special ranges. */
#ifndef KODA_POLICY_ADDR_H
#define KODA_POLICY_ADDR_H

#include "base/buf.h"

#include <koda/rules.h>

/* Longest text of an address, terminator included. */
#define KODA_ADDR_TEXT 46

enum koda_addr_class {
	KODA_ADDR_RESERVED = 0, /* documentation, benchmarks, future use, tunnels out of use */
	KODA_ADDR_UNSPECIFIED,
	KODA_ADDR_LOOPBACK,
	KODA_ADDR_PRIVATE, /* RFC 1918, unique local, site local */
	KODA_ADDR_LINK_LOCAL,
	KODA_ADDR_SHARED,   /* carrier-grade NAT */
	KODA_ADDR_METADATA, /* cloud instance metadata and host services */
	KODA_ADDR_MULTICAST,
	KODA_ADDR_PUBLIC
};

/* Parses dotted quads and the other forms of inet_aton(3): fewer parts, octal, hexadecimal. */
bool koda_addr_parse4(struct koda_span text, struct koda_addr *ret_addr);
/* Parses IPv6 text without brackets or zone; IPv4-mapped addresses become IPv4. */
bool koda_addr_parse6(struct koda_span text, struct koda_addr *ret_addr);
/* Returns the IPv4 address of an IPv4-mapped one, which is where the kernel would connect. */
struct koda_addr koda_addr_unmap(const struct koda_addr *addr);

/* Writes the form of RFC 5952, or a dotted quad. */
void koda_addr_format(const struct koda_addr *addr, char out[static KODA_ADDR_TEXT]);

static inline unsigned int koda_addr_bits(const struct koda_addr *addr)
{
	return addr->family == 4 ? 32 : 128;
}

/* Clears the bits past prefix. */
struct koda_addr koda_addr_mask(const struct koda_addr *addr, unsigned int prefix);
/* Returns true if both have one family and equal first prefix bits. */
bool koda_addr_in_net(const struct koda_addr *addr, const struct koda_addr *net,
		      unsigned int prefix);
bool koda_addr_equal(const struct koda_addr *a, const struct koda_addr *b);

/* Returns the range of addr; an IPv6 form that embeds an IPv4 address (compatible, translated,
 * 6to4, NAT64, ISATAP) has the range of that address. *ret_prefix (may be NULL) is how many leading
 * bits of addr put it there, 0 for public. */
enum koda_addr_class koda_addr_classify(const struct koda_addr *addr, unsigned int *ret_prefix);
/* Returns the range that contains a whole net. */
enum koda_addr_class koda_addr_classify_net(const struct koda_addr *net, unsigned int bits,
					    unsigned int *ret_prefix);
/* Returns the IPv4 address embedded in an IPv6 one; false if there is none. */
bool koda_addr_inner(const struct koda_addr *addr, struct koda_addr *ret_inner);
const char *koda_addr_class_name(enum koda_addr_class class_);

#endif
