/* SPDX-License-Identifier: MIT */
/* The real file system, as the planner asks for it: what is there, and the names in a directory. */
#include "run/world.h"

#include "base/diag.h"
#include "base/fd.h"
#include "wire/hold.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A placeholder: empty, or just "." in a commondir that leads nowhere else. So is what has gone
 * since it was looked at: the placeholder of a run that has just ended. */
static bool is_neutral(const char *path, const struct stat *st)
{
	koda_auto_fd int held = -1;
	koda_auto_fd int fd = -1;
	char contents[4];

	if (!koda_hold_is_file_mode(st->st_mode) || st->st_size > 2)
		return false;
	if (st->st_size == 0)
		return true;
	/* Elsewhere that is somebody's: the launcher would not take it for a placeholder. */
	if (strcmp(strrchr(path, '/') + 1, "commondir") != 0)
		return false;
	held = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (held < 0)
		return errno == ENOENT;
	return koda_fd_open_held(held, &fd, NULL) == KODA_OK &&
	       read(fd, contents, sizeof(contents)) == 2 && memcmp(contents, ".\n", 2) == 0;
}

static int look(void *ctx, const char *path, struct koda_look *ret_look, struct koda_error *err)
{
	struct stat st;

	(void)ctx;
	*ret_look = (struct koda_look){ .thing = KODA_THING_MISSING };
	if (lstat(path, &st) < 0) {
		ret_look->closed = errno == EACCES;
		if (errno == ENOENT || errno == ENOTDIR || errno == EACCES)
			return KODA_OK;
		return koda_fail_at(err, KODA_E_SYS, errno, path, "cannot look at");
	}
	if (koda_hold_is_node(st.st_mode))
		return KODA_OK;
	ret_look->thing = S_ISDIR(st.st_mode)   ? KODA_THING_DIR
			  : S_ISLNK(st.st_mode) ? KODA_THING_LINK
						: KODA_THING_OTHER;
	ret_look->neutral = is_neutral(path, &st);
	ret_look->dev = st.st_dev;
	ret_look->ino = st.st_ino;
	return KODA_OK;
}

/* NULL with errno 0 at the end. */
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
		return KODA_OK; /* nothing that the command could get at either */
	dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir)
		return koda_fail_at(err, KODA_E_SYS, errno, path, "cannot read the directory");
	(void)koda_take_fd(&fd);
	r = read_names(dir, path, max, names, err);
	(void)closedir(dir);
	return r;
}

const struct koda_world koda_world_here = { .look = look, .list = list };
