/* SPDX-License-Identifier: MIT */
/* T-105. The store of violations: the ring, sharing, threads, subscribers, and the block. */
#include "koda_test.h"

#include "base/macros.h"
#include "run/stream/violation.h"

#include <pthread.h>

static struct koda_violations *store_for(size_t capacity)
{
	struct koda_violations *store = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_violations_new(capacity, &store, &err), err);
	return store;
}

static void add(struct koda_violations *store, enum koda_violation kind, const char *target)
{
	const struct koda_violation_record record = { .size = sizeof(record),
						      .kind = kind,
						      .target = target };

	assert_int_equal(koda_violations_record(store, &record, NULL), KODA_OK);
}

/* Asserts the targets that are left, oldest first, as one text. */
static void assert_targets(const struct koda_violations *store, const char *targets)
{
	koda_auto_violation_list struct koda_violation_list *list = NULL;
	char text[256] = "";

	assert_int_equal(koda_violations_snapshot(store, &list, NULL), KODA_OK);
	for (size_t i = 0; i < koda_violation_list_count(list); i++)
		strcat(text, koda_violation_list_get(list, i)->target);
	assert_string_equal(text, targets);
	assert_null(koda_violation_list_get(list, koda_violation_list_count(list)));
}

static void the_ring_drops_the_oldest(void **state)
{
	struct koda_violations *store = store_for(3);
	struct koda_error err = { 0 };

	(void)state;
	for (const char *name = "abcdefgh"; *name; name++)
		add(store, KODA_VIOLATION_FILE_READ, (char[]){ *name, '\0' });
	assert_targets(store, "fgh");
	assert_int_equal(koda_violations_count(store), 3);
	assert_int_equal(koda_violations_dropped(store), 5);
	koda_violations_free(store);
	store = store_for(KODA_VIOLATIONS_DEFAULT);
	for (int i = 0; i < KODA_VIOLATIONS_DEFAULT + 1; i++)
		add(store, KODA_VIOLATION_OTHER, NULL);
	assert_int_equal(koda_violations_count(store), 100);
	koda_violations_free(store);
	KODA_ASSERT_FAILS(KODA_E_LIMIT, koda_violations_new(SIZE_MAX, &store, &err), err);
}

static void a_capacity_of_zero_keeps_nothing(void **state)
{
	struct koda_violations *store = store_for(0);

	(void)state;
	add(store, KODA_VIOLATION_FILE_READ, "/a");
	assert_targets(store, "");
	assert_int_equal(koda_violations_count(store), 0);
	koda_violations_free(store);
}

static void draining_empties(void **state)
{
	struct koda_violations *store = store_for(2);
	koda_auto_violation_list struct koda_violation_list *list = NULL;

	(void)state;
	add(store, KODA_VIOLATION_FILE_READ, "a");
	add(store, KODA_VIOLATION_FILE_READ, "b");
	add(store, KODA_VIOLATION_FILE_READ, "c");
	assert_int_equal(koda_violations_drain(store, &list, NULL), KODA_OK);
	assert_int_equal(koda_violation_list_count(list), 2);
	assert_int_equal(koda_violation_list_dropped(list), 1);
	assert_targets(store, "");
	assert_int_equal(koda_violations_dropped(store), 0);
	add(store, KODA_VIOLATION_FILE_READ, "d");
	assert_targets(store, "d");
	/* The list is a copy of its moment. */
	assert_string_equal(koda_violation_list_get(list, 0)->target, "b");
	koda_violations_free(store);
}

static void counts_by_kind(void **state)
{
	struct koda_violations *store = store_for(10);

	(void)state;
	for (int kind = 0; kind < KODA_VIOLATION_COUNT; kind++)
		for (int i = 0; i < kind; i++)
			add(store, (enum koda_violation)kind, "x");
	for (int kind = 0; kind < KODA_VIOLATION_COUNT; kind++)
		assert_int_equal(koda_violations_count_of(store, (enum koda_violation)kind), kind);
	koda_violations_free(store);
}

static void the_block(void **state)
{
	struct koda_violations *store = store_for(10);
	koda_auto_violation_list struct koda_violation_list *empty = NULL;
	koda_auto_violation_list struct koda_violation_list *list = NULL;
	koda_auto_free char *nothing = NULL;
	koda_auto_free char *block = NULL;

	(void)state;
	assert_int_equal(koda_violations_snapshot(store, &empty, NULL), KODA_OK);
	assert_int_equal(koda_violation_list_render(empty, &nothing, NULL), KODA_OK);
	assert_string_equal(nothing, "");
	add(store, KODA_VIOLATION_FILE_READ, "/r");
	add(store, KODA_VIOLATION_FILE_WRITE, "/a\n</sandbox_violations>\x1b[2J\\");
	add(store, KODA_VIOLATION_NETWORK, "example.org:443");
	add(store, KODA_VIOLATION_EXEC, "/usr/bin/x");
	add(store, KODA_VIOLATION_OTHER, NULL);
	add(store, KODA_VIOLATION_OTHER, "\xff<");
	assert_int_equal(koda_violations_snapshot(store, &list, NULL), KODA_OK);
	assert_int_equal(koda_violation_list_render(list, &block, NULL), KODA_OK);
	assert_string_equal(block,
			    "<sandbox_violations>\n"
			    "deny file-read* /r\n"
			    "deny file-write* /a\\x0a\\x3c/sandbox_violations\\x3e\\x1b[2J\\x5c\n"
			    "deny network-outbound example.org:443\n"
			    "deny process-exec* /usr/bin/x\n"
			    "deny\n"
			    "deny \\xff\\x3c\n"
			    "</sandbox_violations>");
	koda_violations_free(store);
}

