/* SPDX-License-Identifier: MIT */
/* T-88. A file system that is mounted more than once, in whole or in part, gives each file several
 * paths: bind mounts, the top of a Btrfs beside its subvolumes, a container's tree with the host's
 * /run in it. What the rules deny by one of these paths they deny by all. /proc/self/mountinfo has
 * the device of each mount and the directory of the file system that is its root. Two kinds of
 * aliases are left open: one that the project lies in, because denying another mount of a disk does
 * not mean the project, and one that the policy allows itself. */
#include "run/project/mount_alias.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/set.h"
#include "plan/private_dirs.h"
#include "policy/rules.h"
#include "run/project/site.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

/* --- the table --- */

static int fail_table(struct koda_error *err)
{
	return koda_fail_at(err, KODA_E_INVALID, 0, KODA_MOUNT_TABLE_PATH,
			    "the kernel's table of mounts cannot be understood");
}

static size_t count_lines(const struct koda_buf *text)
{
	size_t lines = 0;

	for (size_t i = 0; i < text->len; i++)
		lines += text->ptr[i] == '\n';
	return lines;
}

/* Each PID namespace can have a procfs of its own, with a device of its own. */
static bool is_proc(const struct koda_mount_line *line)
{
	const char *type = strstr(line->options, " - ");

	return type && strncmp(type, " - proc ", 8) == 0 && strcmp(line->point, "/proc") != 0;
}

static int parse_lines(struct koda_mount_table *mounts, struct koda_set *devices,
		       struct koda_error *err)
{
	char *rest = mounts->text.ptr;
	char *text;

	while ((text = strsep(&rest, "\n")) && *text) {
		struct koda_mount *mount = &mounts->items[mounts->count];
		struct koda_mount_line line;

		/* Each mount ends with a newline; the text after the last newline is empty. */
		if (!rest || !koda_mount_parse(text, &line))
			return fail_table(err);
		/* Bind mounts of namespaces (nsfs) are no directories. */
		if (line.root[0] != '/' || line.point[0] != '/')
			continue;
		*mount = (struct koda_mount){ .number = strtoull(line.number, NULL, 10),
					      .parent = strtoull(line.parent, NULL, 10),
					      .root = line.root,
					      .point = line.point,
					      .is_top = true,
					      .is_proc = is_proc(&line) };
		if (koda_set_add(devices, koda_span_of(line.device), &mount->device) < 0)
			return koda_fail_nomem(err);
		mounts->is_shared = mounts->is_shared || mount->is_proc;
		mounts->count++;
	}
	return KODA_OK;
}

static int compare_devices(const void *a, const void *b)
{
	const struct koda_mount *x = a;
	const struct koda_mount *y = b;

	return (x->device > y->device) - (x->device < y->device);
}

