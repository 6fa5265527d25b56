/* SPDX-License-Identifier: MIT */
/*
 * T-105. Any bytes as an event file, in pieces. What is read can be written again; the second
 * reading gives the same lines, so that nothing is lost or forged on the way.
 */
#include "target.h"

#include "base/buf.h"
#include "base/macros.h"

#include <koda/event_reader.h>
#include <koda/explain.h>
#include <string.h>

static void write_again(void *out, const struct koda_event *event)
{
	koda_auto_free char *line = NULL;

	CHECK(koda_event_json(event, &line, NULL) == KODA_OK);
	CHECK(strchr(line, '\n') == line + strlen(line) - 1);
	CHECK(koda_buf_add(out, line, strlen(line)) == KODA_OK);
}

static void read_all(const char *bytes, size_t len, size_t piece, koda_event_fn *on_event,
		     void *ctx)
{
	struct koda_event_reader *reader = NULL;

	CHECK(koda_event_reader_new(on_event, NULL, ctx, &reader, NULL) == KODA_OK);
	for (size_t at = 0; at < len; at += piece)
		CHECK(koda_event_reader_feed(reader, bytes + at,
					     piece < len - at ? piece : len - at, NULL) == KODA_OK);
	(void)!koda_event_reader_end(reader, NULL);
	koda_event_reader_free(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	koda_auto_buf struct koda_buf first = KODA_BUF_INIT((size_t)64 << 20);
	koda_auto_buf struct koda_buf second = KODA_BUF_INIT((size_t)64 << 20);
	struct koda_explain *explain = NULL;
	koda_auto_free char *text = NULL;

	read_all((const char *)data, size, 13, write_again, &first);
	read_all(first.ptr, first.len, SIZE_MAX / 2, write_again, &second);
	CHECK(first.len == second.len &&
	      (first.len == 0 || memcmp(first.ptr, second.ptr, first.len) == 0));
	CHECK(koda_explain_new(&explain, NULL) == KODA_OK);
	read_all((const char *)data, size, 1000, koda_explain_take_event, explain);
	CHECK(koda_explain_text(explain, &text, NULL) == KODA_OK);
	for (const char *at = text; *at; at++)
		CHECK(*at == '\n' || (unsigned char)*at >= 0x20);
	koda_explain_free(explain);
	return 0;
}
