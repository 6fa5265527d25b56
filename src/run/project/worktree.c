/* SPDX-License-Identifier: MIT */
/*
 * T-43. Git looks in each directory upwards for a .git, which may be a directory or a file, and
 * then takes the directory itself for a git directory if it has a valid HEAD and, in the directory
 * that a file commondir names or else in it, objects and refs. So a command that moves .git/HEAD
 * away, or closes .git, could make the top of the work tree what git obeys next.
 *
 * While a command runs the placeholder commondir, which is no file, ends every git that would look
 * further; once it is gone, refs is missing (or objects, where the project has a refs of its own).
 *
 * Where .git is closed as a whole (git_close.c) git never looks further, and nothing is reserved;
 * nor beside a .git file that is one of many.
 *
 * Git enters the directory of each submodule by itself. One that is not checked out stays empty.
 */
#include "run/project/worktree.h"

#include "base/error.h"
#include "base/path.h"
#include "base/set.h"
#include "plan/private_dirs.h"
#include "policy/floor.h"
#include "policy/policy.h"
#include "run/project/git_close.h"
#include "run/project/git_config.h"
#include "run/project/inode_search.h"
#include "run/project/site.h"
#include "wire/placeholder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* In all work trees together. */
#define SUBMODULES_MAX 4096

/* Tops beside which names are reserved. Where that takes a mount it also takes a descriptor. */
#define TOPS_MAX 4096

struct walk {
	struct koda_site *site;
	const char *top;
	bool around; /* top is above the root: only submodules in the root count */
	size_t submodules;
	size_t tops;           /* of TOPS_MAX */
	size_t closed;         /* how many of git_closed were passed */
	struct koda_set known; /* every .git, filled in when first needed */
};

/* What is at a path: nothing, a placeholder of another run, or another file. Unknown in a closed
 * directory, which is made read-only, or below a file. */
enum presence {
	PRESENCE_NONE,
	PRESENCE_PLACEHOLDER,
	PRESENCE_OTHER,
	PRESENCE_UNKNOWN
};

static enum presence look(const char *path, struct stat *ret_st)
{
	if (lstat(path, ret_st) < 0)
		return errno == ENOENT ? PRESENCE_NONE : PRESENCE_UNKNOWN;
	return koda_placeholder_is(AT_FDCWD, path, ret_st) ? PRESENCE_PLACEHOLDER : PRESENCE_OTHER;
}

static bool is_free(enum presence presence)
{
	return presence == PRESENCE_NONE || presence == PRESENCE_PLACEHOLDER;
}

/* Notes the first part of a git directory that is missing in top, and each that is a placeholder:
 * another run reserves it, and this command must not create it. *ret_missing tells whether a part
 * is missing. */
static int note_parts(struct koda_site *site, const char *top, bool *ret_missing,
		      struct koda_error *err)
{
	const char *const *part = koda_floor_worktree_parts;
	int r = KODA_OK;

	*ret_missing = false;
	for (; *part && r == KODA_OK; part++) {
		koda_auto_free char *path = NULL;
		enum presence presence;
		struct stat st;

		r = koda_path_join(top, *part, &path, err);
		if (r < 0)
			return r;
		presence = look(path, &st);
		if (!is_free(presence) || (presence == PRESENCE_NONE && *ret_missing))
			continue;
		*ret_missing = true;
		r = koda_strv_take(&site->missing_dirs, KODA_TAKE(path), err);
	}
	return r;
}

/* A directory that has all parts is a git directory and is protected as one; git reads the
 * commondir in it. */
static int note_top(struct koda_site *site, const char *top, struct koda_error *err)
{
	koda_auto_free char *link = NULL;
	bool missing = false;
	int r = koda_worktree_check_top(top, err);

	if (r == KODA_OK)
		r = note_parts(site, top, &missing, err);
	if (r < 0 || !missing)
		return r;
	r = koda_path_join(top, koda_floor_worktree_link, &link, err);
	return r < 0 ? r : koda_strv_take(&site->missing_dirs, KODA_TAKE(link), err);
}

/* Tells whether a submodule can have this path: relative, without "..". */
static bool is_inside(const char *path)
{
	struct koda_span rest = koda_span_of(path);
	struct koda_span name;
	enum koda_step step = KODA_STEP_END;

	if (path[0] == '/' || path[0] == '\0')
		return false;
	while ((step = koda_path_next(&rest, &name)) == KODA_STEP_NAME)
		if (name.len > KODA_NAME_MAX || koda_span_is(name, ".git"))
			return false;
	return step == KODA_STEP_END;
}

/* A directory that cannot be read counts as used. */
static bool is_empty(const char *path)
{
	DIR *dir = opendir(path);
	size_t count = 0;

	if (!dir)
		return false;
	while (count <= 2 && koda_inode_search_next(dir))
		count++;
	(void)closedir(dir);
	return count <= 2; /* "." and ".." */
}

