/* SPDX-License-Identifier: MIT */
/*
 * T-106. For random policies: what the file worker reads and writes is what the rules allow, which
 * `policy check` prints, and what a command in the sandbox can read and write.
 */
#include "koda_test.h"

#include "../lib/commands.h"
#include "run/sandbox.h"

#include <koda/fs.h>

#define ROUNDS 4
#define DIRS   3
#define FILES  2

/* Files are NAME/NAME/FILE below the root. */
#define COUNT (DIRS * DIRS * FILES)

static void name_file(char path[PATH_MAX], const char *root, size_t i)
{
	(void)snprintf(path, PATH_MAX, "%s/d%zu/e%zu/f%zu", root, i / FILES / DIRS,
		       i / FILES % DIRS, i % FILES);
}

static void make_tree(const char *root)
{
	char name[64];

	for (size_t i = 0; i < DIRS; i++) {
		(void)snprintf(name, sizeof(name), "d%zu", i);
		(void)koda_make_dir(root, name);
	}
	for (size_t i = 0; i < DIRS * DIRS; i++) {
		(void)snprintf(name, sizeof(name), "d%zu/e%zu", i / DIRS, i % DIRS);
		(void)koda_make_dir(root, name);
	}
	for (size_t i = 0; i < COUNT; i++) {
		(void)snprintf(name, sizeof(name), "d%zu/e%zu/f%zu", i / FILES / DIRS,
			       i / FILES % DIRS, i % FILES);
		(void)koda_make_file(root, name, "text\n");
	}
}

/* Adds up to most random files and directories. */
static void add_some(struct koda_policy *policy, enum koda_list list, size_t most, const char *root,
		     struct koda_rng *rng)
{
	struct koda_error err = { 0 };
	char path[PATH_MAX];

	for (size_t n = koda_rng_below(rng, most + 1); n > 0; n--) {
		name_file(path, root, koda_rng_below(rng, COUNT));
		for (size_t up = koda_rng_below(rng, 3); up > 0; up--)
			*strrchr(path, '/') = '\0';
		KODA_ASSERT_OK(koda_policy_add(policy, list, path, strlen(path), &err), err);
	}
}

static struct koda_sandbox *open_randomly(const char *root, struct koda_rng *rng)
{
	struct koda_sandbox_options options = { .size = sizeof(options),
						.trust = KODA_TRUST_AUTO,
						.root = root,
						.host_env = koda_test_env };
	struct koda_policy *policy = NULL;
	struct koda_sandbox *sandbox = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_policy_new(&policy, &err), err);
	add_some(policy, KODA_LIST_ALLOW_WRITE, 4, root, rng);
	add_some(policy, KODA_LIST_DENY_READ, 3, root, rng);
	add_some(policy, KODA_LIST_ALLOW_READ_WITHIN_DENY, 2, root, rng);
	add_some(policy, KODA_LIST_DENY_WRITE_WITHIN_ALLOW, 2, root, rng);
	options.policy = policy;
	KODA_ASSERT_OK(koda_sandbox_open(&options, &sandbox, &err), err);
	koda_policy_free(policy);
	return sandbox;
}

static bool can(struct koda_fs *fs, enum koda_fs_op op, const char *path)
{
	const struct koda_fs_request request = { .size = sizeof(request),
						 .op = op,
						 .path = { path, strlen(path) },
						 .flags = op == KODA_FS_OP_WRITE ? KODA_FS_IN_PLACE
										 : 0,
						 .content = { "text\n", 5 } };
	const struct koda_fs_reply *reply;
	struct koda_error err = { 0 };
	int r = koda_fs_call(fs, &request, &reply, &err);

	if (r < 0 && r != KODA_E_DENIED)
		fail_msg("%s %s: %s", koda_fs_op_name(op), path, err.message);
	return r == KODA_OK;
}

/* One of "rw", "r-" and "--" for each file, in their order. */
static const char attempts[] = "for d in d0 d1 d2; do for e in e0 e1 e2; do for f in f0 f1; do "
			       "if cat $d/$e/$f >/dev/null 2>&1; then r=r; else r=-; fi; "
			       "if { echo text >>$d/$e/$f; } 2>/dev/null; then w=w; else w=-; fi; "
			       "printf %s $r$w; done; done; done";

static void compare(const char *root, struct koda_rng *rng)
{
	struct koda_sandbox *sandbox = open_randomly(root, rng);
	struct koda_error err = { 0 };
	struct koda_command *command;
	struct koda_span by_command;
	struct koda_fs *fs = NULL;
	char path[PATH_MAX];

	KODA_ASSERT_OK(koda_fs_open(sandbox, NULL, &fs, &err), err);
	command = koda_test_run(sandbox, &KODA_SHELL(attempts), 0);
	by_command = koda_command_output(command, 1);
	assert_int_equal(by_command.len, 2 * COUNT);
	for (size_t i = 0; i < COUNT; i++) {
		bool reads, writes;

		name_file(path, root, i);
		reads = koda_rules_read(sandbox->rules, path, strlen(path)).answer == KODA_ALLOW;
		writes = koda_rules_write(sandbox->rules, path, strlen(path)).answer == KODA_ALLOW;
		KODA_EXPECT(path, (by_command.ptr[2 * i] == 'r') == reads);
		KODA_EXPECT(path, (by_command.ptr[2 * i + 1] == 'w') == writes);
		KODA_EXPECT(path, can(fs, KODA_FS_OP_READ, path) == reads);
		KODA_EXPECT(path, can(fs, KODA_FS_OP_WRITE, path) == writes);
	}
	koda_command_free(command);
	koda_fs_close(fs);
	koda_sandbox_close(sandbox);
}

static void worker_rules_and_commands_agree(void **state)
{
	struct koda_rng rng = koda_rng_new();

	make_tree(*state);
	for (int i = 0; i < ROUNDS; i++)
		compare(*state, &rng);
}

int main(void)
{
	const struct CMUnitTest tests[] = { KODA_SCRATCH_TEST(worker_rules_and_commands_agree) };

	(void)alarm(KODA_TOO_LONG_SECS);
	return KODA_TEST_RUN(tests);
}