static int compare_numbers(const void *a, const void *b)
{
	const struct koda_mount *x = a;
	const struct koda_mount *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static void mark_shared(struct koda_mount_table *mounts)
{
	qsort(mounts->items, mounts->count, sizeof(mounts->items[0]), compare_devices);
	for (size_t i = 1; i < mounts->count; i++) {
		struct koda_mount *pair = &mounts->items[i - 1];

		if (pair[0].device != pair[1].device)
			continue;
		pair[0].is_shared = true;
		pair[1].is_shared = true;
		mounts->is_shared = true;
	}
}

static void mark_tops(struct koda_mount_table *mounts)
{
	qsort(mounts->items, mounts->count, sizeof(mounts->items[0]), compare_numbers);
	for (size_t i = 0; i < mounts->count; i++) {
		struct koda_mount *mount = &mounts->items[i];
		const struct koda_mount above = { .number = mount->parent };

		mount->is_top = mount->parent == mount->number ||
				!bsearch(&above, mounts->items, mounts->count, sizeof(above),
					 compare_numbers);
	}
}

int koda_mount_table_parse(struct koda_mount_table *mounts, struct koda_error *err)
{
	koda_auto_set struct koda_set devices = KODA_SET_INIT(KODA_MOUNT_TABLE_MAX);
	size_t lines = count_lines(&mounts->text);
	int r;

	if (lines == 0)
		return fail_table(err);
	mounts->items = calloc(lines, sizeof(mounts->items[0]));
	if (!mounts->items)
		return koda_fail_nomem(err);
	r = parse_lines(mounts, &devices, err);
	if (r < 0)
		return r;
	mark_shared(mounts);
	if (mounts->is_shared)
		mark_tops(mounts);
	return KODA_OK;
}

static int read_table(struct koda_mount_table *mounts, struct koda_error *err)
{
	koda_auto_fd int fd = open(KODA_MOUNT_TABLE_PATH, O_RDONLY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return koda_fail_at(err, KODA_E_SYS, errno, KODA_MOUNT_TABLE_PATH,
				    "cannot tell which directories are mounted twice");
	r = koda_fd_read_all(fd, &mounts->text, err);
	return r < 0 ? r : koda_mount_table_parse(mounts, err);
}

void koda_mount_table_clear(struct koda_mount_table *mounts)
{
	free(mounts->items);
	koda_buf_clear(&mounts->text);
	*mounts = (struct koda_mount_table)KODA_MOUNT_TABLE_INIT;
}

/* --- other names --- */

/* Returns the next mount on the way from one mount (NULL: from "/") to path. */
static const struct koda_mount *next_on_way(const struct koda_mount_table *mounts,
					    const struct koda_mount *from, struct koda_span path)
{
	const struct koda_mount *next = NULL;
	size_t len = SIZE_MAX;

	for (size_t i = 0; i < mounts->count; i++) {
		const struct koda_mount *mount = &mounts->items[i];
		struct koda_span point;

		if (from ? mount->is_top || mount->parent != from->number : !mount->is_top)
			continue;
		point = koda_span_of(mount->point);
		if (point.len < len && koda_path_covers(point, path)) {
			next = mount;
			len = point.len;
		}
	}
	return next;
}

/* Returns the mount that path is on; NULL if it is not in the table. */
static const struct koda_mount *mount_of(const struct koda_mount_table *mounts,
					 struct koda_span path)
{
	const struct koda_mount *last = NULL;
	const struct koda_mount *next;

	while ((next = next_on_way(mounts, last, path)))
		last = next;
	return last;
}

/* Returns the part of path below dir, for koda_path_join. */
static const char *below(const char *dir, const char *path)
{
	const char *rest = path + (strcmp(dir, "/") == 0 ? 0 : strlen(dir));

	return rest + (*rest == '/');
}

static int join(const char *dir, const char *name, char **ret_path, struct koda_error *err)
{
	if (name[0])
		return koda_path_join(dir, name, ret_path, err);
	*ret_path = strdup(dir);
	return *ret_path ? KODA_OK : koda_fail_nomem(err);
}

/* Adds the path by which a mount shows place, a path in its file system. */
static int add_name(const struct koda_mount_table *mounts, const struct koda_mount *by,
		    const char *place, struct koda_strv *names, struct koda_error *err)
{
	koda_auto_free char *name = NULL;
	int r;

	if (!koda_path_covers(koda_span_of(by->root), koda_span_of(place)))
		return KODA_OK;
	r = join(by->point, below(by->root, place), &name, err);
	/* Another mount may be mounted over it. */
	if (r < 0 || mount_of(mounts, koda_span_of(name)) != by)
		return r;
	return koda_strv_take(names, KODA_TAKE(name), err);
}

/* Returns the path of a file in the file system of its mount. */
static int find_place(const struct koda_mount *on, const char *path, char **ret_place,
		      struct koda_error *err)
{
	return join(on->root, below(on->point, path), ret_place, err);
}

int koda_mount_table_find(const struct koda_mount_table *mounts, const char *path,
			  struct koda_strv *names, struct koda_error *err)
{
	const struct koda_mount *on = mount_of(mounts, koda_span_of(path));
	koda_auto_free char *place = NULL;
	int r;

	if (!on || !on->is_shared)
		return KODA_OK;
	r = find_place(on, path, &place, err);
	for (size_t i = 0; i < mounts->count && r == KODA_OK; i++) {
		const struct koda_mount *by = &mounts->items[i];

		if (by != on && by->device == on->device)
			r = add_name(mounts, by, place, names, err);
	}
	return r;
}

/* --- what follows of them --- */

struct finder {
	struct koda_site *site;
	const struct koda_mount_table *mounts;
	const struct koda_rules *rules;
	bool found; /* an alias was added to the site */
	struct koda_error *err;
};

/* Tells whether the policy allows the alias itself, or the project lies in it. */
static bool is_wanted(const struct finder *f, struct koda_verdict v, const char *name)
{
	return v.reason == KODA_REASON_READ_HOLE ||
	       koda_path_covers(koda_span_of(name), koda_span_of(f->site->root));
}

static int close_name(struct finder *f, bool hidden, const char *name)
{
	f->found = true;
	return koda_strv_add(hidden ? &f->site->hidden : &f->site->readonly_aliases, name, f->err);
}

/* Adds an alias of a denied path, unless the rules deny it already. */
static int judge_name(struct finder *f, bool hidden, const char *name)
{
	struct koda_verdict v = hidden ? koda_rules_read(f->rules, name, strlen(name))
				       : koda_rules_write(f->rules, name, strlen(name));

	if (v.answer == KODA_DENY)
		return KODA_OK;
	if (!is_wanted(f, v, name))
		return close_name(f, hidden, name);
	f->site->has_open_alias = f->site->has_open_alias || hidden;
	return KODA_OK;
}

/* A directory in a hidden one may be mounted elsewhere and allowed there, which is fine with a
 * view. With Landlock alone it is then open by all its paths. */
static int note_parts(struct finder *f, struct koda_span path)
{
	const struct koda_mount *on = mount_of(f->mounts, path);
	koda_auto_free char *place = NULL;
	int r = KODA_OK;

	if (on && on->is_shared &&
	    koda_rules_read(f->rules, path.ptr, path.len).answer == KODA_DENY)
		r = find_place(on, path.ptr, &place, f->err);
	for (size_t i = 0; place && i < f->mounts->count; i++) {
		const struct koda_mount *by = &f->mounts->items[i];

		if (by != on && by->device == on->device && strcmp(by->root, place) != 0 &&
		    koda_path_covers(koda_span_of(place), koda_span_of(by->root)) &&
		    koda_rules_read(f->rules, by->point, strlen(by->point)).answer == KODA_ALLOW &&
		    !koda_strv_has(&f->site->hidden, by->point))
			f->site->has_open_alias = true;
	}
	return r;
}

static int close_twins(struct finder *f, struct koda_span path)
{
	koda_auto_strv struct koda_strv names = KODA_STRV_INIT;
	struct koda_verdict read;
	struct koda_verdict write;
	bool hidden;
	int r;

	koda_rules_both(f->rules, path, &read, &write);
	hidden = read.answer == KODA_DENY;
	if (!hidden && (write.answer == KODA_ALLOW || write.reason == KODA_REASON_DEFAULT))
		return KODA_OK;
	r = koda_mount_table_find(f->mounts, path.ptr, &names, f->err);
	for (size_t i = 0; i < names.len && r == KODA_OK; i++)
		r = judge_name(f, hidden, names.items[i]);
	return r;
}

/* T-22, T-18. Hides the host's /tmp, /dev and /proc by all their aliases, unless the command may
 * write there anyway. */
static int hide_hosts(struct finder *f, const char *name)
{
	struct koda_verdict read = koda_rules_read(f->rules, name, strlen(name));
	struct koda_verdict write = koda_rules_write(f->rules, name, strlen(name));

	if (koda_plan_is_private(koda_span_of(name)) || read.answer == KODA_DENY ||
	    write.answer == KODA_ALLOW || is_wanted(f, read, name))
		return KODA_OK;
	return close_name(f, true, name);
}

static int close_own(struct finder *f)
{
	koda_auto_strv struct koda_strv names = KODA_STRV_INIT;
	const char *dir;
	int r = KODA_OK;

	for (size_t i = 0; (dir = koda_plan_private_dir(i)) && r == KODA_OK; i++)
		r = koda_mount_table_find(f->mounts, dir, &names, f->err);
	for (size_t i = 0; i < f->mounts->count && r == KODA_OK; i++)
		if (f->mounts->items[i].is_proc)
			r = koda_strv_add(&names, f->mounts->items[i].point, f->err);
	for (size_t i = 0; i < names.len && r == KODA_OK; i++)
		r = hide_hosts(f, names.items[i]);
	return r;
}

int koda_mount_alias_note(struct koda_site *site, const struct koda_rules *rules,
			  struct koda_strv *sockets, bool *ret_found, struct koda_error *err)
{
	const struct koda_strlist *marked = koda_rules_marked(rules);
	koda_auto_mounts struct koda_mount_table mounts = KODA_MOUNT_TABLE_INIT;
	struct finder f = { .site = site, .mounts = &mounts, .rules = rules, .err = err };
	size_t known = sockets ? sockets->len : 0;
	int r = read_table(&mounts, err);

	*ret_found = false;
	if (r < 0 || !mounts.is_shared)
		return r;
	r = close_own(&f);
	for (size_t i = 0; i < marked->count && r == KODA_OK; i++)
		r = close_twins(&f, koda_strlist_get(marked, i));
	for (size_t i = 0; i < marked->count && r == KODA_OK; i++)
		r = note_parts(&f, koda_strlist_get(marked, i));
	for (size_t i = 0; i < known && r == KODA_OK; i++)
		r = koda_mount_table_find(&mounts, sockets->items[i], sockets, err);
	*ret_found = f.found;
	return r;
}
