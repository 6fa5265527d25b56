/* SPDX-License-Identifier: MIT */
/* Opening a sandbox and planning a command when memory runs out: an error, never a plan with a line
 * less. */
#include "../lib/exhaust.h"

#include "../lib/scratch.h"
#include "run/sandbox.h"

static void *scratch;
static char root[PATH_MAX];
static char home_entry[PATH_MAX + 8];

/* Some of everything that a plan is made from: rules, links, repositories, missing names. */
static int make_policy(struct koda_policy **ret_policy, struct koda_error *err)
{
	static const struct {
		enum koda_list list;
		const char *below;
	} rules[] = {
		{ KODA_LIST_DENY_READ, "secret" },
		{ KODA_LIST_DENY_READ, "veiled" },
		{ KODA_LIST_ALLOW_READ_WITHIN_DENY, "veiled/hole" },
		{ KODA_LIST_DENY_WRITE_WITHIN_ALLOW, "link/below" },
		{ KODA_LIST_DENY_WRITE_WITHIN_ALLOW, "not/yet" },
	};
	int r = koda_policy_for_trust(KODA_TRUST_AUTO, root, ret_policy, err);

	KODA_EACH(rule, rules) {
		const char *path = koda_in(root, rule->below);

		if (r == KODA_OK)
			r = koda_policy_add(*ret_policy, rule->list, path, strlen(path), err);
	}
	return r;
}

static int open_sandbox(struct koda_sandbox **ret_sandbox, struct koda_error *err)
{
	const char *const env[] = { home_entry, "PATH=/usr/bin:/bin", NULL };
	struct koda_policy *policy = NULL;
	int r = make_policy(&policy, err);

	if (r == KODA_OK) {
		const struct koda_sandbox_options options = { .size = sizeof(options),
							      .trust = KODA_TRUST_AUTO,
							      .root = root,
							      .policy = policy,
							      .host_env = env };

		r = koda_sandbox_open(&options, ret_sandbox, err);
	}
	koda_policy_free(policy);
	return r;
}

static int open_only(void **ret, struct koda_error *err)
{
	struct koda_sandbox *sandbox = NULL;
	int r = open_sandbox(&sandbox, err);

	if (r == KODA_OK)
		*ret = sandbox;
	return r;
}

static bool same_policy(const void *ret, const void *undisturbed)
{
	return koda_policy_equal(koda_sandbox_policy(ret), koda_sandbox_policy(undisturbed));
}

static void release_sandbox(void *ret)
{
	koda_sandbox_close(ret);
}

static int plan_with(const struct koda_command_options *options, void **ret, struct koda_error *err)
{
	struct koda_sandbox *sandbox = NULL;
	char *text = NULL;
	int r = open_sandbox(&sandbox, err);

	if (r == KODA_OK)
		r = koda_sandbox_plan(sandbox, options, &text, err);
	if (r == KODA_OK)
		*ret = text;
	koda_sandbox_close(sandbox);
	return r;
}

static int plan_shell(void **ret, struct koda_error *err)
{
	return plan_with(
		&(struct koda_command_options){ .size = sizeof(struct koda_command_options),
						.shell = "true" },
		ret, err);
}

static int plan_program(void **ret, struct koda_error *err)
{
	static const char *const argv[] = { "printf", "%s", "a\nb", NULL };

	return plan_with(
		&(struct koda_command_options){ .size = sizeof(struct koda_command_options),
						.argv = argv,
						.max_processes = 7 },
		ret, err);
}

/* Other programs' sockets come and go. */
static size_t skip_socket(const char *text)
{
	size_t len = strcspn(text, "\n");
	const char *why = memmem(text, len, "a socket of the host", 20);

	return why ? len + 1 : 0;
}

static bool same_text(const void *ret, const void *undisturbed)
{
	const char *a = ret;
	const char *b = undisturbed;

	for (;;) {
		size_t len;

		while (skip_socket(a))
			a += skip_socket(a);
		while (skip_socket(b))
			b += skip_socket(b);
		len = strcspn(a, "\n");
		if (len != strcspn(b, "\n") || memcmp(a, b, len) != 0)
			return false;
		if (!a[len] || !b[len])
			return a[len] == b[len];
		a += len + 1;
		b += len + 1;
	}
}

/* Starting a command that never gets that far: nothing is spawned without a plan. */
static int start(void **ret, struct koda_error *err)
{
	const struct koda_command_options options = { .size = sizeof(options), .shell = "true" };
	struct koda_sandbox *sandbox = NULL;
	struct koda_command *command = NULL;
	int r = open_sandbox(&sandbox, err);

	if (r == KODA_OK)
		r = koda_sandbox_start(sandbox, &options, &command, err);
	koda_sandbox_close(sandbox);
	if (r == KODA_OK)
		*ret = command;
	return r;
}

static bool any(const void *ret, const void *undisturbed)
{
	return ret && undisturbed;
}

static void release_command(void *ret)
{
	koda_command_free(ret);
}

static const struct koda_exhaust entries[] = {
	{ "koda_sandbox_open", open_only, same_policy, release_sandbox, .only_dry = true },
	{ "koda_sandbox_plan, a shell", plan_shell, same_text, free, .only_dry = true },
	{ "koda_sandbox_plan, a program", plan_program, same_text, free },
	{ "koda_sandbox_start", start, any, release_command, .only_dry = true },
};

static int setup(void **state)
{
	(void)state;
	if (koda_scratch_setup(&scratch) < 0)
		return -1;
	(void)snprintf(root, sizeof(root), "%s/project", (const char *)scratch);
	(void)snprintf(home_entry, sizeof(home_entry), "HOME=%s/home", (const char *)scratch);
	(void)koda_make_dir(scratch, "home");
	(void)koda_make_dir(scratch, "project");
	(void)koda_make_dir(root, "veiled");
	(void)koda_make_dir(root, "veiled/hole");
	(void)koda_make_dir(root, "real");
	(void)koda_make_dir(root, ".git");
	(void)koda_make_dir(root, ".git/hooks");
	(void)koda_make_dir(root, "nested");
	(void)koda_make_dir(root, "nested/.git");
	(void)koda_make_file(root, "secret", "x");
	(void)koda_make_link(root, "link", "real");
	(void)koda_make_link(root, ".vscode", "real");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return koda_scratch_teardown(&scratch);
}

#define ENTRIES (sizeof(entries) / sizeof(entries[0]))

int main(void)
{
	struct CMUnitTest tests[ENTRIES];

	for (size_t i = 0; i < ENTRIES; i++)
		tests[i] = KODA_EXHAUST_TEST(&entries[i]);
	return cmocka_run_group_tests(tests, setup, teardown);
}