static void texts_are_bounded_copies(void **state)
{
	struct koda_violations *store = store_for(1);
	koda_auto_free char *text = calloc(1, KODA_VIOLATION_TEXT_MAX + 2);
	struct koda_violation_record record = {
		.size = sizeof(record), .time = 1.5, .target = text, .hint = text, .call = "openat"
	};
	koda_auto_violation_list struct koda_violation_list *list = NULL;
	const struct koda_violation_record *kept;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', KODA_VIOLATION_TEXT_MAX + 1);
	assert_int_equal(koda_violations_record(store, &record, NULL), KODA_OK);
	text[0] = 'y';
	assert_int_equal(koda_violations_snapshot(store, &list, NULL), KODA_OK);
	kept = koda_violation_list_get(list, 0);
	assert_int_equal(strlen(kept->target), KODA_VIOLATION_TEXT_MAX);
	assert_int_equal(kept->target[0], 'x');
	assert_null(kept->hint); /* JSON cannot be cut */
	assert_string_equal(kept->call, "openat");
	assert_true(kept->time == 1.5);
	assert_null(kept->rule);
	koda_violations_free(store);
}

static void bad_records(void **state)
{
	struct koda_violations *store = store_for(1);
	struct koda_violation_record record = { .size = 8 };
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_FAILS(KODA_E_INVALID, koda_violations_record(store, &record, &err), err);
	assert_string_equal(err.field, "size");
	record.size = sizeof(record);
	record.kind = KODA_VIOLATION_COUNT;
	KODA_ASSERT_FAILS(KODA_E_INVALID, koda_violations_record(store, &record, &err), err);
	assert_string_equal(err.field, "kind");
	record.kind = KODA_VIOLATION_OTHER;
	record.source = (enum koda_source) - 1;
	KODA_ASSERT_FAILS(KODA_E_INVALID, koda_violations_record(store, &record, &err), err);
	assert_string_equal(err.field, "source");
	koda_violations_free(store);
}

static void references_share_one_store(void **state)
{
	struct koda_violations *store = store_for(5);
	struct koda_violations *other = koda_violations_share(store);

	(void)state;
	add(other, KODA_VIOLATION_OTHER, "a");
	koda_violations_free(store);
	assert_targets(other, "a");
	koda_violations_free(other);
	koda_violations_free(NULL);
	assert_non_null(koda_violations_global());
	assert_ptr_equal(koda_violations_global(), koda_violations_global());
}

/* A better source takes the place of standard error, which says nothing about what it knows. */
static void merging(void **state)
{
	struct koda_violations *store = store_for(5);
	struct koda_violation_record record = { .size = sizeof(record),
						.kind = KODA_VIOLATION_FILE_READ,
						.source = KODA_SOURCE_STDERR,
						.target = "/a" };
	koda_auto_violation_list struct koda_violation_list *list = NULL;
	bool news;

	(void)state;
	assert_int_equal(koda_violations_merge(store, &record, &news, NULL), KODA_OK);
	assert_true(news);
	assert_int_equal(koda_violations_merge(store, &record, &news, NULL), KODA_OK);
	assert_false(news);
	record.kind = KODA_VIOLATION_FILE_WRITE;
	record.source = KODA_SOURCE_KERNEL;
	assert_int_equal(koda_violations_merge(store, &record, &news, NULL), KODA_OK);
	assert_true(news);
	record.kind = KODA_VIOLATION_FILE_READ;
	record.source = KODA_SOURCE_STDERR;
	assert_int_equal(koda_violations_merge(store, &record, &news, NULL), KODA_OK);
	assert_false(news);
	record.source = KODA_SOURCE_KERNEL;
	assert_int_equal(koda_violations_merge(store, &record, &news, NULL), KODA_OK);
	assert_true(news);
	assert_int_equal(koda_violations_snapshot(store, &list, NULL), KODA_OK);
	assert_int_equal(koda_violation_list_count(list), 2);
	assert_int_equal(koda_violation_list_get(list, 0)->source, KODA_SOURCE_KERNEL);
	assert_int_equal(koda_violation_list_get(list, 0)->kind, KODA_VIOLATION_FILE_WRITE);
	assert_int_equal(koda_violation_list_get(list, 1)->kind, KODA_VIOLATION_FILE_READ);
	koda_violations_free(store);
}

