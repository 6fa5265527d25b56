/* SPDX-License-Identifier: MIT */
/* T-44. Which files a command line of git's configuration names, if a shell computes their paths.
 */
#include "koda_test.h"

#include "../lib/scratch.h"
#include "base/buf.h"
#include "base/strv.h"
#include "run/project/git_reach.h"
#include "run/project/site.h"

#include <koda/policy.h>

/* Loads the site with one setting; its git_files are what is protected. */
static void note(struct koda_site *site, const char *base, const char *setting)
{
	const char *const env[] = { "HOME=/no/such/home", "PATH=/no/such/bin", NULL };
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT((size_t)1 << 20);
	struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };

	/* The value is quoted as git quotes it. */
	assert_int_equal(koda_buf_addf(&text, "%s = \"",
				       setting[0] == '!' ? "[alias]\nx" : "[core]\nfsmonitor"),
			 0);
	for (const char *c = setting; *c; c++) {
		if (strchr("\"\\", *c))
			assert_int_equal(koda_buf_add(&text, "\\", 1), 0);
		assert_int_equal(koda_buf_add(&text, *c == '\n' ? "\\n" : c, *c == '\n' ? 2 : 1),
				 0);
	}
	assert_int_equal(koda_buf_add(&text, "\"\n", 2), 0);
	(void)unlink(koda_in(base, "root/.git/config"));
	(void)koda_make_file(base, "root/.git/config", text.ptr);
	KODA_ASSERT_OK(koda_policy_new(&policy, &err), err);
	KODA_ASSERT_OK(koda_site_load(site, koda_in(base, "root"), env, &err), err);
	KODA_ASSERT_OK(koda_strv_add(&site->git_dirs, koda_in(base, "root/.git"), &err), err);
	KODA_ASSERT_OK(koda_git_reach_note(site, policy, &err), err);
	koda_policy_free(policy);
}

static void make_root(const char *base)
{
	static const char *const dirs[] = { "root", "root/.git", "root/tools", "root/tools/a b" };
	static const char *const files[] = { "root/x", "root/tools/x", "root/tools/a b/x",
					     "root/.git/own" };

	KODA_EACH(dir, dirs)
		(void)koda_make_dir(base, *dir);
	KODA_EACH(file, files)
		(void)koda_make_file(base, *file, "x");
}

struct row {
	const char *setting;
	const char *path; /* below root; NULL: nothing is protected */
};

static void expect(void **state, const struct row *row)
{
	koda_auto_site struct koda_site site = KODA_SITE_INIT;
	char path[128];

	note(&site, *state, row->setting);
	(void)snprintf(path, sizeof(path), "root/%s", row->path ? row->path : "");
	if (row->path)
		KODA_EXPECT(row->setting, koda_strv_has(&site.git_files, koda_in(*state, path)));
	else
		KODA_EXPECT(row->setting, site.git_files.len == 0);
}

static void paths_that_a_shell_computes_count(void **state)
{
	static const struct row rows[] = {
		{ "$PWD/tools/x", "tools/x" },
		{ "${PWD}/tools/x", "tools/x" },
		{ "\"$PWD\"/tools/x", "tools/x" },
		{ "`pwd`/tools/x", "tools/x" },
		{ "$(pwd)/tools/x", "tools/x" },
		{ "\"$(git rev-parse --show-toplevel)\"/tools/x", "tools/x" },
		{ "$(git rev-parse --show-toplevel)/tools/x", "tools/x" },
		{ "$(cd \"$(dirname \"$0\")\"; pwd)/tools/x", "tools/x" },
		{ "$(cd tools && pwd)/x", "tools/x" },
		{ "cd tools && ./x", "tools/x" },
		{ "cd tools; sh x", "tools/x" },
		{ "(cd 'tools/a b' && ./x)", "tools/a b/x" },
		{ "cd \"$(git rev-parse --show-toplevel)/tools\" && ./x", "tools/x" },
		{ "env -C tools ./x", "tools/x" },
		{ "env --chdir=tools ./x", "tools/x" },
		{ "F=x; sh $F", "x" },
		{ "F=tools/x; $F", "tools/x" },
		{ "F=tools/x sh -c '$F'", "tools/x" },
		{ "D=tools; F=$D/x; sh \"${F}\"", "tools/x" },
		{ "export D=tools && $D/x", "tools/x" },
		{ "sh ${F:-tools/x}", "tools/x" },
		{ "F='sh tools/x'; $F", "tools/x" },
		{ "F='-e tools/x'; sh $F", "tools/x" },
		{ "if true; then F=x; else F=y; fi; sh $F", "x" },
		{ "tools\\/x", "tools/x" },
		{ "to\"ol\"s/'x'", "tools/x" },
		{ "$'tools/x'", "tools/x" },
		{ "tools/a\\ b/x", "tools/a b/x" },
		{ "'tools/a b/x'", "tools/a b/x" },
		{ "tools/a b/x", "tools/a b/x" },
		{ "env A=1 tools/x", "tools/x" },
		{ "A=1 tools/x", "tools/x" },
		{ "${0%/*}/tools/x", "tools/x" },
		{ "$TOOLS/x", "x" },
		{ "$GIT_DIR/own", ".git/own" },
		{ "sh \"$(git rev-parse --git-dir)/own\"", ".git/own" },
		{ "sh -ec 'cd tools; exec ./x'", "tools/x" },
		{ "eval 'sh tools/x'", "tools/x" },
		{ "PATH=$PWD/tools:$PATH; x", "tools" },
		{ "PATH=tools:$PATH x", "tools" },
		{ "ENV=tools/x sh", "tools/x" },
		{ "tools/$X", "tools" },
		{ "tools/*", "tools" },
		{ "sh tools/x?", "tools" },
		{ "cat tools/x | sh", "tools/x" },
		{ "sh <tools/x", "tools/x" },
		{ "!sh x", "x" },
		{ "!F=x; sh $F", "x" },
		{ "!env -C tools ./x", "tools/x" },
		{ "!f() { cd tools && ./x \"$@\"; }; f", "tools/x" },
		{ "!cd \"${GIT_PREFIX:-.}\" && . tools/x", "tools/x" },
	};

	make_root(*state);
	KODA_EACH(row, rows)
		expect(state, row);
}

