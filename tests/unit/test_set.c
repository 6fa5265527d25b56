/* SPDX-License-Identifier: MIT */
#include "koda_test.h"

#include "base/set.h"

#define LOOSE ((size_t)1 << 20)

static int add(struct koda_set *set, const char *text)
{
	return koda_set_add(set, koda_span_of(text), NULL);
}

static void an_empty_set_finds_nothing(void **state)
{
	koda_auto_set struct koda_set set = KODA_SET_INIT(LOOSE);

	(void)state;
	assert_true(koda_set_find(&set, koda_span_of("a")) == KODA_SET_NONE);
	assert_true(koda_set_find(&set, (struct koda_span){ NULL, 0 }) == KODA_SET_NONE);
	assert_null(koda_set_get(&set, 0).ptr);
	assert_int_equal(koda_set_get(&set, 0).len, 0);
}

static void entries_keep_the_order_of_their_first_coming(void **state)
{
	koda_auto_set struct koda_set set = KODA_SET_INIT(LOOSE);

	(void)state;
	assert_int_equal(add(&set, "z"), KODA_OK);
	assert_int_equal(add(&set, "a"), KODA_OK);
	assert_int_equal(add(&set, "z"), KODA_OK);
	assert_int_equal(add(&set, "m"), KODA_OK);
	assert_int_equal(set.count, 3);
	KODA_ASSERT_SPAN(koda_set_get(&set, 0), "z");
	KODA_ASSERT_SPAN(koda_set_get(&set, 1), "a");
	KODA_ASSERT_SPAN(koda_set_get(&set, 2), "m");
	assert_null(koda_set_get(&set, 3).ptr);
	assert_null(koda_set_get(&set, SIZE_MAX).ptr);
}

static void add_tells_the_number_of_new_and_old_entries(void **state)
{
	koda_auto_set struct koda_set set = KODA_SET_INIT(LOOSE);
	size_t index = 99;

	(void)state;
	assert_int_equal(koda_set_add(&set, koda_span_of("a"), &index), KODA_OK);
	assert_int_equal(index, 0);
	assert_int_equal(koda_set_add(&set, koda_span_of("b"), &index), KODA_OK);
	assert_int_equal(index, 1);
	assert_int_equal(koda_set_add(&set, koda_span_of("a"), &index), KODA_OK);
	assert_int_equal(index, 0);
}

static void entries_are_copied_and_terminated(void **state)
{
	koda_auto_set struct koda_set set = KODA_SET_INIT(LOOSE);
	char text[] = "abcdef";

	(void)state;
	assert_int_equal(koda_set_add(&set, (struct koda_span){ text, 3 }, NULL), KODA_OK);
	memset(text, 'x', sizeof(text));
	assert_string_equal(koda_set_get(&set, 0).ptr, "abc");
	assert_int_equal(koda_set_get(&set, 0).ptr[3], '\0');
}

static void nul_bytes_tell_entries_apart(void **state)
{
	koda_auto_set struct koda_set set = KODA_SET_INIT(LOOSE);
	static const struct koda_span entries[] = {
		{ "a", 1 }, { "a\0", 2 }, { "a\0b", 3 }, { "\0", 1 }, { "\0\0", 2 }, { "", 0 },
	};
	size_t i = 0;

	(void)state;
	KODA_EACH(entry, entries)
		assert_int_equal(koda_set_add(&set, *entry, NULL), KODA_OK);
	assert_int_equal(set.count, sizeof(entries) / sizeof(entries[0]));
	KODA_EACH(entry, entries)
		assert_int_equal(koda_set_find(&set, *entry), i++);
}

static void the_empty_entry_is_one_entry_wherever_it_points(void **state)
{
	koda_auto_set struct koda_set set = KODA_SET_INIT(LOOSE);
	struct koda_span nowhere = { NULL, 0 };

	(void)state;
	assert_int_equal(koda_set_add(&set, nowhere, NULL), KODA_OK);
	assert_int_equal(add(&set, ""), KODA_OK);
	assert_int_equal(koda_set_add(&set, nowhere, NULL), KODA_OK);
	assert_int_equal(set.count, 1);
	assert_int_equal(koda_set_find(&set, nowhere), 0);
	assert_string_equal(koda_set_get(&set, 0).ptr, "");
}

static void the_ceiling_counts_bytes_and_terminators(void **state)
{
	koda_auto_set struct koda_set set = KODA_SET_INIT(8);

	(void)state;
	assert_int_equal(add(&set, "abc"), KODA_OK);
	assert_int_equal(add(&set, "defg"), KODA_E_LIMIT);
	assert_int_equal(set.count, 1);
	assert_true(koda_set_find(&set, koda_span_of("defg")) == KODA_SET_NONE);
	assert_int_equal(add(&set, "def"), KODA_OK);
	assert_int_equal(add(&set, ""), KODA_E_LIMIT);
	assert_int_equal(add(&set, "abc"), KODA_OK); /* is there already: takes no room */
	assert_int_equal(set.count, 2);
}

