/* SPDX-License-Identifier: MIT */
#include "keep.h"

#include <errno.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#define HASH_CHUNK ((size_t)64 << 10)

bool fsworker_keep_owner(struct fsworker_task *task, const struct stat *st, int fd)
{
	struct stat own;

	if (fstat(fd, &own) < 0)
		return fsworker_task_fail_errno(task, errno);
	if (own.st_gid == st->st_gid || fchown(fd, (uid_t)-1, st->st_gid) == 0)
		return true;
	return fsworker_task_fail(task, KODA_FS_STATUS_FOREIGN, "its group cannot be kept");
}

bool fsworker_keep_mode(struct fsworker_task *task, mode_t mode, int fd)
{
	struct stat own;

	/* A change of the group takes bits away, and an access list may add some. */
	if (fstat(fd, &own) < 0)
		return fsworker_task_fail_errno(task, errno);
	return (own.st_mode & 07777) == mode || fchmod(fd, mode) == 0 ||
	       fsworker_task_fail_errno(task, errno);
}

/* Others belong to the system, which sets them itself. */
static bool is_users(const char *name)
{
	return strncmp(name, "user.", 5) == 0 || strcmp(name, "system.posix_acl_access") == 0;
}

static bool copy_xattr(struct fsworker_task *task, int from, int to, const char *name)
{
	koda_auto_free char *value = NULL;
	ssize_t len = fgetxattr(from, name, NULL, 0);

	if (len >= 0)
		value = malloc((size_t)len + 1);
	if (len >= 0 && !value)
		return fsworker_task_fail(task, KODA_FS_STATUS_NO_MEMORY, "");
	if (len >= 0)
		len = fgetxattr(from, name, value, (size_t)len);
	if (len < 0 || fsetxattr(to, name, value, (size_t)len, 0) < 0)
		return fsworker_task_fail_errno(task, errno);
	return true;
}

bool fsworker_keep_xattrs(struct fsworker_task *task, int from, int to)
{
	koda_auto_free char *names = NULL;
	ssize_t len = flistxattr(from, NULL, 0);

	if (len == 0 || (len < 0 && errno == EOPNOTSUPP))
		return true;
	if (len < 0)
		return fsworker_task_fail_errno(task, errno);
	names = malloc((size_t)len);
	if (!names)
		return fsworker_task_fail(task, KODA_FS_STATUS_NO_MEMORY, "");
	len = flistxattr(from, names, (size_t)len);
	if (len < 0)
		return fsworker_task_fail_errno(task, errno);
	for (const char *name = names; name < names + len; name += strlen(name) + 1)
		if (is_users(name) && !copy_xattr(task, from, to, name))
			return false;
	return true;
}

bool fsworker_keep_hash(struct fsworker_task *task, int fd, unsigned char *ret_hash)
{
	koda_auto_free char *chunk = malloc(HASH_CHUNK);
	struct koda_sha256 sha;
	ssize_t n;

	if (!chunk)
		return fsworker_task_fail(task, KODA_FS_STATUS_NO_MEMORY, "");
	koda_sha256_start(&sha);
	while ((n = read(fd, chunk, HASH_CHUNK)) > 0) {
		koda_sha256_add(&sha, chunk, (size_t)n);
		if (!fsworker_task_goes_on(task))
			return false;
	}
	if (n < 0)
		return fsworker_task_fail_errno(task, errno);
	koda_sha256_end(&sha, ret_hash);
	return true;
}

bool fsworker_keep_is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}
