/* SPDX-License-Identifier: MIT */
/* T-92. Reads the files of an index. */
#include "run/project/git_index_file.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/proc.h"
#include "run/project/git_config.h"
#include "run/project/inode_search.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How many entries of a git directory are read in search of a shared index. */
#define ENTRIES_MAX ((size_t)4096)

/* Reads a file; false if it cannot be read. A missing one is empty. flags: O_NOFOLLOW, because a
 * link of a command may lead to a hidden file; or 0. */
static bool read_file(int dir, const char *name, int flags, struct koda_buf *out)
{
	koda_auto_fd int held = openat(dir, name, O_PATH | O_CLOEXEC | flags);
	koda_auto_fd int fd = -1;

	if (held < 0)
		return errno == ENOENT;
	return koda_fd_open_held(held, &fd, NULL) == KODA_OK &&
	       koda_fd_read_all(fd, out, NULL) == KODA_OK;
}

/* --- the object format --- */

static int see_format(void *ctx, const struct koda_git_setting *setting, struct koda_error *err)
{
	size_t *hash_len = ctx;

	(void)err;
	if (!koda_git_config_key_is(setting, "extensions", "objectformat"))
		return KODA_OK;
	if (strcmp(setting->value, "sha256") == 0)
		*hash_len = KODA_GIT_INDEX_SHA256;
	else if (strcmp(setting->value, "sha1") == 0)
		*hash_len = KODA_GIT_INDEX_SHA1;
	else
		return KODA_E_INVALID; /* of a later git */
	return KODA_OK;
}

/* Opens the directory that the git directory of a linked worktree shares, or git_dir itself. */
static int open_common(int git_dir)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(2 * KODA_PATH_MAX);

	/* While a command runs it may be a placeholder, which is no file. */
	if (!read_file(git_dir, "commondir", O_NOFOLLOW, &text))
		text.len = 0;
	while (text.len > 0 && strchr("\r\n", text.ptr[text.len - 1]))
		text.ptr[--text.len] = '\0';
	return openat(git_dir, text.len > 0 ? text.ptr : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Commands cannot change these files. Git does not look for the format in included files. */
static bool find_hash_len(int git_dir, size_t *ret_len)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(KODA_GIT_CONFIG_MAX);
	koda_auto_fd int common = open_common(git_dir);

	*ret_len = KODA_GIT_INDEX_SHA1;
	if (common < 0 || !read_file(common, "config", 0, &text))
		return false;
	return text.len == 0 ||
	       koda_git_config_parse(koda_buf_span(&text), see_format, ret_len, NULL) == KODA_OK;
}

/* --- the index --- */

static int walk_one(int git_dir, const char *name, struct koda_git_index *index, size_t *spent,
		    koda_git_index_fn *see, void *ctx)
{
	koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT(KODA_GIT_INDEX_FILE_BYTES - *spent);
	bool read = read_file(git_dir, name, O_NOFOLLOW, &bytes);

	*spent += bytes.len;
	if (!read)
		return KODA_E_INVALID;
	/* Git reads no empty file, and needs no missing one. */
	return bytes.len == 0 ? KODA_OK
			      : koda_git_index_walk(index, koda_buf_span(&bytes), see, ctx);
}

int koda_git_index_file_walk(int git_dir, size_t *spent, koda_git_index_fn *see, void *ctx)
{
	struct koda_git_index index = { .shared = "" };
	struct koda_git_index rest = { .is_shared = true };
	int r;

	if (!find_hash_len(git_dir, &index.hash_len))
		return KODA_E_INVALID;
	r = walk_one(git_dir, "index", &index, spent, see, ctx);
	if (r < 0 || !index.shared[0])
		return r;
	rest.hash_len = index.hash_len;
	rest.see_all = index.has_unnamed;
	return walk_one(git_dir, index.shared, &rest, spent, see, ctx);
}

/* Tells whether a file has changed. A link counts as changed, because its target may have. */
static bool is_new_file(const struct koda_dir_snapshot *snapshot, const struct stat *st)
{
	return !S_ISREG(st->st_mode) || koda_dir_snapshot_is_since(snapshot, st->st_ctim);
}

/* Tells whether a shared index has changed. The index itself may be unchanged: git compares its
 * hash only with the last bytes of the shared index. */
static bool has_new_shared(const struct koda_dir_snapshot *snapshot, int git_dir)
{
	koda_auto_fd int fd = openat(git_dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	size_t left = ENTRIES_MAX;
	bool is_new = false;
	struct stat st;

	if (!dir)
		return true;
	(void)koda_take_fd(&fd);
	while (!is_new && (entry = koda_inode_search_next(dir))) {
		is_new = left-- == 0;
		if (strncmp(entry->d_name, "sharedindex.", strlen("sharedindex.")) == 0)
			is_new = fstatat(git_dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
				 is_new_file(snapshot, &st);
	}
	is_new = is_new || errno != 0;
	(void)closedir(dir);
	return is_new;
}

bool koda_git_index_file_is_new(int git_dir, const struct koda_dir_snapshot *snapshot)
{
	struct stat st;

	if (fstatat(git_dir, "index", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno != ENOENT;
	return is_new_file(snapshot, &st) || has_new_shared(snapshot, git_dir);
}
