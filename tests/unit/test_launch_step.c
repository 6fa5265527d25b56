/* SPDX-License-Identifier: MIT */
/* The table of launch steps: every number has a text of its own, and a meaning. */
#include "koda_test.h"

#include "wire/launch_step.h"

static void every_step_has_a_text_of_its_own(void **state)
{
	(void)state;
	for (uint32_t step = KODA_LAUNCH_NONE + 1; step < KODA_LAUNCH_STEP_COUNT; step++) {
		const char *text = koda_launch_step_text(step);

		assert_non_null(text);
		assert_true(text[0] != '\0');
		for (uint32_t other = step + 1; other < KODA_LAUNCH_STEP_COUNT; other++)
			assert_string_not_equal(text, koda_launch_step_text(other));
	}
}

static void what_is_no_step_has_no_text(void **state)
{
	static const uint32_t numbers[] = { KODA_LAUNCH_NONE, KODA_LAUNCH_STEP_COUNT, UINT32_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		assert_string_equal(koda_launch_step_text(numbers[i]), "");
		assert_int_equal(koda_launch_step_meaning(numbers[i]), KODA_LAUNCH_MEANS_UNRELATED);
	}
}

/* The runner goes to the next backend for these steps, and for no others. */
static void the_steps_that_need_namespaces_say_so(void **state)
{
	static const enum koda_launch_step denied[] = {
		KODA_LAUNCH_MAP_USER,     KODA_LAUNCH_FS_OPEN,         KODA_LAUNCH_FS_CREATE,
		KODA_LAUNCH_FS_MOUNT,     KODA_LAUNCH_CHANGE_VIEW,     KODA_LAUNCH_DEVICE_CLONE,
		KODA_LAUNCH_NET_LOOPBACK, KODA_LAUNCH_MOUNT_READ_ONLY, KODA_LAUNCH_HOST_NAME,
	};
	size_t count = 0;

	(void)state;
	assert_int_equal(koda_launch_step_meaning(KODA_LAUNCH_CREATE_NAMESPACES),
			 KODA_LAUNCH_MEANS_NO_NAMESPACES);
	assert_int_equal(koda_launch_step_meaning(KODA_LAUNCH_NET_CREATE),
			 KODA_LAUNCH_MEANS_NO_NAMESPACES);
	for (size_t i = 0; i < sizeof(denied) / sizeof(denied[0]); i++)
		assert_int_equal(koda_launch_step_meaning(denied[i]), KODA_LAUNCH_MEANS_IF_DENIED);
	for (uint32_t step = 0; step < KODA_LAUNCH_STEP_COUNT; step++)
		count += koda_launch_step_meaning(step) != KODA_LAUNCH_MEANS_UNRELATED;
	assert_int_equal(count, 2 + sizeof(denied) / sizeof(denied[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_step_has_a_text_of_its_own),
		cmocka_unit_test(what_is_no_step_has_no_text),
		cmocka_unit_test(the_steps_that_need_namespaces_say_so),
	};

	return KODA_TEST_RUN(tests);
}
