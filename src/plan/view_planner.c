/* SPDX-License-Identifier: MIT */
#include "plan/view_planner.h"

#include "base/error.h"
#include "base/path.h"
#include "plan/path_order.h"
#include "plan/private_dirs.h"
#include "policy/rules.h"

enum koda_view_state koda_view_state_of(const struct koda_view_planner *p, struct koda_span path,
					struct koda_verdict *ret_reason)
{
	struct koda_verdict read;
	struct koda_verdict write;

	koda_rules_both(p->request->rules, path, &read, &write);
	*ret_reason = read.answer == KODA_DENY ? read : write;
	if (read.answer == KODA_DENY)
		return KODA_VIEW_HIDDEN;
	if (write.answer == KODA_DENY)
		return KODA_VIEW_READABLE;
	return write.reason == KODA_REASON_CACHE ? KODA_VIEW_COPIED : KODA_VIEW_WRITABLE;
}

enum koda_view_state koda_view_state_around(struct koda_view_planner *p, struct koda_span path)
{
	struct koda_span dir = koda_plan_path_parent(path);
	struct koda_verdict ignored;

	if (!koda_span_eq(p->dir, dir)) {
		p->dir = dir;
		p->dir_state = koda_view_state_of(p, dir, &ignored);
		p->dir_exists = false;
	}
	return p->dir_state;
}

bool koda_view_is_private(const struct koda_view_planner *p, struct koda_span path)
{
	bool inside = koda_plan_is_private(path);

	for (; inside && path.len > 1; path = koda_plan_path_parent(path))
		if (koda_set_find(&p->mounted, path) != KODA_SET_NONE)
			return false;
	return inside;
}

int koda_view_add(struct koda_view_planner *p, enum koda_op_kind kind, struct koda_span path,
		  const struct koda_fs_stat *look, const char *why)
{
	struct koda_op op = { .kind = kind, .text1 = path };
	int r = koda_set_add(&p->mounted, path, NULL);

	if (r < 0)
		return koda_fail_room(p->err, r, "the list of mounts");
	if (kind == KODA_OP_MASK) {
		op.flags = look && look->type == KODA_FILE_DIR ? KODA_OP_DIRECTORY : 0;
	} else if (kind == KODA_OP_VEIL) {
		op.n1 = 64ULL * 1024;
		op.n2 = 0111;
	} else if (look) {
		op.n1 = look->dev;
		op.n2 = look->ino;
	}
	return koda_plan_add(p->plan, &op, why, p->err);
}

int koda_view_look(struct koda_view_planner *p, struct koda_span path, struct koda_fs_stat *look)
{
	char text[KODA_PATH_MAX + 1];

	memcpy(text, path.ptr, path.len);
	text[path.len] = '\0';
	return p->request->fs->look(p->request->fs->ctx, text, look, p->err);
}