static int know_all(struct koda_set *known, const struct koda_strv *list, struct koda_error *err)
{
	int r = KODA_OK;

	for (size_t i = 0; i < list->len && r == KODA_OK; i++)
		r = koda_set_add(known, koda_span_of(list->items[i]), NULL);
	return r < 0 ? koda_fail_nomem(err) : r;
}

/* Adds a .git that is in no list of repositories yet. */
static int add_unknown(struct walk *walk, struct koda_strv *list, const char *dot_git,
		       struct koda_error *err)
{
	struct koda_set *known = &walk->known;
	const bool first = known->count == 0;
	size_t count;
	int r = KODA_OK;

	if (first)
		r = know_all(known, &walk->site->git_dirs, err);
	if (first && r == KODA_OK)
		r = know_all(known, &walk->site->git_files, err);
	count = known->count;
	if (r == KODA_OK && koda_set_add(known, koda_span_of(dot_git), NULL) < 0)
		r = koda_fail_nomem(err);
	return r < 0 || known->count == count ? r : koda_strv_add(list, dot_git, err);
}

/* A placeholder .git in a submodule would make "git status" fail. So the directory of a submodule
 * that is not checked out is made read-only as a whole: empty, or missing. In one that has files
 * but no .git a command can create a .git, which left_behind.c reports. */
static int note_submodule(struct walk *walk, const char *dir, const char *dot_git,
			  struct koda_error *err)
{
	struct koda_site *site = walk->site;
	struct stat st;
	enum presence presence = look(dir, &st);

	if (is_free(presence) ||
	    (presence == PRESENCE_OTHER && S_ISDIR(st.st_mode) && is_empty(dir)))
		return koda_strv_add(&site->missing_dirs, dir, err);
	if (presence != PRESENCE_OTHER || !S_ISDIR(st.st_mode))
		return KODA_OK;
	presence = look(dot_git, &st);
	if (presence != PRESENCE_OTHER)
		return KODA_OK;
	/* It may lie deeper than the scan goes. */
	return add_unknown(walk, S_ISDIR(st.st_mode) ? &site->git_dirs : &site->git_files, dot_git,
			   err);
}

static int see_submodule(void *ctx, const struct koda_git_setting *setting, struct koda_error *err)
{
	struct walk *walk = ctx;
	koda_auto_free char *dir = NULL;
	koda_auto_free char *dot_git = NULL;
	int r;

	if (!koda_git_config_key_is(setting, "submodule", "path") || !is_inside(setting->value))
		return KODA_OK;
	if (++walk->submodules > SUBMODULES_MAX)
		return koda_fail_at(err, KODA_E_LIMIT, 0, walk->top,
				    "more than %d submodules in .gitmodules; remove some, or name "
				    "a project root with fewer",
				    SUBMODULES_MAX);
	r = koda_survey_budget_take_entries(&walk->site->budget, 1, walk->top, err);
	if (r < 0)
		return r;
	r = koda_path_join(walk->top, setting->value, &dir, err);
	if (r == KODA_OK)
		r = koda_path_join(dir, ".git", &dot_git, err);
	if (r == KODA_E_LIMIT)
		return KODA_OK; /* no file has such a name */
	if (r == KODA_OK && walk->around &&
	    !koda_path_covers(koda_span_of(walk->site->root), koda_span_of(dir)))
		return KODA_OK;
	return r == KODA_OK ? note_submodule(walk, dir, dot_git, err) : r;
}

static int note_submodules(struct walk *walk, struct koda_error *err)
{
	koda_auto_free char *file = NULL;
	int r = koda_path_join(walk->top, ".gitmodules", &file, err);

	return r < 0 ? r
		     : koda_git_config_read(file, see_submodule, walk, NULL, &walk->site->budget,
					    err);
}

/* Notes submodules of work trees above the root that lie in the root. */
static int note_around(struct walk *walk, struct koda_error *err)
{
	koda_auto_free char *dir = strdup(walk->site->root);
	int r = KODA_OK;

	if (!dir)
		return koda_fail_nomem(err);
	walk->top = dir;
	walk->around = true;
	while (r == KODA_OK && dir[1]) {
		char *slash = strrchr(dir, '/');

		slash[slash == dir] = '\0';
		if (koda_worktree_has(dir, ".git"))
			r = note_submodules(walk, err);
	}
	walk->around = false;
	return r;
}

/* Tells whether git stops at this .git, whatever a command does beside it. git_closed and dot_gits
 * have the closed ones in one order. */
static bool is_firm(struct walk *walk, const char *dot_git)
{
	const struct koda_strv *closed = &walk->site->git_closed;

	if (walk->closed == closed->len || strcmp(dot_git, closed->items[walk->closed]) != 0)
		return false;
	return walk->site->git_looks.ptr[walk->closed++] & KODA_SITE_GIT_FIRM;
}

