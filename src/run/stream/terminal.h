/* SPDX-License-Identifier: MIT */
/*
 * The caller's terminal and the command's pseudoterminal. The pseudoterminal does echo, line
 * editing and signals. The caller's terminal is in raw mode meanwhile, so that every key is passed
 * on.
 */
#ifndef KODA_RUN_STREAM_TERMINAL_H
#define KODA_RUN_STREAM_TERMINAL_H

#include "wire/terminal.h"

#include <stdbool.h>
#include <termios.h>

struct koda_terminal {
	int tty;     /* owned; the caller's terminal, -1: none */
	int control; /* owned; the master of the pseudoterminal, -1: none yet */
	bool is_raw;
	struct termios before; /* settings of the caller's terminal */
};

#define KODA_TERMINAL_INIT                                                                         \
	{                                                                                          \
		.tty = -1, .control = -1                                                           \
	}

/* Returns the initial settings of the pseudoterminal: the caller's, or the usual ones. stdio: the
 * caller's descriptors, -1 for none. has_err: standard error leads elsewhere. */
void koda_terminal_describe(const int stdio[3], bool has_err,
			    struct koda_terminal_state *ret_state);
/* Takes tty and control over, and puts tty into raw mode if it is a terminal. */
void koda_terminal_open(struct koda_terminal *terminal, int tty, int control);
/* Restores the caller's terminal. May be called twice. */
void koda_terminal_close(struct koda_terminal *terminal);

/* Copy the window size, enter raw mode, leave it. May be called from signal handlers. */
void koda_terminal_resize(const struct koda_terminal *terminal);
void koda_terminal_raw(struct koda_terminal *terminal);
void koda_terminal_cooked(struct koda_terminal *terminal);

#endif
