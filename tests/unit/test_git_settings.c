/* SPDX-License-Identifier: MIT */
/* T-44 what a configuration and its inclusions say, and what is protected for it. */
#include "koda_test.h"

#include "../lib/scratch.h"
#include "base/buf.h"
#include "base/strv.h"
#include "run/project/git_reach.h"
#include "run/project/git_settings.h"
#include "run/project/site.h"

#include <koda/policy.h>

static struct koda_policy *new_policy(void)
{
	struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_policy_new(&policy, &err), err);
	return policy;
}

static void values_are_paths_as_git_reads_them(void **state)
{
	static const struct {
		const char *value;
		const char *path;
	} rows[] = {
		{ "/a/b", "/a/b" },      { "a/b", "/dir/a/b" },    { "./a", "/dir/./a" },
		{ "~/a", "/home/a" },    { "~other/a", NULL },     { "", NULL },
		{ "%(prefix)/a", NULL }, { "~home/a", "/home/a" }, { "~homes/a", NULL },
		{ "~", NULL },
	};

	(void)state;
	KODA_EACH(row, rows) {
		koda_auto_free char *path = NULL;
		struct koda_error err = { 0 };

		KODA_ASSERT_OK(koda_git_settings_path(row->value, "/dir", "/home", &path, &err),
			       err);
		if (row->path)
			assert_string_equal(path, row->path);
		else
			assert_null(path);
	}
}

static void inclusions_are_followed_wherever_they_stand(void **state)
{
	koda_auto_git_settings struct koda_git_settings settings = KODA_GIT_SETTINGS_INIT;
	struct koda_policy *policy = new_policy();
	struct koda_git_reader reader = { *state, policy, 8, NULL };
	struct koda_error err = { 0 };

	(void)koda_make_dir(*state, "sub");
	(void)koda_make_file(*state, "config",
			     "[core]\nhooksPath = one\nfsmonitor = true\neditor = vi\n"
			     "[include]\npath = sub/next\npath = config\n");
	(void)koda_make_file(*state, "sub/next",
			     "[core]\nhooksPath = two\nattributesFile = attrs\nfsmonitor = ./run\n"
			     "[filter \"x\"]\nclean = a/b -c\n"
			     "[includeIf \"gitdir:/never/\"]\npath = ../last\n");
	(void)koda_make_file(*state, "target", "[core]\nworktree = ../wt\n");
	(void)koda_make_link(*state, "last", "target");
	KODA_ASSERT_OK(koda_git_settings_read(&settings, koda_in(*state, "config"), &reader, &err),
		       err);
	assert_int_equal(settings.hooks.count, 2);
	assert_string_equal(koda_set_get(&settings.hooks, 1).ptr, "two");
	assert_int_equal(settings.files.count, 1);
	assert_int_equal(settings.commands.count, 2);
	assert_string_equal(settings.worktree, "../wt");
	assert_int_equal(settings.sources.count, 3);
	koda_policy_free(policy);
}

static void too_many_inclusions_are_told_without_their_names(void **state)
{
	koda_auto_git_settings struct koda_git_settings settings = KODA_GIT_SETTINGS_INIT;
	struct koda_policy *policy = new_policy();
	struct koda_git_reader reader = { NULL, policy, 2, NULL };
	struct koda_error err = { 0 };

	(void)koda_make_file(*state, "config",
			     "[include]\npath = secret1\npath = secret2\npath = secret3\n");
	assert_int_equal(
		koda_git_settings_read(&settings, koda_in(*state, "config"), &reader, &err),
		KODA_E_LIMIT);
	assert_non_null(strstr(err.message, "too many"));
	assert_null(strstr(err.message, "secret"));
	koda_policy_free(policy);
}

