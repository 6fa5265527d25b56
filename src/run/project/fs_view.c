/* SPDX-License-Identifier: MIT */
/* The host's file system for the planner: file types, and the names in a directory. */
#include "run/project/fs_view.h"

#include "base/error.h"
#include "base/fd.h"
#include "run/project/git_scan.h"
#include "wire/placeholder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Tells whether path is a placeholder: empty, or a commondir that names its own directory. A file
 * that has vanished since was the placeholder of a run that has just ended. */
static bool is_neutral(const char *path, const struct stat *st)
{
	koda_auto_fd int held = -1;
	koda_auto_fd int fd = -1;
	char contents[sizeof(KODA_PLACEHOLDER_COMMONDIR)];

	if (!koda_placeholder_is_file_mode(st->st_mode) ||
	    st->st_size > (off_t)strlen(KODA_PLACEHOLDER_COMMONDIR))
		return false;
	if (st->st_size == 0)
		return true;
	/* The launcher takes only a commondir with this text for a placeholder. */
	if (strcmp(strrchr(path, '/') + 1, "commondir") != 0)
		return false;
	held = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (held < 0)
		return errno == ENOENT;
	return koda_fd_open_held(held, &fd, NULL) == KODA_OK &&
	       read(fd, contents, sizeof(contents)) ==
		       (ssize_t)strlen(KODA_PLACEHOLDER_COMMONDIR) &&
	       memcmp(contents, KODA_PLACEHOLDER_COMMONDIR, strlen(KODA_PLACEHOLDER_COMMONDIR)) ==
		       0;
}

static int look(void *ctx, const char *path, struct koda_fs_stat *ret_look, struct koda_error *err)
{
	struct stat st;

	(void)ctx;
	*ret_look = (struct koda_fs_stat){ .type = KODA_FILE_MISSING };
	if (lstat(path, &st) < 0) {
		ret_look->closed = errno == EACCES;
		if (errno == ENOENT || errno == ENOTDIR || errno == EACCES)
			return KODA_OK;
		return koda_fail_at(err, KODA_E_SYS, errno, path, "cannot look at");
	}
	if (koda_placeholder_is(AT_FDCWD, path, &st))
		return KODA_OK;
	ret_look->type = S_ISDIR(st.st_mode)   ? KODA_FILE_DIR
			 : S_ISLNK(st.st_mode) ? KODA_FILE_LINK
					       : KODA_FILE_OTHER;
	ret_look->is_git_placeholder = is_neutral(path, &st);
	ret_look->dev = st.st_dev;
	ret_look->ino = st.st_ino;
	return KODA_OK;
}

/* Returns the next entry; NULL with errno 0 at the end. */
static const struct dirent *next_name(DIR *dir)
{
	const struct dirent *entry;

	do {
		errno = 0;
		/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is the caller's own */
		entry = readdir(dir);
	} while (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
	return entry;
}

static int read_names(DIR *dir, const char *path, size_t max, struct koda_strv *names,
		      struct koda_error *err)
{
	const struct dirent *entry;
	int r = KODA_OK;

	while (r == KODA_OK && (entry = next_name(dir))) {
		if (names->len == max)
			return koda_fail_at(err, KODA_E_LIMIT, 0, path,
					    "more than %zu entries beside something that is "
					    "protected or hidden",
					    max);
		r = koda_strv_add(names, entry->d_name, err);
	}
	if (r == KODA_OK && errno != 0)
		r = koda_fail_at(err, KODA_E_SYS, errno, path, "cannot read the directory");
	return r;
}

static int list(void *ctx, const char *path, size_t max, struct koda_strv *names,
		struct koda_error *err)
{
	koda_auto_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir;
	int r;

	(void)ctx;
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EACCES))
		return KODA_OK; /* the command cannot reach it either */
	dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir)
		return koda_fail_at(err, KODA_E_SYS, errno, path, "cannot read the directory");
	(void)koda_take_fd(&fd);
	r = read_names(dir, path, max, names, err);
	(void)closedir(dir);
	return r;
}

static bool may(void *ctx, const char *path, int mode)
{
	(void)ctx;
	return faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0;
}

const struct koda_fs_ops koda_fs_view_host = { .look = look, .list = list, .may = may };
