/* SPDX-License-Identifier: MIT */
#include "serve.h"

#include "base/clock.h"
#include "ops.h"
#include "upload.h"

/* Nothing to do but to reply. */
static void ping(struct fsworker_task *task)
{
	(void)task;
}

/* WRITE is not in it: its content follows. */
static void (*const ops[KODA_FS_OP_COUNT])(struct fsworker_task *task) = {
	[KODA_FS_OP_PING] = ping,
	[KODA_FS_OP_SHUTDOWN] = ping,
	[KODA_FS_OP_READ] = fsworker_read,
	[KODA_FS_OP_EDIT] = fsworker_edit,
	[KODA_FS_OP_GLOB] = fsworker_search_names,
	[KODA_FS_OP_GREP] = fsworker_search_lines,
	[KODA_FS_OP_STAT] = fsworker_stat,
	[KODA_FS_OP_GETENV] = fsworker_getenv,
	[KODA_FS_OP_LIST] = fsworker_list,
	[KODA_FS_OP_MKDIR] = fsworker_mkdir,
	[KODA_FS_OP_REMOVE] = fsworker_remove,
	[KODA_FS_OP_RENAME] = fsworker_rename,
};

static bool reply_invalid(struct fsworker *worker, const struct koda_fs_frame *request)
{
	const struct koda_fs_frame reply = { .kind = KODA_FS_REPLY,
					     .id = request->id,
					     .code = KODA_FS_STATUS_INVALID };

	return fsworker_conn_send(&worker->conn, &reply);
}

static bool carry_out(struct fsworker *worker, const struct koda_fs_frame *request)
{
	struct fsworker_task task;

	fsworker_task_start(&task, worker, request);
	if (fsworker_task_goes_on(&task))
		ops[request->code](&task);
	return fsworker_task_end(&task);
}

static bool take_request(struct fsworker *worker, struct fsworker_uploads *uploads,
			 const struct koda_fs_frame *request)
{
	if (fsworker_upload_has(uploads, request->id))
		return reply_invalid(worker, request);
	if (request->code == KODA_FS_OP_WRITE)
		return fsworker_upload_start(uploads, worker, request);
	return carry_out(worker, request) && request->code != KODA_FS_OP_SHUTDOWN;
}

/* Returns false if the connection is to end. */
static bool take_frame(struct fsworker *worker, struct fsworker_uploads *uploads,
		       const struct koda_fs_frame *frame)
{
	switch (frame->kind) {
	case KODA_FS_REQUEST:
		return take_request(worker, uploads, frame);
	case KODA_FS_DATA:
		return fsworker_upload_take(uploads, worker, frame);
	case KODA_FS_CANCEL:
		return fsworker_upload_cancel(uploads, frame->id);
	case KODA_FS_HELLO:
	case KODA_FS_REPLY:
	case KODA_FS_KIND_COUNT:
		break;
	}
	return false;
}

static bool take_wrong(struct fsworker *worker, struct fsworker_uploads *uploads,
		       const struct koda_fs_frame *request)
{
	if (!reply_invalid(worker, request))
		return false;
	/* Its content may follow. */
	return request->code != KODA_FS_OP_WRITE || fsworker_upload_drop(uploads, request->id);
}

static bool greet(struct fsworker *worker)
{
	const struct koda_fs_frame hello = { .kind = KODA_FS_HELLO, .n = { KODA_FS_VERSION } };
	struct koda_fs_frame frame;

	return fsworker_conn_send(&worker->conn, &hello) &&
	       fsworker_conn_next(&worker->conn, KODA_DEADLINE_NEVER, &frame) ==
		       FSWORKER_CONN_FRAME &&
	       frame.kind == KODA_FS_HELLO;
}

/* Serves one frame. Returns false if the connection is to end; *ret_ok tells how. */
static bool serve_frame(struct fsworker *worker, struct fsworker_uploads *uploads, bool *ret_ok)
{
	struct koda_fs_frame frame;

	switch (fsworker_conn_next(&worker->conn, fsworker_upload_deadline(uploads), &frame)) {
	case FSWORKER_CONN_FRAME:
		*ret_ok = frame.kind == KODA_FS_REQUEST && frame.code == KODA_FS_OP_SHUTDOWN;
		return take_frame(worker, uploads, &frame);
	case FSWORKER_CONN_WRONG:
		*ret_ok = false;
		return take_wrong(worker, uploads, &frame);
	case FSWORKER_CONN_LATE:
		*ret_ok = false;
		return fsworker_upload_expire(uploads);
	case FSWORKER_CONN_END:
		*ret_ok = true;
		break;
	case FSWORKER_CONN_LOST:
		*ret_ok = false;
		break;
	}
	return false;
}

bool fsworker_serve(struct fsworker *worker)
{
	struct fsworker_uploads uploads = { .count = 0 };
	bool ok = false;

	if (greet(worker))
		while (serve_frame(worker, &uploads, &ok))
			;
	fsworker_upload_clear(&uploads);
	return (fsworker_conn_flush(&worker->conn) && ok) || worker->conn.gone;
}
