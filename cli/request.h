/* SPDX-License-Identifier: MIT */
/* The options of run, shell, plan and env. */
#ifndef KODA_CLI_REQUEST_H
#define KODA_CLI_REQUEST_H

#include "options.h"
#include "runner.h"
#include "variables.h"
#include "waivers.h"

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
	bool json;     /* --json: the plan as JSON */
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

/* Reads the command line. Returns 1, or 0 if the help was printed. Fails: as the options do. */
KODA_CHECK int cli_request_read(const struct cli_call *call, struct cli_request *request,
				struct koda_error *err);

#endif
