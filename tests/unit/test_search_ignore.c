/* SPDX-License-Identifier: MIT */
/* Ignore files mean what they mean to git. Where git is, it is asked about random trees. */
#include "../lib/search_rig.h"

#include "base/macros.h"

#include <sys/wait.h>

static void expect(struct search_rig rig, const char *want)
{
	const char *got = search_rig_report(&rig, false);

	if (strcmp(got, want) != 0)
		fail_msg("found\n%sexpected\n%s", got, want);
	koda_buf_clear(&rig.out);
}

/* One ignore file above one tree, and what is left of it. */
static void lines_mean_what_they_mean_to_git(void **state)
{
	static const struct {
		const char *lines, *want;
	} rows[] = {
		{ "", "a\na/x\na/y\nb\nb/a\nb/a/x\nx\ny z\n" },
		{ "# x\n\n", "a\na/x\na/y\nb\nb/a\nb/a/x\nx\ny z\n" },
		{ "x\n", "a\na/y\nb\nb/a\ny z\n" },
		{ "/x\n", "a\na/x\na/y\nb\nb/a\nb/a/x\ny z\n" },
		{ "x/\n", "a\na/x\na/y\nb\nb/a\nb/a/x\nx\ny z\n" },
		{ "a/\n", "b\nx\ny z\n" },
		{ "/a/\n", "b\nb/a\nb/a/x\nx\ny z\n" },
		{ "a/x\n", "a\na/y\nb\nb/a\nb/a/x\nx\ny z\n" },
		{ "**/a/x\n", "a\na/y\nb\nb/a\nx\ny z\n" },
		{ "a/**\n", "a\nb\nb/a\nb/a/x\nx\ny z\n" },
		{ "b/**/x\n", "a\na/x\na/y\nb\nb/a\nx\ny z\n" },
		{ "*\n!a\n", "a\n" },
		{ "*\n!a\n!a/y\n", "a\na/y\n" },
		{ "/*\n!/b/\n", "b\nb/a\nb/a/x\n" },
		{ "a\n!a/x\n", "b\nx\ny z\n" },
		{ "y z\n", "a\na/x\na/y\nb\nb/a\nb/a/x\nx\n" },
		{ "x   \n", "a\na/y\nb\nb/a\ny z\n" },
		{ "x\\ \n", "a\na/x\na/y\nb\nb/a\nb/a/x\nx\ny z\n" },
		{ "y\\ z\n", "a\na/x\na/y\nb\nb/a\nb/a/x\nx\n" },
		{ "\\x\n", "a\na/y\nb\nb/a\ny z\n" },
		{ "\xef\xbb\xbfx\r\n", "a\na/y\nb\nb/a\ny z\n" },
		{ "[xy]\n", "a\nb\nb/a\ny z\n" },
		{ "[x\n", "a\na/x\na/y\nb\nb/a\nb/a/x\nx\ny z\n" },
		{ "x", "a\na/y\nb\nb/a\ny z\n" },
		{ "**/****/[x]\n", "a\na/y\nb\nb/a\ny z\n" },
		{ "!**/x\n**y\n", "a\na/x\nb\nb/a\nb/a/x\nx\ny z\n" },
		{ "//x\n!\n/\n", "a\na/x\na/y\nb\nb/a\nb/a/x\nx\ny z\n" },
	};

	search_rig_file(*state, "a/x", "");
	search_rig_file(*state, "a/y", "");
	search_rig_file(*state, "b/a/x", "");
	search_rig_file(*state, "x", "");
	search_rig_file(*state, "y z", "");
	KODA_EACH(row, rows) {
		search_rig_rewrite(*state, ".gitignore", row->lines);
		expect((struct search_rig){ .dir = *state, .pattern = "**" }, row->want);
	}
	expect((struct search_rig){ .dir = *state, .pattern = "**", .flags = KODA_FS_NO_IGNORE },
	       rows[0].want);
}

