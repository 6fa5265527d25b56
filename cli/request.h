/* SPDX-License-Identifier: MIT */
/* The options of run, shell, plan and env. */
#ifndef KODA_CLI_REQUEST_H
#define KODA_CLI_REQUEST_H

#include "options.h"
#include "runner.h"
#include "variables.h"
#include "waivers.h"

enum cli_request_option {
	CLI_REQUEST_BACKEND = CLI_OPT_OWN,
	CLI_REQUEST_EVENTS,
	CLI_REQUEST_EVENTS_FD,
	CLI_REQUEST_TTY,
	CLI_REQUEST_NO_TTY,
	CLI_REQUEST_REPORT,
	CLI_REQUEST_NO_REPORT,
	CLI_REQUEST_YES,
	CLI_REQUEST_EXPLAIN,
	CLI_REQUEST_JSON, /* of plan and fs */
	CLI_REQUEST_BWRAP,
	CLI_REQUEST_SEATBELT,
	CLI_REQUEST_SECCOMP,
	CLI_REQUEST_OWN /* the first value for a command's own options */
};

/* clang-format off */
#define CLI_REQUEST_OPTIONS                                                                \
	CLI_POLICY_OPTIONS,                                                                \
	CLI_WAIVER_OPTIONS,                                                                \
	CLI_VARIABLE_OPTIONS,                                                              \
	{ "backend", required_argument, NULL, CLI_REQUEST_BACKEND },                       \
	{ "events", required_argument, NULL, CLI_REQUEST_EVENTS },                         \
	{ "events-fd", required_argument, NULL, CLI_REQUEST_EVENTS_FD },                   \
	{ "tty", no_argument, NULL, CLI_REQUEST_TTY },                                     \
	{ "no-tty", no_argument, NULL, CLI_REQUEST_NO_TTY },                               \
	{ "report", no_argument, NULL, CLI_REQUEST_REPORT },                               \
	{ "no-report", no_argument, NULL, CLI_REQUEST_NO_REPORT },                         \
	{ "yes", no_argument, NULL, CLI_REQUEST_YES },                                     \
	{ "explain", no_argument, NULL, CLI_REQUEST_EXPLAIN },                             \
	{ "opaque", required_argument, NULL, CLI_OPT_OPAQUE },                             \
	CLI_HELP_OPTION
/* clang-format on */

enum cli_purpose {
	CLI_TO_RUN = 0,
	CLI_TO_SHOW,  /* koda-sandbox plan */
	CLI_TO_SHELL, /* koda-sandbox shell */
	CLI_TO_LIST   /* koda-sandbox env */
};

/* Strings are borrowed from the call. */
struct cli_request {
	struct cli_policy_options policy;
	struct cli_waivers waivers;
	struct cli_events events;
	struct koda_strv opaque;    /* --opaque */
	struct koda_strv variables; /* --env and --env-secret: NAME=VALUE */
	enum cli_purpose purpose;
	enum koda_backend_kind backend;
	bool backend_given;
	const char *shell; /* NULL: argv */
	const char *const *argv;
	const char *interactive[2]; /* argv of koda-sandbox shell */
	bool tty;                   /* --tty */
	bool no_tty;                /* --no-tty */
	bool report;                /* --report */
	bool no_report;             /* --no-report */
	bool yes;
	bool explain;
	bool json;     /* --json: the plan, or what fs prints, as JSON */
	bool bwrap;    /* --bwrap: the plan as arguments of bubblewrap */
	bool seatbelt; /* --seatbelt: the policy as a Seatbelt profile */
	bool seccomp;  /* --seccomp: the system-call filter only */
	bool null;     /* -0: each variable ends with NUL */
};

#define CLI_REQUEST_INIT(what)                                                                     \
	{                                                                                          \
		.policy = CLI_POLICY_OPTIONS_INIT, .events = CLI_EVENTS_INIT, .purpose = (what)    \
	}
void cli_request_clear(struct cli_request *request);

/* Takes one option of CLI_REQUEST_OPTIONS; a cli_option_fn whose ctx is the struct cli_request. */
KODA_CHECK int cli_request_take(const struct cli_call *call, void *request, int option,
				struct koda_error *err);
/* Reads the command line. Returns 1, or 0 if the help was printed. Fails: as the options do. */
KODA_CHECK int cli_request_read(const struct cli_call *call, struct cli_request *request,
				struct koda_error *err);

#endif
