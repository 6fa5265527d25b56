/* SPDX-License-Identifier: MIT */
/* Resolves symbolic links in the paths of a policy. */
#include "run/project/policy_links.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/pathindex.h"
#include "policy/policy.h"
#include "run/project/missing.h"
#include "run/project/site.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Lists where the command may write, or an earlier one may have written: the project, its git
 * directory, and what the policy allows, with links resolved. */
static int load_writable(const struct koda_site *site, const struct koda_policy *policy,
			 struct koda_pathindex *writable, struct koda_error *err)
{
	size_t count = koda_policy_count(policy, KODA_LIST_ALLOW_WRITE);
	int r = koda_pathindex_add(writable, koda_span_of(site->root), 1, err);

	for (size_t i = 0; i < site->own_git_dirs.len && r == KODA_OK; i++)
		r = koda_pathindex_add(writable, koda_span_of(site->own_git_dirs.items[i]), 1, err);
	for (size_t i = 0; i < count && r == KODA_OK; i++) {
		koda_auto_free char *resolved = NULL;

		r = koda_path_resolve(koda_policy_get(policy, KODA_LIST_ALLOW_WRITE, i).ptr,
				      &resolved, err);
		if (r == KODA_OK)
			r = koda_pathindex_add(writable, koda_span_of(resolved), 1, err);
	}
	return r;
}

static bool is_inside(const struct koda_pathindex *dirs, const char *path)
{
	struct koda_pathwalk walk = koda_pathwalk_start(dirs, koda_span_of(path));

	return koda_pathwalk_next(&walk);
}

/* The owner is unknown, as on a FUSE file system that another user has mounted. */
#define OWNER_UNKNOWN ((uid_t)-1)

/* Returns the owner of a directory; false if it cannot be opened. Uses one descriptor, because two
 * calls by path could see two files. */
static bool find_owner(const char *path, uid_t *ret_owner)
{
	koda_auto_fd int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return false;
	*ret_owner = fstat(fd, &st) == 0 ? st.st_uid : OWNER_UNKNOWN;
	return true;
}

/* Returns the directory that keeps path from being examined; false if another user owns it, so that
 * no command can open it. A directory of the user that is readable by now counts, because a command
 * may have opened it again. */
static bool find_closed(const char *path, char dir[KODA_PATH_MAX + 1])
{
	size_t len = strlen(path);
	uid_t owner = OWNER_UNKNOWN;
	bool is_seen = find_owner(path, &owner);

	if (len > KODA_PATH_MAX || (is_seen && owner == OWNER_UNKNOWN))
		return false;
	memcpy(dir, path, len + 1);
	while (len > 1) {
		while (len > 1 && dir[len - 1] != '/')
			len--;
		len -= len > 1;
		dir[len] = '\0';
		if (find_owner(dir, &owner))
			return owner != OWNER_UNKNOWN &&
			       (is_seen || owner == geteuid() ||
				faccessat(AT_FDCWD, dir, X_OK, AT_EACCESS) == 0);
		/* Any other error (EMFILE and the like) proves nothing about the owner. */
		if (errno != EACCES && errno != ENOENT && errno != ENOTDIR)
			return true;
	}
	return false;
}

static int check_closed(const char *path, struct koda_error *err)
{
	char dir[KODA_PATH_MAX + 1];

	if (!find_closed(path, dir))
		return KODA_OK;
	return koda_fail(err, KODA_E_DENIED, 0,
			 "cannot be protected: a directory on the way is closed, and there may be "
			 "a link in it; open that (chmod u+rwx): %s",
			 dir);
}

/* Adds the path to an error, if there is one. */
static int blame(int r, const char *path, struct koda_error *err)
{
	if (r < 0 && path && err)
		koda_error_within(err, path);
	return r;
}

int koda_policy_links_check_closed(const char *path, struct koda_error *err)
{
	return blame(check_closed(path, err), path, err);
}

int koda_policy_links_check_unseen(const char *path, int error, struct koda_error *err)
{
	if (error == EACCES)
		return koda_policy_links_check_closed(path, err);
	/* ELOOP and ENAMETOOLONG: no process can get there. */
	if (error == ENOENT || error == ENOTDIR || error == ELOOP || error == ENAMETOOLONG)
		return KODA_OK;
	return koda_fail_at(err, KODA_E_SYS, error, path, "cannot examine a protected name");
}