static void deeper_files_and_other_kinds_go_first(void **state)
{
	search_rig_file(*state, ".git/info/exclude", "x\nq\n");
	search_rig_file(*state, ".gitignore", "y\n!q\n");
	search_rig_file(*state, ".ignore", "z\n!x\n");
	search_rig_file(*state, "d/.gitignore", "!y\n/w\n");
	search_rig_file(*state, "d/e/w", "");
	for (const char *name = "wxyzq"; *name; name++) {
		char path[4] = { 'd', '/', *name, '\0' };

		search_rig_file(*state, path, "");
		search_rig_file(*state, path + 2, "");
	}
	expect((struct search_rig){ .dir = *state, .pattern = "**" }, "d\n"
								      "d/e\n"
								      "d/e/w\n"
								      "d/q\n"
								      "d/x\n"
								      "d/y\n"
								      "q\n"
								      "w\n"
								      "x\n");
	/* The files above the start count, up to the root. */
	expect((struct search_rig){ .dir = *state, .below = "d", .pattern = "**" },
	       "e\ne/w\nq\nx\ny\n");
	expect((struct search_rig){ .dir = koda_in(*state, "d"), .pattern = "**" },
	       "e\ne/w\nq\nx\ny\nz\n");
}

static void a_repository_inside_has_its_own_rules(void **state)
{
	search_rig_file(*state, ".gitignore", "x\n");
	search_rig_file(*state, ".ignore", "z\n");
	search_rig_file(*state, "sub/.git/info/exclude", "y\n");
	search_rig_file(*state, "sub/x", "");
	search_rig_file(*state, "sub/y", "");
	search_rig_file(*state, "sub/z", "");
	search_rig_file(*state, "work/.git", "gitdir: elsewhere\n");
	search_rig_file(*state, "work/x", "");
	search_rig_file(*state, "x", "");
	expect((struct search_rig){ .dir = *state, .pattern = "**" }, "sub\nsub/x\nwork\nwork/x\n");
	expect((struct search_rig){ .dir = *state, .below = "sub", .pattern = "**" }, "x\n");
}

static void too_many_rules_are_an_error(void **state)
{
	struct search_rig rig = { .dir = *state, .pattern = "**" };
	koda_auto_free char *lines = malloc(140001);

	for (size_t i = 0; i < 140000; i++)
		lines[i] = i % 2 ? '\n' : 'q';
	lines[140000] = '\0';
	search_rig_file(*state, ".gitignore", lines);
	KODA_ASSERT_FAILS(KODA_E_LIMIT, search_rig_run(&rig, false), rig.err);
	koda_buf_clear(&rig.out);
}

/* Runs git in dir without the settings of this machine. Returns its exit status, or -1. */
static int run_git(const char *dir, const char *const args[], const char *in, const char *out)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		int from = open(in, O_RDONLY), to = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0666);

		if (chdir(dir) < 0 || dup2(from, 0) < 0 || dup2(to, 1) < 0 || dup2(to, 2) < 0)
			_exit(126);
		(void)setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
		(void)setenv("GIT_CONFIG_SYSTEM", "/dev/null", 1);
		(void)setenv("HOME", dir, 1);
		(void)execvp("git", (char *const *)(uintptr_t)args);
		_exit(127);
	}
	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Two stars in the middle of a name, and at the start of a pattern: there git before 2.41 compares
 * pointers into different strings, so its answer is a matter of chance. Two stars before an escaped
 * slash: there it wants a directory, where before a plain slash it does not. */
static bool is_odd(const char *line)
{
	for (const char *p = line; (p = strstr(p, "**")); p += strspn(p, "*")) {
		if (p == line || p[-1] != '/')
			return true;
	}
	return strstr(line, "**\\/") != NULL;
}

static void make_random_lines(struct koda_rng *rng, char *out, size_t size)
{
	static const char *const bits[] = { "a",     "b",  "ab",   "*",    "/**",
					    "/",     "/",  "?",    "!",    " ",
					    "\\",    "#",  "[a]",  "[!b]", "[a-b",
					    "[^]b]", ".c", "/**/", "\r",   "[[:alpha:]]" };
	size_t len = 0;

	for (size_t lines = 1 + koda_rng_below(rng, 4); lines > 0;) {
		char line[64];
		size_t end = 0;

		for (size_t n = 1 + koda_rng_below(rng, 4); n > 0; n--) {
			const char *bit = bits[koda_rng_below(rng, KODA_ARRAY_LEN(bits))];

			end += (size_t)snprintf(line + end, sizeof(line) - end, "%s", bit);
		}
		if (is_odd(line))
			continue;
		len += (size_t)snprintf(out + len, size - len, "%s\n", line);
		lines--;
	}
}

