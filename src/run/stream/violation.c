/* SPDX-License-Identifier: MIT */
/*
 * T-105. The store of violations: a ring of shared records. Two locks: adding serialises additions,
 * so that subscribers are called in the order of the records; data is held for moments only, so
 * that subscribers may read the store. adding is taken first.
 */
#include "run/stream/violation.h"

#include "base/error.h"
#include "base/sized.h"
#include "run/event.h"
#include "run/event_names.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

struct subscriber {
	koda_violation_fn *call; /* NULL: free */
	void *ctx;
};

struct koda_violations {
	atomic_uint references;
	pthread_mutex_t adding; /* error-checking: a second lock by its owner fails */
	struct subscriber subscribers[KODA_SUBSCRIBERS_MAX];
	pthread_mutex_t data_mutex;
	pthread_mutex_t *data; /* &data_mutex; guards all members below, for reading as well */
	uint64_t dropped;
	size_t capacity;
	size_t first;
	size_t count;
	struct koda_violation_item *ring[];
};

int koda_violations_new(size_t capacity, struct koda_violations **ret_store, struct koda_error *err)
{
	struct koda_violations *store;
	pthread_mutexattr_t checked;

	if (capacity > KODA_VIOLATIONS_CAPACITY_MAX)
		return koda_fail(err, KODA_E_LIMIT, 0, "a store keeps at most %d violations",
				 KODA_VIOLATIONS_CAPACITY_MAX);
	store = calloc(1, sizeof(*store) + capacity * sizeof(struct koda_violation_item *));
	if (!store)
		return koda_fail_nomem(err);
	/* These fail for impossible arguments only. */
	(void)pthread_mutexattr_init(&checked);
	(void)pthread_mutexattr_settype(&checked, PTHREAD_MUTEX_ERRORCHECK);
	(void)pthread_mutex_init(&store->adding, &checked);
	(void)pthread_mutexattr_destroy(&checked);
	(void)pthread_mutex_init(&store->data_mutex, NULL);
	store->data = &store->data_mutex;
	atomic_init(&store->references, 1);
	store->capacity = capacity;
	*ret_store = store;
	return KODA_OK;
}

struct koda_violations *koda_violations_share(struct koda_violations *store)
{
	atomic_fetch_add(&store->references, 1);
	return store;
}

static struct koda_violation_item *item_at(const struct koda_violations *store, size_t i)
{
	return store->ring[(store->first + i) % store->capacity];
}

void koda_violations_free(struct koda_violations *store)
{
	if (!store || atomic_fetch_sub(&store->references, 1) != 1)
		return;
	for (size_t i = 0; i < store->count; i++)
		koda_violation_item_free(item_at(store, i));
	(void)pthread_mutex_destroy(&store->data_mutex);
	(void)pthread_mutex_destroy(&store->adding);
	free(store);
}

struct koda_violations *koda_violations_global(void)
{
	static _Atomic(struct koda_violations *) global;
	struct koda_violations *store = atomic_load(&global);
	struct koda_violations *none = NULL;

	if (store || koda_violations_new(KODA_VIOLATIONS_DEFAULT, &store, NULL) < 0)
		return store;
	if (atomic_compare_exchange_strong(&global, &none, store))
		return store;
	koda_violations_free(store);
	return none;
}

/* Tells whether a new record says nothing new beside an old one. */
static bool is_known(const struct koda_violation_record *old,
		     const struct koda_violation_record *new)
{
	if (!old->target || !new->target)
		return old->target == new->target && old->kind == new->kind;
	if (strncmp(old->target, new->target, KODA_VIOLATION_TEXT_MAX) != 0)
		return false;
	/* An error message tells less of the kind than any other source. */
	return (new->source == KODA_SOURCE_STDERR) != (old->source == KODA_SOURCE_STDERR) ||
	       new->kind == old->kind;
}

static void call_subscribers(const struct koda_violations *store,
			     const struct koda_violation_record *record)
{
	for (size_t i = 0; i < KODA_SUBSCRIBERS_MAX; i++)
		if (store->subscribers[i].call)
			store->subscribers[i].call(store->subscribers[i].ctx, record);
}

