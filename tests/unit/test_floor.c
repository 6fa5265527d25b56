/* SPDX-License-Identifier: MIT */
/* T-01. The floor's tables, entry by entry: refused under the widest policy, and the twin next to
 * each entry allowed, so that a floor which refuses everything cannot pass. */
#include "koda_test.h"

#include "policy/floor.h"
#include "policy/policy.h"

static const char *const exec_dirs[] = { "/usr/bin", "/home/u/bin", "/p/node_modules/.bin", NULL };
static const char *const git_dirs[] = { "/p/sub/.git", "/p/.git/modules/lib", "/elsewhere.git",
					NULL };
static const char *const git_files[] = { "/p/tree/.git", "/p/lib/.git", NULL };
static const char *const guarded[] = { "/p/linked", NULL };
static const char *const hidden[] = { "/p/other", NULL };

static const struct koda_place place = {
	.size = sizeof(place),
	.root = "/p",
	.home = "/home/u",
	.config_home = "/cfg",
	.state_home = "/state",
	.runtime_dir = "/run/user/1",
	.exec_dirs = exec_dirs,
	.git_dirs = git_dirs,
	.git_files = git_files,
	.readonly_aliases = guarded,
	.hidden = hidden,
};

/* Everything writable, everything readable, as far as a policy can say so. */
static struct koda_rules *open_rules(const struct koda_place *where, bool allow_git_config)
{
	struct koda_policy *policy = NULL;
	struct koda_rules *rules = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_policy_new(&policy, &err), err);
	KODA_ASSERT_OK(koda_policy_add(policy, KODA_LIST_ALLOW_WRITE, "/", 1, &err), err);
	KODA_ASSERT_OK(koda_policy_add(policy, KODA_LIST_ALLOW_READ_WITHIN_DENY, "/", 1, &err),
		       err);
	koda_policy_set_flag(policy, KODA_FLAG_ALLOW_GIT_CONFIG, allow_git_config);
	KODA_ASSERT_OK(koda_rules_new(policy, where, &rules, &err), err);
	koda_policy_free(policy);
	return rules;
}

static struct koda_verdict ask(const struct koda_rules *rules, bool write, const char *path)
{
	return write ? koda_rules_write(rules, path, strlen(path))
		     : koda_rules_read(rules, path, strlen(path));
}

/* path and what is below it: not writable, for this reason, by this very rule. */
static void expect_closed(const struct koda_rules *rules, const char *path, enum koda_reason why)
{
	char below[512];

	for (int deep = 0; deep < 2; deep++) {
		struct koda_verdict verdict;

		(void)snprintf(below, sizeof(below), "%s%s", path, deep ? "/x/y" : "");
		verdict = ask(rules, true, below);
		if (verdict.answer != KODA_DENY || verdict.reason != why)
			fail_msg("write %s: %d by %s", below, verdict.answer,
				 koda_reason_name(verdict.reason));
		KODA_ASSERT_SPAN(verdict.rule, path);
		KODA_EXPECT(below, (ask(rules, false, below).answer == KODA_ALLOW) ==
					   !(1U << why & KODA_FLOOR_HIDDEN));
	}
}

static void expect_open(const struct koda_rules *rules, const char *path)
{
	KODA_EXPECT(path, ask(rules, true, path).answer == KODA_ALLOW);
	KODA_EXPECT(path, ask(rules, false, path).answer == KODA_ALLOW);
}

/* dir/name is closed; a name one letter longer or shorter, or in other case, is not. */
static void expect_entry(const struct koda_rules *rules, const char *dir, const char *name,
			 enum koda_reason why)
{
	char path[512];
	size_t len = (size_t)snprintf(path, sizeof(path), "%s%s%s", dir, *dir ? "/" : "", name);

	expect_closed(rules, path, why);
	(void)snprintf(path + len, sizeof(path) - len, "x");
	expect_open(rules, path);
	path[len - 1] = '\0';
	expect_open(rules, path);
}

