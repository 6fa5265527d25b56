/* SPDX-License-Identifier: MIT */
/* One line of JSON back into an event. */
#ifndef KODA_RUN_EVENT_DECODE_H
#define KODA_RUN_EVENT_DECODE_H

#include "base/macros.h"

#include <koda/clause.h>
#include <koda/event.h>
#include <koda/span.h>

/* An event with all that it borrows. */
struct koda_decoded_event {
	struct koda_event event;
	bool is_known; /* false: of a type that this release does not know; only type is missing */
	struct koda_findings findings;
	uint64_t limits[KODA_LIMIT_COUNT];
	char *room; /* owned: the texts */
	size_t used;
	char *hint; /* owned */
};

/* Reads a line without its newline; koda_event_decode_clear releases the result, also after a
 * failure. Fails: POLICY, LIMIT, NOMEM. */
KODA_CHECK int koda_event_decode(struct koda_span line, struct koda_decoded_event *ret_decoded,
				 struct koda_error *err);
void koda_event_decode_clear(struct koda_decoded_event *decoded);

#endif
