/* SPDX-License-Identifier: MIT */
/* T-92. Where a directory was, a command may leave a link. Tools that are started by the old path
 * look for a repository from the target upwards. Directories of the snapshot are compared by
 * left_behind.c; here only the others on that way count. */
#include "run/project/left_behind_link.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "run/project/git_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

struct way {
	struct koda_git_known *known;
	struct koda_left_behind *left;
	bool over; /* a repository was found, or nothing can be found */
	struct koda_error *err;
};

/* Examines the .git of a directory. */
static int check_git(struct way *way, const char *dir, int fd, const struct stat *git)
{
	bool has = false;
	int r;

	way->over = koda_git_dir_is_dot_git(fd, git);
	if (!way->over)
		return KODA_OK;
	r = koda_git_known_has(way->known, fd, dir, git, &has, way->err);
	return r < 0 || has ? r
			    : koda_left_behind_add(way->left, dir, ".git",
						   S_ISDIR(git->st_mode) ? KODA_LEFT_GIT_DIR
									 : KODA_LEFT_GIT_FILE,
						   way->err);
}

bool koda_left_behind_is_other(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (S_ISDIR(st.st_mode) || S_ISLNK(st.st_mode));
}

/* Examines a directory that the snapshot does not have. */
static int check_new(struct way *way, const char *dir, int fd)
{
	if (koda_git_dir_is_at(fd, NULL) == KODA_GIT_DIR_YES ||
	    koda_git_dir_is_worktree_at(fd, NULL) == KODA_GIT_DIR_YES) {
		way->over = true;
		return koda_left_behind_add(way->left, dir, NULL, KODA_LEFT_BARE_GIT_DIR, way->err);
	}
	for (size_t n = 0; n < KODA_DIR_SNAPSHOT_OTHERS; n++) {
		const char *name = koda_dir_snapshot_others[n].name;

		if (!koda_left_behind_is_other(fd, name))
			continue;
		way->over = true;
		return koda_left_behind_add(way->left, dir, name, KODA_LEFT_HG_DIR, way->err);
	}
	return KODA_OK;
}

static int check_dir(struct way *way, const char *dir)
{
	koda_auto_fd int fd = open(dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat git;
	size_t i = KODA_SET_NONE;
	int r = KODA_OK;

	if (fd >= 0 && fstatat(fd, ".git", &git, AT_SYMLINK_NOFOLLOW) == 0) {
		r = check_git(way, dir, fd, &git);
	} else if (errno == EACCES) {
		r = koda_left_behind_add(way->left, dir, NULL, KODA_LEFT_UNSEEN, way->err);
		way->over = true;
	} else {
		way->over = fd < 0;
	}
	if (r < 0 || way->over)
		return r;
	r = koda_git_known_find(way->known, fd, &i, way->err);
	return r < 0 || i != KODA_SET_NONE ? r : check_new(way, dir, fd);
}

int koda_left_behind_check_link(struct koda_git_known *known, const char *path,
				struct koda_left_behind *left, struct koda_error *err)
{
	struct way way = { .known = known, .left = left, .err = err };
	koda_auto_free char *dir = NULL;
	struct koda_error inner = { 0 };
	int r = koda_path_resolve(path, &dir, &inner);

	if (r == KODA_E_NOMEM)
		return koda_fail_nomem(err);
	if (r < 0)
		return KODA_OK; /* the link leads nowhere */
	r = koda_git_known_list_tops(known, err);
	/* What lies elsewhere was made by no command. */
	while (r == KODA_OK && !way.over && koda_git_known_top(known, dir)) {
		r = check_dir(&way, dir);
		*strrchr(dir, '/') = '\0';
	}
	return r;
}