static void every_table_entry_is_closed_and_its_twin_open(void **state)
{
	static const struct {
		const char *const *table;
		const char *dir;
		enum koda_reason why;
	} rows[] = {
		{ koda_floor_home_dirs, "/home/u", KODA_REASON_CREDENTIALS },
		{ koda_floor_home_files, "/home/u", KODA_REASON_CREDENTIALS },
		{ koda_floor_config_dirs, "/cfg", KODA_REASON_CREDENTIALS },
		{ koda_floor_config_dirs, "/home/u/.config", KODA_REASON_CREDENTIALS },
		{ koda_floor_hidden_config, "/cfg", KODA_REASON_OWN_STATE },
		{ koda_floor_hidden_config, "/home/u/.config", KODA_REASON_OWN_STATE },
		{ koda_floor_policy_dirs, "/cfg", KODA_REASON_OWN_POLICY },
		{ koda_floor_policy_dirs, "/home/u/.config", KODA_REASON_OWN_POLICY },
		{ koda_floor_project_names, "/p", KODA_REASON_PROJECT_NAME },
		{ koda_floor_git_names, "/p/.git", KODA_REASON_GIT },
		{ koda_floor_git_names, "/p/sub/.git", KODA_REASON_GIT },
		{ koda_floor_git_names, "/p/.git/modules/lib", KODA_REASON_GIT },
		{ koda_floor_git_names, "/elsewhere.git", KODA_REASON_GIT },
		{ koda_floor_kernel_paths, "", KODA_REASON_KERNEL },
		{ exec_dirs, "", KODA_REASON_EXEC_DIR },
		{ git_files, "", KODA_REASON_GIT },
		{ guarded, "", KODA_REASON_OTHER_NAME },
		{ hidden, "", KODA_REASON_HIDDEN_NAME },
	};
	struct koda_rules *rules = open_rules(&place, false);

	(void)state;
	KODA_EACH(row, rows) {
		assert_non_null(row->table[0]);
		for (const char *const *name = row->table; *name; name++)
			expect_entry(rules, row->dir, *name, row->why);
	}
	koda_rules_free(rules);
}

static void own_state_is_hidden(void **state)
{
	static const char *const paths[] = { "/cfg/koda/db", "/home/u/.config/koda/db",
					     "/home/u/.local/state/koda", "/state/koda",
					     "/run/user/1/koda" };
	struct koda_rules *rules = open_rules(&place, true);

	(void)state;
	KODA_EACH(path, paths)
		expect_entry(rules, "", *path, KODA_REASON_OWN_STATE);
	koda_rules_free(rules);
}

/* T-98. Whatever a policy says of them; what programs need beside them stays. */
static void what_the_kernel_tells_of_the_host_is_hidden(void **state)
{
	static const char *const *const tables[] = { koda_floor_kernel_hidden,
						     koda_floor_kernel_mounts };
	static const char *const shown[] = { "/proc/cpuinfo", "/proc/meminfo",
					     "/proc/stat",    "/proc/loadavg",
					     "/proc/uptime",  "/proc/version",
					     "/proc/cmdlin",  "/proc/sys/kernel/pid_max",
					     "/proc/self",    "/sys/devices/system/cpu",
					     "/sys/kernel",   "/sys/fs/cgroup" };
	struct koda_rules *rules = open_rules(&place, false);

	(void)state;
	KODA_EACH(table, tables)
		for (const char *const *path = *table; *path; path++) {
			struct koda_verdict read = ask(rules, false, *path);

			KODA_EXPECT(*path, read.answer == KODA_DENY);
			KODA_EXPECT(*path, read.reason == KODA_REASON_KERNEL_HIDDEN);
			KODA_EXPECT(*path, ask(rules, true, *path).answer == KODA_DENY);
		}
	KODA_EACH(path, shown)
		KODA_EXPECT(*path, ask(rules, false, *path).answer == KODA_ALLOW);
	koda_rules_free(rules);
}

