/* SPDX-License-Identifier: MIT */
/* What run, shell, plan and env are asked for. */
#ifndef KODA_CLI_REQUEST_H
#define KODA_CLI_REQUEST_H

#include "grip.h"
#include "options.h"
#include "runner.h"

enum purpose {
	TO_RUN = 0,
	TO_SHOW,  /* koda-sandbox plan */
	TO_SHELL, /* koda-sandbox shell */
	TO_LIST   /* koda-sandbox env */
};

/* Strings are borrowed from the call. */
struct request {
	struct cli_shape shape;
	struct cli_grip grip;
	struct cli_events events;
	struct koda_strv opaque; /* --opaque */
	enum purpose purpose;
	enum koda_backend_kind backend;
	bool backend_given;
	const char *shell; /* NULL: argv */
	const char *const *argv;
	const char *interactive[2]; /* argv of koda-sandbox shell */
	bool tty;                   /* --tty */
	bool no_tty;                /* --no-tty */
	bool yes;
	bool json;    /* the plan as that */
	bool bwrap;   /* or as arguments of bubblewrap */
	bool seccomp; /* of the plan only the filter */
	bool null;    /* each variable ends with NUL */
};

#define CLI_REQUEST_INIT(what)                                                                     \
	{                                                                                          \
		.shape = CLI_SHAPE_INIT, .events = CLI_EVENTS_INIT, .purpose = (what)              \
	}
void koda_cli_request_clear(struct request *request);

/* Reads the command line. 1, or 0 if the help was printed. Fails: as the options do. */
KODA_CHECK int koda_cli_request_read(const struct cli_call *call, struct request *request,
				     struct koda_error *err);

#endif
