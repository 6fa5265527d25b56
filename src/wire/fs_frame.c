/* SPDX-License-Identifier: MIT */
#include "wire/fs_frame.h"

#include <string.h>

#define PATH_BYTES_MAX 4095

static const struct op {
	const char *name;
	enum koda_fs_text texts[KODA_FS_TEXTS];
	uint32_t flags; /* that it accepts */
	size_t numbers;
} ops[] = {
#define FS_OP(name, text, t0, t1, t2, flags, numbers)                                              \
	[KODA_FS_OP_##                                                                             \
		name] = { text, { KODA_FS_##t0, KODA_FS_##t1, KODA_FS_##t2 }, (flags), numbers },
	KODA_FS_OPS(FS_OP)
#undef FS_OP
};

static const char *const statuses[] = {
#define FS_STATUS(name, text) [KODA_FS_STATUS_##name] = (text),
	KODA_FS_STATUSES(FS_STATUS)
#undef FS_STATUS
};

const char *koda_fs_op_name(uint32_t op)
{
	return op < KODA_FS_OP_COUNT ? ops[op].name : "?";
}

const char *koda_fs_status_text(uint32_t status)
{
	return status < KODA_FS_STATUS_COUNT ? statuses[status] : "?";
}

struct koda_fs_header koda_fs_frame_header(const struct koda_fs_frame *frame)
{
	struct koda_fs_header header = {
		.magic = KODA_FS_MAGIC,
		.bytes = sizeof(header),
		.kind = (uint16_t)frame->kind,
		.code = (uint16_t)frame->code,
		.flags = frame->flags,
		.reason = frame->reason,
		.sys_errno = frame->sys_errno,
		.id = frame->id,
	};

	memcpy(header.n, frame->n, sizeof(header.n));
	for (size_t i = 0; i < KODA_FS_TEXTS; i++) {
		header.len[i] = (uint32_t)frame->text[i].len;
		header.bytes += (uint32_t)frame->text[i].len;
	}
	return header;
}

int koda_fs_frame_add(struct koda_buf *out, const struct koda_fs_frame *frame)
{
	struct koda_fs_header header;
	size_t texts = 0;
	int r;

	for (size_t i = 0; i < KODA_FS_TEXTS; i++) {
		if (frame->text[i].len > KODA_FS_TEXT_MAX - texts)
			return KODA_E_LIMIT;
		texts += frame->text[i].len;
	}
	header = koda_fs_frame_header(frame);
	r = koda_buf_add(out, &header, sizeof(header));
	for (size_t i = 0; i < KODA_FS_TEXTS && r == KODA_OK; i++)
		if (frame->text[i].len > 0)
			r = koda_buf_add(out, frame->text[i].ptr, frame->text[i].len);
	return r;
}

/* Returns true if the lengths in the header are possible and add up. */
static bool fits(const struct koda_fs_header *header)
{
	uint64_t sum = sizeof(*header);

	for (size_t i = 0; i < KODA_FS_TEXTS; i++)
		sum += header->len[i];
	return sum == header->bytes && sum <= KODA_FS_FRAME_MAX;
}

/* Returns true if side may send this kind, and the parts that the kind does not use are zero. */
static bool is_kind_sound(const struct koda_fs_header *header, enum koda_fs_side side)
{
	bool no_texts = !header->len[0] && !header->len[1] && !header->len[2];
	bool replies = header->reason || header->sys_errno;

	if (header->magic != KODA_FS_MAGIC || header->unused ||
	    (header->kind == KODA_FS_HELLO) != (header->id == 0))
		return false;
	switch ((enum koda_fs_kind)header->kind) {
	case KODA_FS_HELLO:
		return no_texts && !replies && !header->flags && !header->code;
	case KODA_FS_REQUEST:
		return side == KODA_FS_CLIENT && !replies;
	case KODA_FS_CANCEL:
		return side == KODA_FS_CLIENT && no_texts && !replies && !header->flags &&
		       !header->code;
	case KODA_FS_DATA:
		return !replies && !header->code && !(header->flags & ~(uint32_t)KODA_FS_LAST) &&
		       header->len[0] <= KODA_FS_CHUNK && !header->len[1] && !header->len[2];
	case KODA_FS_REPLY:
		return side == KODA_FS_WORKER && header->code < KODA_FS_STATUS_COUNT &&
		       !(header->flags & ~(uint32_t)KODA_FS_TRUNCATED);
	case KODA_FS_KIND_COUNT:
		break;
	}
	return false;
}

static bool is_text_sound(enum koda_fs_text what, struct koda_span text)
{
	switch (what) {
	case KODA_FS_PATH:
		return text.len > 0 && text.len <= PATH_BYTES_MAX &&
		       !memchr(text.ptr, '\0', text.len);
	case KODA_FS_BYTES:
		return true;
	case KODA_FS_NONE:
		break;
	}
	return text.len == 0;
}

static bool is_request_sound(const struct koda_fs_frame *frame)
{
	const struct op *op;

	if (frame->code >= KODA_FS_OP_COUNT)
		return false;
	op = &ops[frame->code];
	if (frame->flags & ~op->flags)
		return false;
	for (size_t i = 0; i < KODA_FS_TEXTS; i++)
		if (!is_text_sound(op->texts[i], frame->text[i]))
			return false;
	for (size_t i = op->numbers; i < KODA_FS_NUMBERS; i++)
		if (frame->n[i] != 0)
			return false;
	return true;
}

enum koda_fs_found koda_fs_frame_read(struct koda_span bytes, enum koda_fs_side side,
				      struct koda_fs_frame *ret_frame, size_t *ret_len)
{
	struct koda_fs_header header;
	size_t at = sizeof(header);

	*ret_len = sizeof(header);
	if (bytes.len < sizeof(header))
		return KODA_FS_FOUND_MORE;
	memcpy(&header, bytes.ptr, sizeof(header));
	if (!is_kind_sound(&header, side) || !fits(&header))
		return KODA_FS_FOUND_LOST;
	*ret_len = header.bytes;
	if (bytes.len < header.bytes)
		return KODA_FS_FOUND_MORE;
	*ret_frame = (struct koda_fs_frame){
		.kind = (enum koda_fs_kind)header.kind,
		.code = header.code,
		.flags = header.flags,
		.reason = header.reason,
		.sys_errno = header.sys_errno,
		.id = header.id,
	};
	memcpy(ret_frame->n, header.n, sizeof(header.n));
	for (size_t i = 0; i < KODA_FS_TEXTS; i++) {
		ret_frame->text[i] = (struct koda_span){ bytes.ptr + at, header.len[i] };
		at += header.len[i];
	}
	if (header.kind == KODA_FS_HELLO)
		return header.n[0] == KODA_FS_VERSION ? KODA_FS_FOUND_FRAME : KODA_FS_FOUND_LOST;
	if (header.kind == KODA_FS_REQUEST && !is_request_sound(ret_frame))
		return KODA_FS_FOUND_WRONG;
	return KODA_FS_FOUND_FRAME;
}