static void what_may_be_written_is_protected_and_nothing_else(void **state)
{
	const char *const env[] = { "HOME=/no/such/home", "PATH=/no/such/bin", NULL };
	koda_auto_site struct koda_site site = KODA_SITE_INIT;
	struct koda_policy *policy = new_policy();
	struct koda_error err = { 0 };

	(void)koda_make_dir(*state, "root");
	(void)koda_make_dir(*state, "root/.git");
	(void)koda_make_dir(*state, "root/.git/hooks");
	(void)koda_make_file(*state, "root/script", "x");
	(void)koda_make_file(*state, "root/real", "x");
	(void)koda_make_link(*state, "root/.git/hooks/pre-push", "../../real");
	(void)koda_make_file(*state, "root/.git/config",
			     "[core]\nhooksPath = .husky/_\nfsmonitor = sh script 2>/dev/null\n"
			     "attributesFile = /dev/null\n[include]\npath = ../inc\n");
	KODA_ASSERT_OK(koda_site_load(&site, koda_in(*state, "root"), env, &err), err);
	KODA_ASSERT_OK(koda_strv_add(&site.git_dirs, koda_in(*state, "root/.git"), &err), err);
	KODA_ASSERT_OK(koda_git_reach_note(&site, policy, &err), err);
	assert_true(koda_strv_has(&site.git_files, koda_in(*state, "root/.husky/_")));
	assert_true(koda_strv_has(&site.git_files, koda_in(*state, "root/.husky")));
	assert_true(koda_strv_has(&site.git_files, koda_in(*state, "root/script")));
	assert_true(koda_strv_has(&site.git_files, koda_in(*state, "root/inc")));
	assert_true(koda_strv_has(&site.git_files, koda_in(*state, "root/real")));
	assert_true(koda_strv_has(&site.git_files, koda_in(*state, "root/.git/hooks/pre-push")));
	assert_int_equal(site.git_files.len, 6);
	koda_policy_free(policy);
}

/* Each names a file of the project for git to run, or to take hooks from. */
static void what_git_runs_is_protected_whatever_names_it(void **state)
{
	static const struct {
		const char *setting;
		bool counts;
	} rows[] = {
		{ "[pager]\nlog = ./file", true },
		{ "[pager]\nlog = sh file", true },
		{ "[pager]\nshow = file", false },
		{ "[init]\ntemplateDir = file", true },
		{ "[core]\nalternateRefsCommand = ./file", true },
		{ "[core]\npager = sh file", true },
		{ "[core]\ncomment = ./file", false },
		{ "[hook \"x\"]\ncommand = ./file", true },
		{ "[gpg \"ssh\"]\ndefaultKeyCommand = ./file", true },
		{ "[gpg \"x509\"]\nprogram = ./file", true },
		{ "[trailer \"x\"]\ncmd = ./file", true },
		{ "[trailer \"x\"]\ncommand = ./file", true },
		{ "[trailer \"x\"]\nkey = ./file", false },
		{ "[submodule \"x\"]\nupdate = !./file", true },
		{ "[submodule \"x\"]\nupdate = rebase", false },
		{ "[remote \"x\"]\nuploadpack = ./file", true },
		{ "[remote \"x\"]\nreceivepack = ./file", true },
		{ "[remote \"x\"]\nurl = ./file", false },
		{ "[remote \"x\"]\nurl = ext::./file %S", true },
		{ "[remote \"x\"]\npushUrl = ext::sh file", true },
		{ "[uploadpack]\npackObjectsHook = ./file", true },
		{ "[gc]\nrecentObjectsHook = ./file", true },
		{ "[tar \"x\"]\ncommand = ./file", true },
		{ "[credential \"https://x\"]\nhelper = !sh file", true },
		{ "[diff \"x\"]\ncommand = ./file", true },
		{ "[merge \"x\"]\ndriver = ./file %A", true },
		{ "[mergetool \"x\"]\ncmd = ./file", true },
		{ "[difftool \"x\"]\npath = ./file", true },
		{ "[browser \"x\"]\ncmd = ./file", true },
		{ "[man \"x\"]\npath = ./file", true },
		{ "[sequence]\neditor = ./file", true },
		{ "[sendemail]\nsendmailCmd = ./file", true },
		{ "[sendemail \"x\"]\ntoCmd = ./file", true },
		{ "[lfs \"customtransfer.x\"]\npath = ./file", true },
		{ "[alias]\nx = !./file", true },
		{ "[alias]\nx = !sh ./file && git push", true },
		{ "[alias]\nx = !make file", false },
		{ "[alias]\nx = log ./file", false },
	};

	(void)koda_make_dir(*state, "root");
	(void)koda_make_dir(*state, "root/.git");
	(void)koda_make_file(*state, "root/file", "x");
	KODA_EACH(row, rows) {
		const char *const env[] = { "HOME=/no/such/home", "PATH=/no/such/bin", NULL };
		koda_auto_site struct koda_site site = KODA_SITE_INIT;
		struct koda_policy *policy = new_policy();
		struct koda_error err = { 0 };

		(void)koda_make_file(*state, "root/.git/config", row->setting);
		KODA_ASSERT_OK(koda_site_load(&site, koda_in(*state, "root"), env, &err), err);
		KODA_ASSERT_OK(koda_strv_add(&site.git_dirs, koda_in(*state, "root/.git"), &err),
			       err);
		KODA_ASSERT_OK(koda_git_reach_note(&site, policy, &err), err);
		KODA_EXPECT(row->setting,
			    koda_strv_has(&site.git_files, koda_in(*state, "root/file")) ==
				    row->counts);
		assert_int_equal(unlink(koda_in(*state, "root/.git/config")), 0);
		koda_policy_free(policy);
	}
}

