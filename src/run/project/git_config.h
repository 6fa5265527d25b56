/* SPDX-License-Identifier: MIT */
/*
 * Reads files in the format of git's configuration (.git/config, .gitmodules). A command may have
 * written the text, so it is read in one pass, and includes are not followed here.
 */
#ifndef KODA_RUN_PROJECT_GIT_CONFIG_H
#define KODA_RUN_PROJECT_GIT_CONFIG_H

#include "base/macros.h"

#include <koda/span.h>
#include <stdbool.h>

struct koda_error;
struct koda_survey_budget;

/* Larger files are refused. */
#define KODA_GIT_CONFIG_MAX ((size_t)1 << 20)

/* "[section "subsection"] name = value" */
struct koda_git_setting {
	const char *section;    /* lower case */
	const char *subsection; /* "" if there is none */
	const char *name;       /* lower case */
	const char *value;      /* "" if there is none */
};

/* Called for every setting, whose texts are borrowed. A negative result stops the reading. */
typedef int koda_git_config_see(void *ctx, const struct koda_git_setting *setting,
				struct koda_error *err);

bool koda_git_config_key_is(const struct koda_git_setting *setting, const char *section,
			    const char *name);

/* Parses a text. Git refuses a file with a line that it does not understand. Here the rest of such
 * a line is skipped, so that too many settings are found rather than too few. Fails: NOMEM, and
 * what see fails with. */
KODA_CHECK int koda_git_config_parse(struct koda_span text, koda_git_config_see *see, void *ctx,
				     struct koda_error *err);

/* Reads a file. One that is missing, not regular, unreadable, or reached through a link has no
 * settings; is_link (may be NULL) is set for a link. budget may be NULL. Fails: LIMIT if the file
 * is too large, DENIED if its directory is closed, SYS, and as koda_git_config_parse. */
KODA_CHECK int koda_git_config_read(const char *file, koda_git_config_see *see, void *ctx,
				    bool *is_link, struct koda_survey_budget *budget,
				    struct koda_error *err);

#endif
