/* SPDX-License-Identifier: MIT */
/*
 * The site: the machine and the project as one sandbox sees them. It turns the host's environment
 * and file system into struct koda_place, the facts that the pure layers (policy, plan) work with.
 * koda_site_load reads what every command needs; a survey (survey.h) adds what takes longer.
 */
#ifndef KODA_RUN_PROJECT_SITE_H
#define KODA_RUN_PROJECT_SITE_H

#include "base/buf.h"
#include "base/macros.h"
#include "base/set.h"
#include "base/strv.h"
#include "run/project/dir_snapshot.h"
#include "run/project/survey_budget.h"

#include <koda/policy.h>
#include <koda/rules.h>

struct koda_policy;

/* A site, or a survey, that is older may differ from the file system and is made anew. */
#define KODA_SITE_FRESH_NS 100000000ULL

struct koda_site {
	uint64_t loaded_ns; /* when koda_site_load began */
	char *root;         /* owned; symbolic links resolved */
	char *home;         /* owned; NULL if unknown */
	char *passwd_home;  /* owned; the home of /etc/passwd, NULL if it has none */
	char *config_home;  /* owned; NULL if not set */
	char *state_home;   /* owned; NULL if not set */
	char *runtime_dir;  /* owned; NULL if not set */
	char *git_config;   /* owned; $GIT_CONFIG_GLOBAL, NULL if not set */
	struct koda_strv exec_dirs;
	struct koda_strv git_dirs;
	struct koda_strv git_files;
	struct koda_strv missing_dirs;
	struct koda_strv readonly_aliases;
	struct koda_strv hidden;
	struct koda_strv own_git_dirs;
	struct koda_strv git_closed; /* of git_files: git directories that are closed as a whole */
	struct koda_buf git_looks;   /* for each of git_closed, a byte of KODA_SITE_GIT_* bits */
	bool unmounted;  /* the backend mounts nothing: the mode of a closed file can change */
	bool few_mounts; /* trait of the backend: it takes few mounts */
	struct koda_survey_budget budget; /* of the survey that fills this in */
	struct koda_dir_snapshot dirs;    /* of the survey; empty if commands cannot write */
	bool has_hardlinks;      /* a protected file with another name was found (hardlink.h) */
	bool has_open_alias;     /* a hidden file can be read by another mount (mount_alias.h) */
	struct koda_strv caches; /* package caches that exist */
};

#define KODA_SITE_INIT                                                                             \
	{                                                                                          \
		0                                                                                  \
	}

/* Reads HOME, XDG_*, PATH from environ and resolves root, which need not exist; NULL: the working
 * directory (site_load.c). Refuses roots that would open up the machine (policy/root.h). site must
 * be KODA_SITE_INIT. Fails: SYS, POLICY, DENIED, NOMEM. */
KODA_CHECK int koda_site_load(struct koda_site *site, const char *root, const char *const *environ_,
			      struct koda_error *err);
void koda_site_clear(struct koda_site *site);

/* Fails if dir would be refused as a project root: DENIED, POLICY, NOMEM. */
KODA_CHECK int koda_site_check_dir(const struct koda_site *site, const char *dir,
				   struct koda_error *err);

/* Returns the facts for the pure layers, borrowed from site. */
struct koda_place koda_site_place(const struct koda_site *site);

/* Notes the missing directories that would hold a protected name, in the project and in every git
 * directory found so far. Fails: NOMEM. */
KODA_CHECK int koda_site_note_missing_dirs(struct koda_site *site, struct koda_error *err);

/* Notes the git directories of path, which has no links, and of every directory above it. Fails: as
 * koda_site_load. */
KODA_CHECK int koda_site_note_git_above(struct koda_site *site, const char *path,
					struct koda_error *err);

/* Makes target absolute, against the working directory, resolves its links as far as it exists, and
 * notes the git directories on the way, so that rules made later know them. Returns the path as
 * written (lexical) and as resolved, owned by the caller. Fails: as koda_site_load. */
KODA_CHECK int koda_site_see(struct koda_site *site, const char *target, char **ret_lexical,
			     char **ret_resolved, struct koda_error *err);

/* Tells whether path lies in a directory that a command may write as a whole (site_writable.c). */
bool koda_site_is_writable(const struct koda_site *site, const struct koda_policy *policy,
			   struct koda_span path);

#define koda_auto_site __attribute__((cleanup(koda_site_clear)))

#endif
