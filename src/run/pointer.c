/* SPDX-License-Identifier: MIT */
/* T-41 */
#include "run/pointer.h"

#include "base/diag.h"
#include "base/fd.h"
#include "base/path.h"
#include "run/site.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

bool koda_pointer_is_nothing(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ELOOP || error == EACCES ||
	       error == ENAMETOOLONG; /* no file has such a name */
}

int koda_pointer_fail(const char *file, const struct koda_error *inner, struct koda_error *err)
{
	if (inner->code == KODA_E_NOMEM)
		return koda_fail_nomem(err);
	if (inner->code == KODA_E_DENIED)
		return koda_fail_at(err, KODA_E_DENIED, 0, file,
				    "where this git pointer leads cannot be protected: a directory "
				    "on the way is closed, or changes; open that (chmod u+rwx), or "
				    "remove the pointer");
	return koda_fail_at(err, inner->code, inner->sys_errno, file,
			    "cannot follow a git pointer");
}

/* Takes hold of a file, without opening it; -1 if there is none. */
static int hold(const char *file, int *ret_fd, bool *is_link, struct koda_error *err)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };

	*ret_fd = (int)syscall(SYS_openat2, AT_FDCWD, file, &how, sizeof(how));
	if (*ret_fd >= 0)
		return KODA_OK;
	if (is_link)
		*is_link = errno == ELOOP;
	/* Holding it needs no permission of the file's own. */
	return koda_site_check_unseen(file, errno, err);
}

/* Opens it to be read; -1 if it is none that can be. */
static int open_text(const char *file, int *ret_fd, bool *is_link, struct koda_error *err)
{
	koda_auto_fd int held = -1;
	struct koda_error inner = { 0 };
	int r = hold(file, &held, is_link, err);

	*ret_fd = -1;
	if (r < 0 || held < 0)
		return r;
	r = koda_fd_open_held(held, ret_fd, &inner);
	/* What may not be read is no pointer for git either. */
	if (r == KODA_OK || r == KODA_E_INVALID || inner.sys_errno == EACCES)
		return KODA_OK;
	return koda_pointer_fail(file, &inner, err);
}

int koda_pointer_read(const char *file, size_t max, char **ret_text, bool *is_link,
		      struct koda_error *err)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(max);
	koda_auto_fd int fd = -1;
	size_t len;
	int r = open_text(file, &fd, is_link, err);

	*ret_text = NULL;
	if (r < 0 || fd < 0)
		return r;
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

int koda_pointer_trace(const char *path, char **ret_path, struct koda_strv *links,
		       struct koda_error *err)
{
	koda_auto_strv struct koda_strv passed = KODA_STRV_INIT;
	koda_auto_free char *resolved = NULL;
	struct koda_error why = { 0 };
	int r;

	*ret_path = NULL;
	err = err ? err : &why; /* it is asked below, whether or not the caller wants it */
	r = koda_path_trace(path, &resolved, &passed, err);
	if (r == KODA_E_LIMIT || (r == KODA_E_SYS && koda_pointer_is_nothing(err->sys_errno)))
		return KODA_OK; /* a loop, or too long for anybody */
	if (r == KODA_OK)
		r = koda_site_check_seen(resolved, path, err);
	for (size_t i = 0; links && i < passed.len && r == KODA_OK; i++)
		r = koda_strv_add(links, passed.items[i], err);
	if (r == KODA_OK)
		*ret_path = KODA_TAKE(resolved);
	return r;
}

char *koda_pointer_parent(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strndup(path, slash > path ? (size_t)(slash - path) : 1);
}

int koda_pointer_follow(const char *file, const char *text, char **ret_path,
			struct koda_strv *links, struct koda_error *err)
{
	koda_auto_free char *dir = koda_pointer_parent(file);
	koda_auto_free char *joined = NULL;
	struct koda_error inner = { 0 };
	int r = dir ? KODA_OK : koda_fail_nomem(&inner);

	*ret_path = NULL;
	if (r == KODA_OK && text[0] != '/') {
		r = koda_path_join(dir, text, &joined, &inner);
		text = joined;
	}
	if (r == KODA_E_LIMIT)
		return KODA_OK; /* too long for anybody */
	if (r == KODA_OK)
		r = koda_pointer_trace(text, ret_path, links, &inner);
	return r < 0 ? koda_pointer_fail(file, &inner, err) : KODA_OK;
}