/* Puts an item behind the last, or in the place of *at. Returns the one that it replaces. */
static struct koda_violation_item *put_item(struct koda_violations *store,
					    struct koda_violation_item *item, const size_t *at)
{
	const size_t end = store->first + (at ? *at : store->count);
	struct koda_violation_item **slot = &store->ring[end % store->capacity];
	struct koda_violation_item *old = KODA_TAKE(*slot);

	*slot = item;
	if (at)
		return old;
	if (store->count < store->capacity) {
		store->count++;
		return old;
	}
	store->first = (store->first + 1) % store->capacity;
	store->dropped++;
	return old;
}

/* Adds a record whose members this release knows; adding is held. */
static int add(struct koda_violations *store, const struct koda_violation_record *record,
	       bool merges, bool *ret_news, struct koda_error *err)
{
	struct koda_violation_item *item = koda_violation_item_new(record);
	struct koda_violation_item *old = NULL;
	size_t place = SIZE_MAX;

	if (!item)
		return koda_fail_nomem(err);
	if (item->record.time == 0)
		item->record.time = koda_event_now();
	(void)pthread_mutex_lock(store->data);
	for (size_t i = 0; merges && i < store->count; i++)
		if (is_known(&item_at(store, i)->record, &item->record)) {
			place = i;
			break;
		}
	*ret_news =
		place == SIZE_MAX || (item_at(store, place)->record.source == KODA_SOURCE_STDERR &&
				      item->record.source != KODA_SOURCE_STDERR);
	if (*ret_news && store->capacity > 0)
		old = put_item(store, koda_violation_item_share(item),
			       place == SIZE_MAX ? NULL : &place);
	(void)pthread_mutex_unlock(store->data);
	koda_violation_item_free(old);
	if (*ret_news)
		call_subscribers(store, &item->record);
	koda_violation_item_free(item);
	return KODA_OK;
}

static int take(struct koda_violations *store, const struct koda_violation_record *given,
		bool merges, bool *ret_news, struct koda_error *err)
{
	struct koda_violation_record record;
	int r = koda_sized_take(&record, sizeof(record), sizeof(record), given,
				"koda_violation_record", err);

	if (r < 0)
		return r;
	if ((unsigned int)record.kind >= KODA_VIOLATION_COUNT ||
	    (unsigned int)record.source >= KODA_SOURCE_COUNT)
		return koda_fail_at(err, KODA_E_INVALID, 0,
				    (unsigned int)record.kind >= KODA_VIOLATION_COUNT ? "kind"
										      : "source",
				    "not a value of its enum");
	if (pthread_mutex_lock(&store->adding) == EDEADLK)
		return koda_fail(err, KODA_E_INVALID, 0,
				 "a subscriber cannot add to the store that calls it");
	r = add(store, &record, merges, ret_news, err);
	(void)pthread_mutex_unlock(&store->adding);
	return r;
}

int koda_violations_record(struct koda_violations *store,
			   const struct koda_violation_record *record, struct koda_error *err)
{
	bool news;

	return take(store, record, false, &news, err);
}

int koda_violations_merge(struct koda_violations *store, const struct koda_violation_record *record,
			  bool *ret_news, struct koda_error *err)
{
	return take(store, record, true, ret_news, err);
}

bool koda_violations_know(const struct koda_violations *store,
			  const struct koda_violation_record *record)
{
	bool known = false;

	(void)pthread_mutex_lock(store->data);
	for (size_t i = 0; i < store->count && !known; i++)
		known = is_known(&item_at(store, i)->record, record) &&
			(item_at(store, i)->record.source != KODA_SOURCE_STDERR ||
			 record->source == KODA_SOURCE_STDERR);
	(void)pthread_mutex_unlock(store->data);
	return known;
}

