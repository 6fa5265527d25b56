/* SPDX-License-Identifier: MIT */
/*
 * T-16, T-49. The view of a plan as arguments of bubblewrap, for machines where only bubblewrap may
 * mount: first everything read-only, then the operations in order, parents before children, and
 * last the finished tmpfs mounts become read-only too.
 *
 *   overlay     a tmpfs: bubblewrap 0.6 has no overlays
 *   late        a path inside such a tmpfs is a tmpfs, too
 *   pin         left out; bubblewrap follows every link
 *
 * Bubblewrap finds mount points by path, follows links and creates missing ones, while the tree of
 * the host is writable. A process that exchanges a path meanwhile could make it create files
 * anywhere. So bubblewrap gets no path at all if the launcher may mount inside, which makes the
 * view by descriptors. Where the launcher may not, bubblewrap binds existing paths, but masks
 * nothing in writable trees; and the launcher inspects every mount.
 */
#include "plan/bwrap.h"

#include "base/error.h"
#include "base/escape.h"
#include "base/path.h"
#include "wire/bwrap.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MASK_BYTES 4096
#define VEIL_MODE  0111U

/* Keeps the first failure, so that callers check once. */
struct writer {
	struct koda_buf *out;
	const struct koda_plan *plan;
	uint64_t files;   /* descriptors with contents used so far */
	uint64_t nothing; /* empty descriptors used so far */
	int failed;
};

static void put(struct writer *w, const char *arg)
{
	if (w->failed == KODA_OK)
		w->failed = koda_buf_add(w->out, arg, strlen(arg) + 1);
}

static void put_number(struct writer *w, const char *option, uint64_t number)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%" PRIu64, number);
	put(w, option);
	put(w, text);
}

static void put_mode(struct writer *w, uint64_t mode)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%04" PRIo64, mode);
	put(w, "--perms");
	put(w, text);
}

static void put_bind(struct writer *w, const char *option, const char *path)
{
	put(w, option);
	put(w, path);
	put(w, path);
}

static void put_tmpfs(struct writer *w, const char *path, uint64_t bytes, uint64_t mode)
{
	put_number(w, "--size", bytes);
	put_mode(w, mode);
	put(w, "--tmpfs");
	put(w, path);
}

static void close_mount(struct writer *w, const char *path)
{
	put(w, "--remount-ro");
	put(w, path);
}

/* A file with contents from a descriptor. */
static void put_data(struct writer *w, const char *option, uint64_t mode, uint64_t fd,
		     const char *path)
{
	put_mode(w, mode);
	put_number(w, option, fd);
	put(w, path);
}

static void put_mask(struct writer *w, const struct koda_op *op)
{
	const char *path = op->text1.ptr;

	if (koda_bwrap_masks_file(op)) {
		put_data(w, "--ro-bind-data", 0, KODA_INSIDE_NOTHING + w->nothing++, path);
		return;
	}
	put_tmpfs(w, path, MASK_BYTES, op->flags & KODA_OP_EMPTY ? 0555 : 0);
	close_mount(w, path);
}

/* Creates the directories between a veil and a hole with the mode of the veil. */
static void put_hole(struct writer *w, size_t line)
{
	struct koda_span hole = w->plan->lines[line].op.text1;
	size_t veil = 0;

	for (size_t i = 0; i < line; i++) {
		const struct koda_op *op = &w->plan->lines[i].op;

		if (op->kind == KODA_OP_VEIL && koda_path_covers(op->text1, hole) &&
		    op->text1.len > veil)
			veil = op->text1.len;
	}
	for (size_t i = veil + 1; veil > 0 && i < hole.len; i++) {
		char way[KODA_PATH_MAX + 1];

		if (hole.ptr[i] != '/')
			continue;
		memcpy(way, hole.ptr, i);
		way[i] = '\0';
		put_mode(w, VEIL_MODE);
		put(w, "--dir");
		put(w, way);
	}
	put_bind(w, "--ro-bind", hole.ptr);
}