/* Git looks no further than a .git that is a regular file: if that leads to no git directory, git
 * ends. A command cannot change the file. Other tools may go on to the top, but run nothing from
 * there, so beside few such files names are reserved all the same. */
static bool is_file(const char *dot_git)
{
	struct stat st;

	return lstat(dot_git, &st) == 0 && S_ISREG(st.st_mode);
}

/* Reserves names at a top whose .git git may pass over: a link, or a git directory that is not
 * whole. */
static int note_soft_top(struct walk *walk, struct koda_error *err)
{
	if (++walk->tops > TOPS_MAX && !walk->site->unmounted)
		return koda_fail_at(err, KODA_E_LIMIT, 0, walk->top,
				    "is one of more than %d work trees whose .git is a link, or "
				    "is not a whole git directory; name a project root with fewer",
				    TOPS_MAX);
	return note_top(walk->site, walk->top, err);
}

/* Notes the tops of work trees, by their .git. The list may grow meanwhile. */
static int note_tops(struct walk *walk, const struct koda_strv *dot_gits, struct koda_error *err)
{
	const bool many = dot_gits->len > koda_git_close_limit(walk->site);
	size_t root = strlen(walk->site->root);
	int r = KODA_OK;

	for (size_t i = 0; i < dot_gits->len && r == KODA_OK; i++) {
		size_t len = koda_worktree_top_len(dot_gits->items[i]);
		koda_auto_free char *top = NULL;
		bool firm = is_firm(walk, dot_gits->items[i]);

		if (len == 0 ||
		    (len == root && memcmp(dot_gits->items[i], walk->site->root, root) == 0))
			continue;
		top = strndup(dot_gits->items[i], len);
		if (!top)
			return koda_fail_nomem(err);
		walk->top = top;
		r = koda_survey_budget_take_entries(&walk->site->budget, 1, top, err);
		if (r == KODA_OK && !firm && !(many && is_file(dot_gits->items[i])))
			r = note_soft_top(walk, err);
		if (r == KODA_OK)
			r = note_submodules(walk, err);
	}
	return r;
}

/* Tells whether a name can be created in dir, perhaps after a chmod(). */
static bool can_grow(const char *dir)
{
	struct stat st;

	if (lstat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
		return false;
	return faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) == 0 ||
	       (errno == EACCES && st.st_uid == geteuid());
}

/* Notes the other directories that a command may write, which may be work trees or become some. */
static int note_further(struct koda_site *site, const struct koda_policy *policy,
			struct koda_error *err)
{
	int r = KODA_OK;

	for (size_t i = 0; i < koda_policy_count(policy, KODA_LIST_ALLOW_WRITE) && r == KODA_OK;
	     i++) {
		struct koda_span dir = koda_policy_get(policy, KODA_LIST_ALLOW_WRITE, i);
		koda_auto_free char *dot_git = NULL;
		struct stat st;

		if (dir.len <= 1 || koda_path_covers(koda_span_of(site->root), dir) ||
		    koda_plan_is_all_private(dir) || !can_grow(dir.ptr))
			continue;
		r = note_top(site, dir.ptr, err);
		if (r == KODA_OK)
			r = koda_path_join(dir.ptr, ".git", &dot_git, err);
		if (r == KODA_OK && is_free(look(dot_git, &st)))
			r = koda_strv_take(&site->missing_dirs, KODA_TAKE(dot_git), err);
	}
	return r;
}

/* Notes files that other tools than git run, if their directory exists. */
static int note_inner(struct koda_site *site, struct koda_error *err)
{
	int r = KODA_OK;

	for (const char *const *name = koda_floor_inner_names; *name && r == KODA_OK; name++) {
		koda_auto_free char *path = NULL;
		char *slash;
		struct stat st;

		r = koda_path_join(site->root, *name, &path, err);
		slash = path ? strrchr(path, '/') : NULL;
		if (!slash)
			continue;
		*slash = '\0';
		if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
			continue;
		*slash = '/';
		r = koda_strv_take(&site->missing_dirs, KODA_TAKE(path), err);
	}
	return r;
}

int koda_worktree_note(struct koda_site *site, const struct koda_policy *policy,
		       struct koda_error *err)
{
	struct walk walk = { .site = site,
			     .top = site->root,
			     .known = KODA_SET_INIT(KODA_SURVEY_BUDGET_BYTES) };
	int r = note_top(site, site->root, err);

	if (r == KODA_OK)
		r = note_inner(site, err);
	if (r == KODA_OK)
		r = note_submodules(&walk, err);
	if (r == KODA_OK)
		r = note_around(&walk, err);
	if (r == KODA_OK)
		r = note_further(site, policy, err);
	if (r == KODA_OK)
		r = note_tops(&walk, &site->git_dirs, err);
	if (r == KODA_OK)
		r = note_tops(&walk, &site->git_files, err);
	koda_set_clear(&walk.known);
	return r;
}