/* A program, or the script of an interpreter, is reserved before it exists. */
static void what_is_run_counts_before_it_exists(void **state)
{
	static const struct row rows[] = {
		{ "new", NULL },
		{ "./new", "new" },
		{ "$PWD/new", "new" },
		{ "`git rev-parse --show-toplevel`/new", "new" },
		{ "$(git rev-parse --show-toplevel)/new", "new" },
		{ "cd tools && ./new", "tools/new" },
		{ "env A=1 scripts/new", "scripts/new" },
		{ "timeout -k 5 10 ./new", "new" },
		{ "if true; then ./new; fi", "new" },
		{ "test -x ./new && ./new", "new" },
		{ "true | ./new", "new" },
		{ "sh new", "new" },
		{ "/bin/sh -e new", "new" },
		{ "/usr/bin/env python3 new", "new" },
		{ "F=new; . ./$F", "new" },
		{ "bash -lc './new a b'", "new" },
		{ "2>/dev/null ./new", "new" },
		{ "'a b/new'", "a b/new" },
		{ "F='env A=1 ./new'; $F -x", "new" },
		{ "F='env A=1'; $F ./new", "new" },
		{ "bash -o pipefail -c './new | cat'", "new" },
		{ "python3 -c \"import os; os.system('./new')\"", "new" },
		{ "echo $(./new)", "new" },
		{ "!./new", "new" },
	};

	make_root(*state);
	KODA_EACH(row, rows)
		expect(state, row);
}

/* What is not in the project, and words that are no files, close nothing. */
static void known_commands_close_nothing(void **state)
{
	static const struct row rows[] = {
		{ "true", NULL },
		{ "/usr/bin/true --flag", NULL },
		{ "$HOME/bin/tool --flag", NULL },
		{ "~/bin/tool", NULL },
		{ "\"$XDG_CONFIG_HOME\"/bin/new", NULL },
		{ "vim -f", NULL },
		{ "code --wait", NULL },
		{ "less -FRX", NULL },
		{ "python3 -m new", NULL },
		{ "perl -pe s/a/b/", NULL },
		{ "ssh -i ~/.ssh/id -o Port=22", NULL },
		{ "git lfs clean -- %f", NULL },
		{ "echo ./new >/dev/null 2>&1", NULL },
		{ "!git add -A && git commit -m wip", NULL },
		{ "!f() { git log \"$1..HEAD\"; }; f", NULL },
		{ "!git fetch && git rebase origin/$(git branch --show-current)", NULL },
		{ "!make x", NULL },
		{ "bash -o pipefail -c true", NULL },
	};

	make_root(*state);
	KODA_EACH(row, rows)
		expect(state, row);
}

/* Texts that grow, or do not end, cost no more than others. */
static void hostile_texts_end(void **state)
{
	static const char *const parts[] = { "$(", "`",        "${", "'",  "\"",
					     "\\", "A=$A$A; ", "(",  "$A/" };

	make_root(*state);
	KODA_EACH(part, parts) {
		koda_auto_buf struct koda_buf text = KODA_BUF_INIT((size_t)1 << 20);
		koda_auto_site struct koda_site site = KODA_SITE_INIT;

		assert_int_equal(koda_buf_addf(&text, "A=aaaaaaaaaaaaaaaa; ./x "), 0);
		while (text.len < 200000)
			assert_int_equal(koda_buf_add(&text, *part, strlen(*part)), 0);
		note(&site, *state, text.ptr);
		KODA_EXPECT(*part, koda_strv_has(&site.git_files, koda_in(*state, "root/x")));
		KODA_EXPECT(*part, site.budget.entries < 4000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(paths_that_a_shell_computes_count),
		KODA_SCRATCH_TEST(what_is_run_counts_before_it_exists),
		KODA_SCRATCH_TEST(known_commands_close_nothing),
		KODA_SCRATCH_TEST(hostile_texts_end),
	};

	return KODA_TEST_RUN(tests);
}
