/* SPDX-License-Identifier: MIT */
/*
 * Whole plans, line by line, as they were when somebody last read them. A difference is a change of
 * what every sandbox of that kind does: look at it, then run this with KODA_GOLDEN_WRITE=1, which
 * rewrites the files in KODA_GOLDEN_DIR, and commit what changed.
 */
#include "../unit/koda_test.h"

#include "base/buf.h"
#include "base/fd.h"
#include "plan/bwrap.h"
#include "plan/make.h"
#include "plan/seatbelt.h"
#include "policy/policy.h"
#include "scene.h"
#include "wire/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define HOME "/home/u"
#define ROOT "/home/u/p"

static bool is_above(const char *path, const char *root)
{
	size_t len = strlen(path);

	return strcmp(path, "/") == 0 ||
	       (strncmp(root, path, len) == 0 && (root[len] == '/' || root[len] == '\0'));
}

static const char *root_of(const struct scene *scene)
{
	return scene->root ? scene->root : ROOT;
}

static int look(void *ctx, const char *path, struct koda_fs_stat *ret_look, struct koda_error *err)
{
	const struct scene *scene = ctx;

	(void)err;
	*ret_look =
		(struct koda_fs_stat){ .type = is_above(path, root_of(scene)) ? KODA_FILE_DIR
									      : KODA_FILE_MISSING };
	for (const char *const *thing = scene->things; thing && *thing; thing++) {
		if (strcmp(*thing + 2, path) != 0)
			continue;
		ret_look->is_git_placeholder = (*thing)[0] == 'n';
		ret_look->type = (*thing)[0] == 'd'   ? KODA_FILE_DIR
				 : (*thing)[0] == 'l' ? KODA_FILE_LINK
						      : KODA_FILE_OTHER;
	}
	return KODA_OK;
}

/* Whatever is there can be read; what is below HOME is the user's own. */
static bool may(void *ctx, const char *path, int mode)
{
	struct koda_error err;
	struct koda_fs_stat seen;

	return look(ctx, path, &seen, &err) == KODA_OK && seen.type != KODA_FILE_MISSING &&
	       (mode == R_OK || is_above(HOME, path));
}

static void add_rules(struct koda_policy *policy, const char *const *rules)
{
	struct koda_error err = { 0 };

	for (; rules && *rules; rules++) {
		enum koda_list list = (*rules)[0] == 'w'   ? KODA_LIST_ALLOW_WRITE
				      : (*rules)[0] == 'W' ? KODA_LIST_DENY_WRITE_WITHIN_ALLOW
				      : (*rules)[0] == 'r' ? KODA_LIST_DENY_READ
							   : KODA_LIST_ALLOW_READ_WITHIN_DENY;

		KODA_ASSERT_OK(koda_policy_add(policy, list, *rules + 2, strlen(*rules + 2), &err),
			       err);
	}
}

static void set_limit(struct koda_policy *policy, enum koda_limit limit, uint64_t value)
{
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_policy_set_limit(policy, limit, value, &err), err);
}

static struct koda_policy *policy_of(const struct scene *scene)
{
	struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_policy_for_trust(scene->trust, root_of(scene), &policy, &err), err);
	add_rules(policy, scene->rules);
	/* The table's is a share of this machine's memory. */
	set_limit(policy, KODA_LIMIT_MEMORY, scene->narrow ? 64 << 20 : 3ULL << 30);
	if (scene->narrow) {
		set_limit(policy, KODA_LIMIT_CPU_TIME, 5);
		set_limit(policy, KODA_LIMIT_OPEN_FILES, 32);
	}
	if (scene->no_network)
		KODA_ASSERT_OK(koda_policy_add(policy, KODA_LIST_DENIED_DOMAINS, "*", 1, &err),
			       err);
	if (scene->no_binding)
		koda_policy_set_flag(policy, KODA_FLAG_ALLOW_LOCAL_BINDING, false);
	if (scene->git_config)
		koda_policy_set_flag(policy, KODA_FLAG_ALLOW_GIT_CONFIG, true);
	return policy;
}

