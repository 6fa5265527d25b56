/* SPDX-License-Identifier: MIT */
/*
 * T-24. Package caches: which of them this user has, and where a project's copies of them are kept.
 *
 * A command sees the host's caches and writes into a copy. What it puts there stays with the
 * project: it can mislead later commands of the same project, which trust the project anyway, and
 * neither the host nor another project.
 *
 *   STATE/koda/caches/=ROOT/NAME/SLOT/{upper,work}
 *
 * ROOT is the project's path as one name, NAME the cache (plan/cache.c), SLOT the first one that no
 * other run uses (libexec/stage2/guardian/cache_slot.c).
 */
#include "run/project/cache.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/floor.h"
#include "run/project/site.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STORE       "koda/caches"
#define JOURNAL     "koda/placeholders"
#define DIRECTORIES "koda/directories"
#define STATE       ".local/state"
#define ROOT_PIECE  200 /* bytes of the root's path in one directory name, escaped */
#define NAME_LAST   "="
#define NAME_BEFORE "+"

/* Tells whether path is a directory that the user owns, without links on the way. A link could lead
 * to a directory of PATH or to files of another user. */
static bool is_own_directory(const char *path)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	koda_auto_fd int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid();
}

static bool overlap(const char *a, const char *b)
{
	return koda_path_covers(koda_span_of(a), koda_span_of(b)) ||
	       koda_path_covers(koda_span_of(b), koda_span_of(a));
}

static int state_dir(const struct koda_site *site, char **ret_dir, struct koda_error *err)
{
	if (!site->state_home)
		return koda_path_join(site->home, STATE, ret_dir, err);
	*ret_dir = strdup(site->state_home);
	return *ret_dir ? KODA_OK : koda_fail_nomem(err);
}

int koda_cache_note(struct koda_site *site, struct koda_error *err)
{
	koda_auto_free char *state = NULL;
	int r = site->home ? state_dir(site, &state, err) : KODA_OK;

	for (const char *const *name = koda_floor_cache_dirs; *name && state && r == KODA_OK;
	     name++) {
		koda_auto_free char *path = NULL;

		r = koda_path_join(site->home, *name, &path, err);
		/* A copy of a cache around the project would divert the command's changes, and a
		 * cache cannot contain its own copy. */
		if (r == KODA_OK && is_own_directory(path) && !overlap(path, site->root) &&
		    !overlap(path, state))
			r = koda_strv_add(&site->caches, path, err);
	}
	return r;
}

/* Appends the root's path as one name, or several if it is too long for one; unique for each root.
 * */
static int add_root(struct koda_buf *out, const char *root)
{
	koda_auto_buf struct koda_buf name = KODA_BUF_INIT(4 * KODA_PATH_MAX);
	size_t at = 0;
	int r = KODA_OK;

	for (const char *c = root; *c && r == KODA_OK; c++) {
		if (*c == '/' || *c == '%')
			r = koda_buf_addf(&name, "%%%02x", (unsigned int)*c);
		else
			r = koda_buf_add(&name, c, 1);
	}
	while (r == KODA_OK && at < name.len) {
		size_t len = name.len - at < ROOT_PIECE ? name.len - at : ROOT_PIECE;
		bool last = at + len == name.len;

		r = koda_buf_addf(out, "/%s%.*s", last ? NAME_LAST : NAME_BEFORE, (int)len,
				  name.ptr + at);
		at += len;
	}
	return r;
}

int koda_cache_store(const struct koda_site *site, char **ret_dir, struct koda_error *err)
{
	koda_auto_buf struct koda_buf dir = KODA_BUF_INIT(KODA_PATH_MAX);
	koda_auto_free char *state = NULL;
	int r;

	*ret_dir = NULL;
	if (site->caches.len == 0)
		return KODA_OK;
	r = state_dir(site, &state, err);
	if (r < 0)
		return r;
	r = koda_buf_addf(&dir, "%s/" STORE, state);
	if (r == KODA_OK)
		r = add_root(&dir, site->root);
	if (r == KODA_OK)
		r = koda_buf_take(&dir, ret_dir);
	/* The path is too long for copies: changes to caches are not kept. */
	return r == KODA_E_NOMEM ? koda_fail_nomem(err) : KODA_OK;
}

/* Returns a directory of koda's state; NULL if HOME does not exist or belongs to another user. */
static int name_state(const struct koda_site *site, const char *name, char **ret_dir,
		      struct koda_error *err)
{
	const char *base = site->state_home ? site->state_home : site->home;
	koda_auto_free char *state = NULL;
	int r;

	*ret_dir = NULL;
	if (!base || !is_own_directory(base))
		return KODA_OK;
	r = state_dir(site, &state, err);
	return r < 0 ? r : koda_path_join(state, name, ret_dir, err);
}

int koda_cache_placeholder_journal(const struct koda_site *site, char **ret_dir,
				   struct koda_error *err)
{
	return name_state(site, JOURNAL, ret_dir, err);
}

int koda_cache_placeholder_store(const struct koda_site *site, char **ret_dir,
				 struct koda_error *err)
{
	return name_state(site, DIRECTORIES, ret_dir, err);
}
