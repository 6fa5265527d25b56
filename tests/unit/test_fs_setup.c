/* SPDX-License-Identifier: MIT */
/* The set-up record of the file worker: what is written is read, and nothing else. */
#include "koda_test.h"

#include "wire/fs_setup.h"

static struct koda_fs_setup some(void)
{
	return (struct koda_fs_setup){
		.roots = { koda_span_of("/p/\xff\nq"), koda_span_of("/") },
		.root_count = 2,
		.env_names = { "A\0B", 4 },
		.rules = { "\0\1\2", 3 },
		.link_depth = 8,
	};
}

static void a_record_comes_back(void **state)
{
	koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT(KODA_FS_SETUP_MAX);
	struct koda_fs_setup setup = some();
	struct koda_fs_setup back;

	(void)state;
	assert_int_equal(koda_fs_setup_add(&bytes, &setup), KODA_OK);
	assert_true(koda_fs_setup_read(koda_buf_span(&bytes), &back));
	assert_int_equal(back.root_count, 2);
	assert_true(koda_span_eq(back.roots[0], setup.roots[0]));
	assert_true(koda_span_eq(back.roots[1], setup.roots[1]));
	assert_true(koda_span_eq(back.env_names, setup.env_names));
	assert_true(koda_span_eq(back.rules, setup.rules));
	assert_int_equal(back.link_depth, 8);
}

static void every_other_length_is_refused(void **state)
{
	koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT(KODA_FS_SETUP_MAX);
	struct koda_fs_setup setup = some();
	struct koda_fs_setup back;

	(void)state;
	assert_int_equal(koda_fs_setup_add(&bytes, &setup), KODA_OK);
	for (size_t len = 0; len < bytes.len; len++)
		assert_false(koda_fs_setup_read((struct koda_span){ bytes.ptr, len }, &back));
	assert_int_equal(koda_buf_add(&bytes, "", 1), KODA_OK);
	assert_false(koda_fs_setup_read(koda_buf_span(&bytes), &back));
}

static void unsound_records_are_not_written(void **state)
{
	koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT(KODA_FS_SETUP_MAX);
	struct koda_fs_setup rows[8];

	(void)state;
	KODA_EACH(row, rows)
		*row = some();
	rows[0].root_count = 0;
	rows[1].root_count = KODA_FS_ROOTS_MAX + 1;
	rows[2].roots[1] = koda_span_of("p");
	rows[3].roots[1] = koda_span_of("/p/../q");
	rows[4].roots[0] = koda_span_of("");
	rows[5].link_depth = 0;
	rows[6].link_depth = 41;
	rows[7].env_names.len = 3;
	KODA_EACH(row, rows)
		assert_int_equal(koda_fs_setup_add(&bytes, row), KODA_E_INVALID);
	assert_int_equal(bytes.len, 0);
}

/* A byte that is changed is refused or changes what is read; it is never passed over. */
static void no_byte_is_ignored(void **state)
{
	koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT(KODA_FS_SETUP_MAX);
	koda_auto_buf struct koda_buf again = KODA_BUF_INIT(KODA_FS_SETUP_MAX);
	struct koda_fs_setup setup = some();

	(void)state;
	assert_int_equal(koda_fs_setup_add(&bytes, &setup), KODA_OK);
	for (size_t i = 0; i < bytes.len; i++) {
		struct koda_fs_setup back;

		bytes.ptr[i] ^= 1;
		if (koda_fs_setup_read(koda_buf_span(&bytes), &back)) {
			again.len = 0;
			assert_int_equal(koda_fs_setup_add(&again, &back), KODA_OK);
			assert_true(koda_span_eq(koda_buf_span(&again), koda_buf_span(&bytes)));
		}
		bytes.ptr[i] ^= 1;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_comes_back),
		cmocka_unit_test(every_other_length_is_refused),
		cmocka_unit_test(unsound_records_are_not_written),
		cmocka_unit_test(no_byte_is_ignored),
	};

	return KODA_TEST_RUN(tests);
}
