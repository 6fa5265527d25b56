/* SPDX-License-Identifier: MIT */
#include "upload.h"

#include "base/clock.h"
#include "draft.h"
#include "parents.h"

/* Of requests that were refused and whose content still comes. */
#define DROPPED_MAX 4096

struct fsworker_upload {
	struct fsworker_task task;
	struct fsworker_draft draft;
};

static struct fsworker_upload **find(struct fsworker_uploads *uploads, uint64_t id)
{
	for (size_t i = 0; i < uploads->count; i++)
		if (uploads->live[i]->task.request.id == id)
			return &uploads->live[i];
	return NULL;
}

bool fsworker_upload_has(const struct fsworker_uploads *uploads, uint64_t id)
{
	for (size_t i = 0; i < uploads->count; i++)
		if (uploads->live[i]->task.request.id == id)
			return true;
	return false;
}

bool fsworker_upload_drop(struct fsworker_uploads *uploads, uint64_t id)
{
	if (uploads->dropped_count == uploads->dropped_cap) {
		size_t cap = uploads->dropped_cap ? uploads->dropped_cap * 2 : 16;
		uint64_t *grown = cap > DROPPED_MAX ? NULL
						    : reallocarray(uploads->dropped, cap,
								   sizeof(*uploads->dropped));

		if (!grown)
			return false;
		uploads->dropped = grown;
		uploads->dropped_cap = cap;
	}
	uploads->dropped[uploads->dropped_count++] = id;
	return true;
}

/* Sends the reply and forgets the request. */
static bool end(struct fsworker_uploads *uploads, struct fsworker_upload **slot)
{
	struct fsworker_upload *upload = *slot;
	bool ok;

	*slot = uploads->live[--uploads->count];
	fsworker_draft_clear(&upload->task, &upload->draft);
	ok = fsworker_task_end(&upload->task);
	free(upload);
	return ok;
}

/* Ends a request that has failed and whose last DATA frame has not come yet. */
static bool end_early(struct fsworker_uploads *uploads, struct fsworker_upload **slot)
{
	uint64_t id = (*slot)->task.request.id;

	return end(uploads, slot) && fsworker_upload_drop(uploads, id);
}

/* Opens what is to be written. */
static bool begin(struct fsworker_task *task, struct fsworker_draft *draft)
{
	const bool is_new = fsworker_task_has(task, KODA_FS_NEW);
	const mode_t mode = (mode_t)task->request.n[0];
	unsigned int how = is_new ? FSWORKER_RESOLVE_LAST : FSWORKER_RESOLVE_FOLLOW;
	struct fsworker_place *place = &draft->place;

	if (task->request.n[0] > 0777)
		return fsworker_task_fail(task, KODA_FS_STATUS_INVALID, "no such mode");
	draft->mode = mode ? mode : 0666 & ~task->worker->umask;
	if (fsworker_task_has(task, KODA_FS_PARENTS))
		how |= FSWORKER_RESOLVE_PARENTS;
	return fsworker_draft_resolve(task, draft, how) && fsworker_parents_make(task, place) &&
	       fsworker_task_goes_on(task) && fsworker_draft_open(task, draft);
}

/* Refuses a request without looking at it. */
static bool refuse(struct fsworker_uploads *uploads, struct fsworker *worker,
		   const struct koda_fs_frame *request, enum koda_fs_status status)
{
	const struct koda_fs_frame reply = { .kind = KODA_FS_REPLY,
					     .id = request->id,
					     .code = status };

	return fsworker_conn_send(&worker->conn, &reply) &&
	       fsworker_upload_drop(uploads, request->id);
}

