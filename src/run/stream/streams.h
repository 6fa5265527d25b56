/* SPDX-License-Identifier: MIT */
/* Where the streams of a command lead: copies of the caller's descriptors, bytes for standard
 * input, and captured output. */
#ifndef KODA_RUN_STREAM_STREAMS_H
#define KODA_RUN_STREAM_STREAMS_H

#include "base/buf.h"
#include "run/stream/relay.h"
#include "run/stream/terminal.h"

#include <koda/command.h>

/* The most that is captured of a stream where no limit says less. */
#define KODA_STREAMS_CAPTURE_MAX ((uint64_t)64 << 20)

struct koda_streams {
	struct koda_stream of[3]; /* in, out, err; bytes point to input */
	int fd[3];                /* owned; copies of the caller's, -1: none, or a relay has it */
	char *input;              /* owned; for KODA_STREAM_BYTES */
	struct koda_buf captured[2];  /* out, err */
	int capture_errno;            /* ENOMEM if output could not be captured */
	struct koda_command *command; /* borrowed; for callbacks */
};

#define KODA_STREAMS_INIT                                                                          \
	{                                                                                          \
		.fd = { -1, -1, -1 }                                                               \
	}

/* Checks the streams of options. Fails: INVALID, with the stream's name as field. */
KODA_CHECK int koda_streams_check(const struct koda_command_options *options,
				  struct koda_error *err);
/* Returns the initial settings of a terminal for the command, and which streams it takes. */
void koda_streams_describe_terminal(const struct koda_command_options *options,
				    struct koda_terminal_state *ret_state);
/* Copies descriptors and bytes. Fails: SYS, NOMEM. */
KODA_CHECK int koda_streams_take(struct koda_streams *streams,
				 const struct koda_command_options *options,
				 struct koda_error *err);
/* Opens the relay of a stream between the command's end, which is taken over, and where it leads.
 * limit bounds output. Input without a source closes to. Fails: NOMEM. */
KODA_CHECK int koda_streams_open_input(struct koda_streams *streams, struct koda_relay *relay,
				       int to, struct koda_error *err);
KODA_CHECK int koda_streams_open_output(struct koda_streams *streams, unsigned int i,
					struct koda_relay *relay, int from, uint64_t limit,
					struct koda_error *err);
void koda_streams_clear(struct koda_streams *streams);

#endif