/* All paths of the tree that random rules are tried on, deepest last. */
static const char *const places[] = { "a",    "a/a",   "a/a/b.c", "a/b",     "a/ab",
				      "ab",   "ab/a",  "ab/a/b",  "ab/a/ab", "b",
				      "b/#a", "b/a b", "b.c",     "b/!a" };

static void make_places(const char *dir)
{
	static const char *const files[] = { "a/a/b.c", "a/b",  "a/ab",  "ab/a/b", "ab/a/ab",
					     "b/#a",    "b/!a", "b/a b", "b.c" };

	KODA_EACH(file, files)
		search_rig_file(dir, *file, "");
}

/* What git ignores of the places: one digit for each. */
static void ask_git(const char *dir, char *ret_ignored)
{
	static const char *const check[] = { "git",     "check-ignore", "-z",
					     "--stdin", "--no-index",   NULL };
	const char *in = koda_in(dir, "../in"), *out = koda_in(dir, "../out");
	FILE *file = fopen(in, "we");
	char text[4096] = { 0 };
	size_t len;

	KODA_EACH(place, places)
		(void)fwrite(*place, 1, strlen(*place) + 1, file);
	assert_int_equal(fclose(file), 0);
	assert_in_range(run_git(dir, check, in, out), 0, 1);
	file = fopen(out, "re");
	len = fread(text, 1, sizeof(text) - 1, file);
	assert_int_equal(fclose(file), 0);
	memset(ret_ignored, '0', KODA_ARRAY_LEN(places));
	for (const char *p = text; p < text + len; p += strlen(p) + 1) {
		for (size_t i = 0; i < KODA_ARRAY_LEN(places); i++) {
			if (strcmp(p, places[i]) == 0)
				ret_ignored[i] = '1';
		}
	}
}

static void random_rules_agree_with_git(void **state)
{
	static const char *const init[] = { "git", "init", "-q", NULL };
	struct koda_rng rng = koda_rng_new();
	const char *repo = strdup(koda_make_dir(*state, "repo"));

	make_places(repo);
	if (run_git(repo, init, "/dev/null", koda_in(*state, "out")) != 0) {
		free((void *)(uintptr_t)repo);
		skip();
	}
	for (int round = 0; round < 150; round++) {
		char outer[256], inner[256], ignored[KODA_ARRAY_LEN(places) + 1] = { 0 };
		struct search_rig rig = { .dir = repo, .pattern = "**" };

		make_random_lines(&rng, outer, sizeof(outer));
		make_random_lines(&rng, inner, sizeof(inner));
		search_rig_rewrite(repo, ".gitignore", outer);
		search_rig_rewrite(repo, "a/.gitignore", inner);
		ask_git(repo, ignored);
		(void)search_rig_report(&rig, false);
		for (size_t i = 0; i < KODA_ARRAY_LEN(places); i++) {
			char line[64];
			bool found;

			(void)snprintf(line, sizeof(line), "\n%s\n", places[i]);
			found = rig.out.len &&
				(strstr(rig.out.ptr, line) ||
				 strncmp(rig.out.ptr, line + 1, strlen(line) - 1) == 0);
			if (found == (ignored[i] == '1'))
				fail_msg("%s: git says %c of\n%sand in a/\n%s", places[i],
					 ignored[i], outer, inner);
		}
		koda_buf_clear(&rig.out);
	}
	free((void *)(uintptr_t)repo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(lines_mean_what_they_mean_to_git),
		KODA_SCRATCH_TEST(deeper_files_and_other_kinds_go_first),
		KODA_SCRATCH_TEST(a_repository_inside_has_its_own_rules),
		KODA_SCRATCH_TEST(too_many_rules_are_an_error),
		KODA_SCRATCH_TEST(random_rules_agree_with_git),
	};

	return KODA_TEST_RUN(tests);
}
