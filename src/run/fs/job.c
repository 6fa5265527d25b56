/* SPDX-License-Identifier: MIT */
/* T-106. */
#include "run/fs/job.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/sized.h"
#include "run/fs/item.h"

#include <sys/stat.h>

/* How much later than the worker the client ends a request whose deadline has passed. */
#define GRACE_NS 2000000000ULL
/* Room for an item that is not complete, and one more chunk. */
#define ITEM_ROOM (KODA_FS_TEXT_MAX + KODA_FS_CHUNK)
/* The longest timeout: a hundred years. */
#define TIMEOUT_MS_MAX 3155760000000ULL

static void fill_numbers(const struct koda_fs_request *request, uint64_t deadline_ns,
			 struct koda_fs_frame *frame)
{
	frame->n[0] = request->op == KODA_FS_OP_WRITE ? request->mode : request->max;
	frame->n[1] = deadline_ns;
	if (request->op == KODA_FS_OP_READ)
		frame->n[2] = request->offset;
	if (request->flags & KODA_FS_EXPECT)
		memcpy(&frame->n[2], request->expect, sizeof(request->expect));
}

/* Encodes the request, and has the worker's decoder check it. */
static int encode(struct koda_fs_job *job, uint64_t deadline_ns, struct koda_error *err)
{
	const struct koda_fs_request *request = &job->request;
	struct koda_fs_frame frame = { .kind = KODA_FS_REQUEST,
				       .code = request->op,
				       .flags = request->flags,
				       .id = job->id,
				       .text = { request->path, request->text, request->text2 } };
	struct koda_fs_frame read;
	size_t len;
	int r;

	fill_numbers(request, deadline_ns, &frame);
	r = koda_fs_frame_add(&job->frame, &frame);
	if (r == KODA_E_LIMIT)
		return koda_fail(err, r, 0, "the texts of the request are too long");
	if (r < 0)
		return koda_fail_nomem(err);
	if (koda_fs_frame_read(koda_buf_span(&job->frame), KODA_FS_CLIENT, &read, &len) !=
	    KODA_FS_FOUND_FRAME)
		return koda_fail(err, KODA_E_INVALID, 0,
				 "%s does not take such a path, text, flag or number",
				 koda_fs_op_name(request->op));
	return KODA_OK;
}

int koda_fs_job_new(const struct koda_fs_request *request, uint64_t id, uint64_t now_ns,
		    struct koda_fs_job **ret_job, struct koda_error *err)
{
	struct koda_fs_job *job = calloc(1, sizeof(*job));
	uint64_t deadline_ns = 0;
	int r;

	if (!job)
		return koda_fail_nomem(err);
	r = koda_sized_take(&job->request, sizeof(job->request), sizeof(job->request), request,
			    "koda_fs_request", err);
	job->id = id;
	job->frame = (struct koda_buf)KODA_BUF_INIT(KODA_FS_FRAME_MAX);
	job->kept = (struct koda_buf)KODA_BUF_INIT(
		koda_fs_item_is_result(job->request.op) ? ITEM_ROOM : KODA_FS_CONTENT_MAX);
	job->give_up_ns = KODA_DEADLINE_NEVER;
	if (r == KODA_OK && job->request.timeout_ms > TIMEOUT_MS_MAX)
		r = koda_fail_at(err, KODA_E_INVALID, 0, "timeout_ms", "is too long");
	if (r == KODA_OK && job->request.timeout_ms > 0) {
		deadline_ns = now_ns + job->request.timeout_ms * 1000000U;
		job->give_up_ns = deadline_ns + GRACE_NS;
	}
	if (r == KODA_OK)
		r = encode(job, deadline_ns, err);
	if (r < 0) {
		koda_fs_job_free(job);
		return r;
	}
	*ret_job = job;
	return KODA_OK;
}

void koda_fs_job_free(struct koda_fs_job *job)
{
	if (!job)
		return;
	koda_buf_clear(&job->frame);
	koda_buf_clear(&job->kept);
	free(job);
}

/* Copies up to size bytes of the content. Returns how many, or less than 0. */
static ptrdiff_t read_content(struct koda_fs_job *job, char *bytes, size_t size)
{
	struct koda_span rest = job->request.content;

	if (job->request.source)
		return job->request.source(job->request.ctx, bytes, size);
	/* A request without content may have no pointer. */
	if (job->uploaded > 0)
		rest = koda_span_skip(rest, job->uploaded);
	if (rest.len > size)
		rest.len = size;
	if (rest.len > 0)
		memcpy(bytes, rest.ptr, rest.len);
	return (ptrdiff_t)rest.len;
}

int koda_fs_job_upload(struct koda_fs_job *job, struct koda_buf *out, bool *ret_last)
{
	struct koda_fs_frame frame = { .kind = KODA_FS_DATA, .id = job->id };
	struct koda_fs_header header;
	ptrdiff_t n;
	char *room;
	int r = koda_buf_room(out, sizeof(header) + KODA_FS_CHUNK, &room);

	if (r < 0)
		return r;
	n = read_content(job, room + sizeof(header), KODA_FS_CHUNK);
	if (n < 0 || (size_t)n > KODA_FS_CHUNK)
		return KODA_E_INVALID;
	job->uploaded += (size_t)n;
	*ret_last = job->request.source ? n == 0 : job->uploaded == job->request.content.len;
	frame.flags = *ret_last ? KODA_FS_LAST : 0;
	frame.text[0].len = (size_t)n;
	header = koda_fs_frame_header(&frame);
	memcpy(room, &header, sizeof(header));
	koda_buf_grew(out, sizeof(header) + (size_t)n);
	return KODA_OK;
}

