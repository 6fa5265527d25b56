/* SPDX-License-Identifier: MIT */
/* The policy's own word on commands is kept by the library, whoever calls it. */
#include "koda_test.h"

#include <koda/koda.h>
#include <stdlib.h>
#include <unistd.h>

static int start_with(struct koda_sandbox_options options, enum koda_ask ask, bool approved)
{
	char root[] = "/var/tmp/koda-approval-XXXXXX";
	const char *const argv[] = { "true", NULL };
	const char *const env[] = { "HOME=/nonexistent", NULL };
	const struct koda_command_options what = { .size = sizeof(what),
						   .argv = argv,
						   .approved = approved };
	struct koda_sandbox *sandbox = NULL;
	struct koda_command *command = NULL;
	struct koda_policy *policy = NULL;
	struct koda_outcome outcome = { .size = sizeof(outcome), .code = -1 };
	int r;

	assert_non_null(mkdtemp(root));
	assert_int_equal(koda_policy_for_trust(options.trust, root, &policy, NULL), KODA_OK);
	koda_policy_set_ask(policy, ask);
	options.size = sizeof(options);
	options.root = root;
	options.host_env = env;
	options.policy = policy;
	assert_int_equal(koda_sandbox_open(&options, &sandbox, NULL), KODA_OK);
	r = koda_sandbox_start(sandbox, &what, &command, NULL);
	if (r == KODA_OK) {
		assert_int_equal(koda_command_wait(command, &outcome, NULL), KODA_OK);
		assert_int_equal(outcome.end, KODA_END_EXITED);
	}
	koda_command_free(command);
	koda_sandbox_close(sandbox);
	koda_policy_free(policy);
	assert_int_equal(rmdir(root), 0);
	return r;
}

static int start(enum koda_ask ask, bool approved)
{
	return start_with((struct koda_sandbox_options){ .trust = KODA_TRUST_AUTO }, ask, approved);
}

static int start_bare(enum koda_trust trust, enum koda_ask ask, bool approved)
{
	return start_with((struct koda_sandbox_options){ .trust = trust, .no_sandbox = true }, ask,
			  approved);
}

static void test_approval(void **state)
{
	(void)state;
	assert_int_equal(start(KODA_ASK_AUTO, false), KODA_OK);
	assert_int_equal(start(KODA_ASK_REQUIRE, false), KODA_E_DENIED);
	assert_int_equal(start(KODA_ASK_REQUIRE, true), KODA_OK);
	assert_int_equal(start(KODA_ASK_FORBID, false), KODA_E_DENIED);
	assert_int_equal(start(KODA_ASK_FORBID, true), KODA_E_DENIED);
}

/* Plan's own policy asks for none: in a sandbox it changes nothing. */
static void nothing_runs_unasked_without_a_sandbox(void **state)
{
	(void)state;
	assert_int_equal(start_bare(KODA_TRUST_PLAN, KODA_ASK_AUTO, false), KODA_E_DENIED);
	assert_int_equal(start_bare(KODA_TRUST_PLAN, KODA_ASK_AUTO, true), KODA_OK);
	assert_int_equal(start_bare(KODA_TRUST_SAFE, KODA_ASK_AUTO, false), KODA_E_DENIED);
	assert_int_equal(start_bare(KODA_TRUST_SAFE, KODA_ASK_FORBID, true), KODA_E_DENIED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_approval),
		cmocka_unit_test(nothing_runs_unasked_without_a_sandbox),
	};

	return KODA_TEST_RUN(tests);
}
