/* SPDX-License-Identifier: MIT */
/* T-30. Each git directory takes about ten mounts and some placeholders, and fs.mount-max limits
 * the mounts of a namespace. If there are more than KODA_SITE_GIT_OPEN, those that are not the
 * project's own get one read-only mount each, which protects more than needed. A commit fails
 * there; to commit, that repository has to be the project. */
#include "run/project/git_close.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/floor.h"
#include "run/project/hardlink.h"
#include "run/project/site.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Hexadecimal digits of a SHA-1 commit. */
#define OID_LEN 40

/* Tells whether the git directory is the project's own, or one that the project lies in. */
static bool is_own(const struct koda_site *site, const char *own, const char *dir)
{
	struct koda_span path = koda_span_of(dir);

	if (strcmp(dir, own) == 0 || koda_path_covers(path, koda_span_of(site->root)))
		return true;
	for (size_t i = 0; i < site->own_git_dirs.len; i++) {
		struct koda_span opened = koda_span_of(site->own_git_dirs.items[i]);

		if (koda_path_covers(path, opened) || koda_path_covers(opened, path))
			return true;
	}
	return false;
}

/* Tells whether git accepts the text as a HEAD. */
static bool is_head(const char *text)
{
	return strncmp(text, "ref: refs/", strlen("ref: refs/")) == 0 ||
	       strspn(text, "0123456789abcdef") >= OID_LEN;
}

static bool is_dir_at(int fd, const char *name)
{
	struct stat st;

	return fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
	       faccessat(fd, name, X_OK, AT_EACCESS) == 0;
}

/* Tells whether the directory is a complete git directory by itself. With a link, a hard link or a
 * commondir, which the caller has checked, the files that make it valid may lie where a command can
 * write. */
static bool is_firm(int fd)
{
	koda_auto_fd int head = -1;
	char text[64] = "";
	struct stat st;

	if (!is_dir_at(fd, "objects") || !is_dir_at(fd, "refs"))
		return false;
	head = openat(fd, "HEAD", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (head < 0 || fstat(head, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink > 1)
		return false;
	return read(head, text, sizeof(text) - 1) > 0 && is_head(text);
}

size_t koda_git_close_limit(const struct koda_site *site)
{
	return site->few_mounts ? KODA_SITE_GIT_OPEN_BWRAP : KODA_SITE_GIT_OPEN;
}

/* What was found out about a git directory. */
struct look {
	bool shared;     /* T-42: files that git obeys have hard links */
	bool linked;     /* a name is a link, or lies behind one, or may */
	bool hook_links; /* a hook may be a link */
	bool worktree_config;
	bool commondir;
};

/* Examines one name that git obeys. True if it exists. On failure it counts as existing and as a
 * link. */
static bool look_at(int fd, const char *name, struct look *look)
{
	bool links = true;
	struct stat st;

	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		const bool missing = errno == ENOENT;

		look->linked = look->linked || !missing;
		return !missing;
	}
	look->linked = look->linked || S_ISLNK(st.st_mode);
	look->shared = look->shared || koda_hardlink_look(fd, name, &st, &links);
	if (strcmp(name, "hooks") == 0)
		look->hook_links = links;
	return true;
}

static void look_at_all(int fd, struct look *look)
{
	for (const char *const *name = koda_floor_git_names; *name && !look->shared; name++) {
		const char *slash = strchr(*name, '/');
		char first[KODA_NAME_MAX + 1] = "";
		struct stat st;
		bool is;

		if (slash) {
			/* Its directory may be a link; if that is missing, so is the name. */
			memcpy(first, *name, (size_t)(slash - *name));
			is = fstatat(fd, first, &st, AT_SYMLINK_NOFOLLOW) == 0;
			if (!is && errno == ENOENT)
				continue;
			look->linked = look->linked || !is || !S_ISDIR(st.st_mode);
		}
		is = look_at(fd, *name, look);
		look->commondir = look->commondir || (is && strcmp(*name, "commondir") == 0);
		look->worktree_config =
			look->worktree_config || (is && strcmp(*name, "config.worktree") == 0);
	}
}

/* Examines a git directory. True if it can be closed; then *looks has its KODA_SITE_GIT_* bits. */
static bool can_be_closed(const struct koda_site *site, const char *dir, unsigned char *looks)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	koda_auto_fd int fd = (int)syscall(SYS_openat2, AT_FDCWD, dir, &how, sizeof(how));
	const bool direct = fd >= 0;
	struct look look = { .linked = !direct };

	*looks = 0;
	/* Its own path may have a link. */
	if (!direct)
		fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return true;
	look_at_all(fd, &look);
	if (look.shared)
		return false;
	if (direct && !look.commondir && !site->unmounted && is_firm(fd))
		*looks |= KODA_SITE_GIT_FIRM;
	if (!look.linked)
		*looks |= KODA_SITE_GIT_PLAIN;
	if (!look.linked && !look.hook_links)
		*looks |= KODA_SITE_GIT_OWN_HOOKS;
	if (!look.linked && !look.worktree_config)
		*looks |= KODA_SITE_GIT_ONE_CONFIG;
	return true;
}

static int check_count(const struct koda_site *site, struct koda_error *err)
{
	if (site->git_files.len > KODA_SITE_GIT_MAX)
		return koda_fail_at(err, KODA_E_LIMIT, 0,
				    site->git_files.items[site->git_files.len - 1],
				    "is one of more than %d repositories in the project; name a "
				    "project root with fewer",
				    KODA_SITE_GIT_MAX);
	if (site->git_dirs.len > koda_git_close_limit(site))
		return koda_fail_at(err, KODA_E_LIMIT, 0,
				    site->git_dirs.items[site->git_dirs.len - 1],
				    "is one of more than %zu repositories whose hooks or "
				    "configuration have further names (hard links); name a project "
				    "root with fewer",
				    koda_git_close_limit(site));
	return KODA_OK;
}

int koda_git_close_one(struct koda_site *site, const char *dir, bool *ret_closed,
		       struct koda_error *err)
{
	unsigned char looks = 0;
	int r;

	*ret_closed = can_be_closed(site, dir, &looks);
	if (!*ret_closed)
		return KODA_OK;
	site->git_looks.max = SIZE_MAX / 2;
	if (koda_buf_add(&site->git_looks, &looks, 1) < 0)
		return koda_fail_nomem(err);
	r = koda_strv_add(&site->git_closed, dir, err);
	return r < 0 ? r : koda_strv_add(&site->git_files, dir, err);
}

int koda_git_close_many(struct koda_site *site, struct koda_error *err)
{
	koda_auto_free char *own = NULL;
	struct koda_strv all = site->git_dirs;
	int r;

	if (all.len <= koda_git_close_limit(site))
		return check_count(site, err);
	r = koda_path_join(site->root, ".git", &own, err);
	site->git_dirs = (struct koda_strv)KODA_STRV_INIT;
	for (size_t i = 0; i < all.len && r == KODA_OK; i++) {
		const char *dir = all.items[i];
		bool closed = false;

		r = koda_survey_budget_take_entries(&site->budget, 1, dir, err);
		if (r == KODA_OK && !is_own(site, own, dir))
			r = koda_git_close_one(site, dir, &closed, err);
		if (r == KODA_OK && !closed)
			r = koda_strv_add(&site->git_dirs, dir, err);
	}
	koda_strv_clear(&all);
	return r < 0 ? r : check_count(site, err);
}