/* A repository below root with a configuration of count lines, each with its number. */
static void add_repository(struct koda_site *site, const char *base, const char *name,
			   const char *line, int count)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(2U << 20);
	struct koda_error err = { 0 };
	char path[64];

	assert_int_equal(koda_buf_addf(&text, "[core]\n"), KODA_OK);
	for (int i = 0; i < count; i++)
		assert_int_equal(koda_buf_addf(&text, "%s%d\n", line, i), KODA_OK);
	(void)snprintf(path, sizeof(path), "root/%s", name);
	(void)koda_make_dir(base, path);
	(void)snprintf(path, sizeof(path), "root/%s/.git", name);
	KODA_ASSERT_OK(koda_strv_add(&site->git_dirs, koda_make_dir(base, path), &err), err);
	(void)snprintf(path, sizeof(path), "root/%s/.git/hooks", name);
	(void)koda_make_dir(base, path);
	(void)snprintf(path, sizeof(path), "root/%s/.git/config", name);
	(void)koda_make_file(base, path, text.ptr);
}

static void load_root(struct koda_site *site, const char *base)
{
	static const char *const env[] = { "HOME=/no/such/home", "PATH=/no/such/bin", NULL };
	struct koda_error err = { 0 };

	(void)koda_make_dir(base, "root");
	KODA_ASSERT_OK(koda_site_load(site, koda_in(base, "root"), env, &err), err);
}

/* A command can write such a configuration into a repository that it made. */
static void many_settings_are_refused_by_the_name_of_the_file(void **state)
{
	koda_auto_site struct koda_site site = KODA_SITE_INIT;
	struct koda_policy *policy = new_policy();
	struct koda_error err = { 0 };

	load_root(&site, *state);
	add_repository(&site, *state, "few", "hooksPath = h", 100);
	KODA_ASSERT_OK(koda_git_reach_note(&site, policy, &err), err);
	assert_int_equal(site.git_files.len, 100);
	add_repository(&site, *state, "r", "hooksPath = h", 50000);
	KODA_ASSERT_FAILS(KODA_E_LIMIT, koda_git_reach_note(&site, policy, &err), err);
	assert_non_null(strstr(err.field, "/r/.git/config"));
	assert_non_null(strstr(err.message, "remove"));
	assert_true(site.git_files.len <= 400);
	assert_true(site.budget.entries < 1200);
	koda_policy_free(policy);
}