/* How long the filter is depends on the machine and on libseccomp, and on nothing that a scene
 * says. */
static void blank_filter(char *text)
{
	static const char name[] = "\nfilter";
	char *line = strstr(text, name);

	assert_non_null(line);
	for (char *c = line + sizeof(name) - 1; *c != '\n'; c++)
		if (*c >= '0' && *c <= '9')
			*c = 'N';
}

typedef int render_fn(const struct koda_plan *plan, struct koda_buf *out, struct koda_error *err);

/* T-119. The plan has no part in it: a profile comes from the rules. */
static int print_profile(const struct koda_plan_request *request, struct koda_buf *out,
			 struct koda_error *err)
{
	const struct koda_seatbelt seatbelt = {
		.rules = request->rules,
		.policy = request->policy,
		.net = koda_policy_has_network(request->policy) ? KODA_SEATBELT_PROXIED
								: KODA_SEATBELT_CLOSED,
		.port = 3128,
		.tmpdir = "/private/var/folders/t",
	};

	return koda_seatbelt_print(&seatbelt, out, err);
}

/* render NULL: the Seatbelt profile. */
static char *plan_of(const struct scene *scene, render_fn *render)
{
	static const char *const exec_dirs[] = { "/usr/bin", "/home/u/bin", "/usr/libexec/koda",
						 NULL };
	static const char *const env[] = { "PATH=/usr/bin", "KODA_SANDBOX=1", NULL };
	static const char *const argv[] = { "/bin/sh", "sh", "-c", "true", NULL };
	static const struct koda_terminal_state terminal = { 0 };
	const struct koda_fs_ops fs = { .look = look, .ctx = (void *)(uintptr_t)scene, .may = may };
	const struct koda_place place = { .size = sizeof(place),
					  .root = root_of(scene),
					  .home = HOME,
					  .runtime_dir = "/run/user/1000",
					  .exec_dirs = exec_dirs,
					  .git_dirs = scene->git_dirs,
					  .git_files = scene->git_files,
					  .missing_dirs = scene->absent,
					  .readonly_aliases = scene->guarded,
					  .hidden = scene->hidden };
	koda_auto_policy struct koda_policy *policy = policy_of(scene);
	koda_auto_plan struct koda_plan plan = KODA_PLAN_INIT;
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT((size_t)1 << 20);
	struct koda_plan_request request = {
		.policy = policy,
		.place = &place,
		.fs = &fs,
		.trust = scene->trust,
		.max_processes = scene->narrow ? 8 : 0,
		.max_memory = 3ULL << 30,
		.as_root = scene->as_root,
		.terminal = scene->terminal ? &terminal : NULL,
		.sockets = scene->sockets,
		.cwd = scene->cwd ? scene->cwd : root_of(scene),
		.argv = scene->argv ? scene->argv : argv,
		.env = env,
	};
	struct koda_rules *rules = NULL;
	struct koda_error err = { 0 };
	char *result = NULL;

	KODA_ASSERT_OK(koda_rules_new(policy, &place, &rules, &err), err);
	request.rules = rules;
	KODA_ASSERT_OK(koda_plan_make(&plan, &request, &err), err);
	KODA_ASSERT_OK(render ? render(&plan, &text, &err) : print_profile(&request, &text, &err),
		       err);
	assert_int_equal(koda_buf_take(&text, &result), KODA_OK);
	koda_rules_free(rules);
	if (render == koda_plan_print)
		blank_filter(result);
	return result;
}

static void write_golden(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	if (!file || fputs(text, file) < 0 || fclose(file) != 0)
		fail_msg("%s: %s", path, strerror(errno));
}

static char *read_golden(const char *path)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT((size_t)1 << 20);
	koda_auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct koda_error err = { 0 };
	char *result = NULL;

	if (fd < 0)
		fail_msg("%s: %s; KODA_GOLDEN_WRITE=1 makes it", path, strerror(errno));
	KODA_ASSERT_OK(koda_fd_read_all(fd, &text, &err), err);
	assert_int_equal(koda_buf_add(&text, "", 0), KODA_OK);
	assert_int_equal(koda_buf_take(&text, &result), KODA_OK);
	return result;
}

