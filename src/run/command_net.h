/* SPDX-License-Identifier: MIT */
/* T-33. The connections of a command, from the proxy's messages to the host's events. */
#ifndef KODA_RUN_COMMAND_NET_H
#define KODA_RUN_COMMAND_NET_H

#include "run/command.h"

/* Takes the command's listening socket over. Connections to it follow the rules of the sandbox.
 * token: the bytes that connections begin with where processes outside the sandbox could connect
 * too; "": none. Fails: SYS, NOMEM. */
KODA_CHECK int koda_command_net_attach_listener(struct koda_command *command, int fd,
						const char *token, struct koda_error *err);

/* Makes an event of a message, from which it borrows. False for messages that are none. */
bool koda_command_net_event(const struct koda_egress_message *message,
			    struct koda_event *ret_event);

#endif
