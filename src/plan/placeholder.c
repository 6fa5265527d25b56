/* SPDX-License-Identifier: MIT */
/* T-32. Placeholders for protected names that do not exist; T-15 also for hidden ones. */
#include "plan/placeholder.h"

#include "base/error.h"
#include "base/path.h"
#include "plan/path_order.h"
#include "policy/floor.h"
#include "policy/rules.h"
#include "wire/placeholder.h"

#include <unistd.h>

static struct koda_span last_name(struct koda_span path)
{
	struct koda_span above = koda_plan_path_parent(path);

	return koda_span_skip(path, above.len + (above.len > 1));
}

/* Returns true if a path of the list ends with name. */
static bool is_listed(const char *const *names, struct koda_span name)
{
	for (; *names; names++) {
		const char *slash = strrchr(*names, '/');

		if (koda_span_is(name, slash ? slash + 1 : *names))
			return true;
	}
	return false;
}

/* Names in a git directory whose placeholder is a directory. gitoxide, which cargo uses, fails at a
 * file: it takes an empty gitdir for that of a broken worktree, and opens remotes for every branch.
 * git never reads a gitdir where a placeholder can be, and expects remotes to be a directory. */
static const char *const git_dir_names[] = { "gitdir", "remotes", NULL };

/* Asks for the write verdict only: a run that hides the path and a run that protects it must plan
 * equal placeholders. */
const char *koda_plan_placeholder_contents(const struct koda_rules *rules, struct koda_span path)
{
	struct koda_verdict write = koda_rules_write(rules, path.ptr, path.len);

	if (write.reason != KODA_REASON_GIT || is_listed(git_dir_names, last_name(write.rule)))
		return NULL;
	return koda_span_is(last_name(write.rule), "commondir") ? KODA_PLACEHOLDER_COMMONDIR : "";
}

/* Returns true if every run protects path. Paths that git's configuration names may change between
 * runs. */
static bool is_always_protected(const struct koda_rules *rules, struct koda_span path)
{
	enum koda_reason why = koda_rules_write(rules, path.ptr, path.len).reason;

	if (why == KODA_REASON_GIT)
		return koda_span_is(last_name(path), koda_floor_git_modules) ||
		       (is_listed(koda_floor_git_names, last_name(path)) &&
			!is_listed(koda_floor_git_configs, last_name(path)));
	return why == KODA_REASON_PROJECT_NAME;
}

/* Returns true if only the policy of this run protects path, so that no other run reserves it. */
static bool is_noted(const struct koda_rules *rules, struct koda_span path)
{
	enum koda_reason why = koda_rules_write(rules, path.ptr, path.len).reason;

	return why != KODA_REASON_GIT && why != KODA_REASON_PROJECT_NAME;
}

int koda_plan_placeholder(struct koda_plan *plan, const struct koda_rules *rules,
			  struct koda_span path, const char *contents, const char *why,
			  struct koda_error *err)
{
	struct koda_op op = { .kind = contents ? KODA_OP_PLACEHOLDER_FILE : KODA_OP_PLACEHOLDER,
			      .flags = is_noted(rules, path) ? KODA_OP_NOTED : 0,
			      .text1 = path,
			      .text2 = koda_span_of(contents ? contents : "") };

	/* The command of another run may change a file that only this run protects, and with it
	 * every hard link of its inode. */
	if (contents && !is_always_protected(rules, path))
		op.flags |= KODA_OP_ALONE;
	return koda_plan_add(plan, &op, why, err);
}

int koda_plan_placeholder_stores(struct koda_plan *plan, const struct koda_plan_request *request,
				 struct koda_error *err)
{
	const struct koda_op journal = { .kind = KODA_OP_JOURNAL,
					 .text1 = koda_span_of(request->journal ? request->journal
										: "") };
	const struct koda_op store = { .kind = KODA_OP_STORE,
				       .text1 =
					       koda_span_of(request->store ? request->store : "") };
	bool has_dirs = false;
	bool has_any = false;
	int r = KODA_OK;

