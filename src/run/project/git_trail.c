/* SPDX-License-Identifier: MIT */
/* T-44. Follows hooks and other files to their targets. */
#include "run/project/git_trail.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/floor.h"
#include "policy/policy.h"
#include "run/project/git_pointer.h"
#include "run/project/inode_search.h"
#include "run/project/site.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* How many names of all repositories, and entries of a hook directory, are examined. */
#define NAMES_MAX ((size_t)8192)
#define HOOKS_MAX ((size_t)4096)

static bool can_be_written(const struct koda_git_trail *trail, struct koda_span path)
{
	return koda_site_is_writable(trail->site, trail->policy, path);
}

static int fail_too_many(const struct koda_git_trail *trail, struct koda_error *err)
{
	return koda_fail_at(err, KODA_E_LIMIT, 0, trail->source,
			    "its hooks and git's configuration lead to too many files of the "
			    "project, more than %zu, or %zu of all repositories; remove some, or "
			    "the repository",
			    KODA_GIT_TRAIL_NAMES, NAMES_MAX);
}

/* Takes one entry off the budget. */
static int take(const struct koda_git_trail *trail, struct koda_error *err)
{
	return koda_survey_budget_take_entries(&trail->site->budget, 1, trail->source, err);
}

int koda_git_trail_note(struct koda_git_trail *trail, const char *path, struct koda_error *err)
{
	size_t count = trail->added.count;
	int r;

	if (!can_be_written(trail, koda_span_of(path)))
		return KODA_OK;
	if (koda_set_add(&trail->added, koda_span_of(path), NULL) < 0)
		return koda_fail_nomem(err);
	if (trail->added.count == count)
		return KODA_OK;
	if (trail->left == 0 || trail->added.count > NAMES_MAX)
		return fail_too_many(trail, err);
	trail->left--;
	r = koda_survey_budget_take_bytes(
		&trail->site->budget, KODA_SURVEY_BUDGET_COPIES * strlen(path), trail->source, err);
	return r < 0 ? r : koda_strv_add(&trail->site->git_files, path, err);
}

/* Adds the target of path and the links on the way. Returns the target, owned by the caller; NULL
 * if it does not exist. */
static int follow(struct koda_git_trail *trail, const char *path, char **ret_real,
		  struct koda_error *err)
{
	koda_auto_strv struct koda_strv links = KODA_STRV_INIT;
	koda_auto_free char *real = NULL;
	struct koda_error inner = { 0 };
	int r = take(trail, err);

	*ret_real = NULL;
	if (r < 0)
		return r;
	r = koda_git_pointer_trace(path, &real, &links, &inner);
	if (r < 0)
		return koda_git_pointer_fail(trail->source, &inner, err);
	for (size_t i = 0; i < links.len && r == KODA_OK; i++)
		r = koda_git_trail_note(trail, links.items[i], err);
	if (r == KODA_OK && real)
		r = koda_git_trail_note(trail, real, err);
	if (r == KODA_OK)
		*ret_real = KODA_TAKE(real);
	return r;
}

int koda_git_trail_follow(struct koda_git_trail *trail, const char *path, struct koda_error *err)
{
	koda_auto_free char *real = NULL;

	return follow(trail, path, &real, err);
}

/* --- hooks --- */

/* Follows only the hook names that git runs, if the directory has too many entries. */
static int follow_hook_names(struct koda_git_trail *trail, const char *dir, struct koda_error *err)
{
	int r = KODA_OK;

	for (const char *const *name = koda_floor_hook_names; *name && r == KODA_OK; name++) {
		koda_auto_free char *hook = NULL;
		struct stat st;

		r = koda_path_join(dir, *name, &hook, err);
		if (r == KODA_OK && lstat(hook, &st) == 0 && S_ISLNK(st.st_mode))
			r = koda_git_trail_follow(trail, hook, err);
	}
	return r;
}

static int note_linked(struct koda_git_trail *trail, DIR *dir, const char *path,
		       struct koda_error *err)
{
	const struct dirent *entry;
	size_t left = HOOKS_MAX;
	int r = KODA_OK;

	while (r == KODA_OK && (entry = koda_inode_search_next(dir))) {
		koda_auto_free char *hook = NULL;

		if (left-- == 0)
			return follow_hook_names(trail, path, err);
		r = take(trail, err);
		if (r < 0)
			return r;
		if (entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN)
			continue;
		r = koda_path_join(path, entry->d_name, &hook, err);
		if (r == KODA_OK)
			r = koda_git_trail_follow(trail, hook, err);
	}
	return r;
}

/* Follows the hooks in a directory. One that cannot be read is closed to git as well. */
int koda_git_trail_hook_links(struct koda_git_trail *trail, const char *path,
			      struct koda_error *err)
{
	koda_auto_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	int r;

	if (fd >= 0 && !dir)
		return koda_fail_nomem(err);
	if (!dir)
		return koda_git_pointer_is_nothing(errno)
			       ? KODA_OK
			       : koda_fail_at(err, KODA_E_SYS, errno, path, "cannot look at hooks");
	(void)koda_take_fd(&fd);
	r = note_linked(trail, dir, path, err);
	(void)closedir(dir);
	return r;
}

/* The hook directory is the project, or another that commands may write as a whole: only the names
 * that git runs are protected. */
static int note_hook_names(struct koda_git_trail *trail, const char *dir, struct koda_error *err)
{
	int r = KODA_OK;

	for (const char *const *name = koda_floor_hook_names; *name && r == KODA_OK; name++) {
		koda_auto_free char *hook = NULL;

		r = koda_path_join(dir, *name, &hook, err);
		if (r == KODA_OK)
			r = koda_git_trail_note(trail, hook, err);
	}
	return r;
}

/* The hooks that husky puts into "_" run those in its parent directory. */
static int note_above(struct koda_git_trail *trail, const char *hooks, struct koda_error *err)
{
	koda_auto_free char *above = NULL;

	if (strcmp(strrchr(hooks, '/'), "/_") != 0)
		return KODA_OK;
	above = koda_git_pointer_parent(hooks);
	if (!above)
		return koda_fail_nomem(err);
	return can_be_written(trail, koda_span_of(above)) ? koda_git_trail_note(trail, above, err)
							  : note_hook_names(trail, above, err);
}

int koda_git_trail_hooks(struct koda_git_trail *trail, const char *path, struct koda_error *err)
{
	koda_auto_free char *real = NULL;
	int r = follow(trail, path, &real, err);

	if (r < 0 || !real)
		return r;
	r = can_be_written(trail, koda_span_of(real)) ? note_above(trail, real, err)
						      : note_hook_names(trail, real, err);
	return r < 0 ? r : koda_git_trail_hook_links(trail, real, err);
}
