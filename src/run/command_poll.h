/* SPDX-License-Identifier: MIT */
/*
 * The descriptor of a command for an event loop: an epoll instance with everything that the command
 * waits for, and a timer for its deadline. It is made when the host asks for it, so that hosts that
 * wait do not pay for it.
 */
#ifndef KODA_RUN_COMMAND_POLL_H
#define KODA_RUN_COMMAND_POLL_H

#include "run/command.h"

struct koda_command_poll;

/* Empties the epoll instance, if there is one, before a step that may close descriptors in it: a
 * closed descriptor stays in there, and cannot be removed, if a process that the host has forked
 * holds it as well. */
void koda_command_poll_suspend(struct koda_command *command);
/* Brings the epoll instance, if there is one, up to date with what the command waits for now. */
void koda_command_poll_update(struct koda_command *command);
/* Returns the epoll instance, up to date. Makes it at the first call. */
int koda_command_poll_fd(struct koda_command *command, struct koda_error *err);
/* Closes the descriptors. NULL is fine. */
void koda_command_poll_free(struct koda_command_poll *poll);

#endif
