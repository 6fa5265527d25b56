/* SPDX-License-Identifier: MIT */
/*
 * T-41. The .git file is part of the project, so it proves nothing: it could name any repository.
 * The git directory that it names is opened for writing only if that names this project back, in a
 * file that commands cannot write:
 *
 *   worktree   GITDIR is COMMON/worktrees/NAME by its real path, its gitdir names root/.git and its
 *              commondir names COMMON. COMMON is taken from the path and not from commondir, so
 *              that a git directory in the project cannot vouch for one outside.
 *   submodule  core.worktree in GITDIR/config leads to the root.
 *
 * Any other git directory stays readable, and protected like every git directory.
 */
#include "run/project/git_file.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "run/project/git_dir.h"
#include "run/project/git_pointer.h"
#include "run/project/policy_links.h"
#include "run/project/site.h"

#include <errno.h>
#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* Enough for a path and its key. Larger configurations are not read. */
#define POINTER_MAX ((size_t)8192)
#define CONFIG_MAX  ((size_t)1 << 20)

/* Forgets the target of file unless it resembles a git directory, which a command could complete.
 * */
static int keep_if_git(const char *file, char **dir, struct koda_error *err)
{
	koda_auto_fd int fd = *dir ? open(*dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	struct koda_error inner = { 0 };
	int is = KODA_GIT_DIR_NO;

	if (fd >= 0)
		is = koda_git_dir_resembles(fd, &inner);
	else if (*dir && errno == EACCES)
		is = koda_policy_links_check_closed(*dir, &inner); /* unless another user's */
	else if (*dir && !koda_git_pointer_is_nothing(errno))
		is = koda_fail(&inner, KODA_E_SYS, errno, "cannot open");
	if (is <= 0)
		free(KODA_TAKE(*dir));
	return is < 0 ? koda_git_pointer_fail(file, &inner, err) : KODA_OK;
}

/* Returns the git directory that a pointer file names; NULL if it names none. */
static int read_pointer(const char *file, char **ret_dir, struct koda_strv *links,
			struct koda_error *err)
{
	static const char key[] = "gitdir: ";
	koda_auto_free char *text = NULL;
	int r = koda_git_pointer_read(file, POINTER_MAX, &text, NULL, err);

	*ret_dir = NULL;
	if (r < 0 || !text || strncmp(text, key, strlen(key)) != 0)
		return r;
	return koda_git_pointer_follow(file, text + strlen(key), ret_dir, links, err);
}

/* Examines the target of a .git. */
static int look_at(const char *real, struct stat *ret_st, bool *ret_there, struct koda_strv *links,
		   struct koda_error *err)
{
	bool closed;
	int r;

	*ret_there = lstat(real, ret_st) == 0;
	if (*ret_there)
		return KODA_OK;
	closed = errno == EACCES;
	/* T-12. The target of a pointer in a closed directory cannot be protected. */
	r = koda_policy_links_check_unseen(real, errno, err);
	return r == KODA_OK && closed ? koda_strv_add(links, real, err) : r;
}

int koda_git_file_follow(const char *dot_git, char **ret_dir, struct koda_strv *links,
			 struct koda_error *err)
{
	koda_auto_free char *real = NULL;
	bool there = false;
	struct stat st;
	int r = koda_git_pointer_trace(dot_git, &real, links, err);

	*ret_dir = NULL;
	if (r == KODA_OK && real)
		r = look_at(real, &st, &there, links, err);
	if (r < 0 || !there)
		return r;
	if (S_ISDIR(st.st_mode)) {
		*ret_dir = KODA_TAKE(real);
		return keep_if_git(dot_git, ret_dir, err);
	}
	/* T-12. A pointer file behind a link is protected by its own path too. */
	if (strcmp(real, dot_git) != 0)
		r = koda_strv_add(links, real, err);
	if (r == KODA_OK)
		r = read_pointer(real, ret_dir, links, err);
	return r < 0 ? r : keep_if_git(real, ret_dir, err);
}

/* A commondir is any text. If it is a link, its target, which may be hidden from the command that
 * made the link, would be read for that command. Git never makes such a link. */
static int fail_link(const char *file, struct koda_error *err)
{
	return koda_fail_at(err, KODA_E_DENIED, 0, file,
			    "is a link, and git's pointers are not read through links; remove it, "
			    "or replace it by a file");
}

int koda_git_file_common(const char *git_dir, char **ret_dir, struct koda_strv *links,
			 struct koda_error *err)
{
	koda_auto_free char *file = NULL;
	koda_auto_free char *text = NULL;
	bool is_link = false;
	int r = koda_path_join(git_dir, "commondir", &file, err);

	*ret_dir = NULL;
	if (r == KODA_OK)
		r = koda_git_pointer_read(file, POINTER_MAX, &text, &is_link, err);
	if (r == KODA_OK && is_link)
		return fail_link(file, err);
	if (r == KODA_OK && text)
		r = koda_git_pointer_follow(file, text, ret_dir, links, err);
	return r < 0 ? r : keep_if_git(file, ret_dir, err);
}

/* --- does it belong to this project? --- */

/* Tells whether the path in the file dir/name, relative to dir, leads to target. */
static int names_back(const char *dir, const char *name, const char *target, bool *ret_yes,
		      struct koda_error *err)
{
	koda_auto_free char *file = NULL;
	koda_auto_free char *text = NULL;
	koda_auto_free char *leads = NULL;
	int r = koda_path_join(dir, name, &file, err);

	if (r == KODA_OK)
		r = koda_git_pointer_read(file, POINTER_MAX, &text, NULL, err);
	if (r == KODA_OK && text)
		r = koda_git_pointer_follow(file, text, &leads, NULL, err);
	*ret_yes = leads && strcmp(leads, target) == 0;
	return r;
}

/* Returns the value of a line "key = value", terminated in place; NULL for another key. */
static char *value_of(char *line, const char *key)
{
	size_t len = strlen(key);
	char *out;
	char *value;

	line += strspn(line, " \t");
	if (strncasecmp(line, key, len) != 0)
		return NULL;
	line += len + strspn(line + len, " \t");
	if (*line != '=')
		return NULL;
	line += 1 + strspn(line + 1, " \t");
	value = line;
	if (*line != '"') {
		len = strcspn(line, "#;\r");
		while (len > 0 && (line[len - 1] == ' ' || line[len - 1] == '\t'))
			len--;
		line[len] = '\0';
		return value;
	}
	for (out = line++; *line && *line != '"'; line++) {
		line += *line == '\\' && line[1];
		*out++ = *line;
	}
	*out = '\0';
	return value;
}

/* Returns the last core.worktree of a configuration, in place. It understands what git itself
 * writes; otherwise it finds nothing, and the directory stays closed. */
static char *find_worktree(char *config)
{
	char *found = NULL;
	bool in_core = false;

	for (char *rest = config, *line; (line = strsep(&rest, "\n"));) {
		char *value = NULL;

		line += strspn(line, " \t");
		if (*line == '[')
			in_core = strncasecmp(line, "[core]", strlen("[core]")) == 0;
		else if (in_core)
			value = value_of(line, "worktree");
		found = value ? value : found;
	}
	return found;
}

static int is_submodule_of(const char *git_dir, const char *root, bool *ret_yes,
			   struct koda_error *err)
{
	koda_auto_free char *file = NULL;
	koda_auto_free char *text = NULL;
	koda_auto_free char *leads = NULL;
	const char *worktree = NULL;
	int r = koda_path_join(git_dir, "config", &file, err);

	*ret_yes = false;
	if (r == KODA_OK)
		r = koda_git_dir_is(git_dir, err);
	if (r != KODA_GIT_DIR_YES)
		return r < 0 ? r : KODA_OK;
	r = koda_git_pointer_read(file, CONFIG_MAX, &text, NULL, err);
	if (r == KODA_OK && text)
		worktree = find_worktree(text);
	if (r == KODA_OK && worktree && worktree[0])
		r = koda_git_pointer_follow(file, worktree, &leads, NULL, err);
	*ret_yes = leads && strcmp(leads, root) == 0;
	return r;
}

/* Returns the common directory of a worktree's git directory, by its path; NULL if the path is not
 * that of a worktree, or the pointers disagree. */
static int find_common(const char *git_dir, const char *root, char **ret_common,
		       struct koda_error *err)
{
	koda_auto_free char *list = koda_git_pointer_parent(git_dir);
	koda_auto_free char *common = list ? koda_git_pointer_parent(list) : NULL;
	koda_auto_free char *dot_git = NULL;
	bool back = false;
	bool shared = false;
	int r = koda_path_join(root, ".git", &dot_git, err);

	*ret_common = NULL;
	if (!list || !common)
		return koda_fail_nomem(err);
	if (r < 0 || strcmp(strrchr(list, '/'), "/worktrees") != 0)
		return r;
	r = koda_git_dir_is_worktree(git_dir, err);
	if (r == KODA_GIT_DIR_YES)
		r = koda_git_dir_is(common, err);
	if (r != KODA_GIT_DIR_YES)
		return r < 0 ? r : KODA_OK;
	r = names_back(git_dir, "gitdir", dot_git, &back, err);
	if (r == KODA_OK)
		r = names_back(git_dir, "commondir", common, &shared, err);
	if (r == KODA_OK && back && shared)
		*ret_common = KODA_TAKE(common);
	return r;
}

/* A directory that would be refused as a project is not opened either. */
static int open_dir(struct koda_site *site, const char *dir, struct koda_error *err)
{
	struct koda_error refusal;
	struct stat st;
	int r = koda_site_check_dir(site, dir, &refusal);

	if (r == KODA_E_NOMEM)
		return koda_fail_nomem(err);
	if (r < 0 || lstat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
		return KODA_OK;
	return koda_strv_add(&site->own_git_dirs, dir, err);
}

/* If the project lies in its common git directory, only the parts that a commit needs are opened.
 * */
static int open_common(struct koda_site *site, const char *common, const char *git_dir,
		       struct koda_error *err)
{
	static const char *const parts[] = { "objects", "refs", "logs" };
	int r = KODA_OK;

	if (!koda_path_covers(koda_span_of(common), koda_span_of(site->root)))
		return open_dir(site, common, err);
	for (size_t i = 0; i < KODA_ARRAY_LEN(parts) && r == KODA_OK; i++) {
		koda_auto_free char *part = NULL;

		r = koda_path_join(common, parts[i], &part, err);
		if (r == KODA_OK)
			r = open_dir(site, part, err);
	}
	return r < 0 ? r : open_dir(site, git_dir, err);
}

int koda_git_file_note(struct koda_site *site, struct koda_error *err)
{
	koda_auto_free char *dot_git = NULL;
	koda_auto_free char *git_dir = NULL;
	koda_auto_free char *common = NULL;
	bool submodule = false;
	struct stat st;
	int r = koda_path_join(site->root, ".git", &dot_git, err);

	if (r < 0 || lstat(dot_git, &st) < 0 || !S_ISREG(st.st_mode))
		return r;
	r = koda_strv_add(&site->git_files, dot_git, err);
	if (r == KODA_OK)
		r = koda_git_file_follow(dot_git, &git_dir, &site->git_files, err);
	if (r < 0 || !git_dir)
		return r;
	r = koda_strv_add(&site->git_dirs, git_dir, err);
	if (r == KODA_OK)
		r = find_common(git_dir, site->root, &common, err);
	if (r == KODA_OK && common) {
		r = koda_strv_add(&site->git_dirs, common, err);
		return r < 0 ? r : open_common(site, common, git_dir, err);
	}
	if (r == KODA_OK)
		r = is_submodule_of(git_dir, site->root, &submodule, err);
	return r == KODA_OK && submodule ? open_dir(site, git_dir, err) : r;
}
