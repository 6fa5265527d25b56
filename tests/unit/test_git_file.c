/* SPDX-License-Identifier: MIT */
/* T-41 a git directory outside the project is opened only if it names the project back. */
#include "koda_test.h"

#include "../lib/scratch.h"
#include "base/strv.h"
#include "run/project/git_file.h"
#include "run/project/site.h"

/* Replaces the file. */
static void put(const char *dir, const char *name, const char *text)
{
	(void)unlink(koda_in(dir, name));
	(void)koda_make_file(dir, name, text);
}

static void make_git_dir(const char *dir, const char *name)
{
	char git[PATH_MAX];

	(void)snprintf(git, sizeof(git), "%s", koda_make_dir(dir, name));
	put(git, "HEAD", "ref: refs/heads/main\n");
	put(git, "config", "[core]\n\tbare = false\n");
	(void)koda_make_dir(git, "objects");
	(void)koda_make_dir(git, "refs");
	(void)koda_make_dir(git, "worktrees");
	(void)koda_make_dir(git, "other");
}

/* A git directory as git makes one for a worktree at root. */
static void make_own(const char *dir, const char *name)
{
	char back[PATH_MAX];
	char git[PATH_MAX];

	(void)snprintf(back, sizeof(back), "%s/root/.git\n", dir);
	(void)snprintf(git, sizeof(git), "%s", koda_make_dir(dir, name));
	put(git, "HEAD", "ref: refs/heads/side\n");
	put(git, "commondir", "../..\n");
	put(git, "gitdir", back);
}

static struct koda_site load(const char *dir)
{
	const char *const env[] = { "HOME=/no/such/home", "PATH=/no/such/bin", NULL };
	struct koda_site site = KODA_SITE_INIT;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_site_load(&site, koda_in(dir, "root"), env, &err), err);
	return site;
}

/* Is name, and nothing else, opened? NULL: nothing. */
static bool opens(const char *dir, const char *name)
{
	koda_auto_site struct koda_site site = load(dir);

	if (!name)
		return site.own_git_dirs.len == 0;
	return site.own_git_dirs.len == 1 && koda_strv_has(&site.own_git_dirs, koda_in(dir, name));
}

static void a_worktree_must_be_named_by_its_place_and_its_pointers(void **state)
{
	static const struct {
		const char *pointer;
		const char *gitdir;
		const char *commondir;
		bool opened;
	} rows[] = {
		{ "gitdir: ../main/worktrees/w\n", "../../../root/.git\n", "../..\n", true },
		{ "gitdir: ../main/worktrees/w\r\n", "../../../root/.git", "../..", true },
		{ "gitdir: ../link/w\n", "../../../root/.git\n", "../..\n", true },
		{ "gitdir: ../main/worktrees/./w/\n", "../../../root/.git\n", "../../\n", true },
		{ "gitdir: ../main/worktrees/w\n", "../../../root/.git\n", "..\n", false },
		{ "gitdir: ../main/worktrees/w\n", "../../../root/.git\n", "../../../fork\n",
		  false },
		{ "gitdir: ../main/worktrees/w\n", "../../../root\n", "../..\n", false },
		{ "gitdir: ../main/worktrees/w\n", "../../../rooted/.git\n", "../..\n", false },
		{ "gitdir: ../main/worktrees/w\n", "\n", "../..\n", false },
		{ "gitdir:../main/worktrees/w\n", "../../../root/.git\n", "../..\n", false },
		{ "../main/worktrees/w\n", "../../../root/.git\n", "../..\n", false },
		{ "gitdir: ../main\n", "../../../root/.git\n", "../..\n", false },
		{ "gitdir: ../main/worktrees\n", "../../../root/.git\n", "../..\n", false },
		{ "gitdir: ../nothing\n", "../../../root/.git\n", "../..\n", false },
		{ "gitdir: loop\n", "../../../root/.git\n", "../..\n", false },
		{ "gitdir: \n", "../../../root/.git\n", "../..\n", false },
	};

	(void)koda_make_dir(*state, "root");
	(void)koda_make_link(*state, "root/loop", "loop");
	make_git_dir(*state, "main");
	make_git_dir(*state, "fork");
	make_own(*state, "main/worktrees/w");
	(void)koda_make_link(*state, "link", "main/worktrees");
	KODA_EACH(row, rows) {
		put(*state, "root/.git", row->pointer);
		put(*state, "main/worktrees/w/gitdir", row->gitdir);
		put(*state, "main/worktrees/w/commondir", row->commondir);
		KODA_EXPECT(row->pointer, opens(*state, row->opened ? "main" : NULL));
	}
}

static void the_place_decides_what_is_shared(void **state)
{
	(void)koda_make_dir(*state, "root");
	make_git_dir(*state, "main");
	make_own(*state, "main/other/w");
	put(*state, "root/.git", "gitdir: ../main/other/w\n");
	assert_true(opens(*state, NULL));
	make_own(*state, "main/worktrees/w");
	put(*state, "root/.git", "gitdir: ../main/worktrees/w\n");
	assert_true(opens(*state, "main"));
	/* Without objects, main is no git directory. */
	assert_int_equal(rmdir(koda_in(*state, "main/objects")), 0);
	assert_true(opens(*state, NULL));
}

