/* SPDX-License-Identifier: MIT */
/*
 * The options that shape a policy, the same for every command that has one. They choose where the
 * policy comes from (a trust mode or a descriptor) and then only narrow it; the wall time alone may
 * rise, and never above the trust mode's ceiling.
 */
#ifndef KODA_CLI_OPTIONS_H
#define KODA_CLI_OPTIONS_H

#include "base/str.h"
#include "cli.h"
#include "run/site.h"

#include <koda/policy.h>
#include <koda/trust.h>

enum cli_option {
	CLI_OPT_TRUST = 256, /* above every letter */
	CLI_OPT_ROOT,
	CLI_OPT_CWD,
	CLI_OPT_POLICY_FD,
	CLI_OPT_NARROW_FD,
	CLI_OPT_DENY_READ,
	CLI_OPT_DENY_WRITE,
	CLI_OPT_DENY_DOMAIN,
	CLI_OPT_NO_NETWORK,
	CLI_OPT_READ_ONLY,
	CLI_OPT_WALL_TIME,
	CLI_OPT_MEMORY,
	CLI_OPT_MAX_OUTPUT,
	CLI_OPT_MAX_PROCS,
	CLI_OPT_ACCEPT, /* this and the next: see grip.h */
	CLI_OPT_NO_SANDBOX,
	CLI_OPT_OPAQUE, /* of commands that connect */
	CLI_OPT_OWN     /* the first value for a command's own options */
};

/* Rows of a struct option table: all of them, and those that matter where nothing is run. */
/* clang-format off */
#define CLI_NETWORK_OPTIONS                                                                        \
	{ "trust", required_argument, NULL, CLI_OPT_TRUST },                                       \
	{ "root", required_argument, NULL, CLI_OPT_ROOT },                                         \
	{ "policy-fd", required_argument, NULL, CLI_OPT_POLICY_FD },                               \
	{ "narrow-fd", required_argument, NULL, CLI_OPT_NARROW_FD },                               \
	{ "deny-domain", required_argument, NULL, CLI_OPT_DENY_DOMAIN },                           \
	{ "no-network", no_argument, NULL, CLI_OPT_NO_NETWORK }

#define CLI_SHAPE_OPTIONS                                                                          \
	CLI_NETWORK_OPTIONS,                                                                       \
	{ "cwd", required_argument, NULL, CLI_OPT_CWD },                                           \
	{ "deny-read", required_argument, NULL, CLI_OPT_DENY_READ },                               \
	{ "deny-write", required_argument, NULL, CLI_OPT_DENY_WRITE },                             \
	{ "read-only", no_argument, NULL, CLI_OPT_READ_ONLY },                                     \
	{ "wall-time", required_argument, NULL, CLI_OPT_WALL_TIME },                               \
	{ "memory", required_argument, NULL, CLI_OPT_MEMORY },                                     \
	{ "max-output", required_argument, NULL, CLI_OPT_MAX_OUTPUT },                             \
	{ "max-procs", required_argument, NULL, CLI_OPT_MAX_PROCS }
/* clang-format on */

/* A number that may not have been given. */
struct cli_number {
	bool given;
	uint64_t value;
};

/* A policy as it was handed over, not decoded yet. */
struct cli_text {
	const char *arg; /* of the option; NULL: it was not given */
	struct koda_buf bytes;
};

#define CLI_TEXT_INIT                                                                              \
	{                                                                                          \
		.bytes = KODA_BUF_INIT((size_t)KODA_POLICY_TEXT_MAX)                               \
	}

/* What the options said. Strings are borrowed from argv. */
struct cli_shape {
	enum koda_trust trust;
	bool trust_given;
	const char *root;        /* NULL: the working directory */
	const char *cwd;         /* NULL: the root */
	struct cli_text host;    /* --policy-fd; not given: the trust mode's */
	struct cli_text *narrow; /* owned; one for every --narrow-fd, in order */
	size_t narrow_count;
	struct koda_strv deny_read;
	struct koda_strv deny_write;
	struct koda_strv deny_domain;
	bool no_network;
	bool read_only;
	bool untimed; /* the trust table's wall time does not apply */
	struct cli_number wall_time_secs;
	struct cli_number memory_bytes;
	struct cli_number output_bytes;
	struct cli_number processes;
};

#define CLI_SHAPE_INIT                                                                             \
	{                                                                                          \
		.trust = KODA_TRUST_AUTO, .host = CLI_TEXT_INIT                                    \
	}
void koda_cli_shape_clear(struct cli_shape *shape);
#define koda_auto_shape __attribute__((cleanup(koda_cli_shape_clear)))

/* Takes in one option of CLI_SHAPE_OPTIONS. --policy-fd and --narrow-fd are read at once
 * and decoded when they are applied: whatever takes its own time can begin before. Of a limit that
 * is given again the least counts; what has one value (--trust, --root, --cwd, --policy-fd) is
 * refused the second time. Errors name the option. Fails: INVALID, LIMIT, SYS, NOMEM. */
KODA_CHECK int koda_cli_shape_take(struct cli_shape *shape, int option, const char *arg,
				   struct koda_error *err);

/* The site, the effective policy and the rest of what a command would run with. */
struct cli_setup {
	struct koda_site site;
	struct koda_policy *policy; /* owned */
	char *cwd;                  /* owned; absolute, at or below the root */
	uint64_t max_processes;
};

#define CLI_SETUP_INIT                                                                             \
	{                                                                                          \
		.site = KODA_SITE_INIT                                                             \
	}
void koda_cli_setup_clear(struct cli_setup *setup);
#define koda_auto_setup __attribute__((cleanup(koda_cli_setup_clear)))

/* The paths of every policy are resolved before anything is composed, see run/site.h.
 * setup must be CLI_SETUP_INIT. Fails: as the functions it calls. */
KODA_CHECK int koda_cli_shape_apply(const struct cli_shape *shape, const char *const *env,
				    struct cli_setup *setup, struct koda_error *err);

/* Refuses --trust beside --policy-fd, for commands in which the mode would then mean nothing. To a
 * command that runs it still says how many processes and how large files there may be. */
KODA_CHECK int koda_cli_shape_one_source(const struct cli_shape *shape, const struct cli_call *call,
					 struct koda_error *err);

#endif
