/* SPDX-License-Identifier: MIT */
/*
 * What a file worker sends, read by the client's session with a request of every kind on its way.
 * Whatever comes, each request gets exactly one reply, and what a reply tells of has come. The
 * magic of frames is put right, so that inputs get past it; the first byte says how much comes at a
 * time.
 */
#include "target.h"

#include "run/fs/session.h"

#include <string.h>

struct seen {
	unsigned int replies;
	uint64_t items;
	uint64_t bytes;
};

static int take_content(void *ctx, const char *bytes, size_t len)
{
	struct seen *seen = ctx;

	CHECK(len == 0 || bytes);
	seen->bytes += len;
	return 0;
}

static int take_item(void *ctx, const struct koda_fs_item *item)
{
	struct seen *seen = ctx;

	CHECK(item->name.len <= KODA_FS_TEXT_MAX && item->text.len <= KODA_FS_TEXT_MAX);
	seen->items++;
	return seen->items % 100 == 0;
}

static void take_reply(void *ctx, const struct koda_fs_reply *reply, struct koda_fs_job *job)
{
	const struct seen *seen = job->request.ctx;

	(void)ctx;
	CHECK(reply->id == job->id && reply->status < KODA_FS_STATUS_COUNT);
	CHECK(reply->reason < KODA_REASON_COUNT);
	if (reply->status == KODA_FS_STATUS_OK && reply->op == KODA_FS_OP_READ && !job->cancelled)
		CHECK(reply->count == seen->bytes);
	if (reply->status == KODA_FS_STATUS_OK && reply->op == KODA_FS_OP_LIST && !job->cancelled)
		CHECK(reply->count == seen->items);
}

static void count_reply(void *ctx, const struct koda_fs_reply *reply)
{
	struct seen *seen = ctx;

	(void)reply;
	seen->replies++;
}

static void ask(struct koda_fs_session *session, enum koda_fs_op op, struct seen *seen)
{
	struct koda_fs_request request = { .size = sizeof(request),
					   .op = op,
					   .on_content = take_content,
					   .on_item = take_item,
					   .on_done = count_reply,
					   .ctx = seen };
	uint64_t id;

	if (op != KODA_FS_OP_PING && op != KODA_FS_OP_SHUTDOWN)
		request.path = (struct koda_span){ "x", 1 };
	if (op == KODA_FS_OP_RENAME || op == KODA_FS_OP_EDIT)
		request.text = request.path;
	CHECK(koda_fs_session_add(session, &request, 0, &id, NULL) == KODA_OK);
	CHECK(id == (uint64_t)op + 1);
}

static void feed(struct koda_fs_session *session, const uint8_t *data, size_t size, size_t part)
{
	char *room;
	int r = KODA_OK;

	while (size > 0 && r == KODA_OK) {
		size_t len = size < part ? size : part;

		CHECK(koda_fs_session_room(session, len, &room, NULL) == KODA_OK);
		memcpy(room, data, len);
		r = koda_fs_session_feed(session, len, NULL);
		data += len;
		size -= len;
	}
}

/* Puts the magic at the start of each frame, as its length says where the next one is. */
static void set_magic(uint8_t *bytes, size_t size)
{
	struct koda_fs_header header;

	for (size_t at = 0; size - at >= sizeof(header);) {
		memcpy(&header, bytes + at, sizeof(header));
		header.magic = KODA_FS_MAGIC;
		memcpy(bytes + at, &header.magic, sizeof(header.magic));
		if (header.bytes < sizeof(header) || header.bytes > size - at)
			break;
		at += header.bytes;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct koda_fs_session session;
	struct seen seen[KODA_FS_OP_COUNT] = { { .replies = 0 } };
	uint8_t *bytes;

	if (size < 1)
		return 0;
	bytes = malloc(size);
	CHECK(bytes);
	memcpy(bytes, data + 1, size - 1);
	set_magic(bytes, size - 1);
	CHECK(koda_fs_session_begin(&session, take_reply, NULL, NULL) == KODA_OK);
	for (int op = 0; op < KODA_FS_OP_COUNT; op++)
		ask(&session, (enum koda_fs_op)op, &seen[op]);
	CHECK(koda_fs_session_fill(&session, NULL) == KODA_OK);
	feed(&session, bytes, size - 1, (size_t)data[0] + 1);
	koda_fs_session_crash(&session);
	for (int op = 0; op < KODA_FS_OP_COUNT; op++)
		CHECK(seen[op].replies == 1);
	koda_fs_session_clear(&session);
	free(bytes);
	return 0;
}
