/* SPDX-License-Identifier: MIT */
/*
 * Violations: what a sandbox has denied. A store keeps the latest of them, for a host that shows
 * them, counts them or passes them to the model as a block of text. A list is a copy of a store at
 * one moment.
 *
 * Targets, commands and process names come from inside a sandbox and may hold any bytes. A
 * program that shows them has to escape them; koda_violation_list_render does.
 */
#ifndef KODA_VIOLATION_H
#define KODA_VIOLATION_H

#include <koda/error.h>
#include <koda/event.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many violations a store keeps, unless its maker says otherwise. */
#define KODA_VIOLATIONS_DEFAULT 100
/* The most that a store can be made for. */
#define KODA_VIOLATIONS_CAPACITY_MAX 65536
/* A text of a record that is longer is cut, but a hint, which is JSON, is left out. */
#define KODA_VIOLATION_TEXT_MAX 8192
/* How many violations koda_stderr_parse returns. */
#define KODA_STDERR_VIOLATIONS_MAX 1000

/* One violation. Texts may be NULL: unknown. */
struct koda_violation_record {
	size_t size; /* sizeof(struct koda_violation_record) */
	enum koda_violation kind;
	enum koda_source source;
	double time; /* seconds since the epoch; 0 in koda_violations_record: now */
	const char *target;
	const char *rule;
	const char *command;
	const char *command_id;
	const char *call;
	const char *process;
	const char *hint; /* as in struct koda_event_violation */
};

struct koda_violations;
struct koda_violation_list;

/* Makes an empty store. Of more violations than its capacity, the oldest are dropped; a store of
 * capacity 0 keeps none. Any thread may use a store at any time. Fails: LIMIT, NOMEM. */
KODA_API KODA_CHECK int koda_violations_new(size_t capacity, struct koda_violations **ret_store,
					    struct koda_error *err);
/* Returns another reference to the store, for koda_violations_free. */
KODA_API struct koda_violations *koda_violations_share(struct koda_violations *store);
/* Drops a reference; the store goes with the last. NULL is fine. */
KODA_API void koda_violations_free(struct koda_violations *store);
/* Returns the store of this process, borrowed, which gets the violations of all its commands; NULL
 * if there is no memory for it. */
KODA_API struct koda_violations *koda_violations_global(void);

/* Adds a copy of a record, and calls the subscribers. Fails: INVALID (an impossible size, kind or
 * source; a subscriber's call), UNSUPPORTED, NOMEM. */
KODA_API KODA_CHECK int koda_violations_record(struct koda_violations *store,
					       const struct koda_violation_record *record,
					       struct koda_error *err);
/* Adds what an event tells: a violation, or a limit, as a violation of the kind OTHER whose rule
 * names the limit. Other events are ignored, and so is a failure. It is a koda_event_fn; ctx is the
 * store. */
KODA_API void koda_violations_take_event(void *store, const struct koda_event *event);

/* Copies the records, oldest first. Owned by the caller (koda_violation_list_free). Fails: NOMEM.
 */
KODA_API KODA_CHECK int koda_violations_snapshot(const struct koda_violations *store,
						 struct koda_violation_list **ret_list,
						 struct koda_error *err);
/* Like koda_violations_snapshot, and empties the store. */
KODA_API KODA_CHECK int koda_violations_drain(struct koda_violations *store,
					      struct koda_violation_list **ret_list,
					      struct koda_error *err);
/* Returns how many records the store has now, in all and of one kind. */
KODA_API size_t koda_violations_count(const struct koda_violations *store);
KODA_API size_t koda_violations_count_of(const struct koda_violations *store,
					 enum koda_violation kind);
/* Returns how many records were dropped for newer ones since the store was made or drained. */
KODA_API uint64_t koda_violations_dropped(const struct koda_violations *store);

/* Called for each record that is added, in their order, by the thread that adds it; the record is
 * borrowed for the call. It may read the store and unsubscribe; it must not add to the store. */
typedef void koda_violation_fn(void *ctx, const struct koda_violation_record *record);

/* How many subscribers a store can have. */
#define KODA_SUBSCRIBERS_MAX 16

/* Has on_violation called from now on. Fails: LIMIT. */
KODA_API KODA_CHECK int koda_violations_subscribe(struct koda_violations *store,
						  koda_violation_fn *on_violation, void *ctx,
						  struct koda_error *err);
/* Once this returns, on_violation is not called with this ctx any more, and no call of it is under
 * way in another thread. */
KODA_API void koda_violations_unsubscribe(struct koda_violations *store,
					  koda_violation_fn *on_violation, const void *ctx);

KODA_API size_t koda_violation_list_count(const struct koda_violation_list *list);
/* Returns record i, borrowed from the list; NULL past the end. */
KODA_API const struct koda_violation_record *
koda_violation_list_get(const struct koda_violation_list *list, size_t i);
/* Returns how many records are missing from the list because there were too many. */
KODA_API uint64_t koda_violation_list_dropped(const struct koda_violation_list *list);
/* Returns the block of text for a model: one line "deny KIND TARGET" each between two tags, without
 * a newline at the end; "" for an empty list. Targets are escaped, so that none can forge a line or
 * a tag. Owned by the caller (free). Fails: NOMEM. */
KODA_API KODA_CHECK int koda_violation_list_render(const struct koda_violation_list *list,
						   char **ret_text, struct koda_error *err);
/* NULL is fine. */
KODA_API void koda_violation_list_free(struct koda_violation_list *list);

/* Finds violations in what a command wrote to its standard error: one for each line that holds
 * "Operation not permitted", "Permission denied" or "Read-only file system". The target is the last
 * word of the line that is an absolute path, if there is one; the kind comes from the names of
 * well-known programs. This reads text only: a command can write any, and ordinary permissions give
 * these messages too. command (may be NULL) becomes the command of each record. At most
 * KODA_STDERR_VIOLATIONS_MAX are returned; the list tells how many are missing. Fails: NOMEM. */
KODA_API KODA_CHECK int koda_stderr_parse(const char *text, size_t len, const char *command,
					  struct koda_violation_list **ret_list,
					  struct koda_error *err);

#ifdef __cplusplus
}
#endif

#endif