/* Bubblewrap cannot bind from the view made so far. A LATE path lies in a copy of a cache, which is
 * an empty tmpfs here, or in /proc, where the host has it too. */
static void put_late(struct writer *w, const struct koda_op *op)
{
	const char *path = op->text1.ptr;

	if (koda_path_covers(koda_span_of("/proc"), op->text1)) {
		put_bind(w, "--ro-bind", path);
	} else if (op->kind == KODA_OP_WRITABLE) {
		put_tmpfs(w, path, KODA_OP_CACHE_BYTES, 0755);
	} else {
		put_tmpfs(w, path, MASK_BYTES, 0755);
		close_mount(w, path);
	}
}

static void put_op(struct writer *w, size_t line)
{
	const struct koda_op *op = &w->plan->lines[line].op;
	const char *path = op->text1.ptr;

	if (op->flags & KODA_OP_ONLY_INSIDE)
		return;
	switch (op->kind) {
	case KODA_OP_WRITABLE:
	case KODA_OP_READONLY:
		if (op->flags & KODA_OP_LATE)
			put_late(w, op);
		else
			put_bind(w, op->kind == KODA_OP_WRITABLE ? "--bind" : "--ro-bind", path);
		break;
	case KODA_OP_HOLE:
		put_hole(w, line);
		break;
	case KODA_OP_MASK:
		put_mask(w, op);
		break;
	case KODA_OP_VEIL:
	case KODA_OP_TMPFS:
		put_tmpfs(w, path, op->n1, op->n2);
		break;
	case KODA_OP_OVERLAY:
		put_tmpfs(w, path, KODA_OP_CACHE_BYTES, 0700);
		break;
	case KODA_OP_FILE:
		put_data(w, "--file", op->n1, KODA_INSIDE_FILES + w->files++, path);
		break;
	case KODA_OP_DEV:
		put(w, "--dev");
		put(w, "/dev");
		break;
	case KODA_OP_PROC:
		put(w, "--proc");
		put(w, "/proc");
		break;
	case KODA_OP_PIN:
		KODA_OPS(KODA_OP_CASE_OUTSIDE_VIEW)
	case KODA_OP_COUNT:
		break;
	}
}

/* Makes veils and /dev read-only, after the last mount point in them was created. */
static void close_finished(struct writer *w)
{
	for (size_t i = 0; i < w->plan->count; i++) {
		const struct koda_op *op = &w->plan->lines[i].op;

		if (op->kind == KODA_OP_DEV)
			close_mount(w, "/dev");
		else if (op->flags & KODA_OP_ONLY_INSIDE)
			continue;
		else if (op->kind == KODA_OP_VEIL ||
			 (op->kind == KODA_OP_TMPFS && (op->flags & KODA_OP_CLOSED)))
			close_mount(w, op->text1.ptr);
	}
}

/* Returns false for a plan of the backend landlock: as a view it would protect nothing. */
static bool has_view(const struct koda_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		if (koda_op_stage(plan->lines[i].op.kind) == KODA_STAGE_LANDLOCK)
			return false;
	return true;
}

static bool is_below(const struct koda_plan *plan, const size_t *trees, size_t count,
		     struct koda_span path)
{
	for (size_t i = 0; i < count; i++)
		if (koda_path_covers(plan->lines[trees[i]].op.text1, path))
			return true;
	return false;
}

/* Returns true if bubblewrap could create a file of the host for this operation, in a writable
 * tree. */
static bool makes_something(const struct koda_op *op)
{
	bool binds = op->kind == KODA_OP_WRITABLE || op->kind == KODA_OP_READONLY;
	bool hides = op->kind == KODA_OP_HOLE || op->kind == KODA_OP_VEIL ||
		     op->kind == KODA_OP_OVERLAY || op->kind == KODA_OP_MASK;

	return hides || (binds && (op->flags & KODA_OP_LATE));
}

int koda_bwrap_divide(const struct koda_plan *plan, struct koda_plan *ret_divided,
		      struct koda_error *err)
{
	koda_auto_free size_t *trees = calloc(plan->count + 1, sizeof(*trees));
	struct koda_plan_line *lines = calloc(plan->count + 1, sizeof(*lines));
	size_t count = 0;

