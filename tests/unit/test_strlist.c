/* SPDX-License-Identifier: MIT */
#include "koda_test.h"

#include "base/strlist.h"

#define LOOSE ((size_t)1 << 20)

static int add(struct koda_strlist *texts, const char *text)
{
	return koda_strlist_add(texts, koda_span_of(text));
}

static void entries_come_back_in_order(void **state)
{
	koda_auto_strlist struct koda_strlist texts = KODA_STRLIST_INIT(LOOSE);
	char text[16];

	(void)state;
	assert_null(koda_strlist_get(&texts, 0).ptr);
	for (int i = 0; i < 300; i++) {
		(void)snprintf(text, sizeof(text), "%d", i);
		assert_int_equal(add(&texts, text), KODA_OK);
	}
	assert_int_equal(texts.count, 300);
	for (size_t i = 0; i < 300; i++) {
		(void)snprintf(text, sizeof(text), "%zu", i);
		KODA_ASSERT_SPAN(koda_strlist_get(&texts, i), text);
		assert_string_equal(koda_strlist_get(&texts, i).ptr, text); /* terminated */
	}
	assert_null(koda_strlist_get(&texts, 300).ptr);
	assert_null(koda_strlist_get(&texts, SIZE_MAX).ptr);
}

static void equal_and_empty_entries_are_kept(void **state)
{
	koda_auto_strlist struct koda_strlist texts = KODA_STRLIST_INIT(LOOSE);

	(void)state;
	assert_int_equal(add(&texts, "a"), KODA_OK);
	assert_int_equal(koda_strlist_add(&texts, (struct koda_span){ NULL, 0 }), KODA_OK);
	assert_int_equal(add(&texts, "a"), KODA_OK);
	assert_int_equal(texts.count, 3);
	KODA_ASSERT_SPAN(koda_strlist_get(&texts, 1), "");
	KODA_ASSERT_SPAN(koda_strlist_get(&texts, 2), "a");
}

static void a_full_list_takes_nothing_and_keeps_its_ceiling(void **state)
{
	koda_auto_strlist struct koda_strlist texts = KODA_STRLIST_INIT(4);

	(void)state;
	assert_int_equal(add(&texts, "ab"), KODA_OK);
	assert_int_equal(add(&texts, "c"), KODA_E_LIMIT);
	assert_int_equal(texts.count, 1);
	KODA_ASSERT_SPAN(koda_strlist_get(&texts, 0), "ab");
	koda_strlist_clear(&texts);
	assert_int_equal(texts.count, 0);
	assert_int_equal(add(&texts, "abcd"), KODA_E_LIMIT);
	assert_int_equal(add(&texts, "abc"), KODA_OK);
}

static void reserved_room_is_enough(void **state)
{
	koda_auto_strlist struct koda_strlist texts = KODA_STRLIST_INIT(LOOSE);
	const size_t *starts;
	const char *bytes;

	(void)state;
	assert_int_equal(add(&texts, "abc"), KODA_OK);
	assert_int_equal(koda_strlist_reserve(&texts, SIZE_MAX, 0), KODA_E_LIMIT);
	assert_int_equal(koda_strlist_reserve(&texts, 0, LOOSE), KODA_E_LIMIT);
	assert_int_equal(koda_strlist_reserve(&texts, 1000, 4000), KODA_OK);
	starts = texts.starts;
	bytes = texts.bytes.ptr;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(add(&texts, "def"), KODA_OK);
	assert_ptr_equal(texts.starts, starts);
	assert_ptr_equal(texts.bytes.ptr, bytes);
	KODA_ASSERT_SPAN(koda_strlist_get(&texts, 0), "abc");
	KODA_ASSERT_SPAN(koda_strlist_get(&texts, 1000), "def");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_come_back_in_order),
		cmocka_unit_test(equal_and_empty_entries_are_kept),
		cmocka_unit_test(a_full_list_takes_nothing_and_keeps_its_ceiling),
		cmocka_unit_test(reserved_room_is_enough),
	};

	return KODA_TEST_RUN(tests);
}
