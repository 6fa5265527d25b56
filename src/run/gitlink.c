/* SPDX-License-Identifier: MIT */
/*
 * T-41. Whoever wrote the project wrote its .git file, so the file alone proves nothing: it could
 * name anybody's repository. What it leads to is opened for writing only if that names this project
 * back, in a file that nothing inside may write:
 *
 *   worktree   GITDIR is COMMON/worktrees/NAME by its real path, its gitdir names root/.git and its
 *              commondir names COMMON. The place decides what COMMON is, not the contents: a git
 *              directory made up inside the project cannot vouch for one outside.
 *   submodule  the core.worktree of GITDIR/config leads to the root.
 *
 * Anything else stays as it is: readable, and protected like every git directory.
 */
#include "run/gitlink.h"

#include "base/diag.h"
#include "base/fd.h"
#include "base/path.h"
#include "run/gitdir.h"
#include "run/site.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* More than a path and its key; a configuration that is larger is not read. */
#define POINTER_MAX ((size_t)8192)
#define CONFIG_MAX  ((size_t)1 << 20)

/* Is it only not there, or out of reach for the command as well? */
static bool is_nothing(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ELOOP || error == EACCES ||
	       error == ENXIO; /* a socket: a placeholder of another run */
}

/* Forgets the directory unless it looks enough like a git directory to be made into one. */
static int keep_if_git(char **dir, struct koda_error *err)
{
	koda_auto_fd int fd = *dir ? open(*dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

	/* What cannot be looked at may be one. */
	if (*dir && fd < 0 && errno == EACCES)
		return KODA_OK;
	if (*dir && fd < 0 && !is_nothing(errno))
		return koda_fail_at(err, KODA_E_SYS, errno, *dir, "cannot follow a git pointer");
	if (!koda_gitdir_resembles(fd))
		free(KODA_TAKE(*dir));
	return KODA_OK;
}

/* Opens a file to read it; -1 if there is nothing to be read. What may not be read itself is that,
 * but not what is in a directory that a command has closed for the moment. */
static int open_text(const char *path, int *ret_fd, struct koda_error *err)
{
	const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	koda_auto_fd int found = -1;
	char name[32];

	*ret_fd = open(path, flags);
	if (*ret_fd < 0 && errno == EACCES) {
		found = open(path, O_PATH | O_CLOEXEC);
		if (found < 0)
			return koda_site_check_closed(path, err);
		(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", found);
		*ret_fd = open(name, flags);
		if (*ret_fd < 0 && errno == ENOENT)
			return koda_fail_at(err, KODA_E_SYS, ENOENT, name, "/proc is needed");
	}
	if (*ret_fd >= 0 || is_nothing(errno))
		return KODA_OK;
	return koda_fail_at(err, KODA_E_SYS, errno, path, "cannot follow a git pointer");
}

/* The text of a small regular file without the end of its line; NULL if it is none, is larger, or
 * is not text. */
static int read_text(const char *path, size_t max, char **ret_text, struct koda_error *err)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(max);
	koda_auto_fd int fd = -1;
	struct stat st;
	size_t len;
	int r = open_text(path, &fd, err);

	*ret_text = NULL;
	if (r < 0 || fd < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return koda_fail_at(err, KODA_E_SYS, errno, path, "cannot follow a git pointer");
	if (!S_ISREG(st.st_mode))
		return KODA_OK;
	r = koda_fd_read_all(fd, &text, err);
	if (r == KODA_E_LIMIT || text.len == 0)
		return r == KODA_E_LIMIT ? KODA_OK : r;
	if (r < 0 || strlen(text.ptr) != text.len)
		return r;
	len = text.len;
	while (len > 0 && (text.ptr[len - 1] == '\n' || text.ptr[len - 1] == '\r'))
		text.ptr[--len] = '\0';
	return koda_buf_take(&text, ret_text) < 0 ? koda_fail_nomem(err) : KODA_OK;
}

/* Where path leads, seen from dir; NULL if nowhere. */
static int trace_from(const char *dir, const char *path, char **ret_dir, struct koda_strv *links,
		      struct koda_error *err)
{
	koda_auto_strv struct koda_strv passed = KODA_STRV_INIT;
	koda_auto_free char *joined = NULL;
	koda_auto_free char *resolved = NULL;
	struct koda_error why = { 0 };
	int r = KODA_OK;

	*ret_dir = NULL;
	err = err ? err : &why; /* it is asked below, whether or not the caller wants it */
	if (path[0] != '/') {
		r = koda_path_join(dir, path, &joined, err);
		path = joined;
	}
	if (r == KODA_OK)
		r = koda_path_trace(path, &resolved, &passed, err);
	if (r == KODA_E_LIMIT || (r == KODA_E_SYS && is_nothing(err->sys_errno)))
		return KODA_OK; /* a loop, or too long for anybody */
	if (r == KODA_OK)
		r = koda_site_check_seen(resolved, path, err);
	if (r < 0)
		return r;
	for (size_t i = 0; links && i < passed.len; i++) {
		r = koda_strv_add(links, passed.items[i], err);
		if (r < 0)
			return r;
	}
	*ret_dir = KODA_TAKE(resolved);
	return KODA_OK;
}

/* Everything before the last slash; owned by the caller. */
static char *parent_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strndup(path, slash > path ? (size_t)(slash - path) : 1);
}

/* Where a pointer file says that the git directory is; NULL if it does not. */
static int read_pointer(const char *file, char **ret_dir, struct koda_strv *links,
			struct koda_error *err)
{
	static const char key[] = "gitdir: ";
	koda_auto_free char *text = NULL;
	koda_auto_free char *dir = NULL;
	int r = read_text(file, POINTER_MAX, &text, err);

	*ret_dir = NULL;
	if (r < 0 || !text || strncmp(text, key, strlen(key)) != 0)
		return r;
	dir = parent_of(file);
	return dir ? trace_from(dir, text + strlen(key), ret_dir, links, err)
		   : koda_fail_nomem(err);
}

int koda_gitlink_follow(const char *dot_git, char **ret_dir, struct koda_strv *links,
			struct koda_error *err)
{
	koda_auto_free char *real = NULL;
	struct stat st;
	int r = trace_from("/", dot_git, &real, links, err);

	*ret_dir = NULL;
	if (r < 0 || !real)
		return r;
	if (lstat(real, &st) < 0) {
		/* T-12. Where a pointer leads that the command has closed cannot be protected. */
		if (errno != EACCES)
			return KODA_OK;
		r = koda_site_check_closed(real, err);
		return r < 0 ? r : koda_strv_add(links, real, err);
	}
	if (S_ISDIR(st.st_mode)) {
		*ret_dir = KODA_TAKE(real);
		return keep_if_git(ret_dir, err);
	}
	/* T-12. Behind a link the pointer has another name. */
	if (strcmp(real, dot_git) != 0)
		r = koda_strv_add(links, real, err);
	if (r == KODA_OK)
		r = read_pointer(real, ret_dir, links, err);
	return r < 0 ? r : keep_if_git(ret_dir, err);
}

int koda_gitlink_common(const char *git_dir, char **ret_dir, struct koda_strv *links,
			struct koda_error *err)
{
	koda_auto_free char *file = NULL;
	koda_auto_free char *text = NULL;
	int r = koda_path_join(git_dir, "commondir", &file, err);

	*ret_dir = NULL;
	if (r == KODA_OK)
		r = read_text(file, POINTER_MAX, &text, err);
	if (r == KODA_OK && text)
		r = trace_from(git_dir, text, ret_dir, links, err);
	return r < 0 ? r : keep_if_git(ret_dir, err);
}

/* --- is it this project's? --- */

/* Does dir/name, read as a path seen from dir, lead to target? */
static int names_back(const char *dir, const char *name, const char *target, bool *ret_yes,
		      struct koda_error *err)
{
	koda_auto_free char *file = NULL;
	koda_auto_free char *text = NULL;
	koda_auto_free char *leads = NULL;
	int r = koda_path_join(dir, name, &file, err);

	if (r == KODA_OK)
		r = read_text(file, POINTER_MAX, &text, err);
	if (r == KODA_OK && text)
		r = trace_from(dir, text, &leads, NULL, err);
	*ret_yes = leads && strcmp(leads, target) == 0;
	return r;
}

/* The value of a line "key = value" of a configuration, ended in place; NULL for another key. */
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

/* The last core.worktree of a configuration, in place. This reads what git writes; of anything
 * cleverer it finds nothing, and the directory stays closed. */
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
	if (r < 0 || !koda_gitdir_is(git_dir))
		return r;
	r = read_text(file, CONFIG_MAX, &text, err);
	if (r == KODA_OK && text)
		worktree = find_worktree(text);
	if (r == KODA_OK && worktree && worktree[0])
		r = trace_from(git_dir, worktree, &leads, NULL, err);
	*ret_yes = leads && strcmp(leads, root) == 0;
	return r;
}

/* The directory that a worktree's git directory shares by its place; NULL if it has no such
 * place, or if pointers say otherwise. */
static int find_common(const char *git_dir, const char *root, char **ret_common,
		       struct koda_error *err)
{
	koda_auto_free char *list = parent_of(git_dir);
	koda_auto_free char *common = list ? parent_of(list) : NULL;
	koda_auto_free char *dot_git = NULL;
	bool back = false;
	bool shared = false;
	int r = koda_path_join(root, ".git", &dot_git, err);

	*ret_common = NULL;
	if (!list || !common)
		return koda_fail_nomem(err);
	if (r < 0 || strcmp(strrchr(list, '/'), "/worktrees") != 0 ||
	    !koda_gitdir_is_worktree(git_dir) || !koda_gitdir_is(common))
		return r;
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
	return koda_strv_add(&site->git_open, dir, err);
}

/* Where a shared git directory has its worktrees inside itself, it is more than a git directory:
 * only what a commit needs is opened. */
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

int koda_site_note_link(struct koda_site *site, struct koda_error *err)
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
		r = koda_gitlink_follow(dot_git, &git_dir, &site->git_files, err);
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
