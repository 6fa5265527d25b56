/* SPDX-License-Identifier: MIT */
/* Denials on their way into the store of <koda/violation.h>, and its records, which are shared. */
#ifndef KODA_RUN_STREAM_VIOLATION_H
#define KODA_RUN_STREAM_VIOLATION_H

#include "base/buf.h"
#include "base/macros.h"

#include <koda/violation.h>
#include <stdatomic.h>

struct koda_denial {
	enum koda_violation kind;
	enum koda_source source;
	char *target; /* owned */
	char *rule;   /* owned; "" if there is none */
	char *call;   /* owned; NULL if it is unknown, and so the next two */
	char *process;
	char *hint; /* JSON */
};

/* A record with its texts behind it. It never changes, so that stores and lists share it. */
struct koda_violation_item {
	atomic_uint references;
	struct koda_violation_record record;
	char texts[];
};

struct koda_violation_list {
	uint64_t dropped;
	size_t count;
	struct koda_violation_item *items[]; /* a reference each */
};

/* Copies a record; NULL if there is no memory. */
struct koda_violation_item *koda_violation_item_new(const struct koda_violation_record *record);
struct koda_violation_item *koda_violation_item_share(struct koda_violation_item *item);
/* NULL is fine. */
void koda_violation_item_free(struct koda_violation_item *item);

/* Makes a list with room for count items, and none in it. Fails: NOMEM. */
KODA_CHECK int koda_violation_list_new(size_t count, struct koda_violation_list **ret_list,
				       struct koda_error *err);

/* Like koda_violations_record, but a record about the kind and target of another one is not added,
 * unless its source knows better, and takes the place of the other then. A record from standard
 * error is not added if a better source knows of its target. Sets *ret_news if it was added. */
KODA_CHECK int koda_violations_merge(struct koda_violations *store,
				     const struct koda_violation_record *record, bool *ret_news,
				     struct koda_error *err);

/* Tells whether koda_violations_merge would not add the record. */
bool koda_violations_know(const struct koda_violations *store,
			  const struct koda_violation_record *record);

static inline void koda_violation_list_free_ptr(struct koda_violation_list **list)
{
	koda_violation_list_free(*list);
}
#define koda_auto_violation_list __attribute__((cleanup(koda_violation_list_free_ptr)))

#endif
