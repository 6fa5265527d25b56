/* SPDX-License-Identifier: MIT */
/* T-42. A mount protects a name, and a file with a hard link has another name. A command cannot
 * link() a protected file, which lies on a mount of its own (EXDEV), but the link may have existed
 * before. st_nlink tells, and costs nothing where names are examined anyway. Only if a protected
 * file has several names, they are searched for, wherever the command could write. A name that is
 * found is protected like the file. One that is not found lies where the command cannot write; but
 * a hidden file could be read there, so then nothing runs. */
#include "run/project/hardlink.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/set.h"
#include "policy/policy.h"
#include "policy/rules.h"
#include "run/project/inode_search.h"
#include "run/project/missing.h"
#include "run/project/policy_links.h"
#include "run/project/site.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* How many entries of a protected directory are examined, and how many entries are searched. */
#define ENTRIES_MAX ((size_t)4096)
#define TREE_MAX    ((size_t)2000000)
#define BYTES_MAX   ((size_t)64 << 20)

struct file_id {
	dev_t dev;
	ino_t ino;
};

/* A protected file with several names. */
struct file {
	nlink_t names; /* st_nlink */
	nlink_t known; /* names that were found */
	bool hidden;
	size_t path; /* index in paths of the first name */
};

struct finder {
	struct koda_site *site;
	const struct koda_rules *rules;
	struct koda_set ids;   /* struct file_id, in the order of files */
	struct koda_set paths; /* every name that was found */
	size_t *owners;        /* owned; for each of paths the index in files */
	size_t owners_cap;
	struct file *files; /* owned */
	size_t cap;
};

static int has_shared(const struct koda_policy *policy, enum koda_list list, bool *ret_shared,
		      struct koda_error *err)
{
	koda_auto_missing struct koda_missing missing = KODA_MISSING_INIT;
	int r = KODA_OK;

	for (size_t i = 0; i < koda_policy_count(policy, list) && !*ret_shared && r == KODA_OK;
	     i++) {
		struct koda_span path = koda_policy_get(policy, list, i);
		struct stat st;

		if (koda_missing_covers(&missing, path))
			continue;
		if (lstat(path.ptr, &st) == 0)
			*ret_shared = koda_hardlink_is_shared(AT_FDCWD, path.ptr, &st);
		else if (errno == ENOENT)
			r = koda_missing_look(&missing, path.ptr, err);
		else
			r = koda_policy_links_check_unseen(path.ptr, errno, err);
	}
	return r;
}

/* Tells whether there are hard links to search for. */
static int is_needed(const struct koda_site *site, const struct koda_policy *policy,
		     bool *ret_needed, struct koda_error *err)
{
	int r = KODA_OK;

	*ret_needed = site->has_hardlinks;
	if (!*ret_needed)
		r = has_shared(policy, KODA_LIST_DENY_READ, ret_needed, err);
	if (!*ret_needed && r == KODA_OK)
		r = has_shared(policy, KODA_LIST_DENY_WRITE_WITHIN_ALLOW, ret_needed, err);
	return r;
}

static struct koda_span id_of(const struct file_id *id)
{
	return (struct koda_span){ (const char *)id, sizeof(*id) };
}

/* Returns the file with this inode, or NULL. */
static struct file *find_file(const struct finder *f, dev_t dev, ino_t ino)
{
	struct file_id id;
	size_t i;

	memset(&id, 0, sizeof(id));
	id.dev = dev;
	id.ino = ino;
	i = koda_set_find(&f->ids, id_of(&id));
	return i == KODA_SET_NONE ? NULL : &f->files[i];
}

static int add_file(struct finder *f, const struct stat *st, struct koda_error *err)
{
	struct file_id id;

	memset(&id, 0, sizeof(id));
	id.dev = st->st_dev;
	id.ino = st->st_ino;
	if (!f->files || f->ids.count == f->cap) {
		size_t cap = f->cap ? 2 * f->cap : 16;
		struct file *files = reallocarray(f->files, cap, sizeof(*files));

		if (!files)
			return koda_fail_nomem(err);
		f->files = files;
		f->cap = cap;
	}
	f->files[f->ids.count] = (struct file){ .names = st->st_nlink, .path = SIZE_MAX };
	return koda_set_add(&f->ids, id_of(&id), NULL) < 0 ? koda_fail_nomem(err) : KODA_OK;
}