/* The first line in which they differ, both ways. */
static void expect_same(const char *name, char *is, char *was)
{
	unsigned int number = 1;

	for (;; number++) {
		char *is_line = strsep(&is, "\n");
		char *was_line = strsep(&was, "\n");

		if (!is_line && !was_line)
			return;
		if (!is_line || !was_line || strcmp(is_line, was_line) != 0)
			fail_msg("%s, line %u, is now\n  %s\nand was\n  %s", name, number,
				 is_line ? is_line : "(not there)",
				 was_line ? was_line : "(not there)");
	}
}

static void expect_golden(const struct scene *scene, const char *suffix, render_fn *render)
{
	const char *dir = getenv("KODA_GOLDEN_DIR");
	const char *write = getenv("KODA_GOLDEN_WRITE");
	char path[4096];
	char *is = plan_of(scene, render);

	assert_non_null(dir);
	(void)snprintf(path, sizeof(path), "%s/%s%s", dir, scene->name, suffix);
	if (write && strcmp(write, "1") == 0) {
		write_golden(path, is);
	} else {
		char *was = read_golden(path);

		expect_same(path, is, was);
		free(was);
	}
	free(is);
}

static void plan_is_as_it_was(void **state)
{
	expect_golden(*state, ".txt", koda_plan_print);
}

/* T-49 */
static void arguments_are_as_they_were(void **state)
{
	expect_golden(*state, ".bwrap", koda_bwrap_print);
}

static void profiles_are_as_they_were(void **state)
{
	expect_golden(*state, ".sb", NULL);
}

/* What bubblewrap 0.6 knows; Debian 12 has 0.8, without overlays and binds by descriptor. */
static void arguments_are_old_ones(void **state)
{
	static const char *const known[] = {
		"--unshare-user", "--unshare-pid", "--unshare-net",
		"--unshare-ipc",  "--unshare-uts", "--unshare-cgroup",
		"--hostname",     "--as-pid-1",    "--die-with-parent",
		"--bind",         "--ro-bind",     "--remount-ro",
		"--proc",         "--dev",         "--tmpfs",
		"--dir",          "--file",        "--ro-bind-data",
		"--perms",        "--size",        "--chdir",
	};
	char *text = plan_of(*state, koda_bwrap_print);
	char *rest = text;
	char *line;

	while ((line = strsep(&rest, "\n")) && *line) {
		size_t len = strcspn(line, " ");
		bool found = false;

		for (size_t i = 0; i < KODA_ARRAY_LEN(known) && !found; i++)
			found = strlen(known[i]) == len && strncmp(known[i], line, len) == 0;
		if (!found)
			fail_msg("an option that is too new: %s", line);
	}
	free(text);
}

int main(void)
{
	static const struct {
		const char *name;
		CMUnitTestFunction test;
	} kinds[] = {
		{ "", plan_is_as_it_was },
		{ " for bubblewrap", arguments_are_as_they_were },
		{ " for an old bubblewrap", arguments_are_old_ones },
		{ " for Seatbelt", profiles_are_as_they_were },
	};
	struct CMUnitTest tests[192];
	static char names[KODA_ARRAY_LEN(tests)][96];
	size_t count = 0;

	if (koda_scene_count * KODA_ARRAY_LEN(kinds) > KODA_ARRAY_LEN(tests))
		return 1;
	for (size_t i = 0; i < koda_scene_count; i++)
		for (size_t k = 0; k < KODA_ARRAY_LEN(kinds); k++) {
			(void)snprintf(names[count], sizeof(names[count]), "%s%s",
				       koda_scenes[i].name, kinds[k].name);
			tests[count] = (struct CMUnitTest){
				.name = names[count],
				.test_func = kinds[k].test,
				.initial_state = (void *)(uintptr_t)&koda_scenes[i],
			};
			count++;
		}
	return _cmocka_run_group_tests("golden", tests, count, NULL, NULL);
}