	if (!trees || !lines) {
		free(lines);
		return koda_fail_nomem(err);
	}
	for (size_t i = 0; i < plan->count; i++) {
		struct koda_op *op = &lines[i].op;
		bool below;

		lines[i] = plan->lines[i];
		below = is_below(plan, trees, count, op->text1);
		if (below && makes_something(op))
			op->flags |= KODA_OP_ONLY_INSIDE;
		if (op->kind == KODA_OP_WRITABLE && !(op->flags & KODA_OP_LATE) && !below)
			trees[count++] = i;
	}
	*ret_divided = (struct koda_plan){ .lines = lines, .count = plan->count };
	return KODA_OK;
}

static void put_frame(struct writer *w)
{
	/* The first process inside is init of the launcher, which reaps; so --as-pid-1. */
	static const char *const frame[] = { "--unshare-user",
					     "--unshare-pid",
					     "--unshare-ipc",
					     "--unshare-uts",
					     "--unshare-cgroup",
					     "--hostname",
					     "koda",
					     "--as-pid-1",
					     "--die-with-parent",
					     "--chdir",
					     "/" };

	for (size_t i = 0; i < KODA_ARRAY_LEN(frame); i++)
		put(w, frame[i]);
}

int koda_bwrap_start(struct koda_buf *out, struct koda_error *err)
{
	struct writer w = { .out = out };

	put_frame(&w);
	/* The launcher makes the network namespace, which takes longest, in parallel. It binds the
	 * harmless devices out of the host's /dev. Only bubblewrap may mount the /proc of its pid
	 * namespace. */
	put_bind(&w, "--dev-bind", "/");
	put(&w, "--proc");
	put(&w, "/proc");
	return w.failed < 0 ? koda_fail_room(err, w.failed, "the arguments") : KODA_OK;
}

int koda_bwrap_args(const struct koda_plan *divided, struct koda_buf *out, struct koda_error *err)
{
	struct writer w = { .out = out, .plan = divided };

	if (!has_view(divided))
		return koda_fail(
			err, KODA_E_INVALID, 0,
			"a plan of the backend landlock has no arguments for bubblewrap; plan "
			"for another");
	put_frame(&w);
	put(&w, "--unshare-net");
	put_bind(&w, "--ro-bind", "/");
	for (size_t i = 0; i < divided->count; i++)
		put_op(&w, i);
	close_finished(&w);
	if (w.files > KODA_FILES_MAX || w.nothing > KODA_NOTHING_MAX)
		return koda_fail(err, KODA_E_LIMIT, 0,
				 "too many files are to be hidden, at most %d by bubblewrap; hide "
				 "their directories",
				 KODA_NOTHING_MAX);
	return w.failed < 0 ? koda_fail_room(err, w.failed, "the arguments") : KODA_OK;
}

int koda_bwrap_print(const struct koda_plan *plan, struct koda_buf *out, struct koda_error *err)
{
	koda_auto_buf struct koda_buf args = KODA_BUF_INIT(KODA_BWRAP_ARGS_MAX);
	struct koda_plan divided = KODA_PLAN_INIT;
	int r = koda_bwrap_divide(plan, &divided, err);

	if (r < 0)
		return r;
	r = koda_bwrap_args(&divided, &args, err);
	free(divided.lines);
	if (r < 0)
		return r;
	/* One line per option, whatever is in it. */
	for (size_t at = 0; at < args.len && r == KODA_OK; at += strlen(args.ptr + at) + 1) {
		const char *arg = args.ptr + at;

		if (at > 0)
			r = koda_buf_add(out, arg[0] == '-' && arg[1] == '-' ? "\n" : " ", 1);
		if (r == KODA_OK)
			r = koda_escape_text(out, koda_span_of(arg), " \\");
	}
	if (r == KODA_OK)
		r = koda_buf_add(out, "\n", 1);
	return r < 0 ? koda_fail_room(err, r, "the listing") : KODA_OK;
}
