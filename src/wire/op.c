/* SPDX-License-Identifier: MIT */
#include "wire/op.h"

#include <string.h>

static const struct kind {
	const char *name;
	enum koda_op_text text1;
	enum koda_op_text text2;
	enum koda_op_stage stage;
	uint32_t flags; /* that it accepts */
} kinds[] = {
#define OP_KIND(name, text, t1, t2, stage, flags)                                                  \
	[KODA_OP_##name] = { text, KODA_TEXT_##t1, KODA_TEXT_##t2, KODA_STAGE_##stage, flags },
	KODA_OPS(OP_KIND)
#undef OP_KIND
};

const char *koda_op_name(enum koda_op_kind kind)
{
	return (unsigned int)kind < KODA_OP_COUNT ? kinds[kind].name : "?";
}

enum koda_op_stage koda_op_stage(enum koda_op_kind kind)
{
	return kinds[kind].stage;
}

uint32_t koda_op_accepts(enum koda_op_kind kind)
{
	return kinds[kind].flags;
}

/* Returns true for an absolute path in normal form: no empty, "." or ".." component, no trailing
 * slash but in "/". */
static bool is_normal_path(struct koda_span path)
{
	size_t start = 1;

	if (path.len == 0 || path.len > 4095 || path.ptr[0] != '/')
		return false;
	if (path.len == 1)
		return true;
	for (size_t i = 1; i <= path.len; i++) {
		size_t len = i - start;

		if (i < path.len && path.ptr[i] != '/')
			continue;
		if (len == 0 || len > 255 || (len == 1 && path.ptr[start] == '.') ||
		    (len == 2 && path.ptr[start] == '.' && path.ptr[start + 1] == '.'))
			return false;
		start = i + 1;
	}
	return true;
}

static bool is_sound_text(enum koda_op_text what, struct koda_span text)
{
	if (text.ptr[text.len] != '\0')
		return false;
	switch (what) {
	case KODA_TEXT_PATH:
		return !memchr(text.ptr, '\0', text.len) && is_normal_path(text);
	case KODA_TEXT_WORD:
		return !memchr(text.ptr, '\0', text.len);
	case KODA_TEXT_BYTES:
		return true;
	case KODA_TEXT_NONE:
		break;
	}
	return text.len == 0;
}

/* Reads the operation at offset at. Returns false if it does not fit into len bytes. */
static bool read_op(const char *plan, size_t len, size_t at, struct koda_op *op, size_t *ret_next)
{
	struct koda_op_record record;
	uint64_t size;

	if (len - at < sizeof(record))
		return false;
	memcpy(&record, plan + at, sizeof(record));
	size = koda_op_size(record.len1, record.len2);
	if (size > len - at || record.kind >= KODA_OP_COUNT)
		return false;
	*op = (struct koda_op){
		.kind = (enum koda_op_kind)record.kind,
		.flags = record.flags,
		.n1 = record.n1,
		.n2 = record.n2,
		.text1 = { plan + at + sizeof(record), record.len1 },
		.text2 = { plan + at + sizeof(record) + record.len1 + 1, record.len2 },
	};
	*ret_next = at + (size_t)size;
	return true;
}

bool koda_ops_are_sound(const void *plan, size_t len)
{
	size_t at = sizeof(struct koda_op_header);
	struct koda_op_header header;
	uint32_t count = 0;

	if (len < sizeof(header) || len > KODA_OP_PLAN_MAX)
		return false;
	memcpy(&header, plan, sizeof(header));
	if (header.magic != KODA_OP_MAGIC || header.bytes != len)
		return false;
	for (; at < len; count++) {
		struct koda_op op;

		if (!read_op(plan, len, at, &op, &at))
			return false;
		if ((op.flags & ~kinds[op.kind].flags) ||
		    !is_sound_text(kinds[op.kind].text1, op.text1) ||
		    !is_sound_text(kinds[op.kind].text2, op.text2))
			return false;
	}
	return count == header.count;
}

bool koda_ops_next(const void *plan, size_t *at, struct koda_op *ret_op)
{
	struct koda_op_header header;

	memcpy(&header, plan, sizeof(header));
	if (*at == 0)
		*at = sizeof(header);
	return *at < header.bytes && read_op(plan, (size_t)header.bytes, *at, ret_op, at);
}