/* Counts a name of the file, once. */
static int count_name(struct finder *f, struct file *file, const char *path, struct koda_error *err)
{
	size_t before = f->paths.count;
	size_t at;
	int r;

	if (!f->owners || before == f->owners_cap) {
		size_t cap = f->owners_cap ? 2 * f->owners_cap : 16;
		size_t *owners = reallocarray(f->owners, cap, sizeof(*owners));

		if (!owners)
			return koda_fail_nomem(err);
		f->owners = owners;
		f->owners_cap = cap;
	}
	r = koda_set_add(&f->paths, koda_span_of(path), &at);
	if (r < 0)
		return koda_fail_room(err, r, "the list of hard links");
	if (f->paths.count > before) {
		f->owners[at] = (size_t)(file - f->files);
		file->known++;
	}
	file->path = file->path == SIZE_MAX ? at : file->path;
	return KODA_OK;
}

/* --- which files are protected --- */

static int see_protected(struct finder *f, const char *path, struct koda_error *err)
{
	struct koda_verdict read = koda_rules_read(f->rules, path, strlen(path));
	struct file *file;
	struct stat st;
	int r = KODA_OK;

	if (lstat(path, &st) < 0)
		return koda_policy_links_check_unseen(path, errno, err);
	if (!koda_hardlink_has_names(&st))
		return KODA_OK;
	file = find_file(f, st.st_dev, st.st_ino);
	if (!file) {
		r = add_file(f, &st, err);
		file = find_file(f, st.st_dev, st.st_ino);
	}
	if (r < 0 || !file)
		return r;
	file->hidden = file->hidden || read.answer == KODA_DENY;
	return count_name(f, file, path, err);
}

static int see_entry(void *ctx, const char *dir, const char *name, dev_t dev, uint64_t ino,
		     struct koda_error *err)
{
	koda_auto_free char *path = NULL;
	int r = koda_path_join(dir, name, &path, err);

	(void)dev;
	(void)ino;
	return r < 0 ? r : see_protected(ctx, path, err);
}

/* Programs and the kernel's files are left out: they often have several names, which belong to the
 * system. */
static bool is_looked_at(struct koda_verdict read, struct koda_verdict write)
{
	return read.answer == KODA_DENY ||
	       (write.answer == KODA_DENY && write.reason != KODA_REASON_DEFAULT &&
		write.reason != KODA_REASON_EXEC_DIR && write.reason != KODA_REASON_KERNEL);
}

static int collect(struct finder *f, struct koda_error *err)
{
	const struct koda_strlist *marked = koda_rules_marked(f->rules);
	int r = KODA_OK;

	for (size_t i = 0; i < marked->count && r == KODA_OK; i++) {
		struct koda_span path = koda_strlist_get(marked, i);
		koda_auto_strv struct koda_strv closed = KODA_STRV_INIT; /* is ignored */
		struct koda_inode_search search = { .type = DT_REG,
						    .left = ENTRIES_MAX,
						    .see = see_entry,
						    .ctx = f,
						    .closed = &closed,
						    .budget = &f->site->budget };

		if (!is_looked_at(koda_rules_read(f->rules, path.ptr, path.len),
				  koda_rules_write(f->rules, path.ptr, path.len)))
			continue;
		r = see_protected(f, path.ptr, err);
		if (r == KODA_OK)
			r = koda_inode_search_run(&search, path.ptr, err);
	}
	return r;
}

/* --- what their other names are --- */

/* Tells whether the rules allow by this name what they deny for the file. */
static bool is_open(const struct finder *f, const struct file *file, const char *path)
{
	struct koda_verdict v = file->hidden ? koda_rules_read(f->rules, path, strlen(path))
					     : koda_rules_write(f->rules, path, strlen(path));

	return v.answer == KODA_ALLOW;
}

static int see_name(void *ctx, const char *dir, const char *name, dev_t dev, uint64_t ino,
		    struct koda_error *err)
{
	struct finder *f = ctx;
	struct file *file = find_file(f, dev, ino);
	koda_auto_free char *path = NULL;
	int r;

