/* SPDX-License-Identifier: MIT */
/*
 * The site's authority, with which the proxy terminates TLS (net.mitm), as commands see it: its
 * certificate is in the file that they trust, and its key is nowhere.
 */
#ifndef KODA_RUN_AUTHORITY_H
#define KODA_RUN_AUTHORITY_H

#include "base/buf.h"
#include "run/site.h"

/* What is read into the bundle, and all of it. */
#define KODA_AUTHORITY_MAX ((size_t)4 << 20)

/* Notes the files of the policy's authority as hidden, under every name that leads to them; a
 * policy without one is fine. Before hard links are looked for. Fails: SYS, LIMIT, NOMEM. */
KODA_CHECK int koda_site_note_authority(struct koda_site *site, const struct koda_policy *policy,
					struct koda_error *err);

/* Appends the certificates that programs inside trust: the system's, and those of the policy's
 * authority. Fails: SYS, POLICY (the authority's file is not clean PEM), LIMIT, NOMEM. */
KODA_CHECK int koda_authority_bundle(const struct koda_policy *policy, struct koda_buf *out,
				     struct koda_error *err);

#endif
