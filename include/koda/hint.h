/* SPDX-License-Identifier: MIT */
/*
 * Hints: the narrowest change of a policy that would allow what was denied. A hint is JSON on one
 * line, one of
 *
 *   a part of a policy      its entries are added: {"fs":{"allow_write":["/srv/out"]}}
 *   and "remove"            entries that are taken away:
 * {"remove":{"net":{"denied_domains":[...]}}}
 *   {"floor":"floor.git"}   no policy allows it
 *
 * A hint widens. It comes from what a command tried, so a host shows it to a person or refuses it,
 * and does not apply it by itself. A hint without "remove" and "floor" is a policy that
 * koda_policy_parse accepts.
 */
#ifndef KODA_HINT_H
#define KODA_HINT_H

#include <koda/error.h>
#include <koda/event.h>
#include <koda/limit.h>
#include <koda/rules.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct koda_policy;

/* Longest hint that is read, in bytes. */
#define KODA_HINT_TEXT_MAX ((size_t)64 * 1024)

/* Finds the hint for a path, which is absolute and in normal form. The kind is FILE_READ,
 * FILE_WRITE or EXEC; of a write that the rules allow, the hint is for renaming or removing the
 * file (koda_rules_replace). *ret_hint is owned by the caller (free); NULL if the rules allow it
 * already, if no rule is about it, or if a directory with credentials or koda's own state below it
 * would have to be opened, such as / and the home. Fails: LIMIT, NOMEM. */
KODA_API KODA_CHECK int koda_hint_path(const struct koda_rules *rules, enum koda_violation kind,
				       const char *path, size_t len, char **ret_hint,
				       struct koda_error *err);
/* Finds the hint for a connection to host and port; addr is an address of the name that was
 * refused, or NULL. *ret_hint is as for koda_hint_path. Fails: LIMIT,
 * NOMEM. */
KODA_API KODA_CHECK int koda_hint_connect(const struct koda_policy *policy, const char *host,
					  size_t len, uint16_t port, const struct koda_addr *addr,
					  char **ret_hint, struct koda_error *err);
/* Makes the hint for a limit of this value that was reached: twice the value, at most ceiling
 * (UINT64_MAX: none). A limit without a field in the policy, or one at its ceiling, is a floor.
 * Fails: NOMEM. */
KODA_API KODA_CHECK int koda_hint_limit(enum koda_limit which, uint64_t value, uint64_t ceiling,
					char **ret_hint, struct koda_error *err);

/* Makes a copy of the policy that is changed as the hint says. Fails: POLICY for text that is no
 * hint, DENIED for a floor, LIMIT, NOMEM. */
KODA_API KODA_CHECK int koda_hint_apply(const struct koda_policy *policy, const char *hint,
					size_t len, struct koda_policy **ret_policy,
					struct koda_error *err);

#ifdef __cplusplus
}
#endif

#endif
