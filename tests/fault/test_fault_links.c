/* SPDX-License-Identifier: MIT */
/* Following pointers and looking for further names when memory runs out: an error, never a name
 * that was passed over. */
#include "../lib/exhaust.h"

#include "../lib/scratch.h"
#include "base/error.h"
#include "run/project/git_reach.h"
#include "run/project/git_scan.h"
#include "run/project/hardlink.h"
#include "run/project/host_sockets.h"
#include "run/project/mount_alias.h"
#include "run/project/site.h"
#include "run/project/worktree.h"

#include <koda/policy.h>
#include <koda/trust.h>
#include <sys/socket.h>
#include <sys/un.h>

static void *scratch;
static const char *dir; /* the same, to read */

static int keep(struct koda_strv *list, int r, void **ret, struct koda_error *err)
{
	struct koda_strv *kept = r == KODA_OK ? malloc(sizeof(*kept)) : NULL;

	if (kept) {
		*kept = *list;
		*ret = kept;
		return r;
	}
	koda_strv_clear(list);
	if (r == KODA_OK) /* our own allocation was the one to fail */
		*err = (struct koda_error){ .code = KODA_E_NOMEM, .message = "out of memory" };
	return r == KODA_OK ? KODA_E_NOMEM : r;
}

static bool same_list(const void *ret, const void *undisturbed)
{
	const struct koda_strv *a = ret;
	const struct koda_strv *b = undisturbed;
	bool same = a->len == b->len && a->len > 0;

	for (size_t i = 0; same && i < a->len; i++)
		same = strcmp(a->items[i], b->items[i]) == 0;
	return same;
}

static void release_list(void *ret)
{
	koda_strv_clear(ret);
	free(ret);
}

static int load_site(struct koda_site *site, struct koda_error *err)
{
	static const char *const env[] = { "HOME=/no/such/home", "PATH=/no/such/bin", NULL };

	return koda_site_load(site, koda_in(dir, "root"), env, err);
}

/* The git directory of a worktree. */
static int open_git_dir(void **ret, struct koda_error *err)
{
	struct koda_site site = KODA_SITE_INIT;
	int r = load_site(&site, err);
	struct koda_strv opened = site.own_git_dirs;

	site.own_git_dirs = (struct koda_strv)KODA_STRV_INIT;
	koda_site_clear(&site);
	return keep(&opened, r, ret, err);
}

/* Looks, and follows what was found. */
static int scan_all(const char *root, unsigned int depth, const struct koda_git_found *found,
		    struct koda_error *err)
{
	int r = koda_git_scan(root, depth, found, err);

	return r < 0 ? r : koda_git_related_follow(found, err);
}

static int scan(void **ret, struct koda_error *err)
{
	struct koda_strv dirs = KODA_STRV_INIT;
	struct koda_strv files = KODA_STRV_INIT;
	struct koda_strv closed = KODA_STRV_INIT;
	struct koda_survey_budget budget = { 0 };
	const struct koda_git_found found = { &dirs, &files, &closed, NULL, &budget };
	int r = scan_all(koda_in(dir, "root"), 3, &found, err);

	koda_strv_clear(&files);
	koda_strv_clear(&closed);
	return keep(&dirs, r, ret, err);
}

/* The further names of what the policy hides. */
static int find_names(void **ret, struct koda_error *err)
{
	struct koda_site site = KODA_SITE_INIT;
	struct koda_policy *policy = NULL;
	struct koda_strv hidden;
	const char *path = koda_in(dir, "root/secret");
	int r = load_site(&site, err);

	if (r == KODA_OK)
		r = koda_policy_for_trust(KODA_TRUST_AUTO, site.root, &policy, err);
	if (r == KODA_OK)
		r = koda_policy_add(policy, KODA_LIST_DENY_READ, path, strlen(path), err);
	if (r == KODA_OK)
		r = koda_hardlink_note(&site, policy, err);
	hidden = site.hidden;
	site.hidden = (struct koda_strv)KODA_STRV_INIT;
	koda_site_clear(&site);
	koda_policy_free(policy);
	return keep(&hidden, r, ret, err);
}

static int find_twins(void **ret, struct koda_error *err)
{
	static const char table[] = "20 1 8:1 / / rw - ext4 a rw\n"
				    "21 20 8:1 /a /b rw - ext4 a rw\n"
				    "22 20 8:1 / /c rw - ext4 a rw\n";
	koda_auto_mounts struct koda_mount_table mounts = KODA_MOUNT_TABLE_INIT;
	struct koda_strv names = KODA_STRV_INIT;
	int r = koda_buf_add(&mounts.text, table, strlen(table));

	r = r < 0 ? koda_fail_nomem(err) : koda_mount_table_parse(&mounts, err);
	if (r == KODA_OK)
		r = koda_mount_table_find(&mounts, "/a/x", &names, err);
	return keep(&names, r, ret, err);
}

static int find_sockets(void **ret, struct koda_error *err)
{
	const struct koda_host_sockets_bounds bounds = KODA_HOST_SOCKETS_BOUNDS;
	struct koda_strv found = KODA_STRV_INIT;
	bool unsure;
	int r = koda_host_sockets_find(koda_in(dir, "root"), &bounds, &found, NULL, &unsure, err);

	return keep(&found, r, ret, err);
}

