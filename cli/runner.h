/* SPDX-License-Identifier: MIT */
/* What the commands that run something share. */
#ifndef KODA_CLI_RUNNER_H
#define KODA_CLI_RUNNER_H

#include "cli.h"
#include "run/event.h"

#include <koda/run.h>

/* --- signals.c --- */

/* From now on signals go to this command. */
void koda_cli_catch_signals(struct koda_command *command);
void koda_cli_release_signals(void);

/* --- events.c --- */

struct cli_events {
	int fd;     /* owned; -1: nobody wants them */
	bool ended; /* an exit event was written */
};

#define CLI_EVENTS_INIT                                                                            \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* --events-fd N, --events FILE. Errors name the option. Fails: INVALID, SYS. */
KODA_CHECK int koda_cli_events_fd(struct cli_events *events, const char *arg,
				  struct koda_error *err);
KODA_CHECK int koda_cli_events_file(struct cli_events *events, const char *path,
				    struct koda_error *err);
/* A koda_event_fn; ctx is the struct cli_events. */
void koda_cli_write_event(void *ctx, const struct koda_event *event);
/* Nothing ran: the stream still ends with an exit event. */
void koda_cli_events_refused(struct cli_events *events, int code);
void koda_cli_events_clear(struct cli_events *events);

#endif
