/* SPDX-License-Identifier: MIT */
/*
 * Reads events back from the JSON lines that koda_event_json makes and `koda-sandbox run --events`
 * writes. A reader takes bytes in pieces of any size. Its memory does not grow with them.
 *
 * Lines come from a file that may be damaged, or be no event file. Values have to be as
 * koda_event_json writes them; keys and types of events that this release does not know are passed
 * over. A line that is malformed is told with its number, and the next one is read.
 */
#ifndef KODA_EVENT_READER_H
#define KODA_EVENT_READER_H

#include <koda/error.h>
#include <koda/event.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Longest line that is read, in bytes; a longer one is malformed. */
#define KODA_EVENT_LINE_MAX ((size_t)1024 * 1024)

struct koda_event_reader;

/* Called for each malformed line, with its number from 1 on and one sentence. */
typedef void koda_bad_line_fn(void *ctx, uint64_t line, const char *why);

/* Makes a reader. on_event gets each event, whose texts are borrowed for the call and whose
 * findings are NULL where the line has none; user is NULL. on_bad_line may be NULL. ctx is given to
 * both. Fails: NOMEM. */
KODA_API KODA_CHECK int koda_event_reader_new(koda_event_fn *on_event,
					      koda_bad_line_fn *on_bad_line, void *ctx,
					      struct koda_event_reader **ret_reader,
					      struct koda_error *err);
/* Reads the lines that are complete with these bytes. Fails: NOMEM. */
KODA_API KODA_CHECK int koda_event_reader_feed(struct koda_event_reader *reader, const char *bytes,
					       size_t len, struct koda_error *err);
/* Ends the input, and reads a last line without a newline. Fails: INVALID if there were lines and
 * none of them was an event, NOMEM. */
KODA_API KODA_CHECK int koda_event_reader_end(struct koda_event_reader *reader,
					      struct koda_error *err);
/* NULL is fine. */
KODA_API void koda_event_reader_free(struct koda_event_reader *reader);

#ifdef __cplusplus
}
#endif

#endif
