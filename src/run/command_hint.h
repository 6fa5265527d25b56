/* SPDX-License-Identifier: MIT */
/*
 * T-105. Hints of a command's denials. A command can make any number of different denials, so the
 * time that hints take is bounded; denials beyond it have none.
 */
#ifndef KODA_RUN_COMMAND_HINT_H
#define KODA_RUN_COMMAND_HINT_H

#include "run/command.h"
#include "wire/egress.h"

/* Each returns a hint, owned by the caller, or NULL. */
char *koda_command_hint_path(struct koda_command *command, enum koda_violation kind,
			     const char *path);
char *koda_command_hint_connect(struct koda_command *command,
				const struct koda_egress_message *message);
char *koda_command_hint_limit(const struct koda_command *command, enum koda_limit which);

#endif
