/* SPDX-License-Identifier: MIT */
/*
 * The look at a project before each command but the first. File systems answer when they like:
 * while one keeps a command waiting, the host's other threads change rules and run commands.
 */
#include "koda_test.h"

#include "../lib/scratch.h"
#include "run/sandbox.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <time.h>

#define PATIENCE_SECS 60

/* A file system that does not answer: whoever reads this link waits until he is let go. */
static struct {
	atomic_bool shut;
	sem_t reached;
	sem_t let_go;
} gate;

ssize_t readlinkat(int dir, const char *restrict name, char *restrict target, size_t size)
{
	if (atomic_load(&gate.shut) && strcmp(name, "slow") == 0) {
		(void)sem_post(&gate.reached);
		while (sem_wait(&gate.let_go) < 0)
			;
	}
	return syscall(SYS_readlinkat, dir, name, target, size);
}

static struct timespec patience(void)
{
	struct timespec until;

	assert_int_equal(clock_gettime(CLOCK_REALTIME, &until), 0);
	until.tv_sec += PATIENCE_SECS;
	return until;
}

/* What a thread does, and how it went. */
struct act {
	pthread_t thread;
	struct koda_sandbox *sandbox;
	const struct koda_policy *policy;
	int result;
	struct koda_error err;
};

static void *run_true(void *arg)
{
	static const char *const argv[] = { "true", NULL };
	const struct koda_command_options what = { .size = sizeof(what), .argv = argv };
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_command *command = NULL;
	struct act *act = arg;

	act->result = koda_sandbox_start(act->sandbox, &what, &command, &act->err);
	if (act->result == KODA_OK)
		act->result = koda_command_wait(command, &outcome, &act->err);
	koda_command_free(command);
	if (act->result == KODA_OK && outcome.end != KODA_END_EXITED)
		act->result = KODA_E_CHILD;
	return NULL;
}

static void *set_network(void *arg)
{
	struct act *act = arg;

	act->result = koda_sandbox_set_network(act->sandbox, act->policy, &act->err);
	return NULL;
}

static void start(struct act *act, void *(*what)(void *))
{
	assert_int_equal(pthread_create(&act->thread, NULL, what, act), 0);
}

static bool has_ended(struct act *act)
{
	struct timespec until = patience();

	return pthread_timedjoin_np(act->thread, NULL, &until) == 0;
}

static struct koda_sandbox *open_with(const struct koda_policy *policy, const char *root)
{
	static const char *const env[] = { "PATH=/usr/bin:/bin", "HOME=/nonexistent", NULL };
	const struct koda_sandbox_options options = { .size = sizeof(options),
						      .trust = KODA_TRUST_AUTO,
						      .root = root,
						      .policy = policy,
						      .host_env = env };
	struct koda_sandbox *sandbox = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_sandbox_open(&options, &sandbox, &err), err);
	return sandbox;
}

static struct koda_policy *policy_for(const char *root, const char *denied)
{
	struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_policy_for_trust(KODA_TRUST_AUTO, root, &policy, &err), err);
	KODA_ASSERT_OK(koda_policy_add(policy, KODA_LIST_ALLOWED_DOMAINS, "example.com", 11, &err),
		       err);
	if (denied)
		KODA_ASSERT_OK(
			koda_policy_add(policy, KODA_LIST_DENY_READ, denied, strlen(denied), &err),
			err);
	return policy;
}

static void nobody_waits_for_another_look(void **state)
{
	const char *root = koda_make_dir(*state, "project");
	const char *link = koda_in(*state, "project/slow");
	struct koda_policy *policy = policy_for(root, link);
	struct koda_policy *plain = policy_for(root, NULL);
	struct koda_sandbox *sandbox = open_with(policy, root);
	struct koda_sandbox *other = open_with(plain, root);
	struct act first = { .sandbox = sandbox };
	struct act slow = { .sandbox = sandbox };
	struct act acts[] = { { .sandbox = sandbox, .policy = plain },
			      { .sandbox = other, .policy = plain },
			      { .sandbox = other } };
	bool ended[KODA_ARRAY_LEN(acts)];
	struct timespec until;

	(void)koda_make_dir(*state, "project/there");
	assert_int_equal(symlink("there", link), 0);
	assert_int_equal(sem_init(&gate.reached, 0, 0), 0);
	assert_int_equal(sem_init(&gate.let_go, 0, 0), 0);
	/* The proxy that all share is there once a command has had a way out. */
	(void)run_true(&first);
	KODA_ASSERT_OK(first.result, first.err);
	assert_non_null(sandbox->net.proxy);

	atomic_store(&gate.shut, true);
	start(&slow, run_true);
	until = patience();
	assert_int_equal(sem_timedwait(&gate.reached, &until), 0);
	/* The other one has no such link in its policy. */
	for (size_t i = 0; i < KODA_ARRAY_LEN(acts); i++) {
		start(&acts[i], acts[i].policy ? set_network : run_true);
		ended[i] = has_ended(&acts[i]);
	}
	atomic_store(&gate.shut, false);
	assert_int_equal(sem_post(&gate.let_go), 0);
	assert_true(has_ended(&slow));
	KODA_ASSERT_OK(slow.result, slow.err);
	for (size_t i = 0; i < KODA_ARRAY_LEN(acts); i++) {
		if (!ended[i])
			fail_msg("act %zu waited for the file system", i);
		KODA_ASSERT_OK(acts[i].result, acts[i].err);
	}
	koda_sandbox_close(sandbox);
	koda_sandbox_close(other);
	koda_policy_free(policy);
	koda_policy_free(plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(nobody_waits_for_another_look),
	};

	return KODA_TEST_RUN(tests);
}