/* The lists as they were agreed on: a table that loses an entry must not go unnoticed. */
static void the_tables_hold_what_was_agreed(void **state)
{
	static const struct {
		const char *const *table;
		const char *names; /* blank-separated */
	} rows[] = {
		{ koda_floor_home_dirs,
		  ".ssh .aws .gnupg .kube .azure .password-store .terraform.d "
		  ".claude .android" },
		{ koda_floor_home_files, ".netrc .git-credentials .npmrc .pypirc "
					 ".docker/config.json .vault-token .env" },
		{ koda_floor_config_dirs,
		  "gcloud gh op helm netlify vercel fly doppler stripe heroku" },
		{ koda_floor_hidden_config, "koda/db" },
		{ koda_floor_policy_dirs, "koda/policies" },
		{ koda_floor_project_names,
		  ".koda/agents .koda/skills .mcp.json .vscode .idea .cursor .codex .claude/agents "
		  ".claude/commands .claude/hooks .claude/settings.json "
		  ".claude/settings.local.json .claude/skills .devcontainer .devcontainer.json "
		  ".envrc .gemini .helix .kiro .opencode .roo/mcp.json .amazonq .windsurf .zed" },
		{ koda_floor_inner_names,
		  ".github/hooks .github/lsp.json .hg/hgrc .hg/hgrc-not-shared .hg/sharedpath "
		  ".sl/config .jj/repo/config.toml" },
		{ koda_floor_git_names,
		  "hooks config config.worktree commondir gitdir info/attributes" },
		{ koda_floor_git_configs, "config config.worktree" },
		{ koda_floor_kernel_paths, "/sys /proc/sys /proc/sysrq-trigger" },
		{ koda_floor_kernel_hidden,
		  "/proc/keys /proc/key-users /proc/cmdline /proc/interrupts /proc/kallsyms "
		  "/proc/modules /proc/timer_list /proc/sched_debug /sys/firmware" },
		{ koda_floor_kernel_mounts, "/sys/kernel/debug /sys/kernel/tracing /sys/fs/bpf" },
		{ koda_floor_cache_dirs, ".cargo/registry .cargo/git .npm/_cacache .cache" },
	};

	(void)state;
	KODA_EACH(row, rows) {
		for (const char *name = row->names; *name; name += strspn(name, " ")) {
			size_t len = strcspn(name, " ");
			const char *const *entry = row->table;

			while (*entry && (strlen(*entry) != len || memcmp(*entry, name, len) != 0))
				entry++;
			KODA_EXPECT(name, *entry != NULL);
			name += len;
		}
	}
}

static void allow_git_config_opens_the_configuration_only(void **state)
{
	static const char *const dirs[] = { "/p/.git", "/p/sub/.git", "/p/.git/modules/lib" };
	struct koda_rules *rules = open_rules(&place, true);

	(void)state;
	KODA_EACH(dir, dirs) {
		for (const char *const *name = koda_floor_git_names; *name; name++) {
			bool opened = strcmp(*name, "config") == 0 ||
				      strcmp(*name, "config.worktree") == 0;
			char path[256];

			(void)snprintf(path, sizeof(path), "%s/%s", *dir, *name);
			if (opened)
				expect_open(rules, path);
			else
				expect_closed(rules, path, KODA_REASON_GIT);
		}
	}
	expect_closed(rules, "/p/tree/.git", KODA_REASON_GIT);
	koda_rules_free(rules);
}

/* What an agent needs for its work. */
static void ordinary_work_stays_possible(void **state)
{
	static const char *const paths[] = {
		"/p",
		"/p/src/main.c",
		"/p/.git",
		"/p/.git/index",
		"/p/.git/HEAD",
		"/p/.git/refs/x",
		"/p/.git/objects",
		"/p/.git/info/exclude",
		"/p/.koda/notes",
		"/p/.claude/plans",
		"/p/.env",
		"/p/.gitignore",
		"/p/sub/.vscode",
		"/home/u/.cache/x",
		"/home/u/.cargo/x",
		"/home/u/.config/x",
		"/home/u/.docker/x",
		"/proc/self/comm",
		"/proc",
		"/tmp/x",
	};
	struct koda_rules *rules = open_rules(&place, false);

	(void)state;
	KODA_EACH(path, paths)
		expect_open(rules, *path);
	for (const char *const *name = koda_floor_cache_dirs; *name; name++) {
		char path[256];

		(void)snprintf(path, sizeof(path), "/home/u/%s/x", *name);
		expect_open(rules, path);
	}
	koda_rules_free(rules);
}

/* Spelling a path differently does not get around an entry. */
static void spellings_do_not_get_around_the_floor(void **state)
{
	static const char *const paths[] = { "/home/u//.ssh",     "/home/./u/.ssh/",
					     "//home/u/.ssh/.",   "/home/u/.ssh/./id_rsa",
					     "/home/u/x/../.ssh", "/home/u/.ssh\0",
					     "home/u/.ssh",       "" };
	struct koda_rules *rules = open_rules(&place, false);

	(void)state;
	KODA_EACH(path, paths)
		KODA_EXPECT(*path, ask(rules, true, *path).answer == KODA_DENY);
	assert_int_equal(koda_rules_write(rules, "/tmp/a\0", 7).answer, KODA_DENY);
	koda_rules_free(rules);
}

