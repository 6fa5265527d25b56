/* SPDX-License-Identifier: MIT */
#include "wire/op_encode.h"

static void put_text(char **at, struct koda_span text)
{
	if (text.len > 0)
		memcpy(*at, text.ptr, text.len);
	(*at)[text.len] = '\0';
	*at += text.len + 1;
}

int koda_ops_add(struct koda_buf *out, const struct koda_op *op)
{
	struct koda_op_header header = { .magic = KODA_OP_MAGIC };
	struct koda_op_record record = { .kind = (uint32_t)op->kind,
					 .flags = op->flags,
					 .n1 = op->n1,
					 .n2 = op->n2,
					 .len1 = (uint32_t)op->text1.len,
					 .len2 = (uint32_t)op->text2.len };
	size_t start = out->len ? 0 : sizeof(header);
	uint64_t size;
	char *room;
	int r;

	if (op->text1.len > KODA_OP_PLAN_MAX || op->text2.len > KODA_OP_PLAN_MAX)
		return KODA_E_LIMIT;
	size = koda_op_size(record.len1, record.len2);
	r = koda_buf_room(out, start + (size_t)size, &room);
	if (r < 0)
		return r;
	memset(room, 0, start + (size_t)size);
	if (!start)
		memcpy(&header, out->ptr, sizeof(header));
	room += start;
	memcpy(room, &record, sizeof(record));
	room += sizeof(record);
	put_text(&room, op->text1);
	put_text(&room, op->text2);
	koda_buf_grew(out, start + (size_t)size);
	header.count++;
	header.bytes = out->len;
	memcpy(out->ptr, &header, sizeof(header));
	return KODA_OK;
}
