/* SPDX-License-Identifier: MIT */
/*
 * PEM text of certificates and keys, without a cryptographic library: the host process makes the CA
 * bundle for programs inside, and must not copy a key into it. Callers map a file that may contain
 * a key instead of reading it, so that no copy stays in memory.
 */
#ifndef KODA_POLICY_PEM_H
#define KODA_POLICY_PEM_H

#include "base/buf.h"

/* The largest file of certificates that is read; the bundle of Debian has 220 KiB. */
#define KODA_PEM_MAX ((size_t)1 << 20)

/* Paths of CA bundles by system, NULL-terminated; the first existing one counts. */
extern const char *const koda_pem_system_places[];

struct koda_pem_block {
	struct koda_span label; /* "CERTIFICATE" */
	struct koda_span body;  /* the lines in between */
};

/* Finds the next block of *text and moves *text behind it. Lines in front of a block are
 * explanation and skipped, unless they look like a boundary; behind the last block only blank
 * lines and comments (#) may stand. Returns 1 with a block, 0 at the end. Fails: POLICY. */
KODA_CHECK int koda_pem_next(struct koda_span *text, struct koda_pem_block *ret_block,
			     struct koda_error *err);

/* Returns true for the label of any private key. */
bool koda_pem_is_key(struct koda_span label);

/* Appends the certificates of text, written anew, and nothing else: no key (whatever its label
 * says), no explanation. Fails: POLICY on anything that is not clean PEM, on a block that is
 * neither certificate nor key, and without a certificate; LIMIT, NOMEM. */
KODA_CHECK int koda_pem_certificates(struct koda_span text, struct koda_buf *out,
				     struct koda_error *err);

/* Returns 1 if text has a private key, else 0; 0 only for text that koda_pem_certificates takes and
 * that mentions no key, not even in an explanation: an indented key is a key for a human reader.
 * Fails: POLICY on anything else; LIMIT, NOMEM. */
KODA_CHECK int koda_pem_has_key(struct koda_span text, struct koda_error *err);

/* Appends the path of the key of a bundle without one: next to it, with the ending ".key" in place
 * of ".pem", ".crt" or ".cer", or after the whole name. */
KODA_CHECK int koda_pem_key_path(struct koda_span bundle, struct koda_buf *out,
				 struct koda_error *err);

#endif
