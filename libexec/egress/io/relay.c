/* SPDX-License-Identifier: MIT */
#include "io/relay.h"

#include "base/error.h"
#include "base/fd.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Pipes that stay open for the next flow. */
#define KEPT_MAX 16

int egress_relay_init(struct egress_relay *relay, unsigned int pipe_max, struct koda_error *err)
{
	*relay = (struct egress_relay){ .pipe_max = pipe_max };
	relay->scratch = malloc(EGRESS_SCRATCH);
	return relay->scratch ? KODA_OK : koda_fail_nomem(err);
}

static void close_pipe(struct egress_relay *relay, struct egress_pipe *pipe)
{
	koda_fd_close(&pipe->ends[0]);
	koda_fd_close(&pipe->ends[1]);
	free(pipe);
	relay->pipe_count--;
}

void egress_relay_clear(struct egress_relay *relay)
{
	while (relay->free_pipes) {
		struct egress_pipe *pipe = relay->free_pipes;

		relay->free_pipes = pipe->next;
		close_pipe(relay, pipe);
	}
	koda_free_ptr(&relay->scratch);
}

struct egress_pipe *egress_relay_take_pipe(struct egress_relay *relay)
{
	struct egress_pipe *pipe = relay->free_pipes;

	if (pipe) {
		relay->free_pipes = pipe->next;
		relay->free_count--;
		return pipe;
	}
	if (relay->pipe_count >= relay->pipe_max)
		return NULL;
	pipe = malloc(sizeof(*pipe));
	if (!pipe)
		return NULL;
	if (pipe2(pipe->ends, O_CLOEXEC | O_NONBLOCK) < 0) {
		free(pipe);
		return NULL;
	}
	/* Fails with EPERM above /proc/sys/fs/pipe-user-pages-soft; a small pipe works as well. */
	(void)fcntl(pipe->ends[1], F_SETPIPE_SZ, (int)EGRESS_RELAY_PIPE);
	relay->pipe_count++;
	return pipe;
}

void egress_relay_give_pipe(struct egress_relay *relay, struct egress_pipe *pipe, bool empty)
{
	if (!empty || relay->free_count >= KEPT_MAX) {
		close_pipe(relay, pipe);
		return;
	}
	pipe->next = relay->free_pipes;
	relay->free_pipes = pipe;
	relay->free_count++;
}
