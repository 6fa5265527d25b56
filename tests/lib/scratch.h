/* SPDX-License-Identifier: MIT */
/* A directory of one's own for a test, with links resolved, and shorthands to fill it. */
#ifndef KODA_TEST_SCRATCH_H
#define KODA_TEST_SCRATCH_H

#include "../unit/koda_test.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

/* cmocka setup: *state becomes the directory's path. */
static inline int koda_scratch_setup(void **state)
{
	const char *base = getenv("TMPDIR");
	char made[PATH_MAX];

	(void)snprintf(made, sizeof(made), "%s/koda-test-XXXXXX", base && *base ? base : "/tmp");
	if (!mkdtemp(made))
		return -1;
	*state = realpath(made, NULL);
	return *state ? 0 : -1;
}

static inline int koda_scratch_remove_(const char *path, const struct stat *st, int type,
				       struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

/* cmocka teardown: the directory and everything in it go. */
static inline int koda_scratch_teardown(void **state)
{
	int r = nftw(*state, koda_scratch_remove_, 16, FTW_DEPTH | FTW_PHYS);

	free(*state);
	*state = NULL;
	return r;
}

#define KODA_SCRATCH_TEST(f)                                                                       \
	cmocka_unit_test_setup_teardown(f, koda_scratch_setup, koda_scratch_teardown)

/* dir/name in one of sixteen buffers, used in turn. */
static inline const char *koda_in(const char *dir, const char *name)
{
	static char paths[16][2 * PATH_MAX];
	static unsigned int turn;
	char *path = paths[turn++ % 16];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

static inline const char *koda_make_dir(const char *dir, const char *name)
{
	const char *path = koda_in(dir, name);

	if (mkdir(path, 0755) < 0)
		fail_msg("mkdir %s: %s", path, strerror(errno));
	return path;
}

static inline const char *koda_make_file(const char *dir, const char *name, const char *text)
{
	const char *path = koda_in(dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || close(fd) < 0)
		fail_msg("make %s: %s", path, strerror(errno));
	return path;
}

/* A symbolic link dir/name that says target. */
static inline const char *koda_make_link(const char *dir, const char *name, const char *target)
{
	const char *path = koda_in(dir, name);

	if (symlink(target, path) < 0)
		fail_msg("symlink %s: %s", path, strerror(errno));
	return path;
}

#endif
