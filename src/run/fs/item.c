/* SPDX-License-Identifier: MIT */
#include "run/fs/item.h"

#define TYPES "dflpsbc?"

bool koda_fs_item_is_result(enum koda_fs_op op)
{
	return op == KODA_FS_OP_LIST || op == KODA_FS_OP_GLOB || op == KODA_FS_OP_GREP ||
	       op == KODA_FS_OP_GETENV;
}

static enum koda_fs_item_found more_or_wrong(struct koda_span bytes)
{
	return bytes.len < KODA_FS_TEXT_MAX ? KODA_FS_ITEM_MORE : KODA_FS_ITEM_WRONG;
}

/* Reads a text up to its NUL, behind skip bytes. */
static enum koda_fs_item_found read_text(struct koda_span bytes, size_t skip,
					 struct koda_fs_item *ret_item, size_t *ret_len)
{
	struct koda_span text;
	const char *end;

	if (bytes.len <= skip)
		return KODA_FS_ITEM_MORE;
	text = koda_span_skip(bytes, skip);
	end = memchr(text.ptr, '\0', text.len);
	if (!end)
		return more_or_wrong(bytes);
	ret_item->name = (struct koda_span){ text.ptr, (size_t)(end - text.ptr) };
	*ret_len = skip + ret_item->name.len + 1;
	return KODA_FS_ITEM_WHOLE;
}

/* Reads a text behind a byte that is one of types. */
static enum koda_fs_item_found read_typed(struct koda_span bytes, const char *types,
					  struct koda_fs_item *ret_item, size_t *ret_len)
{
	if (!bytes.len)
		return KODA_FS_ITEM_MORE;
	if (bytes.ptr[0] == '\0' || !strchr(types, bytes.ptr[0]))
		return KODA_FS_ITEM_WRONG;
	ret_item->type = bytes.ptr[0];
	return read_text(bytes, 1, ret_item, ret_len);
}

static enum koda_fs_item_found read_hit(struct koda_span bytes, struct koda_fs_item *ret_item,
					size_t *ret_len)
{
	struct koda_fs_hit hit;

	if (bytes.len < sizeof(hit))
		return KODA_FS_ITEM_MORE;
	memcpy(&hit, bytes.ptr, sizeof(hit));
	if (hit.path_len == 0 || hit.path_len > KODA_FS_TEXT_MAX / 2 ||
	    hit.text_len > KODA_FS_TEXT_MAX / 2)
		return KODA_FS_ITEM_WRONG;
	*ret_len = sizeof(hit) + hit.path_len + hit.text_len;
	if (bytes.len < *ret_len)
		return KODA_FS_ITEM_MORE;
	ret_item->line = hit.line;
	ret_item->name = (struct koda_span){ bytes.ptr + sizeof(hit), hit.path_len };
	ret_item->text = (struct koda_span){ ret_item->name.ptr + hit.path_len, hit.text_len };
	return KODA_FS_ITEM_WHOLE;
}

static enum koda_fs_item_found read_variable(struct koda_span bytes, struct koda_fs_item *ret_item,
					     size_t *ret_len)
{
	enum koda_fs_item_found found = read_typed(bytes, "01", ret_item, ret_len);

	if (found == KODA_FS_ITEM_WHOLE && ret_item->type == '0' && ret_item->name.len > 0)
		return KODA_FS_ITEM_WRONG;
	return found;
}

enum koda_fs_item_found koda_fs_item_read(enum koda_fs_op op, struct koda_span bytes,
					  struct koda_fs_item *ret_item, size_t *ret_len)
{
	*ret_item = (struct koda_fs_item){ .type = '\0' };
	if (op == KODA_FS_OP_LIST)
		return read_typed(bytes, TYPES, ret_item, ret_len);
	if (op == KODA_FS_OP_GLOB)
		return read_text(bytes, 0, ret_item, ret_len);
	if (op == KODA_FS_OP_GREP)
		return read_hit(bytes, ret_item, ret_len);
	return op == KODA_FS_OP_GETENV ? read_variable(bytes, ret_item, ret_len)
				       : KODA_FS_ITEM_WRONG;
}