static void an_entry_longer_than_its_length_field_is_refused(void **state)
{
	koda_auto_set struct koda_set set = KODA_SET_INIT(SIZE_MAX / 2);

	(void)state;
	assert_int_equal(koda_set_add(&set, (struct koda_span){ "x", UINT32_MAX }, NULL),
			 KODA_E_LIMIT);
	assert_int_equal(koda_set_add(&set, (struct koda_span){ "x", SIZE_MAX }, NULL),
			 KODA_E_LIMIT);
	assert_int_equal(set.count, 0);
}

static void a_failed_add_writes_no_index(void **state)
{
	koda_auto_set struct koda_set set = KODA_SET_INIT(2);
	size_t index = 77;

	(void)state;
	assert_int_equal(koda_set_add(&set, koda_span_of("ab"), &index), KODA_E_LIMIT);
	assert_int_equal(index, 77);
}

static void a_copy_equals_and_lives_alone(void **state)
{
	koda_auto_set struct koda_set set = KODA_SET_INIT(LOOSE);
	koda_auto_set struct koda_set copy = KODA_SET_INIT(LOOSE);
	char text[16];

	(void)state;
	for (int i = 0; i < 100; i++) {
		(void)snprintf(text, sizeof(text), "%d", i);
		assert_int_equal(add(&set, text), KODA_OK);
	}
	assert_int_equal(koda_set_copy(&copy, &set), KODA_OK);
	assert_true(koda_set_equal(&copy, &set));
	koda_set_clear(&set);
	assert_int_equal(copy.count, 100);
	KODA_ASSERT_SPAN(koda_set_get(&copy, 99), "99");
	assert_true(koda_set_find(&copy, koda_span_of("42")) == 42);
	assert_int_equal(add(&copy, "42"), KODA_OK);
	assert_int_equal(add(&copy, "more"), KODA_OK);
	assert_int_equal(copy.count, 101);
	assert_true(koda_set_find(&copy, koda_span_of("more")) == 100);
}

static void a_copy_that_does_not_fit_fails(void **state)
{
	koda_auto_set struct koda_set set = KODA_SET_INIT(LOOSE);
	koda_auto_set struct koda_set copy = KODA_SET_INIT(3);

	(void)state;
	assert_int_equal(add(&set, "a"), KODA_OK);
	assert_int_equal(add(&set, "b"), KODA_OK);
	assert_int_equal(koda_set_copy(&copy, &set), KODA_E_LIMIT);
}

static void equal_sets_have_the_same_entries_in_the_same_order(void **state)
{
	koda_auto_set struct koda_set ab = KODA_SET_INIT(LOOSE);
	koda_auto_set struct koda_set ba = KODA_SET_INIT(LOOSE);
	koda_auto_set struct koda_set a = KODA_SET_INIT(10);
	koda_auto_set struct koda_set empty = KODA_SET_INIT(LOOSE);

	(void)state;
	assert_int_equal(add(&ab, "a"), KODA_OK);
	assert_int_equal(add(&ab, "b"), KODA_OK);
	assert_int_equal(add(&ba, "b"), KODA_OK);
	assert_int_equal(add(&ba, "a"), KODA_OK);
	assert_int_equal(add(&a, "a"), KODA_OK);
	assert_true(koda_set_equal(&ab, &ab));
	assert_false(koda_set_equal(&ab, &ba));
	assert_false(koda_set_equal(&ab, &a));
	assert_false(koda_set_equal(&a, &empty));
	assert_true(koda_set_equal(&empty, &empty));
	koda_set_clear(&a);
	assert_true(koda_set_equal(&a, &empty));
}

static void a_cleared_set_keeps_its_ceiling(void **state)
{
	koda_auto_set struct koda_set set = KODA_SET_INIT(4);

	(void)state;
	assert_int_equal(add(&set, "abc"), KODA_OK);
	koda_set_clear(&set);
	koda_set_clear(&set);
	assert_int_equal(set.count, 0);
	assert_true(koda_set_find(&set, koda_span_of("abc")) == KODA_SET_NONE);
	assert_int_equal(add(&set, "abcd"), KODA_E_LIMIT);
	assert_int_equal(add(&set, "xyz"), KODA_OK);
	assert_int_equal(koda_set_find(&set, koda_span_of("xyz")), 0);
}

static void a_set_that_is_full_takes_nothing(void **state)
{
	koda_auto_set struct koda_set set = KODA_SET_INIT(LOOSE);

	(void)state;
	set.count = UINT32_MAX / 4; /* forged: a thousand million entries take their time */
	assert_int_equal(add(&set, "a"), KODA_E_LIMIT);
	set.count = 0;
}

struct numbered_hash {
	uint32_t hash;
	uint32_t number;
};

