/* SPDX-License-Identifier: MIT */
/*
 * The site: what this machine and this project look like, read once. It turns the host's
 * environment and file system into the facts (struct koda_place) that the pure layers need.
 */
#ifndef KODA_RUN_SITE_H
#define KODA_RUN_SITE_H

#include "base/buf.h"
#include "base/macros.h"
#include "base/set.h"
#include "base/str.h"

#include <koda/policy.h>
#include <koda/rules.h>

struct koda_policy;

struct koda_site {
	char *root;        /* owned; symbolic links resolved */
	char *home;        /* owned; NULL if unknown */
	char *table_home;  /* owned; what /etc/passwd says, NULL if nothing */
	char *config_home; /* owned; NULL if not set */
	char *state_home;  /* owned; NULL if not set */
	char *runtime_dir; /* owned; NULL if not set */
	struct koda_strv exec_dirs;
	struct koda_strv git_dirs;
	struct koda_strv git_files;
	struct koda_strv absent;
	struct koda_strv guarded;
	struct koda_strv hidden;
	struct koda_strv git_open;
	bool shared;             /* a protected file was seen that has another name (hardlink.h) */
	bool twofold;            /* something hidden is to be seen by another name (twin.h) */
	struct koda_strv caches; /* package caches that exist */
};

#define KODA_SITE_INIT                                                                             \
	{                                                                                          \
		0                                                                                  \
	}

/* Reads HOME, XDG_*, PATH from environ and resolves root (NULL: the working directory; it need
 * not exist). Refuses roots that would hand over the machine (see policy/root.h).
 * site must be KODA_SITE_INIT. Fails: SYS, POLICY, DENIED, NOMEM. */
KODA_CHECK int koda_site_load(struct koda_site *site, const char *root, const char *const *environ_,
			      struct koda_error *err);
void koda_site_clear(struct koda_site *site);

/* Would dir be refused as a project root? Fails: DENIED if so, POLICY, NOMEM. */
KODA_CHECK int koda_site_check_dir(const struct koda_site *site, const char *dir,
				   struct koda_error *err);

/* Follows root/.git if it is a pointer file (gitlink.c). Where it leads is protected like any git
 * directory, and opened if it is this project's. Fails: SYS, NOMEM. */
KODA_CHECK int koda_site_note_link(struct koda_site *site, struct koda_error *err);

/* Borrowed from site. */
struct koda_place koda_site_place(const struct koda_site *site);

/* Notes which directories that would hold a protected name do not exist: those of the project and
 * of every git directory known so far. Fails: NOMEM. */
KODA_CHECK int koda_site_note_absent(struct koda_site *site, struct koda_error *err);

/* Follows the protected names that are links (alias.c). Fails: SYS, NOMEM. */
KODA_CHECK int koda_site_note_aliases(struct koda_site *site, struct koda_error *err);

/* Notes the package caches below HOME (cache.c): real directories of the user's, neither in the
 * project nor around it. koda_site_load does this. Fails: NOMEM. */
KODA_CHECK int koda_site_note_caches(struct koda_site *site, struct koda_error *err);

/* Where the copies of this project's caches are kept, a directory that need not exist; NULL if
 * there are no caches, or its path would be too long. Owned by the caller. Fails: NOMEM. */
KODA_CHECK int koda_site_cache_store(const struct koda_site *site, char **ret_dir,
				     struct koda_error *err);

/* Notes the git directories of path, which has no links, and of every directory above it. Fails: as
 * koda_site_load. */
KODA_CHECK int koda_site_note_git_above(struct koda_site *site, const char *path,
					struct koda_error *err);

/* Makes target absolute (against the working directory), resolves links as far as it exists,
 * and notes the git directories on its way, so that rules built afterwards know them. Both
 * spellings are given back: as named (lexical) and as resolved; owned by the caller. */
KODA_CHECK int koda_site_see(struct koda_site *site, const char *target, char **ret_lexical,
			     char **ret_resolved, struct koda_error *err);

/* Makes the paths of a policy mean objects and not spellings. A deny entry is kept and what it
 * leads to is added; an allow entry or a hole is replaced by what it leads to, or dropped if a link
 * on the way lies in the project or where the policy lets the command write: the command may have
 * planted it. Composition compares paths as they are written, so parent and child are both
 * resolved before they are composed, never after. Fails: DENIED if it cannot be told where
 * something denied leads, SYS, LIMIT, NOMEM. */
KODA_CHECK int koda_site_resolve_policy(const struct koda_site *site, struct koda_policy *policy,
					struct koda_error *err);

/* The same again and in two steps, for a policy that others read meanwhile: the walk, which may
 * take as long as a file system does, changes nothing; only applying it does, and cannot fail.
 * Where something denied led before is in the policy already. */
struct koda_resolved {
	bool differs; /* is there anything to apply? */
	bool is_other[KODA_LIST_ALLOWED_DOMAINS];
	struct koda_set lists[KODA_LIST_ALLOWED_DOMAINS]; /* owned; those that are others */
};

KODA_CHECK int koda_site_resolve(const struct koda_site *site, const struct koda_policy *policy,
				 struct koda_resolved *ret_resolved, struct koda_error *err);
void koda_resolved_apply(struct koda_resolved *resolved, struct koda_policy *policy);
void koda_resolved_clear(struct koda_resolved *resolved);

/* Can it be told where something leads that is to be protected? resolved is as far as it could;
 * path, as which it was named, is told with the error (NULL: the caller does). Fails: DENIED, SYS.
 */
KODA_CHECK int koda_site_check_seen(const char *resolved, const char *path, struct koda_error *err);
/* The same of a path that could not be looked at, because a directory on the way was closed, be it
 * open by now. Fails: DENIED, unless the directory is somebody else's. */
KODA_CHECK int koda_site_check_closed(const char *path, struct koda_error *err);
/* What error means, with which path could not be looked at: nothing if nothing is there. Fails: as
 * koda_site_check_closed, SYS. */
KODA_CHECK int koda_site_check_unseen(const char *path, int error, struct koda_error *err);
/* The same of a name in a directory. */
KODA_CHECK int koda_site_check_unseen_in(const char *dir, const char *name, int error,
					 struct koda_error *err);

#define koda_auto_resolved __attribute__((cleanup(koda_resolved_clear)))
#define koda_auto_site     __attribute__((cleanup(koda_site_clear)))

#endif
