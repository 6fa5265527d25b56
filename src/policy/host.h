/* SPDX-License-Identifier: MIT */
/* What the rules and the proxy need of hosts beyond <koda/host.h>. */
#ifndef KODA_POLICY_HOST_H
#define KODA_POLICY_HOST_H

#include "policy/addr.h"

#include <koda/host.h>

/* Splits and parses NAME or NAME:PORT in plain ASCII, which most hosts are. Returns false for any
 * other text, which koda_host_split and koda_host_parse decide about; *ret_host is undefined then.
 */
bool koda_host_read_plain(struct koda_span text, struct koda_host *ret_host, uint16_t *ret_port);

/* Returns whether name is a public suffix such as com or co.uk, below which everything has
 * different owners. Names set aside for private networks (internal, lan, home.arpa ...) are not. */
bool koda_host_is_public_suffix(const char *name);

#endif
