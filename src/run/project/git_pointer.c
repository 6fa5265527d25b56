/* SPDX-License-Identifier: MIT */
/* T-41. Reads and follows git's pointer files. */
#include "run/project/git_pointer.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "run/project/policy_links.h"
#include "run/project/remedy.h"
#include "run/project/site.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

bool koda_git_pointer_is_nothing(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ELOOP || error == EACCES ||
	       error == ENAMETOOLONG; /* no file has such a name */
}

int koda_git_pointer_fail(const char *file, const struct koda_error *inner, struct koda_error *err)
{
	if (inner->code == KODA_E_NOMEM)
		return koda_fail_nomem(err);
	if (inner->code == KODA_E_DENIED)
		return koda_fail_at(err, KODA_E_DENIED, 0, file,
				    "where this git pointer leads cannot be protected: a directory "
				    "on the way is closed, or changes; open that (chmod u+rwx), or "
				    "remove the pointer");
	/* The file is open with O_PATH, so ENOENT means that /proc/self/fd is missing. */
	if (inner->sys_errno == ENOENT) {
		int r = koda_fail_at(err, KODA_E_SYS, 0, file, "cannot be read without /proc");

		koda_remedy_add_for(err, KODA_FAILURE_NO_PROC);
		return r;
	}
	return koda_fail_at(err, inner->code, inner->sys_errno, file, "cannot be read for git");
}

/* Opens a file with O_PATH; -1 if it does not exist. */
static int hold(const char *file, int *ret_fd, bool *is_link, struct koda_error *err)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };

	*ret_fd = (int)syscall(SYS_openat2, AT_FDCWD, file, &how, sizeof(how));
	if (*ret_fd >= 0)
		return KODA_OK;
	if (is_link)
		*is_link = errno == ELOOP;
	/* O_PATH needs no permission of the file itself. */
	return koda_policy_links_check_unseen(file, errno, err);
}

/* Opens a file for reading; -1 if it is not regular or not readable. */
static int open_text(const char *file, int *ret_fd, bool *is_link, struct koda_error *err)
{
	koda_auto_fd int held = -1;
	struct koda_error inner = { 0 };
	int r = hold(file, &held, is_link, err);

	*ret_fd = -1;
	if (r < 0 || held < 0)
		return r;
	r = koda_fd_open_held(held, ret_fd, &inner);
	/* A file that cannot be read is no pointer to git either. */
	if (r == KODA_OK || r == KODA_E_INVALID || inner.sys_errno == EACCES)
		return KODA_OK;
	return koda_git_pointer_fail(file, &inner, err);
}

int koda_git_pointer_load(const char *file, struct koda_buf *text, bool *is_link,
			  struct koda_error *err)
{
	koda_auto_fd int fd = -1;
	int r = open_text(file, &fd, is_link, err);

	return r < 0 || fd < 0 ? r : koda_fd_read_all(fd, text, err);
}

int koda_git_pointer_read(const char *file, size_t max, char **ret_text, bool *is_link,
			  struct koda_error *err)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(max);
	size_t len;
	int r = koda_git_pointer_load(file, &text, is_link, err);

	*ret_text = NULL;
	if (r == KODA_E_LIMIT || text.len == 0)
		return r == KODA_E_LIMIT ? KODA_OK : r;
	if (r < 0 || strlen(text.ptr) != text.len)
		return r;
	len = text.len;
	while (len > 0 && (text.ptr[len - 1] == '\n' || text.ptr[len - 1] == '\r'))
		text.ptr[--len] = '\0';
	return koda_buf_take(&text, ret_text) < 0 ? koda_fail_nomem(err) : KODA_OK;
}

int koda_git_pointer_trace(const char *path, char **ret_path, struct koda_strv *links,
			   struct koda_error *err)
{
	koda_auto_strv struct koda_strv passed = KODA_STRV_INIT;
	koda_auto_free char *resolved = NULL;
	struct koda_error why = { 0 };
	int r;

	*ret_path = NULL;
	err = err ? err : &why; /* the code below needs the error even if the caller does not */
	r = koda_path_trace(path, &resolved, &passed, err);
	if (r == KODA_E_LIMIT || (r == KODA_E_SYS && koda_git_pointer_is_nothing(err->sys_errno)))
		return KODA_OK; /* ELOOP, ENAMETOOLONG: no process can get there */
	if (r == KODA_OK)
		r = koda_policy_links_check_seen(resolved, path, err);
	for (size_t i = 0; links && i < passed.len && r == KODA_OK; i++)
		r = koda_strv_add(links, passed.items[i], err);
	if (r == KODA_OK)
		*ret_path = KODA_TAKE(resolved);
	return r;
}

char *koda_git_pointer_parent(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strndup(path, slash > path ? (size_t)(slash - path) : 1);
}

int koda_git_pointer_follow(const char *file, const char *text, char **ret_path,
			    struct koda_strv *links, struct koda_error *err)
{
	koda_auto_free char *dir = koda_git_pointer_parent(file);
	koda_auto_free char *joined = NULL;
	struct koda_error inner = { 0 };
	int r = dir ? KODA_OK : koda_fail_nomem(&inner);

	*ret_path = NULL;
	if (r == KODA_OK && text[0] != '/') {
		r = koda_path_join(dir, text, &joined, &inner);
		text = joined;
	}
	if (r == KODA_E_LIMIT)
		return KODA_OK; /* longer than any path can be */
	if (r == KODA_OK)
		r = koda_git_pointer_trace(text, ret_path, links, &inner);
	return r < 0 ? koda_git_pointer_fail(file, &inner, err) : KODA_OK;
}
