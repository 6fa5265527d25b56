/* SPDX-License-Identifier: MIT */
/* Which marked paths change nothing, in one pass and by asking about each. */
#include "koda_test.h"

#include "policy/floor.h"
#include "policy/path_verdict.h"

#define RULES 12
#define CASES 4000

/* Every kind of mark that a verdict depends on. */
static const uint32_t kinds[] = {
	1U << KODA_REASON_DENY_READ,
	1U << KODA_REASON_READ_HOLE,
	1U << KODA_REASON_ALLOW_WRITE,
	1U << KODA_REASON_DENY_WRITE,
	1U << KODA_REASON_OWN_STATE,
	1U << KODA_REASON_CREDENTIALS,
	1U << KODA_REASON_PROJECT_NAME,
	1U << KODA_REASON_GIT,
	1U << KODA_REASON_EXEC_DIR,
	1U << KODA_REASON_KERNEL,
	1U << KODA_REASON_OTHER_NAME,
	1U << KODA_REASON_HIDDEN_NAME,
	1U << KODA_REASON_KERNEL_HIDDEN,
	1U << KODA_REASON_GIT_DIR,
	1U << KODA_REASON_CACHE,
	KODA_FLOOR_REOPENED,
	KODA_FLOOR_CLOSED,
};

/* "/" now and then; few names, so that rules meet. */
static size_t random_path(struct koda_rng *rng, char out[static 32])
{
	size_t depth = koda_rng_below(rng, 6);
	size_t len = 0;

	for (size_t i = 0; i < depth; i++) {
		out[len++] = '/';
		out[len++] = (char)('a' + koda_rng_below(rng, 2));
	}
	if (len == 0)
		out[len++] = '/';
	out[len] = '\0';
	return len;
}

static struct koda_span parent_of(struct koda_span path)
{
	while (path.len > 1 && path.ptr[path.len - 1] != '/')
		path.len--;
	path.len -= path.len > 1;
	return path;
}

/* 0 hidden, 1 readable, 2 writable as a copy, 3 writable. */
static int state_of(const struct koda_pathindex *index, struct koda_span path)
{
	struct koda_verdict read = koda_path_verdict_read(index, path);
	struct koda_verdict write = koda_path_verdict_write(index, path);

	if (read.answer == KODA_DENY)
		return 0;
	if (write.answer == KODA_DENY)
		return 1;
	return write.reason == KODA_REASON_CACHE ? 2 : 3;
}

static void fill(struct koda_pathindex *index, struct koda_rng *rng)
{
	struct koda_error err = { 0 };
	char text[32];

	for (size_t k = koda_rng_below(rng, RULES + 1); k > 0; k--) {
		struct koda_span path = { text, random_path(rng, text) };
		uint32_t marks = kinds[koda_rng_below(rng, KODA_ARRAY_LEN(kinds))];

		KODA_ASSERT_OK(koda_pathindex_add(index, path, marks, &err), err);
	}
}

/* How many are idle, each of them asked about in both ways. */
static size_t compare(const struct koda_pathindex *index)
{
	struct koda_error err = { 0 };
	bool idle[RULES];
	size_t count = 0;

	KODA_ASSERT_OK(koda_path_verdict_idle(index, idle, &err), err);
	for (size_t k = 0; k < index->texts.count; k++) {
		struct koda_span path = koda_strlist_get(&index->texts, k);
		int here = state_of(index, path);
		bool same = path.len > 1 && here == state_of(index, parent_of(path));

		KODA_EXPECT(path.ptr, idle[k] == (same && here != 3));
		count += idle[k];
	}
	return count;
}

static void what_is_idle_is_as_the_directory_above(void **state)
{
	struct koda_rng rng = koda_rng_new();
	size_t idle = 0;

	(void)state;
	for (int i = 0; i < CASES; i++) {
		koda_auto_pathindex struct koda_pathindex index = KODA_PATHINDEX_INIT;

		fill(&index, &rng);
		idle += compare(&index);
	}
	assert_true(idle > CASES); /* the question was not an empty one */
}

static void an_empty_index_has_nothing_idle(void **state)
{
	koda_auto_pathindex struct koda_pathindex index = KODA_PATHINDEX_INIT;
	struct koda_error err = { 0 };
	bool none;

	(void)state;
	KODA_ASSERT_OK(koda_path_verdict_idle(&index, &none, &err), err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_idle_is_as_the_directory_above),
		cmocka_unit_test(an_empty_index_has_nothing_idle),
	};

	return KODA_TEST_RUN(tests);
}
