/* SPDX-License-Identifier: MIT */
/* Signals, orphans and events of the commands that start processes. */
#ifndef KODA_CLI_RUNNER_H
#define KODA_CLI_RUNNER_H

#include "base/buf.h"
#include "cli.h"

#include <koda/command.h>
#include <koda/explain.h>

/* --- signals.c --- */

/* Blocks the signals that are forwarded, until there is a command that can get them. */
void cli_signals_hold(void);
void cli_signals_release(void);
/* Forwards signals of the runner to this command from now on, and unblocks them. */
void cli_signals_forward(struct koda_command *command);
void cli_signals_stop_forwarding(void);
/* Ends the runner by the signal that came while it waited for its processes; returns if none came.
 */
void cli_signals_end(void);

/* --- orphans.c --- */

/* Makes the runner the subreaper of what a killed guardian leaves, and waits for that. */
void cli_orphans_adopt(void);
void cli_orphans_reap(void);

/* --- events.c --- */

struct cli_events {
	int fd;                       /* owned; -1: events are not wanted */
	bool ended;                   /* an exit event was written */
	struct koda_explain *explain; /* owned: gets every event; NULL: --explain was not given */
	struct koda_buf waiting;      /* for a reader that is slow */
	size_t written;               /* bytes of waiting */
	uint64_t lost;                /* events that did not fit */
	int failed;                   /* errno of writing, other than EPIPE; 0: none */
};

/* Bytes that are kept for a slow reader, and room for the last event beyond them. */
#define CLI_EVENTS_KEPT ((size_t)4 << 20)
#define CLI_EVENTS_ROOM ((size_t)64 << 10)

#define CLI_EVENTS_INIT                                                                            \
	{                                                                                          \
		.fd = -1, .waiting = KODA_BUF_INIT(CLI_EVENTS_KEPT + CLI_EVENTS_ROOM)              \
	}

/* Opens the stream for --events-fd N or --events FILE. Errors name the option. Fails: INVALID,
 * DENIED, SYS. */
KODA_CHECK int cli_events_open_fd(struct cli_events *events, const char *arg,
				  struct koda_error *err);
KODA_CHECK int cli_events_open_file(struct cli_events *events, const char *path,
				    struct koda_error *err);
/* Writes an event; a koda_event_fn whose ctx is the struct cli_events. Never blocks. */
void cli_events_write(void *ctx, const struct koda_event *event);
/* Writes the exit event of a command that did not run because of err, unless there was one. */
void cli_events_refused(struct cli_events *events, const struct koda_error *err);
void cli_events_clear(struct cli_events *events);

#endif
