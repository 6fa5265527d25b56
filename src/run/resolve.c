/* SPDX-License-Identifier: MIT */
/* Policy paths: from what is written to what is meant. */
#include "run/site.h"

#include "base/diag.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/pathindex.h"
#include "policy/policy.h"
#include "run/gap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Where the command may write or could have written: the project, its git directory, and what the
 * policy allows, as the kernel will see it. */
static int load_writable(const struct koda_site *site, const struct koda_policy *policy,
			 struct koda_pathindex *writable, struct koda_error *err)
{
	size_t count = koda_policy_count(policy, KODA_LIST_ALLOW_WRITE);
	int r = koda_pathindex_add(writable, koda_span_of(site->root), 1, err);

	for (size_t i = 0; i < site->git_open.len && r == KODA_OK; i++)
		r = koda_pathindex_add(writable, koda_span_of(site->git_open.items[i]), 1, err);
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

/* Whose something is that is there. NOBODY: it does not tell, as a file system that another user
 * has mounted for himself. */
#define NOBODY ((uid_t)-1)

/* False if it cannot be found. By descriptor, because two looks could see two different things. */
static bool find_owner(const char *path, uid_t *ret_owner)
{
	koda_auto_fd int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return false;
	*ret_owner = fstat(fd, &st) == 0 ? st.st_uid : NOBODY;
	return true;
}

/* Which directory keeps path from being looked at; false if that is somebody else's, so that no
 * command can open it. It was closed a moment ago: one that can be looked into by now is among
 * those that a command opens. */
static bool find_closed(const char *path, char dir[KODA_PATH_MAX + 1])
{
	size_t len = strlen(path);
	uid_t owner = NOBODY;
	bool is_seen = find_owner(path, &owner);

	if (len > KODA_PATH_MAX || (is_seen && owner == NOBODY))
		return false;
	memcpy(dir, path, len + 1);
	while (len > 1) {
		while (len > 1 && dir[len - 1] != '/')
			len--;
		len -= len > 1;
		dir[len] = '\0';
		if (find_owner(dir, &owner))
			return owner != NOBODY && (is_seen || owner == geteuid() ||
						   faccessat(AT_FDCWD, dir, X_OK, AT_EACCESS) == 0);
		/* For want of descriptors, say, nothing is found. */
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

/* Tells with an error, if there is one, what it is about. */
static int blame(int r, const char *path, struct koda_error *err)
{
	if (r < 0 && path && err)
		koda_error_within(err, path);
	return r;
}

int koda_site_check_closed(const char *path, struct koda_error *err)
{
	return blame(check_closed(path, err), path, err);
}

int koda_site_check_unseen(const char *path, int error, struct koda_error *err)
{
	if (error == EACCES)
		return koda_site_check_closed(path, err);
	/* The last two: nobody can get there. */
	if (error == ENOENT || error == ENOTDIR || error == ELOOP || error == ENAMETOOLONG)
		return KODA_OK;
	return koda_fail_at(err, KODA_E_SYS, error, path, "cannot look at what is to be protected");
}

int koda_site_check_unseen_in(const char *dir, const char *name, int error, struct koda_error *err)
{
	koda_auto_free char *path = NULL;
	int r = koda_path_join(dir, name, &path, err);

	return r < 0 ? r : koda_site_check_unseen(path, error, err);
}

/* T-15. One look, for a command that runs beside us may close and open a directory all the time:
 * what was not followed while that was closed must not pass for a path without links once it is
 * open. */
static int check_seen(const char *resolved, struct koda_error *err)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	koda_auto_fd int fd = (int)syscall(SYS_openat2, AT_FDCWD, resolved, &how, sizeof(how));

	/* No file has such a name; without this call nothing can be built, which is told elsewhere.
	 */
	if (fd >= 0 || errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG ||
	    errno == ENOSYS)
		return KODA_OK;
	if (errno == EACCES)
		return check_closed(resolved, err);
	if (errno == ELOOP)
		return koda_fail(err, KODA_E_DENIED, 0,
				 "cannot be protected: links on the way change meanwhile; try "
				 "again");
	return koda_fail(err, KODA_E_SYS, errno, "cannot look at what is to be protected");
}

int koda_site_check_seen(const char *resolved, const char *path, struct koda_error *err)
{
	return blame(check_seen(resolved, err), path, err);
}

/* Where a deny entry leads; NULL: where it says. */
static int resolve_deny(struct koda_gap *gap, struct koda_span path, bool strict,
			char **ret_resolved, struct koda_error *err)
{
	koda_auto_free char *resolved = NULL;
	int r;

	if (koda_gap_covers(gap, path)) /* below it there are no links */
		return KODA_OK;
	r = koda_path_resolve(path.ptr, &resolved, err);
	if (r == KODA_OK && strict)
		r = koda_site_check_seen(resolved, path.ptr, err);
	if (r == KODA_OK && strcmp(resolved, path.ptr) == 0)
		return koda_gap_look(gap, path.ptr, err);
	*ret_resolved = KODA_TAKE(resolved);
	return r;
}

/* T-06 where an allow entry leads; NULL if a link on the way may have been planted. */
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

/* A list that becomes another one. Most do not: there are no links in it. */
struct change {
	const struct koda_set *before;
	struct koda_set after; /* once something differs, what the entries so far have become */
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

/* From entry i on it is not the list that it was. */
static int differ(struct change *change, size_t i, struct koda_error *err)
{
	int r = KODA_OK;

	for (size_t k = 0; k < i && !change->differs && r == KODA_OK; k++)
		r = koda_set_add(&change->after, koda_set_get(change->before, k), NULL);
	change->differs = true;
	return r < 0 ? koda_fail_room(err, r, "the list") : KODA_OK;
}

/* Entry i stays; nothing is done about it before one does not. */
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

/* What is denied stays so as it is spelt, and where it leads. */
static int resolve_denies(struct change *change, bool strict, struct koda_error *err)
{
	koda_auto_gap struct koda_gap gap = KODA_GAP_INIT;
	int r = KODA_OK;

	for (size_t i = 0; i < change->before->count && r == KODA_OK; i++) {
		koda_auto_free char *resolved = NULL;

		r = resolve_deny(&gap, koda_set_get(change->before, i), strict, &resolved, err);
		if (r == KODA_OK && resolved)
			r = differ(change, i, err);
		if (r == KODA_OK)
			r = keep(change, i, err);
		if (r == KODA_OK && resolved)
			r = add(change, resolved, err);
	}
	return r;
}

/* What is allowed is so where it leads, and only there. */
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

/* strict: where what is denied leads was not found out before. */
static int resolve(const struct koda_site *site, const struct koda_policy *policy, bool strict,
		   struct koda_resolved *ret_resolved, struct koda_error *err)
{
	struct koda_resolved resolved = { .differs = false };
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
		koda_resolved_clear(&resolved);
	else
		*ret_resolved = resolved;
	return r;
}

int koda_site_resolve(const struct koda_site *site, const struct koda_policy *policy,
		      struct koda_resolved *ret_resolved, struct koda_error *err)
{
	return resolve(site, policy, false, ret_resolved, err);
}

void koda_resolved_apply(struct koda_resolved *resolved, struct koda_policy *policy)
{
	for (size_t i = 0; i < KODA_ARRAY_LEN(resolved->lists); i++)
		if (resolved->is_other[i])
			swap(&policy->lists[i], &resolved->lists[i]);
}

void koda_resolved_clear(struct koda_resolved *resolved)
{
	for (size_t i = 0; i < KODA_ARRAY_LEN(resolved->lists); i++)
		koda_set_clear(&resolved->lists[i]);
	*resolved = (struct koda_resolved){ .differs = false };
}

/* All lists, or none. */
int koda_site_resolve_policy(const struct koda_site *site, struct koda_policy *policy,
			     struct koda_error *err)
{
	koda_auto_resolved struct koda_resolved resolved = { .differs = false };
	int r = resolve(site, policy, true, &resolved, err);

	if (r == KODA_OK)
		koda_resolved_apply(&resolved, policy);
	return r;
}
