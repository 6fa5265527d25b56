/* SPDX-License-Identifier: MIT */
/*
 * T-96. A policy from a file that the caller names (--policy). No command may be able to write it:
 * not the file, not a symbolic link that leads to it, and not by another name of it.
 */
#ifndef KODA_CLI_POLICY_FILE_H
#define KODA_CLI_POLICY_FILE_H

#include "base/strv.h"
#include "cli.h"

#include <koda/project.h>

struct cli_policy_file {
	const char *arg;         /* argument of the option, borrowed; NULL: it was not given */
	struct koda_strv places; /* the path as spelt, every link on the way, and where it leads */
	const char *refusal;     /* why its owner or mode is refused; NULL: they are fine */
};

#define CLI_POLICY_FILE_INIT                                                                       \
	{                                                                                          \
		.arg = NULL                                                                        \
	}
void cli_policy_file_clear(struct cli_policy_file *file);

/* Reads the text, and fills in places and refusal. Fails: SYS, LIMIT, NOMEM. */
KODA_CHECK int cli_policy_file_read(struct cli_policy_file *file, const char *path,
				    struct koda_buf *text, struct koda_error *err);

/* Refuses a file that commands in this project could write under its policy, which is not narrowed
 * yet. Fails: DENIED, NOMEM. */
KODA_CHECK int cli_policy_file_check(const struct cli_policy_file *file,
				     struct koda_project *project, struct koda_error *err);

#endif