int koda_policy_links_check_unseen_in(const char *dir, const char *name, int error,
				      struct koda_error *err)
{
	koda_auto_free char *path = NULL;
	int r = koda_path_join(dir, name, &path, err);

	return r < 0 ? r : koda_policy_links_check_unseen(path, error, err);
}

/* T-15. Checks with one openat2(). A command that runs at the same time may close and open a
 * directory repeatedly: a path that could not be followed while it was closed must not pass as one
 * without links once it is open. */
static int check_seen(const char *resolved, struct koda_error *err)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	koda_auto_fd int fd = (int)syscall(SYS_openat2, AT_FDCWD, resolved, &how, sizeof(how));

	/* ENAMETOOLONG: no file has such a name. ENOSYS: without openat2() no sandbox can be made,
	 * which is reported elsewhere. */
	if (fd >= 0 || errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG ||
	    errno == ENOSYS)
		return KODA_OK;
	if (errno == EACCES)
		return check_closed(resolved, err);
	if (errno == ELOOP)
		return koda_fail(err, KODA_E_DENIED, 0,
				 "cannot be protected: links on the way change meanwhile; try "
				 "again");
	return koda_fail(err, KODA_E_SYS, errno, "cannot examine a protected name");
}

int koda_policy_links_check_seen(const char *resolved, const char *path, struct koda_error *err)
{
	return blame(check_seen(resolved, err), path, err);
}

/* Returns the target of a deny entry; NULL if it has no links. */
static int resolve_deny(struct koda_missing *missing, struct koda_span path, bool strict,
			char **ret_resolved, struct koda_error *err)
{
	koda_auto_free char *resolved = NULL;
	int r;

	if (koda_missing_covers(missing, path)) /* a missing directory contains no links */
		return KODA_OK;
	r = koda_path_resolve(path.ptr, &resolved, err);
	if (r == KODA_OK && strict)
		r = koda_policy_links_check_seen(resolved, path.ptr, err);
	if (r == KODA_OK && strcmp(resolved, path.ptr) == 0)
		return koda_missing_look(missing, path.ptr, err);
	*ret_resolved = KODA_TAKE(resolved);
	return r;
}

/* T-06. Returns the target of an allow entry; NULL if a command may have planted a link on the way.
 * */
static int resolve_allow(const struct koda_pathindex *writable, const char *path,
			 char **ret_resolved, struct koda_error *err)
{
	koda_auto_strv struct koda_strv links = KODA_STRV_INIT;
	koda_auto_free char *resolved = NULL;
	int r = koda_path_trace(path, &resolved, &links, err);

	for (size_t i = 0; i < links.len && r == KODA_OK; i++)
		if (is_inside(writable, links.items[i]))
			return KODA_OK;
	if (r == KODA_OK)
		*ret_resolved = KODA_TAKE(resolved);
	return r;
}

/* A list of the policy and its resolved form. Most lists have no links and stay as they are. */
struct change {
	const struct koda_set *before;
	struct koda_set after; /* the resolved entries, once one differs */
	bool differs;
	struct koda_buf normal;
};

#define CHANGE_INIT(list)                                                                          \
	{                                                                                          \
		.before = (list), .after = KODA_SET_INIT(KODA_LIST_BYTES_MAX),                     \
		.normal = KODA_BUF_INIT(KODA_PATH_MAX)                                             \
	}

static void change_clear(struct change *change)
{
	koda_set_clear(&change->after);
	koda_buf_clear(&change->normal);
}

/* Starts the resolved list with the entries before i. */
static int differ(struct change *change, size_t i, struct koda_error *err)
{
	int r = KODA_OK;

	for (size_t k = 0; k < i && !change->differs && r == KODA_OK; k++)
		r = koda_set_add(&change->after, koda_set_get(change->before, k), NULL);
	change->differs = true;
	return r < 0 ? koda_fail_room(err, r, "the list") : KODA_OK;
}

/* Keeps entry i; copies it only if the list differs already. */
static int keep(struct change *change, size_t i, struct koda_error *err)
{
	int r = change->differs
			? koda_set_add(&change->after, koda_set_get(change->before, i), NULL)
			: KODA_OK;

	return r < 0 ? koda_fail_room(err, r, "the list") : KODA_OK;
}

