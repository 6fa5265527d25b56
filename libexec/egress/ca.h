/* SPDX-License-Identifier: MIT */
/*
 * The authority that signs the certificates of terminated connections. It is read from PEM once,
 * checked, and then lives in this process only.
 */
#ifndef KODA_EGRESS_CA_H
#define KODA_EGRESS_CA_H

#include "base/buf.h"

#include <openssl/x509.h>
#include <time.h>

struct koda_ca {
	X509 *cert;             /* owned: signs */
	EVP_PKEY *key;          /* owned: its private key */
	STACK_OF(X509) * chain; /* owned: what a client needs besides the leaf; may be empty */
	/* The authority's own life; no leaf outlives it. */
	time_t not_before;
	time_t not_after;
};

/* Reads the certificates of bundle and the one private key, which is in bundle or, if that has
 * none, in key (which may be empty). The certificate that fits the key signs; others serve as its
 * chain. Refused with a message that says which: text that is not clean PEM, no certificate, no
 * key or two, a key that is encrypted, weak, of another kind than RSA or EC, or fits none of the
 * certificates, a certificate that may not sign others, has expired or is not valid yet.
 * Fails: POLICY, NOMEM. */
KODA_CHECK int koda_ca_parse(struct koda_span bundle, struct koda_span key, time_t now,
			     struct koda_ca **ret_ca, struct koda_error *err);

/* The same from descriptors (key_fd may be -1). What was read is wiped. Fails: also SYS, LIMIT. */
KODA_CHECK int koda_ca_read(int bundle_fd, int key_fd, time_t now, struct koda_ca **ret_ca,
			    struct koda_error *err);

void koda_ca_free(struct koda_ca *ca);

static inline void koda_ca_free_ptr(struct koda_ca **ca)
{
	koda_ca_free(*ca);
}
#define koda_auto_ca __attribute__((cleanup(koda_ca_free_ptr)))

#endif
