/* SPDX-License-Identifier: MIT */
/* T-30. Finds what belongs to the repositories that a scan has found: submodules, worktrees, common
 * directories. */
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/strv.h"
#include "run/project/git_dir.h"
#include "run/project/git_file.h"
#include "run/project/git_scan_queue.h"
#include "run/project/policy_links.h"
#include "run/project/site.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* What was found so far, so that no path is added or examined twice. */
struct follower {
	const struct koda_git_found *found;
	struct koda_set dirs;  /* the git directories found */
	struct koda_set files; /* the pointer files and links found */
	struct koda_set texts; /* texts of links that were followed */
	struct koda_set begun; /* where submodules or worktrees were searched for */
	struct koda_set done;  /* struct dir_id: directories whose subdirectories are known */
};

struct dir_id {
	dev_t dev;
	ino_t ino;
};

/* Adds path (may be NULL) to the list, once. */
static int add_once(const struct follower *follower, struct koda_set *known, struct koda_strv *list,
		    const char *path, struct koda_error *err)
{
	int r;

	if (!path || koda_set_find(known, koda_span_of(path)) != KODA_SET_NONE)
		return KODA_OK;
	r = koda_set_add(known, koda_span_of(path), NULL);
	if (r < 0)
		return koda_fail_room(err, r, "the list of repositories");
	return koda_git_scan_note(follower->found, list, path, err);
}

static int add_git_dir(struct follower *follower, const char *dir, struct koda_error *err)
{
	return add_once(follower, &follower->dirs, follower->found->git_dirs, dir, err);
}

/* Adds the links that were found on the way from a path. */
static int add_links(struct follower *follower, const char *from, const struct koda_strv *links,
		     struct koda_error *err)
{
	int r = koda_survey_budget_take_entries(follower->found->budget, links->len + 1, from, err);

	for (size_t i = 0; i < links->len && r == KODA_OK; i++)
		r = add_once(follower, &follower->files, follower->found->git_files,
			     links->items[i], err);
	return r;
}

/* Starts a search at path, once. */
static int begin_at(struct follower *follower, struct koda_git_scan_queue *queue, const char *path,
		    struct koda_error *err)
{
	size_t before = follower->begun.count;
	int r = koda_set_add(&follower->begun, koda_span_of(path), NULL);

	if (r < 0)
		return koda_fail_room(err, r, "the list of repositories");
	if (follower->begun.count == before)
		return KODA_OK;
	return koda_dir_snapshot_add(&queue->dirs, KODA_DIR_SNAPSHOT_TOP, path, queue->budget, err);
}

