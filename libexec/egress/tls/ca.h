/* SPDX-License-Identifier: MIT */
/*
 * The CA that signs the certificates of terminated connections. It is read from PEM once, checked,
 * and kept in the memory of this process.
 */
#ifndef KODA_EGRESS_TLS_CA_H
#define KODA_EGRESS_TLS_CA_H

#include "base/buf.h"

#include <openssl/x509.h>
#include <time.h>

struct egress_ca {
	X509 *cert;             /* owned: signs leaf certificates */
	EVP_PKEY *key;          /* owned: its private key */
	STACK_OF(X509) * chain; /* owned: certificates to send besides the leaf; may be empty */
	/* Validity of the CA; no leaf certificate outlives it. */
	time_t not_before;
	time_t not_after;
};

/* Parses the certificates of bundle and the one private key, which is in bundle or, if that has
 * none, in key (which may be empty). The certificate that fits the key signs; the others are its
 * chain. Refuses, with a message that says why: text that is not clean PEM, no certificate, no key
 * or two, a key that is encrypted, weak, neither RSA nor EC, or fits no certificate, a certificate
 * that may not sign others, has expired or is not valid yet. Fails: POLICY, NOMEM. */
KODA_CHECK int egress_ca_parse(struct koda_span bundle, struct koda_span key, time_t now,
			       struct egress_ca **ret_ca, struct koda_error *err);

/* Like egress_ca_parse, from descriptors (key_fd may be -1). Wipes what was read. Fails: also SYS,
 * LIMIT. */
KODA_CHECK int egress_ca_read(int bundle_fd, int key_fd, time_t now, struct egress_ca **ret_ca,
			      struct koda_error *err);

void egress_ca_free(struct egress_ca *ca);

static inline void egress_ca_free_ptr(struct egress_ca **ca)
{
	egress_ca_free(*ca);
}
#define koda_auto_ca __attribute__((cleanup(egress_ca_free_ptr)))

#endif
