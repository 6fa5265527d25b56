/* SPDX-License-Identifier: MIT */
#include "task.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>

/* The connection is looked at this often while a request runs. */
#define LOOK_NS 1000000U

void fsworker_task_start(struct fsworker_task *task, struct fsworker *worker,
			 const struct koda_fs_frame *request)
{
	task->worker = worker;
	task->request = *request;
	task->looked = 0;
	task->reply = (struct koda_fs_frame){ .kind = KODA_FS_REPLY, .id = request->id };
}

bool fsworker_task_end(struct fsworker_task *task)
{
	return fsworker_conn_send(&task->worker->conn, &task->reply);
}

uint64_t fsworker_task_deadline(const struct fsworker_task *task)
{
	return task->request.n[1] ? task->request.n[1] : KODA_DEADLINE_NEVER;
}

bool fsworker_task_goes_on(struct fsworker_task *task)
{
	struct fsworker_conn *conn = &task->worker->conn;
	uint64_t now = koda_clock_now();

	if (task->looked && now - task->looked > LOOK_NS)
		fsworker_conn_look(conn);
	if (!task->looked || now - task->looked > LOOK_NS)
		task->looked = now;
	if (conn->gone || fsworker_conn_cancelled(conn, task->request.id))
		return fsworker_task_fail(task, KODA_FS_STATUS_CANCELLED, "");
	if (now >= fsworker_task_deadline(task))
		return fsworker_task_fail(task, KODA_FS_STATUS_TIMEOUT, "");
	return true;
}

bool fsworker_task_fail(struct fsworker_task *task, enum koda_fs_status status, const char *said)
{
	if (task->reply.code != KODA_FS_STATUS_OK)
		return false;
	task->reply.code = status;
	if (*said)
		fsworker_task_set_said(task, koda_span_of(said));
	return false;
}

static enum koda_fs_status status_of(int sys_errno)
{
	static const struct {
		int sys_errno;
		enum koda_fs_status status;
	} table[] = {
		{ ENOENT, KODA_FS_STATUS_MISSING },
		{ ENOTDIR, KODA_FS_STATUS_NOT_DIR },
		{ EEXIST, KODA_FS_STATUS_EXISTS },
		{ EISDIR, KODA_FS_STATUS_NOT_FILE },
		{ ENXIO, KODA_FS_STATUS_NOT_FILE },
		{ ENOTEMPTY, KODA_FS_STATUS_NOT_EMPTY },
		{ ELOOP, KODA_FS_STATUS_LINK },
		{ ENOSPC, KODA_FS_STATUS_NO_SPACE },
		{ EDQUOT, KODA_FS_STATUS_NO_SPACE },
		{ EROFS, KODA_FS_STATUS_READ_ONLY },
		{ ENOMEM, KODA_FS_STATUS_NO_MEMORY },
		{ EFBIG, KODA_FS_STATUS_TOO_LARGE },
		{ ENAMETOOLONG, KODA_FS_STATUS_TOO_LARGE },
	};

	for (size_t i = 0; i < KODA_ARRAY_LEN(table); i++)
		if (table[i].sys_errno == sys_errno)
			return table[i].status;
	return KODA_FS_STATUS_SYSTEM;
}

bool fsworker_task_fail_errno(struct fsworker_task *task, int sys_errno)
{
	if (task->reply.code == KODA_FS_STATUS_OK)
		task->reply.sys_errno = (uint32_t)sys_errno;
	return fsworker_task_fail(task, status_of(sys_errno), "");
}

bool fsworker_task_deny(struct fsworker_task *task, const struct koda_verdict *verdict,
			struct koda_span path)
{
	if (task->reply.code == KODA_FS_STATUS_OK) {
		task->reply.reason = verdict->reason;
		task->reply.text[0] = verdict->rule;
		fsworker_task_set_path(task, path);
	}
	return fsworker_task_fail(task, KODA_FS_STATUS_DENIED, "");
}

void fsworker_task_set_path(struct fsworker_task *task, struct koda_span path)
{
	size_t len = path.len < sizeof(task->path) ? path.len : sizeof(task->path);

	memcpy(task->path, path.ptr, len);
	task->reply.text[1] = (struct koda_span){ task->path, len };
}

void fsworker_task_set_said(struct fsworker_task *task, struct koda_span said)
{
	size_t len = said.len < sizeof(task->said) ? said.len : sizeof(task->said);

	memcpy(task->said, said.ptr, len);
	task->reply.text[2] = (struct koda_span){ task->said, len };
}

void fsworker_task_set_hash(struct fsworker_task *task, const unsigned char *hash)
{
	memcpy(&task->reply.n[2], hash, 4 * sizeof(task->reply.n[2]));
}
