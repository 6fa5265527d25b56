/* SPDX-License-Identifier: MIT */
/*
 * Between the caller's terminal and the command's own. The command's keeps all of a terminal's
 * behaviour (echo, lines, signals); the caller's is in raw mode meanwhile and passes every key on.
 */
#ifndef KODA_RUN_TERMINAL_H
#define KODA_RUN_TERMINAL_H

#include "wire/terminal.h"

#include <stdbool.h>
#include <termios.h>

struct koda_terminal {
	int tty;     /* borrowed: the caller's; -1: it has none */
	int control; /* owned: controlling side of the command's; -1: none yet */
	bool is_raw;
	struct termios before; /* the caller's, as it was */
};

#define KODA_TERMINAL_INIT                                                                         \
	{                                                                                          \
		.tty = -1, .control = -1                                                           \
	}

/* How the command's terminal is to start: as the caller's is, or as terminals usually are. */
void koda_terminal_describe(const int stdio[3], struct koda_terminal_state *ret_state);
/* Takes control over and puts the caller's terminal, if it is one, into raw mode. */
void koda_terminal_open(struct koda_terminal *terminal, int tty, int control);
/* Puts the caller's terminal back. May be called twice. */
void koda_terminal_close(struct koda_terminal *terminal);

/* For signal handlers. */
void koda_terminal_resize(const struct koda_terminal *terminal);
void koda_terminal_raw(struct koda_terminal *terminal);
void koda_terminal_cooked(struct koda_terminal *terminal);

#endif
