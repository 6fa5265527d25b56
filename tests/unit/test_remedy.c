/* SPDX-License-Identifier: MIT */
/* Remedies: the one of a failure, or the one of its errno, and never both. */
#include "koda_test.h"

#include "run/project/remedy.h"
#include "wire/launch_step.h"

#include <errno.h>

#define FIRST KODA_FAILURE_BWRAP_MISSING
#define LAST  KODA_FAILURE_START

static struct koda_error failed_with(int sys_errno)
{
	return (struct koda_error){ .code = KODA_E_SYS,
				    .sys_errno = sys_errno,
				    .message = "it failed" };
}

/* Number of remedies in a message. */
static int remedies_in(const struct koda_error *err)
{
	int count = 0;

	assert_int_equal(strncmp(err->message, "it failed", 9), 0);
	for (const char *at = err->message; (at = strstr(at, "; ")); at += 2)
		count++;
	return count;
}

static void every_failure_has_a_remedy(void **state)
{
	(void)state;
	for (int failure = FIRST; failure <= LAST; failure++) {
		/* Whether a helper program can be started depends on the errno alone. */
		struct koda_error err = failed_with(failure == KODA_FAILURE_START ? ENOENT : 0);

		koda_remedy_add_for(&err, (enum koda_failure)failure);
		koda_remedy_add(&err); /* of a caller */
		assert_int_equal(remedies_in(&err), 1);
	}
}

static void the_errno_decides_first(void **state)
{
	static const struct {
		enum koda_failure failure;
		int sys_errno;
		const char *remedy;
	} rows[] = {
		{ KODA_FAILURE_ROOT, ENOENT, "make it first" },
		{ KODA_FAILURE_ROOT, EACCES, "; name another" },
		{ KODA_FAILURE_ROOT, EMFILE, "limit of open files" },
		{ KODA_FAILURE_START, ENOENT, "the launcher is missing" },
		{ KODA_FAILURE_START, EACCES, "cannot be executed" },
		{ KODA_FAILURE_START, EAGAIN, "too many processes" },
		{ KODA_FAILURE_SOCKET_TABLE, ENOSYS, "a filter hides its calls" },
	};

	(void)state;
	KODA_EACH(row, rows) {
		struct koda_error err = failed_with(row->sys_errno);

		koda_remedy_add_for(&err, row->failure);
		koda_remedy_add(&err);
		KODA_EXPECT(row->remedy, strstr(err.message, row->remedy));
		assert_non_null(strstr(err.message, row->remedy));
		assert_true(remedies_in(&err) >= 1);
		assert_null(strstr(strstr(err.message, row->remedy) + 1, row->remedy));
	}
}

/* The text of a message means nothing: only the failure that the caller names does. */
static void words_of_a_message_mean_nothing(void **state)
{
	static const char *const texts[] = { "bubblewrap is not installed",
					     "the project root cannot be used", "cannot start" };

	(void)state;
	KODA_EACH(text, texts) {
		struct koda_error err = { .code = KODA_E_SYS, .sys_errno = ENOENT };

		(void)snprintf(err.message, sizeof(err.message), "%s", *text);
		koda_remedy_add(&err);
		assert_string_equal(err.message, *text);
	}
}

static void a_step_has_its_own_or_that_of_its_errno(void **state)
{
	static const struct {
		enum koda_launch_step step;
		int sys_errno;
		const char *remedy; /* NULL: none */
	} rows[] = {
		{ KODA_LAUNCH_CREATE_NAMESPACES, ENOSPC, "user.max_user_namespaces" },
		{ KODA_LAUNCH_CREATE_NAMESPACES, EPERM, "switched off" },
		{ KODA_LAUNCH_RESERVE, EROFS, "--read-only" },
		{ KODA_LAUNCH_OPEN, EMFILE, "limit of open files" },
		{ KODA_LAUNCH_OPEN, EIO, NULL },
	};

	(void)state;
	KODA_EACH(row, rows) {
		struct koda_error err = failed_with(row->sys_errno);

		koda_remedy_add_for_step(&err, row->step);
		if (row->remedy)
			assert_non_null(strstr(err.message, row->remedy));
		else
			assert_int_equal(remedies_in(&err), 0);
	}
}

/* A remedy that would be cut off is left out. */
static void a_full_message_stays_as_it_is(void **state)
{
	struct koda_error err = failed_with(ENOMEM);
	struct koda_error before;

	(void)state;
	memset(err.message, 'x', sizeof(err.message) - 1);
	before = err;
	koda_remedy_add(&err);
	koda_remedy_add_for(&err, KODA_FAILURE_ROOT);
	koda_remedy_add_for_step(&err, KODA_LAUNCH_CHECK_VIEW);
	assert_string_equal(err.message, before.message);
	koda_remedy_add(NULL);
	koda_remedy_add_for(NULL, KODA_FAILURE_ROOT);
	koda_remedy_add_for_step(NULL, KODA_LAUNCH_CHECK_VIEW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_failure_has_a_remedy),
		cmocka_unit_test(the_errno_decides_first),
		cmocka_unit_test(words_of_a_message_mean_nothing),
		cmocka_unit_test(a_step_has_its_own_or_that_of_its_errno),
		cmocka_unit_test(a_full_message_stays_as_it_is),
	};

	return KODA_TEST_RUN(tests);
}
