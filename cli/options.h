/* SPDX-License-Identifier: MIT */
/*
 * The policy options, which every command with a policy takes. They choose where the policy comes
 * from (a trust mode, a descriptor or a file) and then only narrow it. The wall time alone may
 * rise, up to the trust mode's ceiling.
 */
#ifndef KODA_CLI_OPTIONS_H
#define KODA_CLI_OPTIONS_H

#include "base/strv.h"
#include "cli.h"
#include "policy_file.h"

#include <koda/policy.h>
#include <koda/trust.h>

enum cli_option {
	CLI_OPT_TRUST = 256, /* above every letter */
	CLI_OPT_ROOT,
	CLI_OPT_CWD,
	CLI_OPT_POLICY,
	CLI_OPT_POLICY_FD,
	CLI_OPT_NARROW_FD,
	CLI_OPT_DENY_READ,
	CLI_OPT_DENY_WRITE,
	CLI_OPT_DENY_DOMAIN,
	CLI_OPT_HIDE_CREDENTIALS,
	CLI_OPT_NO_NETWORK,
	CLI_OPT_READ_ONLY,
	CLI_OPT_WALL_TIME,
	CLI_OPT_MEMORY,
	CLI_OPT_MAX_OUTPUT,
	CLI_OPT_MAX_PROCS,
	CLI_OPT_ALLOW_DOMAIN, /* this and the next two: see widen.h */
	CLI_OPT_ALLOW_READ,
	CLI_OPT_ALLOW_WRITE,
	CLI_OPT_ACCEPT, /* this and the next: see waivers.h */
	CLI_OPT_NO_SANDBOX,
	CLI_OPT_OPAQUE, /* of commands that connect */
	CLI_OPT_ENV,    /* this and the next: see variables.h */
	CLI_OPT_ENV_SECRET,
	CLI_OPT_OWN /* the first value for a command's own options */
};

/* Rows of a struct option table: all of them, and those that matter where nothing is run. */
/* clang-format off */
#define CLI_NETWORK_OPTIONS                                                                        \
	{ "trust", required_argument, NULL, CLI_OPT_TRUST },                                       \
	{ "root", required_argument, NULL, CLI_OPT_ROOT },                                         \
	{ "policy", required_argument, NULL, CLI_OPT_POLICY },                                     \
	{ "policy-fd", required_argument, NULL, CLI_OPT_POLICY_FD },                               \
	{ "narrow-fd", required_argument, NULL, CLI_OPT_NARROW_FD },                               \
	{ "deny-domain", required_argument, NULL, CLI_OPT_DENY_DOMAIN },                           \
	{ "no-network", no_argument, NULL, CLI_OPT_NO_NETWORK }

#define CLI_POLICY_OPTIONS                                                                          \
	CLI_NETWORK_OPTIONS,                                                                       \
	{ "cwd", required_argument, NULL, CLI_OPT_CWD },                                           \
	{ "deny-read", required_argument, NULL, CLI_OPT_DENY_READ },                               \
	{ "deny-write", required_argument, NULL, CLI_OPT_DENY_WRITE },                             \
	{ "hide-credentials", no_argument, NULL, CLI_OPT_HIDE_CREDENTIALS },                       \
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

/* The text of a policy, not decoded yet. */
struct cli_text {
	const char *arg; /* argument of the option; NULL: it was not given */
	struct koda_buf bytes;
};

#define CLI_TEXT_INIT                                                                              \
	{                                                                                          \
		.bytes = KODA_BUF_INIT((size_t)KODA_POLICY_TEXT_MAX)                               \
	}

/* The options of policy show that allow more, see widen.h. Strings are borrowed from argv. */
struct cli_widen {
	struct koda_strv domains;
	struct koda_strv reads;
	struct koda_strv writes;
};

/* The values of the options. Strings are borrowed from argv. */
struct cli_policy_options {
	enum koda_trust trust;
	bool trust_given;
	const char *root;        /* NULL: the working directory */
	const char *cwd;         /* NULL: the root */
	struct cli_text host;    /* --policy-fd or --policy; not given: the trust mode's */
	const char *host_option; /* the name of the option that was given */
	struct cli_policy_file file;
	struct cli_widen widen;
	struct cli_text *narrow; /* owned; one for every --narrow-fd, in order */
	size_t narrow_count;
	struct koda_strv deny_read;
	struct koda_strv deny_write;
	struct koda_strv deny_domain;
	bool hide_credentials;
	bool no_network;
	bool read_only;
	bool untimed; /* on a terminal: no wall time but that of the option */
	struct cli_number wall_time_secs;
	struct cli_number memory_bytes;
	struct cli_number output_bytes;
	struct cli_number processes;
};

#define CLI_POLICY_OPTIONS_INIT                                                                    \
	{                                                                                          \
		.trust = KODA_TRUST_AUTO, .host = CLI_TEXT_INIT                                    \
	}
void cli_policy_options_clear(struct cli_policy_options *options);
#define cli_auto_policy_options __attribute__((cleanup(cli_policy_options_clear)))

/* Takes one option of CLI_POLICY_OPTIONS or CLI_WIDEN_OPTIONS. --policy, --policy-fd and
 * --narrow-fd are read at once and decoded later by cli_setup_make, so that the launcher can be
 * started in between. The smallest of repeated limits counts. --trust, --root, --cwd, --policy and
 * --policy-fd cannot be repeated. Errors name the option. Fails: INVALID, LIMIT, SYS, NOMEM. */
KODA_CHECK int cli_policy_options_take(struct cli_policy_options *options, int option,
				       const char *arg, struct koda_error *err);

/* Refuses --trust beside --policy and --policy-fd, for commands that run nothing. Where a command
 * runs, the mode still limits the number of processes and the size of files. Fails: INVALID. */
KODA_CHECK int cli_policy_options_check_source(const struct cli_policy_options *options,
					       const struct cli_call *call, struct koda_error *err);

#endif