	for (size_t i = 0; i < plan->count; i++) {
		const struct koda_op *op = &plan->lines[i].op;

		/* Placeholders of hidden names have another mode and are never reused. */
		has_dirs = has_dirs ||
			   (op->kind == KODA_OP_PLACEHOLDER && !(op->flags & KODA_OP_HIDDEN));
		has_any = has_any || op->kind == KODA_OP_PLACEHOLDER ||
			  op->kind == KODA_OP_PLACEHOLDER_FILE;
	}
	if (request->journal && has_any)
		r = koda_plan_add(plan, &journal, NULL, err);
	if (r == KODA_OK && request->store && has_dirs)
		r = koda_plan_add(plan, &store, NULL, err);
	return r;
}

static int look_at(const struct koda_plan_request *request, struct koda_span path,
		   struct koda_fs_stat *ret_look, char text[static KODA_PATH_MAX + 1],
		   struct koda_error *err)
{
	memcpy(text, path.ptr, path.len);
	text[path.len] = '\0';
	return request->fs->look(request->fs->ctx, text, ret_look, err);
}

/* Returns the topmost missing directory above path, or path itself; empty if the user cannot create
 * it. Placeholders of other runs count as missing. */
static int find_makeable(const struct koda_plan_request *request, struct koda_span path,
			 struct koda_span *ret_missing, struct koda_error *err)
{
	const struct koda_fs_ops *fs = request->fs;
	const char *home = request->place->home;
	const bool is_denied =
		koda_rules_read(request->rules, path.ptr, path.len).reason == KODA_REASON_DENY_READ;
	struct koda_fs_stat look = { .type = KODA_FILE_MISSING };
	char text[KODA_PATH_MAX + 1];

	while (path.len > 1 && look.type == KODA_FILE_MISSING) {
		int r;

		*ret_missing = path;
		path = koda_plan_path_parent(path);
		r = look_at(request, path, &look, text, err);
		if (r < 0)
			return r;
	}
	/* Never create a missing home directory, never a name in / unless the policy denies it, and
	 * never a file of the kernel: not even root could. */
	if (look.type != KODA_FILE_DIR || !fs->may ||
	    koda_rules_write(request->rules, path.ptr, path.len).reason == KODA_REASON_KERNEL ||
	    (path.len <= 1 && !is_denied) || !fs->may(fs->ctx, text, W_OK | X_OK) ||
	    (home && koda_path_covers(*ret_missing, koda_span_of(home))))
		ret_missing->len = 0;
	return KODA_OK;
}

int koda_plan_placeholder_hide(struct koda_plan *plan, struct koda_set *mounted,
			       struct koda_span placeholder, struct koda_span path, const char *why,
			       struct koda_error *err)
{
	/* A missing parent directory appears empty, as its other names are missing too. */
	const struct koda_op mask = { .kind = KODA_OP_MASK,
				      .flags = placeholder.len < path.len
						       ? KODA_OP_DIRECTORY | KODA_OP_EMPTY
						       : KODA_OP_DIRECTORY,
				      .text1 = placeholder };
	int r = koda_set_add(mounted, placeholder, NULL);

	return r < 0 ? koda_fail_room(err, r, "the list of mounts")
		     : koda_plan_add(plan, &mask, why, err);
}

int koda_plan_placeholder_hidden(struct koda_plan *plan, const struct koda_plan_request *request,
				 struct koda_set *mounted, struct koda_span path, const char *why,
				 struct koda_error *err)
{
	const enum koda_reason read = koda_rules_read(request->rules, path.ptr, path.len).reason;
	struct koda_op op = { .kind = KODA_OP_PLACEHOLDER, .flags = KODA_OP_HIDDEN };
	struct koda_span missing = path;
	int r = find_makeable(request, path, &missing, err);

	if (r < 0 || missing.len == 0 || koda_set_find(mounted, missing) != KODA_SET_NONE)
		return r;
	/* Every run of this user hides the names of the floor. */
	if (read == KODA_REASON_DENY_READ)
		op.flags |= KODA_OP_NOTED;
	op.text1 = missing;
	r = koda_plan_add(plan, &op, why, err);
	return r < 0 ? r : koda_plan_placeholder_hide(plan, mounted, missing, path, why, err);
}