/* One line, with more words than anybody writes; the same words in each of many commands. */
static void the_first_words_of_a_command_count(void **state)
{
	koda_auto_site struct koda_site site = KODA_SITE_INIT;
	koda_auto_buf struct koda_buf line = KODA_BUF_INIT(1U << 20);
	struct koda_policy *policy = new_policy();
	struct koda_error err = { 0 };

	load_root(&site, *state);
	(void)koda_make_file(*state, "root/r-script", "x");
	assert_int_equal(koda_buf_addf(&line, "editor = sh ../r-script ./none"), KODA_OK);
	for (int i = 0; i < 100000; i++)
		assert_int_equal(koda_buf_addf(&line, " w"), KODA_OK);
	add_repository(&site, *state, "r", line.ptr, 1);
	KODA_ASSERT_OK(koda_git_reach_note(&site, policy, &err), err);
	assert_true(koda_strv_has(&site.git_files, koda_in(*state, "root/r-script")));
	assert_int_equal(site.git_files.len, 1);
	assert_true(site.budget.entries >= 64);
	assert_true(site.budget.entries < 100);
	assert_true(site.budget.config > 200000);
	koda_policy_free(policy);
}

static void many_hooks_that_are_links_are_refused(void **state)
{
	koda_auto_site struct koda_site site = KODA_SITE_INIT;
	struct koda_policy *policy = new_policy();
	struct koda_error err = { 0 };

	load_root(&site, *state);
	add_repository(&site, *state, "r", "x = ", 0);
	for (int i = 0; i < 300; i++) {
		char name[64];
		char to[32];

		(void)snprintf(name, sizeof(name), "root/r/.git/hooks/h%d", i);
		(void)snprintf(to, sizeof(to), "../../t%d", i);
		(void)koda_make_link(*state, name, to);
	}
	KODA_ASSERT_FAILS(KODA_E_LIMIT, koda_git_reach_note(&site, policy, &err), err);
	assert_non_null(strstr(err.field, "/r/.git"));
	assert_non_null(strstr(err.message, "remove"));
	assert_true(site.git_files.len <= 256);
	koda_policy_free(policy);
}

/* Each file is small enough, but not all together; and each looks at the clock. */
static void all_configuration_together_has_a_limit(void **state)
{
	koda_auto_site struct koda_site site = KODA_SITE_INIT;
	struct koda_policy *policy = new_policy();
	struct koda_error err = { 0 };

	load_root(&site, *state);
	add_repository(&site, *state, "a", "filler = ", 60000);
	add_repository(&site, *state, "b", "filler = ", 60000);
	KODA_ASSERT_OK(koda_git_reach_note(&site, policy, &err), err);
	assert_true(site.budget.config > 1500000);
	site.budget.config = KODA_SURVEY_BUDGET_CONFIG - 1000000;
	KODA_ASSERT_FAILS(KODA_E_LIMIT, koda_git_reach_note(&site, policy, &err), err);
	assert_non_null(strstr(err.field, "/b/.git/config"));
	assert_non_null(strstr(err.message, "8 MiB"));
	site.budget = (struct koda_survey_budget){ .began_ns = 1, .deadline_ns = 2 };
	KODA_ASSERT_FAILS(KODA_E_LIMIT, koda_git_reach_note(&site, policy, &err), err);
	assert_non_null(strstr(err.message, "takes too long"));
	assert_int_equal(site.budget.entries, 1);
	koda_policy_free(policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_paths_as_git_reads_them),
		KODA_SCRATCH_TEST(inclusions_are_followed_wherever_they_stand),
		KODA_SCRATCH_TEST(too_many_inclusions_are_told_without_their_names),
		KODA_SCRATCH_TEST(what_may_be_written_is_protected_and_nothing_else),
		KODA_SCRATCH_TEST(what_git_runs_is_protected_whatever_names_it),
		KODA_SCRATCH_TEST(many_settings_are_refused_by_the_name_of_the_file),
		KODA_SCRATCH_TEST(the_first_words_of_a_command_count),
		KODA_SCRATCH_TEST(many_hooks_that_are_links_are_refused),
		KODA_SCRATCH_TEST(all_configuration_together_has_a_limit),
	};

	return KODA_TEST_RUN(tests);
}