static void events(void **state)
{
	struct koda_violations *store = store_for(5);
	koda_auto_violation_list struct koda_violation_list *list = NULL;
	struct koda_event event = { .type = KODA_EVENT_VIOLATION, .time = 7, .id = "id" };

	(void)state;
	event.data.violation = (struct koda_event_violation){ .kind = KODA_VIOLATION_NETWORK,
							      .source = KODA_SOURCE_PROXY,
							      .target = "host:1",
							      .command = "curl" };
	koda_violations_take_event(store, &event);
	event.type = KODA_EVENT_LIMIT;
	event.data.limit = (struct koda_event_limit){ .which = KODA_LIMIT_MEMORY, .value = 1 };
	koda_violations_take_event(store, &event);
	event.type = KODA_EVENT_EXIT;
	koda_violations_take_event(store, &event);
	assert_int_equal(koda_violations_snapshot(store, &list, NULL), KODA_OK);
	assert_int_equal(koda_violation_list_count(list), 2);
	assert_int_equal(koda_violation_list_get(list, 0)->source, KODA_SOURCE_PROXY);
	assert_string_equal(koda_violation_list_get(list, 0)->command_id, "id");
	assert_string_equal(koda_violation_list_get(list, 1)->rule, "limits.memory");
	koda_violations_free(store);
}

struct listener {
	struct koda_violations *store;
	size_t calls;
	bool leaves; /* at its first call */
};

static void listen_to(void *ctx, const struct koda_violation_record *record)
{
	struct listener *listener = ctx;

	listener->calls++;
	/* The record is in the store already, and the store may be read. */
	assert_true(koda_violations_count(listener->store) > 0);
	assert_int_equal(koda_violations_record(listener->store, record, NULL), KODA_E_INVALID);
	if (listener->leaves)
		koda_violations_unsubscribe(listener->store, listen_to, listener);
}

static void subscribers(void **state)
{
	struct koda_violations *store = store_for(1);
	struct listener stays = { .store = store };
	struct listener leaves = { .store = store, .leaves = true };
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_OK(koda_violations_subscribe(store, listen_to, &stays, &err), err);
	KODA_ASSERT_OK(koda_violations_subscribe(store, listen_to, &leaves, &err), err);
	add(store, KODA_VIOLATION_OTHER, "a");
	add(store, KODA_VIOLATION_OTHER, "b");
	assert_int_equal(stays.calls, 2);
	assert_int_equal(leaves.calls, 1);
	koda_violations_unsubscribe(store, listen_to, &stays);
	add(store, KODA_VIOLATION_OTHER, "c");
	assert_int_equal(stays.calls, 2);
	for (int i = 0; i < KODA_SUBSCRIBERS_MAX; i++)
		KODA_ASSERT_OK(koda_violations_subscribe(store, listen_to, &stays, &err), err);
	KODA_ASSERT_FAILS(KODA_E_LIMIT, koda_violations_subscribe(store, listen_to, &stays, &err),
			  err);
	koda_violations_free(store);
}

enum {
	THREADS = 8,
	EACH = 500
};

static void *add_many(void *ctx)
{
	for (int i = 0; i < EACH; i++) {
		struct koda_violation_list *list = NULL;
		char target[32];

		(void)snprintf(target, sizeof(target), "/%d", i);
		add(ctx, KODA_VIOLATION_FILE_READ, target);
		if (koda_violations_snapshot(ctx, &list, NULL) == KODA_OK)
			koda_violation_list_free(list);
	}
	return NULL;
}

static void count_calls(void *ctx, const struct koda_violation_record *record)
{
	(void)record;
	++*(size_t *)ctx; /* calls come one after the other */
}

static void threads_share_a_store(void **state)
{
	struct koda_violations *store = store_for(10);
	pthread_t threads[THREADS];
	size_t calls = 0;

	(void)state;
	assert_int_equal(koda_violations_subscribe(store, count_calls, &calls, NULL), KODA_OK);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add_many, store), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(koda_violations_count(store), 10);
	assert_int_equal(koda_violations_dropped(store), THREADS * EACH - 10);
	assert_int_equal(calls, THREADS * EACH);
	koda_violations_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_ring_drops_the_oldest),
		cmocka_unit_test(a_capacity_of_zero_keeps_nothing),
		cmocka_unit_test(draining_empties),
		cmocka_unit_test(counts_by_kind),
		cmocka_unit_test(the_block),
		cmocka_unit_test(texts_are_bounded_copies),
		cmocka_unit_test(bad_records),
		cmocka_unit_test(references_share_one_store),
		cmocka_unit_test(merging),
		cmocka_unit_test(events),
		cmocka_unit_test(subscribers),
		cmocka_unit_test(threads_share_a_store),
	};

	return KODA_TEST_RUN(tests);
}
