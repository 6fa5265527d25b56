/* SPDX-License-Identifier: MIT */
/* Lines of the runner on standard error after a command has ended. */
#ifndef KODA_CLI_REMARK_H
#define KODA_CLI_REMARK_H

#include "request.h"

/* Writes one line, escaped. in_line: the command's last line is unfinished and is ended first. */
void cli_remark(bool in_line, const char *format, ...) KODA_PRINTF(2, 3);

/* Writes a line for each limit that was reached, each thing left behind and output that was lost.
 * The block of violations comes last. */
void cli_remark_all(const struct koda_command *command, const struct cli_request *request,
		    const struct koda_outcome *outcome);

#endif
