/* SPDX-License-Identifier: MIT */
/*
 * The sealed plan, as the launcher reads it. What passes the check can be walked to its end, every
 * text lies inside and is what its kind needs, every flag is one of its kind, and writing it again
 * gives a plan that says the same. The header's length and count are put right first, so that
 * inputs get past them.
 */
#include "target.h"

#include "base/buf.h"
#include "wire/op.h"
#include "wire/op_encode.h"

#include <string.h>

static bool same(const struct koda_op *a, const struct koda_op *b)
{
	return a->kind == b->kind && a->flags == b->flags && a->n1 == b->n1 && a->n2 == b->n2 &&
	       koda_span_eq(a->text1, b->text1) && koda_span_eq(a->text2, b->text2);
}

static void check_text(const char *plan, size_t len, struct koda_span text)
{
	CHECK(text.ptr >= plan && text.len < len && text.ptr + text.len < plan + len);
	CHECK(text.ptr[text.len] == '\0');
}

static uint32_t walk(const char *plan, size_t len, struct koda_buf *again)
{
	uint32_t count = 0;
	struct koda_op op;
	size_t at = 0;

	for (; koda_ops_next(plan, &at, &op); count++) {
		CHECK(at <= len && op.kind < KODA_OP_COUNT);
		CHECK((op.flags & ~koda_op_accepts(op.kind)) == 0);
		check_text(plan, len, op.text1);
		check_text(plan, len, op.text2);
		if (op.kind == KODA_OP_CWD)
			CHECK(op.text1.len > 0 && op.text1.ptr[0] == '/' &&
			      strlen(op.text1.ptr) == op.text1.len);
		CHECK(koda_ops_add(again, &op) == KODA_OK);
	}
	CHECK(at == 0 || at == len || count == 0);
	return count;
}

static void compare(const char *plan, const char *again)
{
	struct koda_op a;
	struct koda_op b;
	size_t at_a = 0;
	size_t at_b = 0;

	while (koda_ops_next(plan, &at_a, &a)) {
		CHECK(koda_ops_next(again, &at_b, &b));
		CHECK(same(&a, &b));
	}
	CHECK(!koda_ops_next(again, &at_b, &b));
}

static void check_plan(const char *plan, size_t len)
{
	koda_auto_buf struct koda_buf again = KODA_BUF_INIT(KODA_OP_PLAN_MAX);
	struct koda_op_header header;
	uint32_t count;

	if (!koda_ops_are_sound(plan, len))
		return;
	memcpy(&header, plan, sizeof(header));
	count = walk(plan, len, &again);
	CHECK(count == header.count);
	if (count == 0)
		return;
	CHECK(again.len == len);
	CHECK(koda_ops_are_sound(again.ptr, again.len));
	compare(plan, again.ptr);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct koda_op_header header;
	char *plan = malloc(size ? size : 1);

	CHECK(plan);
	memcpy(plan, data, size);
	check_plan(plan, size);
	if (size >= sizeof(header)) {
		memcpy(&header, plan, sizeof(header));
		header.magic = KODA_OP_MAGIC;
		header.bytes = size;
		header.count &= 0xff;
		memcpy(plan, &header, sizeof(header));
		check_plan(plan, size);
	}
	free(plan);
	return 0;
}