/* Cuts bytes into items. What is left of them is *ret_rest. */
static bool take_items(struct koda_fs_job *job, struct koda_span bytes, struct koda_span *ret_rest,
		       bool *ret_stop)
{
	struct koda_fs_item item;
	size_t len;

	while (!*ret_stop) {
		switch (koda_fs_item_read(job->request.op, bytes, &item, &len)) {
		case KODA_FS_ITEM_WHOLE:
			break;
		case KODA_FS_ITEM_MORE:
			*ret_rest = bytes;
			return true;
		case KODA_FS_ITEM_WRONG:
			return false;
		}
		bytes = koda_span_skip(bytes, len);
		job->received++;
		if (job->request.max > 0 && job->received > job->request.max)
			return false;
		if (job->request.on_item)
			*ret_stop = job->request.on_item(job->request.ctx, &item) != 0;
	}
	*ret_rest = (struct koda_span){ NULL, 0 };
	return true;
}

/* An item may have begun in an earlier part. */
static bool take_part(struct koda_fs_job *job, struct koda_span bytes, bool *ret_stop)
{
	struct koda_span rest;

	if (job->kept.len == 0)
		return take_items(job, bytes, &rest, ret_stop) &&
		       (rest.len == 0 || koda_buf_add(&job->kept, rest.ptr, rest.len) == KODA_OK);
	if (koda_buf_add(&job->kept, bytes.ptr, bytes.len) < 0 ||
	    !take_items(job, koda_buf_span(&job->kept), &rest, ret_stop))
		return false;
	if (rest.len > 0)
		memmove(job->kept.ptr, rest.ptr, rest.len);
	job->kept.len = rest.len;
	return true;
}

bool koda_fs_job_take(struct koda_fs_job *job, struct koda_span bytes, bool *ret_stop)
{
	*ret_stop = false;
	if (job->cancelled || job->over)
		return true;
	if (koda_fs_item_is_result(job->request.op))
		return take_part(job, bytes, ret_stop);
	if (job->request.op != KODA_FS_OP_READ)
		return false;
	job->received += bytes.len;
	if (job->request.max > 0 && job->received > job->request.max)
		return false;
	if (job->request.on_content)
		*ret_stop = job->request.on_content(job->request.ctx, bytes.ptr, bytes.len) != 0;
	else if (koda_buf_add(&job->kept, bytes.ptr, bytes.len) < 0)
		*ret_stop = job->too_large = true;
	return true;
}

/* Fills in what the numbers of a reply mean. */
static void read_numbers(const struct koda_fs_job *job, const struct koda_fs_frame *frame,
			 struct koda_fs_reply *reply)
{
	const uint64_t *n = frame->n;

	reply->count = n[0];
	if (job->request.op == KODA_FS_OP_READ)
		reply->stat.size = n[1];
	if (job->request.op == KODA_FS_OP_WRITE)
		reply->stat.mode = (uint32_t)n[1];
	if (job->request.op == KODA_FS_OP_EDIT && frame->code == KODA_FS_STATUS_NO_MATCH)
		reply->line = n[1];
	if (job->request.op == KODA_FS_OP_STAT) {
		reply->count = 0;
		reply->stat = (struct koda_fs_stat){ .size = n[0],
						     .mode = (uint32_t)n[1],
						     .mtime_ns = (int64_t)n[2],
						     .links = n[3],
						     .uid = n[4],
						     .gid = n[5] };
	}
	if (frame->code == KODA_FS_STATUS_OK && job->request.flags & KODA_FS_HASH) {
		reply->has_hash = true;
		memcpy(reply->hash, &n[2], sizeof(reply->hash));
	}
}

/* Returns true if the result that came before a reply is the one that it tells of. */
static bool is_complete(const struct koda_fs_job *job, const struct koda_fs_frame *frame)
{
	if (frame->code != KODA_FS_STATUS_OK || job->cancelled)
		return true;
	if (koda_fs_item_is_result(job->request.op))
		return job->received == frame->n[0] && job->kept.len == 0;
	return job->request.op != KODA_FS_OP_READ || job->received == frame->n[0];
}

bool koda_fs_job_reply(const struct koda_fs_job *job, const struct koda_fs_frame *frame,
		       struct koda_fs_reply *ret_reply)
{
	struct koda_fs_reply reply = { .id = job->id,
				       .op = job->request.op,
				       .status = (enum koda_fs_status)frame->code,
				       .sys_errno = (int)frame->sys_errno,
				       .reason = (enum koda_reason)frame->reason,
				       .rule = frame->text[0],
				       .path = frame->text[1],
				       .message = frame->text[2],
				       .truncated = (frame->flags & KODA_FS_TRUNCATED) != 0 };

	if (job->phase == KODA_FS_JOB_WAITS || frame->code == KODA_FS_STATUS_CRASHED ||
	    frame->reason >= KODA_REASON_COUNT || !is_complete(job, frame) ||
	    (frame->code == KODA_FS_STATUS_OK && job->phase == KODA_FS_JOB_UPLOADS))
		return false;
	read_numbers(job, frame, &reply);
	if (job->request.op == KODA_FS_OP_STAT && S_ISLNK(reply.stat.mode)) {
		reply.link = reply.path;
		reply.path = (struct koda_span){ NULL, 0 };
	}
	if (job->too_large)
		reply.status = KODA_FS_STATUS_TOO_LARGE;
	else if (job->request.op == KODA_FS_OP_READ && frame->code == KODA_FS_STATUS_OK)
		reply.content = koda_buf_span(&job->kept);
	*ret_reply = reply;
	return true;
}
