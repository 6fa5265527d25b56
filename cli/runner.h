/* SPDX-License-Identifier: MIT */
/* What the commands that run something share. */
#ifndef KODA_CLI_RUNNER_H
#define KODA_CLI_RUNNER_H

#include "base/buf.h"
#include "cli.h"
#include "run/event.h"

#include <koda/run.h>

/* --- signals.c --- */

/* From now on signals go to this command. */
void koda_cli_catch_signals(struct koda_command *command);
void koda_cli_release_signals(void);

/* --- events.c --- */

struct cli_events {
	int fd;                  /* owned; -1: nobody wants them */
	bool ended;              /* an exit event was written */
	struct koda_buf waiting; /* for a reader that is slow */
	size_t written;          /* of that */
	uint64_t lost;           /* events that did not fit */
	int failed;              /* errno: they cannot be written, but not for want of a reader */
};

/* What is kept for a slow reader, and what the last event may need beyond it. */
#define CLI_EVENTS_KEPT ((size_t)4 << 20)
#define CLI_EVENTS_ROOM ((size_t)64 << 10)

#define CLI_EVENTS_INIT                                                                            \
	{                                                                                          \
		.fd = -1, .waiting = KODA_BUF_INIT(CLI_EVENTS_KEPT + CLI_EVENTS_ROOM)              \
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
