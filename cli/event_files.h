/* SPDX-License-Identifier: MIT */
/* Event files, as operands of a command. */
#ifndef KODA_CLI_EVENT_FILES_H
#define KODA_CLI_EVENT_FILES_H

#include "cli.h"

#include <koda/event.h>

/* Reads the events of the files that the operands name, in their order; standard input if there is
 * none, and for "-". Malformed lines are told on standard error. Fails: SYS, INVALID for a file
 * without any event, NOMEM. */
KODA_CHECK int cli_event_files_read(const struct cli_call *call, koda_event_fn *on_event, void *ctx,
				    struct koda_error *err);

#endif