/* What must not appear, and where git's configuration leads. */
static int find_reach(void **ret, struct koda_error *err)
{
	struct koda_site site = KODA_SITE_INIT;
	struct koda_policy *policy = NULL;
	struct koda_strv files;
	int r = load_site(&site, err);

	if (r == KODA_OK)
		r = koda_policy_for_trust(KODA_TRUST_AUTO, site.root, &policy, err);
	if (r == KODA_OK)
		r = koda_strv_add(&site.git_dirs, koda_in(dir, "root/set/.git"), err);
	if (r == KODA_OK)
		r = koda_worktree_note(&site, policy, err);
	if (r == KODA_OK)
		r = koda_git_reach_note(&site, policy, err);
	for (size_t i = 0; i < site.missing_dirs.len && r == KODA_OK; i++)
		r = koda_strv_add(&site.git_files, site.missing_dirs.items[i], err);
	files = site.git_files;
	site.git_files = (struct koda_strv)KODA_STRV_INIT;
	koda_site_clear(&site);
	koda_policy_free(policy);
	return keep(&files, r, ret, err);
}

static bool same_reach(const void *ret, const void *undisturbed)
{
	return same_list(ret, undisturbed) && koda_strv_has(ret, koda_in(dir, "root/set/hooks")) &&
	       koda_strv_has(ret, koda_in(dir, "root/set/inc")) &&
	       koda_strv_has(ret, koda_in(dir, "root/set/run")) &&
	       koda_strv_has(ret, koda_in(dir, "root/set/hook")) &&
	       koda_strv_has(ret, koda_in(dir, "root/set/sub")) &&
	       koda_strv_has(ret, koda_in(dir, "root/set/refs"));
}

/* Others come and go. */
static bool has_ours(const void *ret, const void *undisturbed)
{
	(void)undisturbed;
	return koda_strv_has(ret, koda_in(dir, "root/moved")) &&
	       koda_strv_has(ret, koda_in(dir, "relative"));
}

static const struct koda_exhaust entries[] = {
	{ "koda_site_load, a worktree", open_git_dir, same_list, release_list },
	{ "koda_git_scan", scan, same_list, release_list },
	{ "koda_hardlink_note", find_names, same_list, release_list },
	{ "koda_git_reach_note", find_reach, same_reach, release_list },
	{ "koda_mount_table_find", find_twins, same_list, release_list },
	{ "koda_host_sockets_find", find_sockets, has_ours, release_list },
};

static void bind_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); /* kept to the end */

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		fail_msg("bind %s: %s", path, strerror(errno));
}

/* The group's own state would take the place of the tests'. */
static int setup(void **state)
{
	char back[PATH_MAX];

	(void)state;
	if (koda_scratch_setup(&scratch) < 0 || chdir(scratch) < 0)
		return -1;
	dir = scratch;
	(void)snprintf(back, sizeof(back), "%s/root/.git\n", dir);
	(void)koda_make_dir(dir, "root");
	(void)koda_make_dir(dir, "root/sub");
	(void)koda_make_dir(dir, "main");
	(void)koda_make_dir(dir, "main/objects");
	(void)koda_make_dir(dir, "main/refs");
	(void)koda_make_dir(dir, "main/worktrees");
	(void)koda_make_dir(dir, "main/worktrees/w");
	(void)koda_make_file(dir, "main/HEAD", "ref: refs/heads/main\n");
	(void)koda_make_file(dir, "main/worktrees/w/HEAD", "ref: refs/heads/side\n");
	(void)koda_make_file(dir, "main/worktrees/w/commondir", "../..\n");
	(void)koda_make_file(dir, "main/worktrees/w/gitdir", back);
	(void)koda_make_link(dir, "step", "main/worktrees");
	(void)koda_make_file(dir, "root/.git", "gitdir: ../step/w\n");
	(void)koda_make_file(dir, "root/secret", "x");
	(void)koda_make_dir(dir, "root/set");
	(void)koda_make_dir(dir, "root/set/.git");
	(void)koda_make_dir(dir, "root/set/.git/hooks");
	(void)koda_make_file(dir, "root/set/hook", "x");
	(void)koda_make_link(dir, "root/set/.git/hooks/pre-push", "../../hook");
	(void)koda_make_file(dir, "root/set/.gitmodules", "[submodule \"s\"]\npath = sub\n");
	(void)koda_make_file(dir, "root/set/.git/config",
			     "[core]\nhooksPath = hooks\nfsmonitor = ./run\n"
			     "[include]\npath = ../inc\n");
	if (link(koda_in(dir, "root/secret"), koda_in(dir, "root/sub/other")) < 0)
		return -1;
	bind_at("relative");
	bind_at("bound");
	return rename("bound", "root/moved");
}

static int teardown(void **state)
{
	(void)state;
	return chdir("/") < 0 ? -1 : koda_scratch_teardown(&scratch);
}

#define ENTRIES (sizeof(entries) / sizeof(entries[0]))

int main(void)
{
	struct CMUnitTest tests[ENTRIES];

	for (size_t i = 0; i < ENTRIES; i++)
		tests[i] = KODA_EXHAUST_TEST(&entries[i]);
	return cmocka_run_group_tests(tests, setup, teardown);
}