/* Starts a search at name in the git directory, or at its target if it is a link, as git does. */
static int begin_below_git(struct follower *follower, struct koda_git_scan_queue *queue,
			   const char *git_dir, const char *name, struct koda_error *err)
{
	koda_auto_strv struct koda_strv links = KODA_STRV_INIT;
	koda_auto_free char *path = NULL;
	koda_auto_free char *real = NULL;
	struct stat st;
	int r = koda_path_join(git_dir, name, &path, err);

	if (r < 0)
		return r;
	/* It may be a link, which a closed directory hides. */
	if (lstat(path, &st) < 0)
		return koda_policy_links_check_unseen(path, errno, err);
	if (!S_ISLNK(st.st_mode))
		return begin_at(follower, queue, path, err);
	/* EACCES: a directory on the way is closed, and the command could open it. */
	if (stat(path, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ||
				       errno == ENAMETOOLONG
			       ? KODA_OK
			       : koda_fail_at(err, KODA_E_SYS, errno, path,
					      "is a link, and its target cannot be examined; "
					      "remove it");
	r = koda_path_trace(path, &real, &links, err);
	if (r == KODA_OK)
		r = koda_policy_links_check_seen(real, path, err);
	if (r == KODA_OK)
		r = begin_at(follower, queue, real, err);
	return r < 0 ? r : add_links(follower, path, &links, err);
}

/* Tells whether the subdirectories of a directory are known; marks them as known. */
static int is_done(struct follower *follower, int fd, bool *ret_done, struct koda_error *err)
{
	size_t before = follower->done.count;
	struct dir_id id;
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot look for repositories");
	memset(&id, 0, sizeof(id));
	id.dev = st.st_dev;
	id.ino = st.st_ino;
	r = koda_set_add(&follower->done, (struct koda_span){ (const char *)&id, sizeof(id) },
			 NULL);
	*ret_done = follower->done.count == before;
	return r < 0 ? koda_fail_room(err, r, "the list of directories") : KODA_OK;
}

/* Examines the next directory of the queue. The first one holds the git directories of submodules
 * or worktrees; the others are such git directories, or directories above them. */
static int look_below_git(struct follower *follower, struct koda_git_scan_queue *queue, bool first,
			  struct koda_error *err)
{
	const size_t closed = follower->found->closed->len;
	const char *path = queue->path.ptr;
	koda_auto_fd int fd = -1;
	bool done = false;
	struct stat st;
	int is;
	int r = koda_git_scan_open(follower->found, path, &fd, err);

	/* Mode r--: the directory can be read, but no entry can be examined. */
	if (fd >= 0 && fstatat(fd, ".", &st, 0) < 0 && errno == EACCES && fstat(fd, &st) == 0)
		r = koda_git_scan_note_closed(follower->found, path, &st, err);
	/* T-12. Git directories are expected in here, and files in them that git obeys may be
	 * links, so a closed directory is refused. */
	if (r == KODA_OK && follower->found->closed->len > closed)
		return koda_policy_links_check_unseen_in(path, "config", EACCES, err);
	if (r < 0 || fd < 0)
		return r;
	is = first ? KODA_GIT_DIR_NO : koda_git_dir_resembles(fd, err);
	if (is < 0)
		koda_error_within(err, path);
	if (is != KODA_GIT_DIR_NO)
		return is < 0 ? is : add_git_dir(follower, path, err);
	r = is_done(follower, fd, &done, err);
	if (r < 0)
		koda_error_within(err, path);
	return r < 0 || done ? r : koda_git_scan_subdirs(queue, fd, NULL, err);
}

/* Finds the git directories of submodules, whose names may have several components, and of
 * worktrees. */
static int scan_below_git(struct follower *follower, const char *git_dir, const char *name,
			  struct koda_error *err)
{
	koda_auto_queue struct koda_git_scan_queue queue = KODA_QUEUE_INIT(follower->found->budget);
	bool is_one = true;
	int r = begin_below_git(follower, &queue, git_dir, name, err);

	while (r == KODA_OK && is_one) {
		r = koda_git_scan_queue_next(&queue, &is_one, err);
		if (r == KODA_OK && is_one)
			r = look_below_git(follower, &queue, queue.next == 1, err);
	}
	return r;
}

/* Tells whether file is an absolute link whose text was followed before. */
static int is_followed(struct follower *follower, const char *file, bool *ret_is,
		       struct koda_error *err)
{
	size_t before = follower->texts.count;
	char text[KODA_PATH_MAX + 1];
	ssize_t n = readlink(file, text, sizeof(text));
	int r = KODA_OK;

	*ret_is = false;
	if (n <= 0 || text[0] != '/')
		return r;
	r = koda_set_add(&follower->texts, (struct koda_span){ text, (size_t)n }, NULL);
	*ret_is = follower->texts.count == before;
	return r < 0 ? koda_fail_room(err, r, "the list of links") : KODA_OK;
}

/* T-92. Keeps a .git that leads to no git directory. A command can put one where it leads, which
 * changes nothing in the directory that has the .git. */
static int keep_stale(const struct follower *follower, const char *file, struct koda_error *err)
{
	struct koda_dir_snapshot *kept = follower->found->kept;
	int r = kept ? koda_survey_budget_take_bytes(follower->found->budget, strlen(file), file,
						     err)
		     : KODA_OK;

	if (r < 0 || !kept)
		return r;
	kept->stale.text.max = KODA_SURVEY_BUDGET_BYTES;
	r = koda_set_add(&kept->stale, koda_span_of(file), NULL);
	return r < 0 ? koda_fail_room(err, r, "the list of repositories") : KODA_OK;
}

/* Follows pointer files and links. git_files grows by the links on the way, which must not change
 * either but need no following. */
static int follow_git_files(struct follower *follower, struct koda_error *err)
{
	const struct koda_strv *files = follower->found->git_files;
	size_t count = files->len;
	int r = KODA_OK;

	for (size_t i = 0; i < count && r == KODA_OK; i++) {
		koda_auto_strv struct koda_strv links = KODA_STRV_INIT;
		koda_auto_free char *dir = NULL;
		bool followed = false;

		r = is_followed(follower, files->items[i], &followed, err);
		if (followed)
			continue;
		if (r == KODA_OK)
			r = koda_git_file_follow(files->items[i], &dir, &links, err);
		if (r == KODA_OK && !dir)
			r = keep_stale(follower, files->items[i], err);
		if (r == KODA_OK)
			r = add_git_dir(follower, dir, err);
		if (r == KODA_OK)
			r = add_links(follower, files->items[i], &links, err);
	}
	return r;
}

/* Finds what belongs to one git directory. */
static int follow_git_dir(struct follower *follower, const char *dir, struct koda_error *err)
{
	koda_auto_strv struct koda_strv links = KODA_STRV_INIT;
	koda_auto_free char *common = NULL;
	int r = scan_below_git(follower, dir, "modules", err);

	if (r == KODA_OK)
		r = scan_below_git(follower, dir, "worktrees", err);
	if (r == KODA_OK)
		r = koda_git_file_common(dir, &common, &links, err);
	if (r == KODA_OK)
		r = add_git_dir(follower, common, err);
	return r < 0 ? r : add_links(follower, dir, &links, err);
}

static int add_all(struct koda_set *known, const struct koda_strv *list, struct koda_error *err)
{
	for (size_t i = 0; i < list->len; i++)
		if (koda_set_add(known, koda_span_of(list->items[i]), NULL) < 0)
			return koda_fail_nomem(err);
	return KODA_OK;
}

/* git_dirs grows while it is read: each new git directory may have submodules and worktrees too. */
int koda_git_related_follow(const struct koda_git_found *found, struct koda_error *err)
{
	struct follower follower = { .found = found,
				     .dirs = KODA_SET_INIT(KODA_SURVEY_BUDGET_BYTES),
				     .files = KODA_SET_INIT(KODA_SURVEY_BUDGET_BYTES),
				     .texts = KODA_SET_INIT(KODA_SURVEY_BUDGET_BYTES),
				     .begun = KODA_SET_INIT(KODA_SURVEY_BUDGET_BYTES),
				     .done = KODA_SET_INIT(KODA_SURVEY_BUDGET_BYTES) };
	int r = add_all(&follower.dirs, found->git_dirs, err);

	if (r == KODA_OK)
		r = add_all(&follower.files, found->git_files, err);
	if (r == KODA_OK)
		r = follow_git_files(&follower, err);
	for (size_t i = 0; i < found->git_dirs->len && r == KODA_OK; i++) {
		/* A copy: the list may move when it grows. */
		koda_auto_free char *dir = strdup(found->git_dirs->items[i]);

		r = dir ? follow_git_dir(&follower, dir, err) : koda_fail_nomem(err);
	}
	koda_set_clear(&follower.dirs);
	koda_set_clear(&follower.files);
	koda_set_clear(&follower.texts);
	koda_set_clear(&follower.begun);
	koda_set_clear(&follower.done);
	return r;
}