static int add(struct change *change, const char *path, struct koda_error *err)
{
	int r;

	change->normal.len = 0;
	r = koda_path_normalise(koda_span_of(path), &change->normal, err);
	if (r < 0)
		return r;
	r = koda_set_add(&change->after, koda_buf_span(&change->normal), NULL);
	return r < 0 ? koda_fail_room(err, r, "the list") : KODA_OK;
}

/* Denies both the path as written and its target. */
static int resolve_denies(struct change *change, bool strict, struct koda_error *err)
{
	koda_auto_missing struct koda_missing missing = KODA_MISSING_INIT;
	int r = KODA_OK;

	for (size_t i = 0; i < change->before->count && r == KODA_OK; i++) {
		koda_auto_free char *resolved = NULL;

		r = resolve_deny(&missing, koda_set_get(change->before, i), strict, &resolved, err);
		if (r == KODA_OK && resolved)
			r = differ(change, i, err);
		if (r == KODA_OK)
			r = keep(change, i, err);
		if (r == KODA_OK && resolved)
			r = add(change, resolved, err);
	}
	return r;
}

/* Allows the target only. */
static int resolve_allows(struct change *change, const struct koda_pathindex *writable,
			  struct koda_error *err)
{
	int r = KODA_OK;

	for (size_t i = 0; i < change->before->count && r == KODA_OK; i++) {
		const char *entry = koda_set_get(change->before, i).ptr;
		koda_auto_free char *resolved = NULL;

		r = resolve_allow(writable, entry, &resolved, err);
		if (r == KODA_OK && resolved && strcmp(resolved, entry) == 0) {
			r = keep(change, i, err);
			continue;
		}
		if (r == KODA_OK)
			r = differ(change, i, err);
		if (r == KODA_OK && resolved)
			r = add(change, resolved, err);
	}
	return r;
}

static void swap(struct koda_set *a, struct koda_set *b)
{
	struct koda_set kept = *a;

	*a = *b;
	*b = kept;
}

/* strict: deny entries have not been resolved before, so a target that cannot be examined fails. */
static int resolve(const struct koda_site *site, const struct koda_policy *policy, bool strict,
		   struct koda_policy_links *ret_resolved, struct koda_error *err)
{
	struct koda_policy_links resolved = { .differs = false };
	koda_auto_pathindex struct koda_pathindex writable = KODA_PATHINDEX_INIT;
	int r = load_writable(site, policy, &writable, err);

	for (size_t i = 0; i < KODA_ARRAY_LEN(resolved.lists) && r == KODA_OK; i++) {
		struct change change = CHANGE_INIT(&policy->lists[i]);

		r = i == KODA_LIST_ALLOW_WRITE || i == KODA_LIST_ALLOW_READ_WITHIN_DENY
			    ? resolve_allows(&change, &writable, err)
			    : resolve_denies(&change, strict, err);
		resolved.is_other[i] = change.differs;
		resolved.differs |= change.differs;
		swap(&resolved.lists[i], &change.after);
		change_clear(&change);
	}
	if (r < 0)
		koda_policy_links_clear(&resolved);
	else
		*ret_resolved = resolved;
	return r;
}

int koda_policy_links_resolve(const struct koda_site *site, const struct koda_policy *policy,
			      struct koda_policy_links *ret_resolved, struct koda_error *err)
{
	return resolve(site, policy, false, ret_resolved, err);
}

void koda_policy_links_apply(struct koda_policy_links *resolved, struct koda_policy *policy)
{
	for (size_t i = 0; i < KODA_ARRAY_LEN(resolved->lists); i++)
		if (resolved->is_other[i])
			swap(&policy->lists[i], &resolved->lists[i]);
}

void koda_policy_links_clear(struct koda_policy_links *resolved)
{
	for (size_t i = 0; i < KODA_ARRAY_LEN(resolved->lists); i++)
		koda_set_clear(&resolved->lists[i]);
	*resolved = (struct koda_policy_links){ .differs = false };
}

/* Applies all lists, or none. */
int koda_policy_links_resolve_now(const struct koda_site *site, struct koda_policy *policy,
				  struct koda_error *err)
{
	koda_auto_policy_links struct koda_policy_links resolved = { .differs = false };
	int r = resolve(site, policy, true, &resolved, err);

	if (r == KODA_OK)
		koda_policy_links_apply(&resolved, policy);
	return r;
}
