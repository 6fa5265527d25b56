/* SPDX-License-Identifier: MIT */
#include <koda/event_reader.h>

#include "base/buf.h"
#include "base/error.h"
#include "run/event_decode.h"

#include <stdio.h>

struct koda_event_reader {
	koda_event_fn *on_event;
	koda_bad_line_fn *on_bad_line; /* may be NULL */
	void *ctx;
	struct koda_buf line; /* the line that is not complete yet */
	bool too_long;        /* its rest is passed over */
	uint64_t number;      /* of complete lines */
	uint64_t events;      /* lines that were events */
};

int koda_event_reader_new(koda_event_fn *on_event, koda_bad_line_fn *on_bad_line, void *ctx,
			  struct koda_event_reader **ret_reader, struct koda_error *err)
{
	struct koda_event_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return koda_fail_nomem(err);
	reader->on_event = on_event;
	reader->on_bad_line = on_bad_line;
	reader->ctx = ctx;
	reader->line = (struct koda_buf)KODA_BUF_INIT(KODA_EVENT_LINE_MAX);
	*ret_reader = reader;
	return KODA_OK;
}

void koda_event_reader_free(struct koda_event_reader *reader)
{
	if (reader)
		koda_buf_clear(&reader->line);
	free(reader);
}

static void tell_bad(const struct koda_event_reader *reader, const char *place, const char *why)
{
	char text[sizeof(((struct koda_error *)NULL)->field) +
		  sizeof(((struct koda_error *)NULL)->message) + 16];
	const char *unit = "";

	/* Text that is no JSON has its place as LINE:COLUMN, and there is one line. */
	if (strncmp(place, "1:", 2) == 0) {
		unit = "column ";
		place += 2;
	}
	(void)snprintf(text, sizeof(text), "%s%s%s%s", unit, place, place[0] ? ": " : "", why);
	if (reader->on_bad_line)
		reader->on_bad_line(reader->ctx, reader->number, text);
}

static int read_event(struct koda_event_reader *reader, struct koda_span line,
		      struct koda_error *err)
{
	struct koda_decoded_event decoded;
	struct koda_error why = { 0 };
	int r = koda_event_decode(line, &decoded, &why);

	if (r == KODA_OK)
		reader->events++;
	if (r == KODA_OK && decoded.is_known)
		reader->on_event(reader->ctx, &decoded.event);
	else if (r < 0 && r != KODA_E_NOMEM)
		tell_bad(reader, why.field, why.message);
	koda_event_decode_clear(&decoded);
	return r == KODA_E_NOMEM ? koda_fail_nomem(err) : KODA_OK;
}

/* Reads a complete line. Empty lines are nothing. */
static int read_line(struct koda_event_reader *reader, struct koda_span line,
		     struct koda_error *err)
{
	reader->number++;
	if (line.len > 0 && line.ptr[line.len - 1] == '\r')
		line.len--;
	if (reader->too_long || line.len > KODA_EVENT_LINE_MAX) {
		reader->too_long = false;
		tell_bad(reader, "", "is longer than 1 MiB");
		return KODA_OK;
	}
	return line.len > 0 ? read_event(reader, line, err) : KODA_OK;
}

/* Keeps the beginning of a line. */
static int keep(struct koda_event_reader *reader, const char *bytes, size_t len,
		struct koda_error *err)
{
	int r = reader->too_long ? KODA_OK : koda_buf_add(&reader->line, bytes, len);

	if (r == KODA_E_LIMIT) {
		reader->too_long = true;
		reader->line.len = 0;
		r = KODA_OK;
	}
	return r < 0 ? koda_fail_nomem(err) : KODA_OK;
}

int koda_event_reader_feed(struct koda_event_reader *reader, const char *bytes, size_t len,
			   struct koda_error *err)
{
	while (len > 0) {
		const char *end = memchr(bytes, '\n', len);
		size_t part = end ? (size_t)(end - bytes) : len;
		bool whole = end && reader->line.len == 0;
		int r = whole ? KODA_OK : keep(reader, bytes, part, err);

		if (r == KODA_OK && end)
			r = read_line(reader,
				      whole ? (struct koda_span){ bytes, part }
					    : koda_buf_span(&reader->line),
				      err);
		if (r < 0)
			return r;
		if (end)
			reader->line.len = 0;
		bytes += part + (end != NULL);
		len -= part + (end != NULL);
	}
	return KODA_OK;
}

int koda_event_reader_end(struct koda_event_reader *reader, struct koda_error *err)
{
	int r = KODA_OK;

	if (reader->line.len > 0 || reader->too_long)
		r = read_line(reader, koda_buf_span(&reader->line), err);
	reader->line.len = 0;
	if (r < 0)
		return r;
	if (reader->number > 0 && reader->events == 0)
		return koda_fail(err, KODA_E_INVALID, 0, "has no line that is an event");
	return KODA_OK;
}
