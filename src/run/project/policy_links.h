/* SPDX-License-Identifier: MIT */
/*
 * Symbolic links in the paths of a policy. A path in a policy means the object that it leads to. A
 * deny entry is kept and its target is added. An allow entry, or an exception from a deny, is
 * replaced by its target; it is dropped if a link on the way lies in the project or where the
 * policy lets the command write, because a command may have planted that link.
 */
#ifndef KODA_RUN_PROJECT_POLICY_LINKS_H
#define KODA_RUN_PROJECT_POLICY_LINKS_H

#include "base/set.h"
#include "run/project/site.h"

/* Resolves the paths of a policy in place. Composition compares paths as they are written, so
 * parent and child are resolved before they are composed, never after. Fails: DENIED if the target
 * of a deny entry cannot be examined, SYS, LIMIT, NOMEM. */
KODA_CHECK int koda_policy_links_resolve_now(const struct koda_site *site,
					     struct koda_policy *policy, struct koda_error *err);

/* Resolves again, in two steps, for a policy that other threads read meanwhile. The walk over the
 * file system, which may be slow, changes nothing. Applying its result changes the policy and
 * cannot fail. Earlier targets of deny entries stay in the policy. */
struct koda_policy_links {
	bool differs;                                     /* there is something to apply */
	bool is_other[KODA_LIST_ALLOWED_DOMAINS];         /* which lists change */
	struct koda_set lists[KODA_LIST_ALLOWED_DOMAINS]; /* owned; the lists that change */
};

KODA_CHECK int koda_policy_links_resolve(const struct koda_site *site,
					 const struct koda_policy *policy,
					 struct koda_policy_links *ret_resolved,
					 struct koda_error *err);
void koda_policy_links_apply(struct koda_policy_links *resolved, struct koda_policy *policy);
void koda_policy_links_clear(struct koda_policy_links *resolved);

/* Fails if the target of a protected path cannot be examined. resolved: how far links could be
 * followed; path: the name for the error message, NULL if the caller adds it. Fails: DENIED, SYS.
 */
KODA_CHECK int koda_policy_links_check_seen(const char *resolved, const char *path,
					    struct koda_error *err);
/* Like koda_policy_links_check_seen, for a path whose parent was unreadable when it was examined,
 * even if it is readable now. Fails: DENIED, unless another user owns the directory. */
KODA_CHECK int koda_policy_links_check_closed(const char *path, struct koda_error *err);
/* Judges the errno with which path could not be examined; ENOENT is fine. Fails: as
 * koda_policy_links_check_closed, SYS. */
KODA_CHECK int koda_policy_links_check_unseen(const char *path, int error, struct koda_error *err);
/* Like koda_policy_links_check_unseen, for a name in a directory. */
KODA_CHECK int koda_policy_links_check_unseen_in(const char *dir, const char *name, int error,
						 struct koda_error *err);

#define koda_auto_policy_links __attribute__((cleanup(koda_policy_links_clear)))

#endif