static void a_submodule_must_name_its_work_tree(void **state)
{
	static const struct {
		const char *config;
		bool opened;
	} rows[] = {
		{ "[core]\n\tworktree = ../root\n", true },
		{ "[Core]\n\tWorkTree=../root # here\n", true },
		{ "[core]\n\tbare = false\n\tworktree = \"../root\"\n[remote \"x\"]\n", true },
		{ "[core]\n\tworktree = ../x\n\tworktree = ../root\n", true },
		{ "[core]\n\tworktree = ../root\n\tworktree = ../x\n", false },
		{ "[core]\n\tworktree = ../roots\n", false },
		{ "[core]\n\tworktree = \n", false },
		{ "[core]\n\tworktree\n", false },
		{ "[core]\n\tworktrees = ../root\n", false },
		{ "[core]\n#\tworktree = ../root\n", false },
		{ "[core \"x\"]\n\tworktree = ../root\n", false },
		{ "[remote \"x\"]\n\tworktree = ../root\n", false },
		{ "worktree = ../root\n", false },
		{ "", false },
	};

	(void)koda_make_dir(*state, "root");
	make_git_dir(*state, "module");
	put(*state, "root/.git", "gitdir: ../module\n");
	KODA_EACH(row, rows) {
		put(*state, "module/config", row->config);
		KODA_EXPECT(row->config, opens(*state, row->opened ? "module" : NULL));
	}
}

static void what_a_pointer_leads_to_is_protected_in_any_case(void **state)
{
	koda_auto_site struct koda_site site = KODA_SITE_INIT;

	(void)koda_make_dir(*state, "root");
	make_git_dir(*state, "module");
	put(*state, "root/.git", "gitdir: ../module\n");
	site = load(*state);
	assert_int_equal(site.own_git_dirs.len, 0);
	assert_true(koda_strv_has(&site.git_dirs, koda_in(*state, "module")));
	assert_true(koda_strv_has(&site.git_files, koda_in(*state, "root/.git")));
}

/* Follows the commondir of root/.git. */
static int share(const char *dir, struct koda_error *err)
{
	struct koda_strv links = KODA_STRV_INIT;
	char *common = NULL;
	int r = koda_git_file_common(koda_in(dir, "root/.git"), &common, &links, err);

	r = r == KODA_OK && common ? 1 : r;
	free(common);
	koda_strv_clear(&links);
	return r;
}

/* Whoever made the link may not be able to read it. */
static void no_pointer_is_read_through_a_link(void **state)
{
	struct koda_error err = { 0 };

	(void)koda_make_dir(*state, "root");
	make_git_dir(*state, "root/.git");
	make_git_dir(*state, "main");
	put(*state, "secret", "../../main\n");
	(void)koda_make_link(*state, "root/.git/commondir", "../../secret");
	KODA_ASSERT_FAILS(KODA_E_DENIED, share(*state, &err), err);
	assert_string_equal(err.field, koda_in(*state, "root/.git/commondir"));
	put(*state, "root/.git/commondir", "../../main\n");
	assert_int_equal(share(*state, &err), 1);
}

static void errors_do_not_tell_what_a_pointer_says(void **state)
{
	char name[300];
	struct koda_error err = { 0 };

	memset(name, 's', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	(void)koda_make_dir(*state, "root");
	make_git_dir(*state, "root/.git");
	/* No file has such a name. */
	put(*state, "root/.git/commondir", name);
	KODA_ASSERT_OK(share(*state, &err), err);
	if (geteuid() == 0)
		return; /* nothing is closed to root */
	(void)koda_make_dir(*state, "shut");
	put(*state, "root/.git/commondir", "../../shut/secret");
	assert_int_equal(chmod(koda_in(*state, "shut"), 0), 0);
	KODA_ASSERT_FAILS(KODA_E_DENIED, share(*state, &err), err);
	assert_int_equal(chmod(koda_in(*state, "shut"), 0700), 0);
	assert_string_equal(err.field, koda_in(*state, "root/.git/commondir"));
	assert_null(strstr(err.message, "shut"));
	KODA_ASSERT_OK(share(*state, &err), err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(a_worktree_must_be_named_by_its_place_and_its_pointers),
		KODA_SCRATCH_TEST(the_place_decides_what_is_shared),
		KODA_SCRATCH_TEST(a_submodule_must_name_its_work_tree),
		KODA_SCRATCH_TEST(what_a_pointer_leads_to_is_protected_in_any_case),
		KODA_SCRATCH_TEST(no_pointer_is_read_through_a_link),
		KODA_SCRATCH_TEST(errors_do_not_tell_what_a_pointer_says),
	};

	return KODA_TEST_RUN(tests);
}
