/* SPDX-License-Identifier: MIT */
/*
 * The settings of git's configuration that name programs and files. A configuration is a file and
 * all that it includes; conditions of includeIf are taken to hold.
 */
#ifndef KODA_RUN_PROJECT_GIT_SETTINGS_H
#define KODA_RUN_PROJECT_GIT_SETTINGS_H

#include "base/macros.h"
#include "base/set.h"

#include <stdbool.h>

struct koda_error;
struct koda_policy;
struct koda_survey_budget;

/* How many values, and how many bytes, the settings of one git directory may have. */
#define KODA_GIT_SETTINGS_MAX  ((size_t)256)
#define KODA_GIT_SETTINGS_ROOM ((size_t)16 << 20)

struct koda_git_settings {
	/* Values as they are written: */
	struct koda_set hooks;    /* directories of hooks */
	struct koda_set files;    /* of attributes, and directories of templates */
	struct koda_set commands; /* programs that git runs; aliases begin with "!" */
	char *worktree;           /* owned; the last core.worktree, NULL if there is none */
	/* The paths of the files that were read, existing or not; linked: one is reached through a
	 * link, or has a ".." in its path. */
	struct koda_set sources;
	bool linked;
};

#define KODA_GIT_SETTINGS_INIT                                                                     \
	{                                                                                          \
		.hooks = KODA_SET_INIT(KODA_GIT_SETTINGS_ROOM),                                    \
		.files = KODA_SET_INIT(KODA_GIT_SETTINGS_ROOM),                                    \
		.commands = KODA_SET_INIT(KODA_GIT_SETTINGS_ROOM),                                 \
		.sources = KODA_SET_INIT(KODA_GIT_SETTINGS_ROOM)                                   \
	}

/* What reading depends on. */
struct koda_git_reader {
	const char *home;                  /* for "~"; may be NULL */
	const struct koda_policy *policy;  /* files that it hides are not included */
	size_t includes;                   /* how many more files may be included, in all calls */
	struct koda_survey_budget *budget; /* may be NULL */
};

/* Adds the settings of a file and of the files that it includes. Fails: LIMIT if there are too
 * many, DENIED if a directory is closed, SYS, NOMEM. */
KODA_CHECK int koda_git_settings_read(struct koda_git_settings *settings, const char *file,
				      struct koda_git_reader *reader, struct koda_error *err);
/* Adds the settings of the user's files and of /etc/gitconfig. config_home is $XDG_CONFIG_HOME,
 * named is $GIT_CONFIG_GLOBAL, which replaces the user's other files; each may be NULL. */
KODA_CHECK int koda_git_settings_read_own(struct koda_git_settings *settings,
					  const char *config_home, const char *named,
					  struct koda_git_reader *reader, struct koda_error *err);
/* Tells whether any setting names a path. */
bool koda_git_settings_has_any(const struct koda_git_settings *settings);
void koda_git_settings_clear(struct koda_git_settings *settings);

/* Returns a value as a path: absolute, below home ("~/"), or relative to dir; owned by the caller.
 * NULL if it is no path. Fails: NOMEM. */
KODA_CHECK int koda_git_settings_path(const char *value, const char *dir, const char *home,
				      char **ret_path, struct koda_error *err);

#define koda_auto_git_settings __attribute__((cleanup(koda_git_settings_clear)))

#endif
