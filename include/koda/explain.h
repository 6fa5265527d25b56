/* SPDX-License-Identifier: MIT */
/*
 * Explains denials: groups the events of one or many commands by their cause, most frequent first,
 * each with what would allow it. Memory is bounded, whatever the events are: of many causes, and of
 * many targets of one cause, the later ones are only counted.
 */
#ifndef KODA_EXPLAIN_H
#define KODA_EXPLAIN_H

#include <koda/error.h>
#include <koda/event.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many causes are kept, and how many targets of each. */
#define KODA_EXPLAIN_CAUSES_MAX  200
#define KODA_EXPLAIN_TARGETS_MAX 20

struct koda_explain;

/* Fails: NOMEM. */
KODA_API KODA_CHECK int koda_explain_new(struct koda_explain **ret_explain, struct koda_error *err);
/* Adds a violation or a limit that was reached; other events are ignored. It is a koda_event_fn;
 * explain is the struct koda_explain. */
KODA_API void koda_explain_take_event(void *explain, const struct koda_event *event);
/* Returns how many denials and limits were added. */
KODA_API uint64_t koda_explain_count(const struct koda_explain *explain);
/* Returns the summary as text for a terminal, everything foreign escaped, with a newline at the
 * end. Owned by the caller (free). Fails: NOMEM. */
KODA_API KODA_CHECK int koda_explain_text(const struct koda_explain *explain, char **ret_text,
					  struct koda_error *err);
/* Returns the summary as JSON, a list of {"cause","rule","count","targets","hint"} with a newline
 * at the end; "more" counts denials whose targets are not in the list. Owned by the caller (free).
 * Fails: NOMEM. */
KODA_API KODA_CHECK int koda_explain_json(const struct koda_explain *explain, char **ret_text,
					  struct koda_error *err);
/* NULL is fine. */
KODA_API void koda_explain_free(struct koda_explain *explain);

#ifdef __cplusplus
}
#endif

#endif
