/* SPDX-License-Identifier: MIT */
/* The settings of a terminal (termios and size), independent of the C library. */
#ifndef KODA_WIRE_TERMINAL_H
#define KODA_WIRE_TERMINAL_H

#include <stdint.h>

#define KODA_TERMINAL_CHARS 17 /* VINTR to VEOL2 */

struct koda_terminal_state {
	uint32_t input;
	uint32_t output;
	uint32_t control;
	uint32_t local;
	uint16_t rows; /* 0: unknown */
	uint16_t columns;
	uint8_t chars[KODA_TERMINAL_CHARS];
	uint8_t streams; /* bit i: descriptor i of the command is the terminal */
	uint8_t unused[2];
};

_Static_assert(sizeof(struct koda_terminal_state) == 40, "no padding: it travels as bytes");

#endif