static int by_hash(const void *a, const void *b)
{
	const struct numbered_hash *x = a;
	const struct numbered_hash *y = b;

	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

/* The key is drawn at the first add; after it, equal hashes can be looked for. Of 400000 entries,
 * some twenty pairs have the same 32 bits. */
static void entries_whose_hashes_collide_are_told_apart(void **state)
{
	const uint32_t count = 400000;
	koda_auto_set struct koda_set set = KODA_SET_INIT(LOOSE);
	struct numbered_hash *hashes = calloc(count, sizeof(*hashes));
	uint32_t pairs = 0;

	(void)state;
	assert_non_null(hashes);
	assert_int_equal(add(&set, "first"), KODA_OK);
	for (uint32_t i = 0; i < count; i++) {
		struct koda_span entry = { (const char *)&i, sizeof(i) };

		hashes[i] = (struct numbered_hash){ (uint32_t)koda_hash(&set.key, 0, entry), i };
	}
	qsort(hashes, count, sizeof(*hashes), by_hash);
	for (uint32_t i = 1; i < count; i++) {
		struct koda_span a = { (const char *)&hashes[i - 1].number, sizeof(uint32_t) };
		struct koda_span b = { (const char *)&hashes[i].number, sizeof(uint32_t) };
		size_t next = set.count;
		size_t index = 0;

		if (hashes[i].hash != hashes[i - 1].hash || koda_set_find(&set, a) != KODA_SET_NONE)
			continue;
		pairs++;
		assert_int_equal(koda_set_add(&set, a, NULL), KODA_OK);
		assert_true(koda_set_find(&set, b) == KODA_SET_NONE);
		assert_int_equal(koda_set_add(&set, b, &index), KODA_OK);
		assert_int_equal(index, next + 1);
		assert_int_equal(koda_set_find(&set, a), next);
	}
	assert_true(pairs > 0);
	free(hashes);
}

/* The dull way: an array searched from the front. */
struct model {
	char text[3000][8];
	size_t len[3000];
	size_t count;
};

static size_t model_find(const struct model *model, struct koda_span entry)
{
	for (size_t i = 0; i < model->count; i++)
		if (koda_span_eq((struct koda_span){ model->text[i], model->len[i] }, entry))
			return i;
	return KODA_SET_NONE;
}

static size_t random_entry(struct koda_rng *rng, char *text, size_t alphabet)
{
	size_t len = koda_rng_below(rng, 8);

	for (size_t i = 0; i < len; i++)
		text[i] = (char)koda_rng_below(rng, alphabet);
	return len;
}

static void random_adds_and_finds_agree_with_a_list(void **state)
{
	static const size_t alphabets[] = { 1, 2, 3, 256 };
	struct koda_rng rng = koda_rng_new();
	static struct model model;

	(void)state;
	KODA_EACH(alphabet, alphabets) {
		koda_auto_set struct koda_set set = KODA_SET_INIT(LOOSE);

		model.count = 0;
		for (size_t step = 0; step < 3000; step++) {
			char text[8];
			struct koda_span entry = { text, random_entry(&rng, text, *alphabet) };
			size_t known = model_find(&model, entry);
			size_t index = 0;

			assert_true(koda_set_find(&set, entry) == known);
			if (koda_rng_one_in(&rng, 3))
				continue;
			if (known == KODA_SET_NONE) {
				known = model.count++;
				memcpy(model.text[known], text, entry.len);
				model.len[known] = entry.len;
			}
			assert_int_equal(koda_set_add(&set, entry, &index), KODA_OK);
			assert_int_equal(index, known);
		}
		assert_int_equal(set.count, model.count);
		for (size_t i = 0; i < model.count; i++)
			assert_true(
				koda_span_eq(koda_set_get(&set, i),
					     (struct koda_span){ model.text[i], model.len[i] }));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_set_finds_nothing),
		cmocka_unit_test(entries_keep_the_order_of_their_first_coming),
		cmocka_unit_test(add_tells_the_number_of_new_and_old_entries),
		cmocka_unit_test(entries_are_copied_and_terminated),
		cmocka_unit_test(nul_bytes_tell_entries_apart),
		cmocka_unit_test(the_empty_entry_is_one_entry_wherever_it_points),
		cmocka_unit_test(the_ceiling_counts_bytes_and_terminators),
		cmocka_unit_test(an_entry_longer_than_its_length_field_is_refused),
		cmocka_unit_test(a_failed_add_writes_no_index),
		cmocka_unit_test(a_copy_equals_and_lives_alone),
		cmocka_unit_test(a_copy_that_does_not_fit_fails),
		cmocka_unit_test(equal_sets_have_the_same_entries_in_the_same_order),
		cmocka_unit_test(a_cleared_set_keeps_its_ceiling),
		cmocka_unit_test(a_set_that_is_full_takes_nothing),
		cmocka_unit_test(entries_whose_hashes_collide_are_told_apart),
		cmocka_unit_test(random_adds_and_finds_agree_with_a_list),
	};

	return KODA_TEST_RUN(tests);
}
