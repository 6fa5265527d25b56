/* SPDX-License-Identifier: MIT */
/* T-30 */
#include "run/scan.h"

#include "base/diag.h"
#include "base/fd.h"
#include "base/path.h"
#include "run/gitdir.h"
#include "run/gitlink.h"
#include "run/site.h"

#include <errno.h>
#include <sys/stat.h>

/* Adds dir, which may be NULL, to the git directories unless it is there. */
static int add_git_dir(const struct koda_found *found, struct koda_set *known, const char *dir,
		       struct koda_error *err)
{
	if (!dir || koda_set_find(known, koda_span_of(dir)) != KODA_SET_NONE)
		return KODA_OK;
	if (koda_set_add(known, koda_span_of(dir), NULL) < 0)
		return koda_fail_nomem(err);
	return koda_strv_add(found->git_dirs, dir, err);
}

static int add_links(const struct koda_found *found, const struct koda_strv *links,
		     struct koda_error *err)
{
	int r = KODA_OK;

	for (size_t i = 0; i < links->len && r == KODA_OK; i++)
		if (!koda_strv_has(found->git_files, links->items[i]))
			r = koda_strv_add(found->git_files, links->items[i], err);
	return r;
}

/* Begins at name in the git directory, or where it leads as a link, as git does. */
static int begin_below_git(struct koda_queue *queue, const struct koda_found *found,
			   const char *git_dir, const char *name, struct koda_error *err)
{
	koda_auto_strv struct koda_strv links = KODA_STRV_INIT;
	koda_auto_free char *path = NULL;
	koda_auto_free char *real = NULL;
	struct stat st;
	int r = koda_path_join(git_dir, name, &path, err);

	if (r < 0)
		return r;
	/* What is closed may be a link. */
	if (lstat(path, &st) < 0)
		return koda_site_check_unseen(path, errno, err);
	if (!S_ISLNK(st.st_mode))
		return koda_strv_add(&queue->dirs, path, err);
	/* A directory on the way may be closed, which the command could open. */
	if (stat(path, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ||
				       errno == ENAMETOOLONG
			       ? KODA_OK
			       : koda_fail_at(err, KODA_E_SYS, errno, path,
					      "is a link, and where it leads cannot be looked at; "
					      "remove it");
	r = koda_path_trace(path, &real, &links, err);
	if (r == KODA_OK)
		r = koda_site_check_seen(real, path, err);
	if (r == KODA_OK)
		r = koda_strv_add(&queue->dirs, real, err);
	return r < 0 ? r : add_links(found, &links, err);
}

/* One directory among those of submodules or worktrees, or, if it is first, the one they are in. */
static int look_below_git(struct koda_queue *queue, const struct koda_found *found,
			  struct koda_set *known, const char *path, bool first,
			  struct koda_error *err)
{
	const size_t closed = found->closed->len;
	koda_auto_fd int fd = -1;
	struct stat st;
	int is;
	int r = koda_scan_open(found, path, &fd, err);

	/* It can be listed, but nothing in it looked at. */
	if (fd >= 0 && fstatat(fd, ".", &st, 0) < 0 && errno == EACCES && fstat(fd, &st) == 0)
		r = koda_scan_note_closed(found, path, &st, err);
	/* T-12. What git obeys may be in there, and may be links: unlike of any closed directory of
	 * the project, that is to be expected of this one. */
	if (r == KODA_OK && found->closed->len > closed)
		return koda_site_check_unseen_in(path, "config", EACCES, err);
	if (r < 0 || fd < 0)
		return r;
	is = first ? KODA_GITDIR_NO : koda_gitdir_resembles(fd, err);
	if (is < 0)
		koda_error_within(err, path);
	if (is != KODA_GITDIR_NO)
		return is < 0 ? is : add_git_dir(found, known, path, err);
	return koda_scan_subdirs(queue, fd, path, NULL, err);
}

/* The git directories of submodules (their names may have several components) and worktrees. */
static int scan_below_git(const struct koda_found *found, struct koda_set *known,
			  const char *git_dir, const char *name, struct koda_error *err)
{
	struct koda_queue queue = { .dirs = KODA_STRV_INIT };
	int r = begin_below_git(&queue, found, git_dir, name, err);

	for (size_t i = 0; r == KODA_OK && i < queue.dirs.len; i++)
		r = queue.dirs.len > KODA_SCAN_MAX
			    ? koda_scan_fail_many(git_dir, err)
			    : look_below_git(&queue, found, known, queue.dirs.items[i], i == 0,
					     err);
	koda_strv_clear(&queue.dirs);
	return r;
}

/* Where the pointer files and links lead. git_files grows: links on the way must stay, too, but
 * those need no following. */
static int follow_git_files(const struct koda_found *found, struct koda_set *known,
			    struct koda_error *err)
{
	size_t count = found->git_files->len;
	int r = KODA_OK;

	for (size_t i = 0; i < count && r == KODA_OK; i++) {
		koda_auto_strv struct koda_strv links = KODA_STRV_INIT;
		koda_auto_free char *dir = NULL;

		r = koda_gitlink_follow(found->git_files->items[i], &dir, &links, err);
		if (r == KODA_OK)
			r = add_git_dir(found, known, dir, err);
		if (r == KODA_OK)
			r = add_links(found, &links, err);
	}
	return r;
}

/* git_dirs grows while it is read, because each of these has the same again. */
int koda_scan_kin(const struct koda_found *found, struct koda_set *known, struct koda_error *err)
{
	int r = KODA_OK;

	for (size_t i = 0; i < found->git_dirs->len; i++)
		if (koda_set_add(known, koda_span_of(found->git_dirs->items[i]), NULL) < 0)
			return koda_fail_nomem(err);
	r = follow_git_files(found, known, err);
	for (size_t i = 0; i < found->git_dirs->len && r == KODA_OK; i++) {
		/* A copy: the list may move when it grows. */
		koda_auto_free char *dir = strdup(found->git_dirs->items[i]);
		koda_auto_strv struct koda_strv links = KODA_STRV_INIT;
		koda_auto_free char *common = NULL;

		if (!dir)
			return koda_fail_nomem(err);
		if (found->git_dirs->len > KODA_SCAN_MAX)
			return koda_scan_fail_many(dir, err);
		r = scan_below_git(found, known, dir, "modules", err);
		if (r == KODA_OK)
			r = scan_below_git(found, known, dir, "worktrees", err);
		if (r == KODA_OK)
			r = koda_gitlink_common(dir, &common, &links, err);
		if (r == KODA_OK)
			r = add_git_dir(found, known, common, err);
		if (r == KODA_OK)
			r = add_links(found, &links, err);
	}
	return r;
}