/* Where nothing is known of the place, only the kernel's files are left to protect. */
static void an_unknown_place_has_only_the_kernel(void **state)
{
	static const struct koda_place nowhere = { .size = sizeof(nowhere) };
	struct koda_rules *rules = open_rules(&nowhere, false);

	(void)state;
	expect_closed(rules, "/sys", KODA_REASON_KERNEL);
	expect_open(rules, "/home/u/.ssh");
	expect_open(rules, "/p/.git/hooks");
	koda_rules_free(rules);
}

/* A place at the root of the file system, with slashes to spare. */
static void odd_spellings_of_a_place_are_normalised(void **state)
{
	static const struct koda_place odd = { .size = sizeof(odd),
					       .root = "/",
					       .home = "//home///u/./" };
	struct koda_rules *rules = open_rules(&odd, false);

	(void)state;
	expect_closed(rules, "/.envrc", KODA_REASON_PROJECT_NAME);
	expect_closed(rules, "/.git/hooks", KODA_REASON_GIT);
	expect_closed(rules, "/home/u/.ssh", KODA_REASON_CREDENTIALS);
	expect_closed(rules, "/home/u/.config/gh", KODA_REASON_CREDENTIALS);
	koda_rules_free(rules);
}

static void a_place_that_is_no_path_is_refused(void **state)
{
	static const char *const bad_list[] = { "/ok", "bin", NULL };
	char long_path[5000];
#define AT .size = sizeof(struct koda_place),
	const struct {
		const char *name;
		struct koda_place place;
		int code;
	} rows[] = {
		{ "relative root", { AT.root = "p" }, KODA_E_POLICY },
		{ "empty root", { AT.root = "" }, KODA_E_POLICY },
		{ "empty home", { AT.home = "" }, KODA_E_POLICY },
		{ "root with ..", { AT.root = "/a/../p" }, KODA_E_POLICY },
		{ "relative home", { AT.home = "home" }, KODA_E_POLICY },
		{ "relative config_home", { AT.config_home = "./c" }, KODA_E_POLICY },
		{ "relative state_home", { AT.state_home = "s" }, KODA_E_POLICY },
		{ "relative runtime_dir", { AT.runtime_dir = "~" }, KODA_E_POLICY },
		{ "relative exec_dir", { AT.exec_dirs = bad_list }, KODA_E_POLICY },
		{ "relative git_dir", { AT.git_dirs = bad_list }, KODA_E_POLICY },
		{ "relative git_file", { AT.git_files = bad_list }, KODA_E_POLICY },
		{ "long home", { AT.home = long_path }, KODA_E_LIMIT },
		{ "long root", { AT.root = long_path }, KODA_E_LIMIT },
	};
#undef AT

	(void)state;
	memset(long_path, '/', sizeof(long_path));
	long_path[sizeof(long_path) - 1] = '\0';
	KODA_EACH(row, rows) {
		koda_auto_policy struct koda_policy *policy = NULL;
		struct koda_rules *rules = NULL;
		struct koda_error err = { 0 };

		KODA_ASSERT_OK(koda_policy_new(&policy, &err), err);
		KODA_EXPECT(row->name,
			    koda_rules_new(policy, &row->place, &rules, &err) == row->code);
		KODA_EXPECT(row->name, err.code == row->code);
		KODA_EXPECT(row->name, (rules != NULL) == (row->code == KODA_OK));
		koda_rules_free(rules);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_table_entry_is_closed_and_its_twin_open),
		cmocka_unit_test(own_state_is_hidden),
		cmocka_unit_test(what_the_kernel_tells_of_the_host_is_hidden),
		cmocka_unit_test(the_tables_hold_what_was_agreed),
		cmocka_unit_test(allow_git_config_opens_the_configuration_only),
		cmocka_unit_test(ordinary_work_stays_possible),
		cmocka_unit_test(spellings_do_not_get_around_the_floor),
		cmocka_unit_test(an_unknown_place_has_only_the_kernel),
		cmocka_unit_test(odd_spellings_of_a_place_are_normalised),
		cmocka_unit_test(a_place_that_is_no_path_is_refused),
	};

	return KODA_TEST_RUN(tests);
}
