/* SPDX-License-Identifier: MIT */
#include "event_files.h"

#include "base/error.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <koda/event_reader.h>
#include <stdio.h>
#include <unistd.h>

#define PIECE ((size_t)64 * 1024)

/* Malformed lines beyond these are only counted. */
#define TOLD_MAX 10

struct file {
	const char *name;
	koda_event_fn *on_event;
	void *ctx;
	bool has_events;
	uint64_t bad;  /* malformed lines */
	uint64_t told; /* of them: one, until there was an event */
};

/* Writes one line to standard error: the file, and what about it. */
static void tell(const struct file *file, const char *what)
{
	koda_auto_buf struct koda_buf line = KODA_BUF_INIT((size_t)64 << 10);

	if (koda_buf_addf(&line, CLI_PROGRAM ": ") == KODA_OK &&
	    cli_output_escape(&line, koda_span_of(file->name)) == KODA_OK &&
	    koda_buf_addf(&line, ": ") == KODA_OK &&
	    cli_output_escape(&line, koda_span_of(what)) == KODA_OK &&
	    koda_buf_add(&line, "\n", 1) == KODA_OK)
		cli_output_warn(line.ptr, line.len);
}

static void take_event(void *ctx, const struct koda_event *event)
{
	struct file *file = ctx;

	file->has_events = true;
	file->on_event(file->ctx, event);
}

static void take_bad_line(void *ctx, uint64_t number, const char *why)
{
	struct file *file = ctx;
	char what[1024];

	file->bad++;
	if (file->told == TOLD_MAX || (file->told > 0 && !file->has_events))
		return;
	file->told++;
	(void)snprintf(what, sizeof(what), "line %llu is left out: %s", (unsigned long long)number,
		       why);
	tell(file, what);
}

static int feed(int fd, struct koda_event_reader *reader, struct koda_error *err)
{
	koda_auto_free char *piece = malloc(PIECE);
	int r = piece ? KODA_OK : koda_fail_nomem(err);

	while (r == KODA_OK) {
		ssize_t n = read(fd, piece, PIECE);

		if (n == 0)
			return koda_event_reader_end(reader, err);
		if (n > 0)
			r = koda_event_reader_feed(reader, piece, (size_t)n, err);
		else if (errno != EINTR)
			r = koda_fail(err, KODA_E_SYS, errno, "cannot be read");
	}
	return r;
}

static int read_file(struct file *file, struct koda_error *err)
{
	const bool is_stdin = strcmp(file->name, "-") == 0;
	koda_auto_fd int opened = is_stdin ? -1 : open(file->name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct koda_event_reader *reader = NULL;
	char more[64];
	int r = is_stdin || opened >= 0 ? KODA_OK
					: koda_fail(err, KODA_E_SYS, errno, "cannot be read");

	if (r == KODA_OK)
		r = koda_event_reader_new(take_event, take_bad_line, file, &reader, err);
	if (r == KODA_OK)
		r = feed(is_stdin ? STDIN_FILENO : opened, reader, err);
	koda_event_reader_free(reader);
	if (file->bad > file->told) {
		(void)snprintf(more, sizeof(more), "%llu further lines are left out",
			       (unsigned long long)(file->bad - file->told));
		tell(file, more);
	}
	if (r < 0)
		cli_error_place(err, "%.80s", is_stdin ? "standard input" : file->name);
	return r;
}

int cli_event_files_read(const struct cli_call *call, koda_event_fn *on_event, void *ctx,
			 struct koda_error *err)
{
	struct file file = { .name = "-", .on_event = on_event, .ctx = ctx };
	int r = KODA_OK;

	if (optind >= call->argc)
		return read_file(&file, err);
	for (int i = optind; i < call->argc && r == KODA_OK; i++) {
		file = (struct file){ .name = call->argv[i], .on_event = on_event, .ctx = ctx };
		r = read_file(&file, err);
	}
	return r;
}
