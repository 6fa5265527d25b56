/* SPDX-License-Identifier: MIT */
#include "run/project/inode_search.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "run/project/policy_links.h"
#include "run/project/site.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

bool koda_inode_search_is_plain(int fd)
{
	static const long known[] = { EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, TMPFS_MAGIC,
				      F2FS_SUPER_MAGIC };
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return false;
	for (size_t i = 0; i < KODA_ARRAY_LEN(known); i++)
		if ((long)fs.f_type == known[i])
			return true;
	return false;
}

/* Tells whether this is Linux 6.13 or later. */
static bool is_new_kernel(void)
{
	struct utsname kernel;
	unsigned long major;
	unsigned long minor;
	char *rest;

	if (uname(&kernel) < 0)
		return false;
	major = strtoul(kernel.release, &rest, 10);
	minor = *rest == '.' ? strtoul(rest + 1, NULL, 10) : 0;
	return major > 6 || (major == 6 && minor >= 13);
}

/* tmpfs is missing on purpose: its rmdir() and unlink() copy the st_ctime of the removed inode to
 * the directory. That is a coarse time, and can be equal to the one that was there before. */
bool koda_inode_search_is_fine(int fd)
{
	struct statfs fs;

	return is_new_kernel() && fstatfs(fd, &fs) == 0 &&
	       ((long)fs.f_type == EXT4_SUPER_MAGIC || (long)fs.f_type == XFS_SUPER_MAGIC);
}

bool koda_inode_search_is_closed(const struct stat *st)
{
	return st->st_uid != geteuid() || (st->st_mode & 0500) != 0500;
}

/* A directory that is being read. */
struct reading {
	const char *path;
	int fd;
	dev_t dev;
	bool plain;
};

/* Skips an entry that could not be examined, or fails. */
static int pass_over(const struct koda_inode_search *search, const struct reading *at,
		     const char *name, struct koda_error *err)
{
	if (errno == EACCES && !search->closed)
		return KODA_OK;
	/* The directory was open when it was read. */
	return koda_policy_links_check_unseen_in(at->path, name, errno, err);
}

static int see_entry(struct koda_inode_search *search, struct koda_strv *queue,
		     const struct reading *at, const struct dirent *entry, struct koda_error *err)
{
	unsigned char type = entry->d_type;
	uint64_t ino = entry->d_ino;
	dev_t dev = at->dev;
	struct stat st;
	char *below = NULL;
	int r;

	if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
		return KODA_OK;
	if (type == DT_UNKNOWN || (type == search->type && !at->plain)) {
		if (fstatat(at->fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return pass_over(search, at, entry->d_name, err);
		type = (unsigned char)IFTODT(st.st_mode);
		ino = st.st_ino;
		dev = st.st_dev;
	}
	if (type == search->type)
		return search->see(search->ctx, at->path, entry->d_name, dev, ino, err);
	if (type != DT_DIR || !search->deep)
		return KODA_OK;
	r = koda_path_join(at->path, entry->d_name, &below, err);
	return r < 0 ? r : koda_strv_take(queue, below, err);
}

const struct dirent *koda_inode_search_next(DIR *dir)
{
	errno = 0;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is the caller's own */
	return readdir(dir);
}

static int read_dir(struct koda_inode_search *search, struct koda_strv *queue, const char *path,
		    struct koda_error *err)
{
	koda_auto_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	const struct dirent *entry;
	struct stat st;
	struct reading at = { .path = path };
	/* fstatat(".") fails with mode r--: it can be read, but no entry can be examined. */
	bool is_open = fd >= 0 && fstatat(fd, ".", &st, 0) == 0;
	DIR *dir;
	int r = KODA_OK;

	/* The owner can open a closed directory. Its parent was open when it was found. */
	if (!is_open && errno == EACCES && search->closed) {
		if (lstat(path, &st) < 0)
			return koda_policy_links_check_unseen(path, errno, err);
		if (!koda_inode_search_is_closed(&st))
			return koda_policy_links_check_closed(path, err);
		if (st.st_uid == geteuid())
			return koda_strv_add(search->closed, path, err);
		return KODA_OK;
	}
	if (!is_open && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EACCES))
		return KODA_OK; /* gone, or closed by another user */
	if (!is_open)
		return koda_fail_at(err, KODA_E_SYS, errno, path, "cannot look into");
	at.fd = fd;
	at.dev = st.st_dev;
	at.plain = koda_inode_search_is_plain(fd);
	dir = fdopendir(fd);
	if (!dir)
		return koda_fail_nomem(err);
	(void)koda_take_fd(&fd);
	while (r == KODA_OK && search->left > 0 && (entry = koda_inode_search_next(dir))) {
		search->left--;
		if (search->budget)
			r = koda_survey_budget_take_entries(search->budget, 1, path, err);
		if (r == KODA_OK)
			r = see_entry(search, queue, &at, entry, err);
	}
	if (r == KODA_OK && search->left > 0 && errno != 0)
		r = koda_fail_at(err, KODA_E_SYS, errno, path, "cannot look into");
	(void)closedir(dir);
	return r;
}

int koda_inode_search_run(struct koda_inode_search *search, const char *root,
			  struct koda_error *err)
{
	koda_auto_strv struct koda_strv queue = KODA_STRV_INIT;
	int r = koda_strv_add(&queue, root, err);

	/* Takes the last entry, so that the list stays short. */
	while (r == KODA_OK && queue.len > 0 && search->left > 0) {
		koda_auto_free char *path = queue.items[--queue.len];

		queue.items[queue.len] = NULL;
		r = read_dir(search, &queue, path, err);
	}
	return r;
}
