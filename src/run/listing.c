/* SPDX-License-Identifier: MIT */
/* The names in a directory, as the planner asks for them. */
#include "run/world.h"

#include "base/diag.h"
#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

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

int koda_world_list(void *ctx, const char *path, size_t max, struct koda_strv *names,
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
