/* SPDX-License-Identifier: MIT */
/* T-43, T-44. Checks of a project's root and of the top of a work tree, and where that is. */
#include "base/error.h"
#include "base/path.h"
#include "run/project/git_pointer.h"
#include "run/project/worktree.h"
#include "wire/placeholder.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

/* Tells whether the name exists in the directory. */
bool koda_worktree_has(const char *dir, const char *name)
{
	char path[2 * KODA_PATH_MAX];
	struct stat st;
	int n = snprintf(path, sizeof(path), "%s/%s", dir, name);

	return n > 0 && (size_t)n < sizeof(path) && lstat(path, &st) == 0;
}

/* Tells whether dir is a git directory, or is named .git, whose parts may have been moved away. */
static bool is_git_dir(const char *dir)
{
	const char *slash = strrchr(dir, '/');
	struct stat st;

	if (slash && strcmp(slash, "/.git") == 0)
		return lstat(dir, &st) == 0 && S_ISDIR(st.st_mode);
	return koda_worktree_has(dir, "HEAD") &&
	       ((koda_worktree_has(dir, "objects") && koda_worktree_has(dir, "refs")) ||
		koda_worktree_has(dir, "commondir"));
}

/* T-44 */
int koda_worktree_check_root(const char *root, struct koda_error *err)
{
	koda_auto_free char *dir = strdup(root);
	size_t len = strlen(root);

	if (!dir)
		return koda_fail_nomem(err);
	for (; len > 1; dir[len] = '\0') {
		const char *slash = strrchr(dir, '/');

		/* A bare repository may be a project as a whole. */
		if (is_git_dir(dir) && (len < strlen(root) || strcmp(slash, "/.git") == 0))
			return koda_fail_at(err, KODA_E_DENIED, 0, root,
					    "refused as project root: it lies in a git directory "
					    "(%s), whose hooks and configuration git obeys; use "
					    "the directory of the work tree",
					    dir);
		/* A linked work tree may lie in its git directory. */
		if (koda_worktree_has(dir, ".git"))
			return KODA_OK;
		len = slash > dir ? (size_t)(slash - dir) : 1;
	}
	return KODA_OK;
}

/* Tells whether the name exists and is no placeholder of another run. */
static bool is_used(const char *dir, const char *name)
{
	char path[2 * KODA_PATH_MAX];
	struct stat st;
	int n = snprintf(path, sizeof(path), "%s/%s", dir, name);

	return n > 0 && (size_t)n < sizeof(path) && lstat(path, &st) == 0 &&
	       !koda_placeholder_is(AT_FDCWD, path, &st);
}

/* A command that ran while .git was closed as a whole may have created these. Git would obey them
 * as soon as this command moves .git/HEAD away. */
int koda_worktree_check_top(const char *top, struct koda_error *err)
{
	bool linked;

	if (!is_used(top, "HEAD") || !is_used(top, ".git"))
		return KODA_OK;
	linked = is_used(top, "commondir");
	if (!linked && !(is_used(top, "objects") && is_used(top, "refs") &&
			 (is_used(top, "config") || is_used(top, "hooks"))))
		return KODA_OK;
	return koda_fail_at(err, KODA_E_DENIED, 0, top,
			    "has a .git and is a git directory itself, which git would obey "
			    "without the .git; if that is not yours remove HEAD there");
}

size_t koda_worktree_top_len(const char *path)
{
	static const char name[] = "/.git";
	size_t len = strlen(path);

	if (len <= strlen(name) || strcmp(path + len - strlen(name), name) != 0)
		return 0;
	return len - strlen(name);
}

int koda_worktree_linked(const char *git_dir, char **ret_top, struct koda_error *err)
{
	koda_auto_free char *file = NULL;
	koda_auto_free char *dot_git = NULL;
	int r = koda_path_join(git_dir, "gitdir", &file, err);

	*ret_top = NULL;
	if (r == KODA_OK)
		r = koda_git_pointer_read(file, 2 * KODA_PATH_MAX, &dot_git, NULL, err);
	if (r < 0 || !dot_git || koda_worktree_top_len(dot_git) == 0)
		return r;
	dot_git[koda_worktree_top_len(dot_git)] = '\0';
	if (dot_git[0] == '/')
		*ret_top = KODA_TAKE(dot_git);
	else
		r = koda_path_join(git_dir, dot_git, ret_top, err);
	return r == KODA_E_LIMIT ? KODA_OK : r; /* no directory has such a name */
}
