/* SPDX-License-Identifier: MIT */
#include "run/stream/streams.h"

#include "base/error.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

static const char *const names[] = { "in", "out", "err" };

static const struct koda_stream *stream_of(const struct koda_command_options *options, size_t i)
{
	return i == 0 ? &options->in : i == 1 ? &options->out : &options->err;
}

/* Tells whether a stream may be of that kind. */
static bool is_possible(enum koda_stream_kind kind, bool is_input)
{
	switch (kind) {
	case KODA_STREAM_NULL:
	case KODA_STREAM_INHERIT:
	case KODA_STREAM_FD:
		return true;
	case KODA_STREAM_BYTES:
		return is_input;
	case KODA_STREAM_CAPTURE:
	case KODA_STREAM_CALLBACK:
		return !is_input;
	case KODA_STREAM_COUNT:
		break;
	}
	return false;
}

int koda_streams_check(const struct koda_command_options *options, struct koda_error *err)
{
	for (size_t i = 0; i < KODA_ARRAY_LEN(names); i++) {
		const struct koda_stream *stream = stream_of(options, i);

		if (!is_possible(stream->kind, i == 0))
			return koda_fail_at(err, KODA_E_INVALID, 0, names[i],
					    "%d is not a kind of %s stream", (int)stream->kind,
					    i == 0 ? "input" : "output");
		if (stream->kind == KODA_STREAM_CALLBACK && !stream->on_output)
			return koda_fail_at(err, KODA_E_INVALID, 0, names[i],
					    "KODA_STREAM_CALLBACK needs on_output");
		if (stream->kind == KODA_STREAM_BYTES && stream->bytes.len > 0 &&
		    !stream->bytes.ptr)
			return koda_fail_at(err, KODA_E_INVALID, 0, names[i],
					    "KODA_STREAM_BYTES needs bytes");
	}
	return KODA_OK;
}

static int fd_of(const struct koda_stream *stream, size_t i)
{
	if (stream->kind == KODA_STREAM_INHERIT)
		return (int)i;
	return stream->kind == KODA_STREAM_FD ? stream->fd : -1;
}

void koda_streams_describe_terminal(const struct koda_command_options *options,
				    struct koda_terminal_state *ret_state)
{
	int fds[KODA_ARRAY_LEN(names)];

	for (size_t i = 0; i < KODA_ARRAY_LEN(names); i++)
		fds[i] = fd_of(stream_of(options, i), i);
	koda_terminal_describe(fds,
			       options->err.kind == KODA_STREAM_CAPTURE ||
				       options->err.kind == KODA_STREAM_CALLBACK,
			       ret_state);
}

int koda_streams_take(struct koda_streams *streams, const struct koda_command_options *options,
		      struct koda_error *err)
{
	for (size_t i = 0; i < KODA_ARRAY_LEN(names); i++) {
		struct koda_stream *stream = &streams->of[i];
		int given;

		*stream = *stream_of(options, i);
		given = fd_of(stream, i);
		if (stream->kind == KODA_STREAM_INHERIT || stream->kind == KODA_STREAM_FD) {
			streams->fd[i] = fcntl(given, F_DUPFD_CLOEXEC, 3);
			if (streams->fd[i] < 0)
				return koda_fail_at(err, KODA_E_SYS, errno, names[i],
						    "cannot duplicate descriptor %d", given);
		}
	}
	if (streams->of[0].kind != KODA_STREAM_BYTES)
		return KODA_OK;
	streams->input = malloc(streams->of[0].bytes.len + 1);
	if (!streams->input)
		return koda_fail_nomem(err);
	if (streams->of[0].bytes.len > 0)
		memcpy(streams->input, streams->of[0].bytes.ptr, streams->of[0].bytes.len);
	streams->of[0].bytes.ptr = streams->input;
	return KODA_OK;
}

int koda_streams_open_input(struct koda_streams *streams, struct koda_relay *relay, int to,
			    struct koda_error *err)
{
	switch (streams->of[0].kind) {
	case KODA_STREAM_INHERIT:
	case KODA_STREAM_FD:
		return koda_relay_open_input(relay, koda_take_fd(&streams->fd[0]), to, err);
	case KODA_STREAM_BYTES:
		return koda_relay_open_bytes(relay, KODA_TAKE(streams->input),
					     streams->of[0].bytes.len, to, err);
	case KODA_STREAM_NULL:
	case KODA_STREAM_CAPTURE:
	case KODA_STREAM_CALLBACK:
	case KODA_STREAM_COUNT:
		break;
	}
	koda_fd_close(&to);
	return KODA_OK;
}

static void take_callback(void *ctx, unsigned int i, const char *bytes, size_t len)
{
	struct koda_streams *streams = ctx;

	streams->of[i].on_output(streams->of[i].ctx, streams->command, bytes, len);
}

static void take_capture(void *ctx, unsigned int i, const char *bytes, size_t len)
{
	struct koda_streams *streams = ctx;

	if (koda_buf_add(&streams->captured[i - 1], bytes, len) < 0)
		streams->capture_errno = ENOMEM;
}

int koda_streams_open_output(struct koda_streams *streams, unsigned int i, struct koda_relay *relay,
			     int from, uint64_t limit, struct koda_error *err)
{
	struct koda_relay_sink sink = { .fd = koda_take_fd(&streams->fd[i]),
					.number = i,
					.ctx = streams };

	if (streams->of[i].kind == KODA_STREAM_CALLBACK)
		sink.take = take_callback;
	if (streams->of[i].kind == KODA_STREAM_CAPTURE) {
		sink.take = take_capture;
		sink.keeps = true;
		/* The line that tells what is missing comes on top. */
		streams->captured[i - 1].max = SIZE_MAX / 2;
		if (limit == UINT64_MAX)
			limit = KODA_STREAMS_CAPTURE_MAX;
	}
	return koda_relay_open_output(relay, from, &sink, limit, err);
}

void koda_streams_clear(struct koda_streams *streams)
{
	for (size_t i = 0; i < KODA_ARRAY_LEN(names); i++)
		koda_fd_close(&streams->fd[i]);
	free(streams->input);
	streams->input = NULL;
	koda_buf_clear(&streams->captured[0]);
	koda_buf_clear(&streams->captured[1]);
}
