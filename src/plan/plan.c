/* SPDX-License-Identifier: MIT */
#include "plan/plan.h"

#include "base/error.h"
#include "base/escape.h"
#include "wire/op_encode.h"

#include <inttypes.h>

void koda_plan_clear(struct koda_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		free((void *)(uintptr_t)plan->lines[i].op.text1.ptr);
		free((void *)(uintptr_t)plan->lines[i].op.text2.ptr);
		free(plan->lines[i].why);
	}
	free(plan->lines);
	*plan = (struct koda_plan)KODA_PLAN_INIT;
}

/* Returns an owned copy of any bytes, with a terminator; NULL without memory. */
static char *copy_text(struct koda_span text)
{
	char *copy = malloc(text.len + 1);

	if (copy) {
		if (text.len > 0)
			memcpy(copy, text.ptr, text.len);
		copy[text.len] = '\0';
	}
	return copy;
}

int koda_plan_add(struct koda_plan *plan, const struct koda_op *op, const char *why,
		  struct koda_error *err)
{
	koda_auto_free char *text1 = copy_text(op->text1);
	koda_auto_free char *text2 = copy_text(op->text2);
	koda_auto_free char *reason = strdup(why ? why : "");

	if (plan->count == plan->cap) {
		size_t cap = plan->cap ? plan->cap * 2 : 64;
		struct koda_plan_line *lines = reallocarray(plan->lines, cap, sizeof(*lines));

		if (!lines)
			return koda_fail_nomem(err);
		plan->lines = lines;
		plan->cap = cap;
	}
	if (!text1 || !text2 || !reason)
		return koda_fail_nomem(err);
	plan->lines[plan->count] = (struct koda_plan_line){ .op = *op };
	plan->lines[plan->count].op.text1.ptr = KODA_TAKE(text1);
	plan->lines[plan->count].op.text2.ptr = KODA_TAKE(text2);
	plan->lines[plan->count].why = KODA_TAKE(reason);
	plan->count++;
	return KODA_OK;
}

int koda_plan_encode(const struct koda_plan *plan, struct koda_buf *out, struct koda_error *err)
{
	int r = KODA_OK;

	for (size_t i = 0; i < plan->count && r == KODA_OK; i++)
		r = koda_ops_add(out, &plan->lines[i].op);
	if (r < 0)
		return koda_fail_room(err, r, "the plan");
	/* The launcher would refuse it too, but could not say that the planner is at fault. */
	if (!koda_ops_are_sound(out->ptr, out->len))
		return koda_fail(err, KODA_E_INTERNAL, 0, "the plan is malformed");
	return KODA_OK;
}

/* Appends text with escapes, so that a listing has one line per operation. */
static int print_text(struct koda_buf *out, struct koda_span text)
{
	return koda_escape_text(out, text, "\\");
}

static int print_size(struct koda_buf *out, const struct koda_op *op)
{
	return koda_buf_addf(out, " size=%" PRIu64 " mode=%" PRIo64, op->n1, op->n2);
}

static int print_file(struct koda_buf *out, const struct koda_op *op)
{
	return koda_buf_addf(out, " size=%zu mode=%" PRIo64, op->text2.len, op->n1);
}

static int print_rights(struct koda_buf *out, const struct koda_op *op)
{
	return koda_buf_addf(out, " rights=%#" PRIx64, op->n1);
}

static int print_limit(struct koda_buf *out, const struct koda_op *op)
{
	return koda_buf_addf(out, " resource=%u soft=%" PRIu64 " hard=%" PRIu64, op->flags, op->n1,
			     op->n2);
}

static int print_net(struct koda_buf *out, const struct koda_op *op)
{
	int r = op->n1 ? koda_buf_addf(out, "loopback, proxy at port %" PRIu64, op->n1)
		       : koda_buf_addf(out, "loopback");

	return r < 0 || !op->n2 ? r : koda_buf_addf(out, ", no binding");
}

static int print_terminal(struct koda_buf *out, const struct koda_op *op)
{
	(void)op;
	return koda_buf_addf(out, "of its own");
}

static int print_cgroup(struct koda_buf *out, const struct koda_op *op)
{
	return koda_buf_addf(out, " memory=%" PRIu64 " processes=%" PRIu64, op->n1, op->n2);
}

static int print_descriptor(struct koda_buf *out, const struct koda_op *op)
{
	return koda_buf_addf(out, "%" PRIu64, op->n1);
}

static int print_filter(struct koda_buf *out, const struct koda_op *op)
{
	return koda_buf_addf(out, " %zu instructions", op->text1.len / 8);
}

/* Prints the numbers of an operation, for the kinds whose numbers matter to people. */
static int print_numbers(struct koda_buf *out, const struct koda_op *op)
{
	static int (*const printers[KODA_OP_COUNT])(struct koda_buf *, const struct koda_op *) = {
		[KODA_OP_TMPFS] = print_size,
		[KODA_OP_VEIL] = print_size,
		[KODA_OP_FILE] = print_file,
		[KODA_OP_LANDLOCK] = print_rights,
		[KODA_OP_RLIMIT] = print_limit,
		[KODA_OP_NET] = print_net,
		[KODA_OP_TERMINAL] = print_terminal,
		[KODA_OP_CGROUP] = print_cgroup,
		[KODA_OP_DESCRIPTOR] = print_descriptor,
		[KODA_OP_FILTER] = print_filter,
	};

	return printers[op->kind] ? printers[op->kind](out, op) : KODA_OK;
}

int koda_plan_print(const struct koda_plan *plan, struct koda_buf *out, struct koda_error *err)
{
	int r = KODA_OK;

	for (size_t i = 0; i < plan->count && r == KODA_OK; i++) {
		const struct koda_plan_line *line = &plan->lines[i];

		r = koda_buf_addf(out, "%-12s ", koda_op_name(line->op.kind));
		if (r == KODA_OK && line->op.kind != KODA_OP_FILTER &&
		    line->op.kind != KODA_OP_TERMINAL)
			r = print_text(out, line->op.text1);
		if (r == KODA_OK && line->op.kind == KODA_OP_OVERLAY) {
			r = koda_buf_addf(out, " onto ");
			if (r == KODA_OK)
				r = print_text(out, line->op.text2);
		}
		if (r == KODA_OK)
			r = print_numbers(out, &line->op);
		if (r == KODA_OK && line->why[0]) {
			r = koda_buf_add(out, "  # ", 4);
			if (r == KODA_OK)
				r = print_text(out, koda_span_of(line->why));
		}
		if (r == KODA_OK)
			r = koda_buf_add(out, "\n", 1);
	}
	return r < 0 ? koda_fail_room(err, r, "the listing") : KODA_OK;
}