bool fsworker_upload_start(struct fsworker_uploads *uploads, struct fsworker *worker,
			   const struct koda_fs_frame *request)
{
	struct fsworker_upload *upload;

	if (uploads->count == KODA_FS_UPLOADS_MAX)
		return refuse(uploads, worker, request, KODA_FS_STATUS_BUSY);
	upload = malloc(sizeof(*upload));
	if (!upload)
		return refuse(uploads, worker, request, KODA_FS_STATUS_NO_MEMORY);
	upload->draft = (struct fsworker_draft){ .place = FSWORKER_PLACE_INIT, .fd = -1 };
	fsworker_task_start(&upload->task, worker, request);
	uploads->live[uploads->count++] = upload;
	if (begin(&upload->task, &upload->draft))
		return true;
	return end_early(uploads, &uploads->live[uploads->count - 1]);
}

static void commit(struct fsworker_upload *upload)
{
	struct fsworker_task *task = &upload->task;
	mode_t mode;

	if (!fsworker_draft_commit(task, &upload->draft, &mode))
		return;
	task->reply.n[0] = upload->draft.len;
	task->reply.n[1] = mode;
}

/* Takes a frame that belongs to no request that is waiting for one. */
static bool take_dropped(struct fsworker_uploads *uploads, struct fsworker *worker,
			 const struct koda_fs_frame *data)
{
	const struct koda_fs_frame reply = { .kind = KODA_FS_REPLY,
					     .id = data->id,
					     .code = KODA_FS_STATUS_INVALID };

	if (!(data->flags & KODA_FS_LAST))
		return true;
	for (size_t i = 0; i < uploads->dropped_count; i++) {
		if (uploads->dropped[i] == data->id) {
			uploads->dropped[i] = uploads->dropped[--uploads->dropped_count];
			return true;
		}
	}
	return fsworker_conn_send(&worker->conn, &reply);
}

bool fsworker_upload_take(struct fsworker_uploads *uploads, struct fsworker *worker,
			  const struct koda_fs_frame *data)
{
	struct fsworker_upload **slot = find(uploads, data->id);
	bool is_last = data->flags & KODA_FS_LAST;
	struct fsworker_upload *upload;

	if (!slot)
		return take_dropped(uploads, worker, data);
	upload = *slot;
	if (fsworker_task_goes_on(&upload->task) &&
	    fsworker_draft_add(&upload->task, &upload->draft, data->text[0].ptr,
			       data->text[0].len)) {
		if (!is_last)
			return true;
		commit(upload);
	}
	return is_last ? end(uploads, slot) : end_early(uploads, slot);
}

bool fsworker_upload_cancel(struct fsworker_uploads *uploads, uint64_t id)
{
	struct fsworker_upload **slot = find(uploads, id);

	if (!slot)
		return true;
	(void)fsworker_task_fail(&(*slot)->task, KODA_FS_STATUS_CANCELLED, "");
	return end_early(uploads, slot);
}

bool fsworker_upload_expire(struct fsworker_uploads *uploads)
{
	uint64_t now = koda_clock_now();

	for (size_t i = uploads->count; i > 0; i--) {
		struct fsworker_task *task = &uploads->live[i - 1]->task;

		if (now < fsworker_task_deadline(task))
			continue;
		(void)fsworker_task_fail(task, KODA_FS_STATUS_TIMEOUT, "");
		if (!end_early(uploads, &uploads->live[i - 1]))
			return false;
	}
	return true;
}

uint64_t fsworker_upload_deadline(const struct fsworker_uploads *uploads)
{
	uint64_t first = KODA_DEADLINE_NEVER;

	for (size_t i = 0; i < uploads->count; i++) {
		uint64_t deadline = fsworker_task_deadline(&uploads->live[i]->task);

		first = deadline < first ? deadline : first;
	}
	return first;
}

void fsworker_upload_clear(struct fsworker_uploads *uploads)
{
	while (uploads->count > 0) {
		struct fsworker_upload *upload = uploads->live[--uploads->count];

		fsworker_draft_clear(&upload->task, &upload->draft);
		free(upload);
	}
	free(uploads->dropped);
	*uploads = (struct fsworker_uploads){ .count = 0 };
}
