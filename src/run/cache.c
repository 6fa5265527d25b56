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
 * other run uses (libexec/stage2/cache.c).
 */
#include "run/site.h"

#include "base/diag.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/floor.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STORE       "koda/caches"
#define STATE       ".local/state"
#define ROOT_PIECE  200 /* bytes of the root's path in one directory name, escaped */
#define NAME_LAST   "="
#define NAME_BEFORE "+"

/* A directory of the user's own, with no link on the way: where a link leads could be anywhere, a
 * PATH directory or another user's files among it. */
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

int koda_site_note_caches(struct koda_site *site, struct koda_error *err)
{
	koda_auto_free char *state = NULL;
	int r = site->home ? state_dir(site, &state, err) : KODA_OK;

	for (const char *const *name = koda_floor_cache_dirs; *name && state && r == KODA_OK;
	     name++) {
		koda_auto_free char *path = NULL;

		r = koda_path_join(site->home, *name, &path, err);
		/* A cache around the project would swallow what the command is to change, and one
		 * around its own copy cannot be. */
		if (r == KODA_OK && is_own_directory(path) && !overlap(path, site->root) &&
		    !overlap(path, state))
			r = koda_strv_add(&site->caches, path, err);
	}
	return r;
}

/* The root's path as a name, or as several where it is too long for one; no two roots share one. */
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

int koda_site_cache_store(const struct koda_site *site, char **ret_dir, struct koda_error *err)
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
	/* A path too long to have copies: what is written to a cache is not kept. */
	return r == KODA_E_NOMEM ? koda_fail_nomem(err) : KODA_OK;
}
