/* SPDX-License-Identifier: MIT */
/* T-48. The way down to a backend that works is gone once, and not for every command. */
#include "koda_test.h"

#include "../lib/scratch.h"
#include "base/macros.h"
#include "run/fallback.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* From here on nobody makes user namespaces, not even bubblewrap: as in most containers. */
static void lose_namespaces(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWUSER, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = { KODA_ARRAY_LEN(code), code };

	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
}

static void what_works_is_remembered(void **state)
{
	static const char *const env[] = { "PATH=/usr/bin:/bin", "HOME=/nonexistent", NULL };
	static const enum koda_clause without[] = { KODA_CLAUSE_MISSING_NAMES,
						    KODA_CLAUSE_PRIVATE_DIRS,
						    KODA_CLAUSE_SECOND_LAYER };
	const struct koda_sandbox_options options = { .size = sizeof(options),
						      .trust = KODA_TRUST_SAFE,
						      .root = *state,
						      .host_env = env,
						      .accept = without,
						      .accept_count = KODA_ARRAY_LEN(without) };
	const struct koda_command_options what = { .size = sizeof(what),
						   .shell = "exit 7",
						   .approved = true };
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_sandbox *sandbox = NULL;
	struct koda_command *command = NULL;
	struct koda_error err = { 0 };

	lose_namespaces();
	KODA_ASSERT_OK(koda_sandbox_open(&options, &sandbox, &err), err);
	KODA_ASSERT_OK(koda_sandbox_start(sandbox, &what, &command, &err), err);
	KODA_ASSERT_OK(koda_command_wait(command, &outcome, &err), err);
	koda_command_free(command);
	assert_int_equal(outcome.code, 7);
	assert_ptr_equal(sandbox->backend, &koda_backend_landlock);
	/* That bubblewrap did not work says nothing about what did. */
	assert_true(sandbox->backend_verified);
	assert_false(atomic_load(&sandbox->backend_suspect));
	koda_sandbox_close(sandbox);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(what_works_is_remembered),
	};

	return KODA_TEST_RUN(tests);
}
