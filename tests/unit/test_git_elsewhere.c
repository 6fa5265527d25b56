/* SPDX-License-Identifier: MIT */
/* T-92. Gitlinks of work trees elsewhere, of both object formats, and of those that cannot be
 * resolved. */
#include "koda_test.h"

#include "../lib/scratch.h"
#include "base/clock.h"
#include "run/project/git_reach.h"
#include "run/project/git_scan.h"
#include "run/project/git_submodules.h"
#include "run/project/left_behind.h"
#include "run/project/site.h"

#include <koda/policy.h>
#include <stdlib.h>
#include <sys/wait.h>

#define DEPTH 8

/* Runs a shell in the directory. */
static void shell(const char *dir, const char *text)
{
	pid_t pid = fork();
	int status = -1;

	assert_true(pid >= 0);
	if (pid == 0) {
		if (chdir(dir) < 0 || setenv("GIT_CONFIG_NOSYSTEM", "1", 1) < 0 ||
		    setenv("HOME", dir, 1) < 0)
			_exit(1);
		execl("/bin/sh", "sh", "-ec", text, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("the shell failed: %s", text);
}

/* Surveys root as far as it concerns indexes. */
static void survey(struct koda_site *site, const char *root)
{
	static const char *const env[] = { "HOME=/no/such/home", "PATH=/no/such/bin", NULL };
	const struct koda_git_found found = { .git_dirs = &site->git_dirs,
					      .git_files = &site->git_files,
					      .closed = &site->readonly_aliases,
					      .budget = &site->budget,
					      .kept = &site->dirs };
	struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_policy_new(&policy, &err), err);
	KODA_ASSERT_OK(koda_site_load(site, root, env, &err), err);
	KODA_ASSERT_OK(koda_git_scan(root, DEPTH, &found, &err), err);
	KODA_ASSERT_OK(koda_git_related_follow(&found, &err), err);
	KODA_ASSERT_OK(koda_git_reach_note(site, policy, &err), err);
	KODA_ASSERT_OK(koda_git_submodules_note(&site->dirs, &site->budget, &err), err);
	koda_policy_free(policy);
}

/* "new" is a repository; sub DIR adds a gitlink to the index of the repository in DIR. */
#define NEW                                                                                        \
	"git init -q new; git -C new -c user.name=a -c user.email=a@b commit -q --allow-empty -m " \
	"x;"
#define SUB                                                                                        \
	"sub() { git -C \"$1\" update-index --add --cacheinfo "                                    \
	"160000,1111111111111111111111111111111111111111,$2; };"

static const struct row {
	const char *what;
	const char *before;
	const char *root;
	const char *then; /* in the root */
	const char *path; /* that is told; NULL: none */
} rows[] = {
	{ "a subdirectory", SUB "git init -q .; mkdir r; sub . r/new", "r", NEW, "r/new/.git" },
	{ "a subdirectory, without a gitlink", "git init -q .; mkdir r", "r", NEW, NULL },
	{ "a subdirectory, whose gitlink leads elsewhere",
	  SUB "git init -q .; mkdir r; sub . other/new", "r", NEW, NULL },
	{ "a subdirectory of a linked worktree",
	  SUB
	  "git init -q m; git -C m -c user.name=a -c user.email=a@b commit -q --allow-empty -m x;"
	  "git -C m worktree add -q ../w; mkdir w/r; sub w r/new",
	  "w/r", NEW, "w/r/new/.git" },
	{ "a linked worktree in the main work tree",
	  SUB "git init -q .; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x;"
	      "git worktree add -q r; sub . r/new",
	  "r", NEW, "r/new/.git" },
	{ "core.worktree",
	  SUB "mkdir -p r/t; git init -q --bare r/s; cd r/s; git config core.bare false;"
	      "git config core.worktree ../t; sub . new",
	  "r", "cd t;" NEW, "r/t/new/.git" },
	{ "core.worktree beside a work tree",
	  SUB "mkdir -p r/t; git init -q --bare r/s; cd r/s; git config core.bare false;"
	      "git config core.worktree ../t; sub . new",
	  "r", NEW, NULL },
	{ "core.worktree around the project, of a git directory above it",
	  SUB "mkdir -p t/r; git init -q t; git -C t config core.worktree ..; sub t r/new", "t/r",
	  NEW, "t/r/new/.git" },
	{ "an index of another format",
	  "git init -q r; cd r; git config core.repositoryformatversion 1;"
	  "git config extensions.objectformat sha256; git init -q ../o; echo >../o/f;"
	  "git -C ../o add f; cp ../o/.git/index .git/index",
	  "r", "mkdir new", "r/.git" },
	{ "a format that is not known",
	  "git init -q r; cd r; git read-tree --empty; git config core.repositoryformatversion 1;"
	  "git config extensions.objectformat sha512",
	  "r", "mkdir new", "r/.git" },
	{ "SHA-256",
	  "git init -q --object-format=sha256 r; cd r; git update-index --add --cacheinfo 160000,"
	  "1111111111111111111111111111111111111111111111111111111111111111,new",
	  "r", NEW, "r/new/.git" },
	{ "a gitlink behind a link to itself", SUB "git init -q r; sub r l/new; ln -s l r/m", "r",
	  "mkdir d; ln -s m l", "r/l/new/.git" },
	{ "a gitlink behind a link that leads out",
	  SUB "git init -q r; sub r l/new; mkdir out; cd out;" NEW, "r", "mkdir d; ln -s ../out l",
	  "r/l/new/.git" },
	{ "a gitlink behind a link to no repository",
	  SUB "git init -q r; sub r l/new; mkdir -p out/new", "r", "mkdir d; ln -s ../out l",
	  NULL },
};

static void new_gitlinks_are_told(void **state)
{
	for (size_t i = 0; i < KODA_ARRAY_LEN(rows); i++) {
		const struct row *row = &rows[i];
		struct koda_left_behind left = KODA_LEFT_BEHIND_INIT;
		koda_auto_site struct koda_site site = KODA_SITE_INIT;
		struct koda_error err = { 0 };
		char base[PATH_MAX];
		char root[PATH_MAX];
		char name[16];

		(void)snprintf(name, sizeof(name), "%zu", i);
		(void)snprintf(base, sizeof(base), "%s", koda_make_dir(*state, name));
		shell(base, row->before);
		(void)snprintf(root, sizeof(root), "%s", koda_in(base, row->root));
		survey(&site, root);
		shell(root, row->then);
		KODA_ASSERT_OK(koda_left_behind_find(&site.dirs, KODA_DEADLINE_NEVER, &left, &err),
			       err);
		KODA_EXPECT(row->what, left.count == (row->path ? 1 : 0));
		if (row->path) {
			KODA_EXPECT(row->what, left.items[0].what == KODA_LEFT_GITLINK);
			KODA_EXPECT(row->what,
				    strcmp(left.items[0].path, koda_in(base, row->path)) == 0);
		}
		koda_left_behind_clear(&left);
	}
}

/* A repository that was there, and in the index, is none of a command. */
static void old_gitlinks_are_not_told(void **state)
{
	struct koda_left_behind left = KODA_LEFT_BEHIND_INIT;
	koda_auto_site struct koda_site site = KODA_SITE_INIT;
	struct koda_error err = { 0 };
	char root[PATH_MAX];

	shell(*state, "git init -q .; mkdir r; cd r;" NEW "git add new 2>/dev/null");
	(void)snprintf(root, sizeof(root), "%s", koda_in(*state, "r"));
	survey(&site, root);
	assert_int_equal(site.dirs.tree_count, 1);
	shell(root, "mkdir d; touch new/f; git -C new add f; git init -q other");
	KODA_ASSERT_OK(koda_left_behind_find(&site.dirs, KODA_DEADLINE_NEVER, &left, &err), err);
	assert_int_equal(left.count, 0);
	koda_left_behind_clear(&left);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(new_gitlinks_are_told),
		KODA_SCRATCH_TEST(old_gitlinks_are_not_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
