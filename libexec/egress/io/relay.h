/* SPDX-License-Identifier: MIT */
/* What all flows share: a buffer to read into, and a pool of pipes for splice(2). */
#ifndef KODA_EGRESS_IO_RELAY_H
#define KODA_EGRESS_IO_RELAY_H

#include "base/macros.h"

#include <stdbool.h>
#include <stddef.h>

#define EGRESS_SCRATCH    ((size_t)64 * 1024)
#define EGRESS_RELAY_PIPE ((size_t)1024 * 1024) /* bytes a pipe holds, if the kernel allows it */

struct egress_pipe {
	struct egress_pipe *next;
	int ends[2]; /* to read from, to write to */
};

struct egress_relay {
	char *scratch; /* EGRESS_SCRATCH bytes; their content is lost between two calls */
	struct egress_pipe *free_pipes;
	unsigned int free_count;
	unsigned int pipe_count; /* free or in use */
	unsigned int pipe_max;
};

/* Fails: NOMEM. */
KODA_CHECK int egress_relay_init(struct egress_relay *relay, unsigned int pipe_max,
				 struct koda_error *err);
void egress_relay_clear(struct egress_relay *relay);
/* Returns an empty pipe, or NULL at the limit or if pipe2(2) fails. */
struct egress_pipe *egress_relay_take_pipe(struct egress_relay *relay);
/* Takes a pipe back; one that is not empty is closed. */
void egress_relay_give_pipe(struct egress_relay *relay, struct egress_pipe *pipe, bool empty);

#endif