void koda_violations_take_event(void *store, const struct koda_event *event)
{
	struct koda_violation_record record = { .size = sizeof(record),
						.time = event->time,
						.command_id = event->id };
	char rule[64];

	if (event->type == KODA_EVENT_VIOLATION) {
		record.kind = event->data.violation.kind;
		record.source = event->data.violation.source;
		record.target = event->data.violation.target;
		record.rule = event->data.violation.rule;
		record.command = event->data.violation.command;
		record.call = event->data.violation.call;
		record.process = event->data.violation.process;
		record.hint = event->data.violation.hint;
	} else if (event->type == KODA_EVENT_LIMIT) {
		(void)snprintf(rule, sizeof(rule), "limits.%s",
			       koda_event_limit_names[event->data.limit.which]);
		record.kind = KODA_VIOLATION_OTHER;
		record.source = KODA_SOURCE_KERNEL;
		record.target = koda_event_limit_names[event->data.limit.which];
		record.rule = rule;
		record.hint = event->data.limit.hint;
	} else {
		return;
	}
	/* The caller of an event has no use for a failure. */
	if (koda_violations_record(store, &record, NULL) < 0)
		return;
}

int koda_violations_snapshot(const struct koda_violations *store,
			     struct koda_violation_list **ret_list, struct koda_error *err)
{
	int r;

	(void)pthread_mutex_lock(store->data);
	r = koda_violation_list_new(store->count, ret_list, err);
	if (r == KODA_OK) {
		(*ret_list)->dropped = store->dropped;
		(*ret_list)->count = store->count;
		for (size_t i = 0; i < store->count; i++)
			(*ret_list)->items[i] = koda_violation_item_share(item_at(store, i));
	}
	(void)pthread_mutex_unlock(store->data);
	return r;
}

int koda_violations_drain(struct koda_violations *store, struct koda_violation_list **ret_list,
			  struct koda_error *err)
{
	int r;

	(void)pthread_mutex_lock(store->data);
	r = koda_violation_list_new(store->count, ret_list, err);
	if (r == KODA_OK) {
		(*ret_list)->dropped = store->dropped;
		(*ret_list)->count = store->count;
		for (size_t i = 0; i < store->count; i++)
			(*ret_list)->items[i] =
				KODA_TAKE(store->ring[(store->first + i) % store->capacity]);
		store->first = 0;
		store->count = 0;
		store->dropped = 0;
	}
	(void)pthread_mutex_unlock(store->data);
	return r;
}

size_t koda_violations_count(const struct koda_violations *store)
{
	size_t count;

	(void)pthread_mutex_lock(store->data);
	count = store->count;
	(void)pthread_mutex_unlock(store->data);
	return count;
}

size_t koda_violations_count_of(const struct koda_violations *store, enum koda_violation kind)
{
	size_t count = 0;

	(void)pthread_mutex_lock(store->data);
	for (size_t i = 0; i < store->count; i++)
		count += item_at(store, i)->record.kind == kind;
	(void)pthread_mutex_unlock(store->data);
	return count;
}

uint64_t koda_violations_dropped(const struct koda_violations *store)
{
	uint64_t dropped;

	(void)pthread_mutex_lock(store->data);
	dropped = store->dropped;
	(void)pthread_mutex_unlock(store->data);
	return dropped;
}

int koda_violations_subscribe(struct koda_violations *store, koda_violation_fn *on_violation,
			      void *ctx, struct koda_error *err)
{
	bool nested = pthread_mutex_lock(&store->adding) == EDEADLK;
	size_t i = 0;

	while (i < KODA_SUBSCRIBERS_MAX && store->subscribers[i].call)
		i++;
	if (i < KODA_SUBSCRIBERS_MAX)
		store->subscribers[i] = (struct subscriber){ on_violation, ctx };
	if (!nested)
		(void)pthread_mutex_unlock(&store->adding);
	return i < KODA_SUBSCRIBERS_MAX
		       ? KODA_OK
		       : koda_fail(err, KODA_E_LIMIT, 0, "a store has at most %d subscribers",
				   KODA_SUBSCRIBERS_MAX);
}

void koda_violations_unsubscribe(struct koda_violations *store, koda_violation_fn *on_violation,
				 const void *ctx)
{
	bool nested = pthread_mutex_lock(&store->adding) == EDEADLK;

	for (size_t i = 0; i < KODA_SUBSCRIBERS_MAX; i++)
		if (store->subscribers[i].call == on_violation && store->subscribers[i].ctx == ctx)
			store->subscribers[i] = (struct subscriber){ NULL, NULL };
	if (!nested)
		(void)pthread_mutex_unlock(&store->adding);
}