	if (!file)
		return KODA_OK;
	r = koda_path_join(dir, name, &path, err);
	return r < 0 ? r : count_name(f, file, path, err);
}

static int check_hidden(const struct finder *f, struct koda_error *err)
{
	for (size_t i = 0; i < f->ids.count; i++)
		if (f->files[i].hidden && f->files[i].known < f->files[i].names)
			return koda_fail_at(err, KODA_E_DENIED, 0,
					    koda_set_get(&f->paths, f->files[i].path).ptr,
					    "cannot be hidden: it has another name (a hard link) "
					    "that was not found; replace it by a copy of itself");
	return KODA_OK;
}

/* Protects all names, also of files that are protected themselves: a name that cannot be written
 * can be read, and another name may have to be hidden. */
static int close_names(const struct finder *f, struct koda_error *err)
{
	int r = check_hidden(f, err);

	for (size_t i = 0; i < f->paths.count && r == KODA_OK; i++) {
		const struct file *file = &f->files[f->owners[i]];
		const char *path = koda_set_get(&f->paths, i).ptr;

		if (is_open(f, file, path))
			r = koda_strv_add(file->hidden ? &f->site->hidden
						       : &f->site->readonly_aliases,
					  path, err);
	}
	return r;
}

/* Searches below dir, unless a parent of it was searched. */
static int search_below(struct koda_inode_search *search, struct koda_set *done, const char *dir,
			struct koda_error *err)
{
	for (size_t i = 0; i < done->count; i++)
		if (koda_path_covers(koda_set_get(done, i), koda_span_of(dir)))
			return KODA_OK;
	if (koda_set_add(done, koda_span_of(dir), NULL) < 0)
		return koda_fail_nomem(err);
	return koda_inode_search_run(search, dir, err);
}

/* Searches the project and wherever else the command can write. */
static int search_all(struct finder *f, const struct koda_policy *policy, struct koda_error *err)
{
	koda_auto_set struct koda_set done = KODA_SET_INIT(BYTES_MAX);
	struct koda_inode_search search = { .type = DT_REG,
					    .deep = true,
					    .left = TREE_MAX,
					    .see = see_name,
					    .ctx = f,
					    .closed = &f->site->readonly_aliases,
					    .budget = &f->site->budget };
	int r = search_below(&search, &done, f->site->root, err);

	for (size_t i = 0; i < koda_policy_count(policy, KODA_LIST_ALLOW_WRITE) && r == KODA_OK;
	     i++)
		r = search_below(&search, &done,
				 koda_policy_get(policy, KODA_LIST_ALLOW_WRITE, i).ptr, err);
	for (size_t i = 0; i < f->site->own_git_dirs.len && r == KODA_OK; i++)
		r = search_below(&search, &done, f->site->own_git_dirs.items[i], err);
	if (r == KODA_OK && search.left == 0)
		return koda_fail_at(
			err, KODA_E_LIMIT, 0, koda_set_get(&f->paths, f->files[0].path).ptr,
			"is protected and has another name (a hard link), and there are "
			"too many files to look for it");
	return r;
}

int koda_hardlink_note(struct koda_site *site, const struct koda_policy *policy,
		       struct koda_error *err)
{
	struct finder f = { .site = site,
			    .ids = KODA_SET_INIT(BYTES_MAX),
			    .paths = KODA_SET_INIT(BYTES_MAX) };
	struct koda_place place = koda_site_place(site);
	struct koda_rules *rules = NULL;
	bool needed = false;
	int r = is_needed(site, policy, &needed, err);

	if (r == KODA_OK && needed)
		r = koda_rules_new_for_paths(policy, &place, &rules, err);
	if (r < 0 || !needed)
		return r;
	f.rules = rules;
	r = collect(&f, err);
	if (r == KODA_OK && f.ids.count > 0)
		r = search_all(&f, policy, err);
	if (r == KODA_OK)
		r = close_names(&f, err);
	koda_rules_free(rules);
	koda_set_clear(&f.ids);
	koda_set_clear(&f.paths);
	free(f.owners);
	free(f.files);
	return r;
}
