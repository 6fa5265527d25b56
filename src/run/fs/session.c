/* SPDX-License-Identifier: MIT */
/* T-106. */
#include "run/fs/session.h"

#include "base/clock.h"
#include "base/error.h"

/* More than this is not kept ready to be sent, but for one request and the cancellations. */
#define OUT_ENOUGH ((size_t)256 << 10)
#define OUT_MAX    (OUT_ENOUGH + 2 * KODA_FS_FRAME_MAX)
/* The longest frame, and what was read behind it. */
#define IN_MAX (2 * KODA_FS_FRAME_MAX)

static int add_frame(struct koda_fs_session *session, const struct koda_fs_frame *frame,
		     struct koda_error *err)
{
	return koda_fs_frame_add(&session->out, frame) < 0 ? koda_fail_nomem(err) : KODA_OK;
}

int koda_fs_session_begin(struct koda_fs_session *session, koda_fs_session_fn *on_reply, void *ctx,
			  struct koda_error *err)
{
	const struct koda_fs_frame hello = { .kind = KODA_FS_HELLO, .n = { KODA_FS_VERSION } };

	*session = (struct koda_fs_session){ .in = KODA_BUF_INIT(IN_MAX),
					     .out = KODA_BUF_INIT(OUT_MAX),
					     .on_reply = on_reply,
					     .ctx = ctx };
	return add_frame(session, &hello, err);
}

void koda_fs_session_clear(struct koda_fs_session *session)
{
	while (session->first) {
		struct koda_fs_job *job = session->first;

		session->first = job->next;
		koda_fs_job_free(job);
	}
	session->last = session->sending = NULL;
	koda_buf_clear(&session->in);
	koda_buf_clear(&session->out);
	session->out_at = 0;
}

int koda_fs_session_add(struct koda_fs_session *session, const struct koda_fs_request *request,
			uint64_t now_ns, uint64_t *ret_id, struct koda_error *err)
{
	struct koda_fs_job *job;
	int r = koda_fs_job_new(request, session->last_id + 1, now_ns, &job, err);

	if (r < 0)
		return r;
	session->last_id++;
	if (session->last)
		session->last->next = job;
	else
		session->first = job;
	session->last = job;
	if (!session->sending)
		session->sending = job;
	*ret_id = job->id;
	return KODA_OK;
}

static struct koda_fs_job *find(const struct koda_fs_session *session, uint64_t id)
{
	struct koda_fs_job *job = session->first;

	while (job && job->id != id)
		job = job->next;
	return job;
}

static void drop(struct koda_fs_session *session, struct koda_fs_job *job)
{
	struct koda_fs_job **link = &session->first;
	struct koda_fs_job *before = NULL;

	while (*link != job) {
		before = *link;
		link = &before->next;
	}
	*link = job->next;
	if (session->last == job)
		session->last = before;
	if (session->sending == job)
		session->sending = job->next;
	koda_fs_job_free(job);
}

/* Gives the caller a reply, once. */
static void tell(struct koda_fs_session *session, struct koda_fs_job *job,
		 const struct koda_fs_reply *reply)
{
	if (job->over)
		return;
	job->over = true;
	session->on_reply(session->ctx, reply, job);
	if (job->request.on_done)
		job->request.on_done(job->request.ctx, reply);
}

/* Gives the caller a reply that the worker did not send. */
static void tell_status(struct koda_fs_session *session, struct koda_fs_job *job,
			enum koda_fs_status status)
{
	const struct koda_fs_reply reply = { .id = job->id,
					     .op = job->request.op,
					     .status = status };

	tell(session, job, &reply);
}

/* Ends the content of a WRITE that is not complete. The worker wants an end in any case. */
static int stop_upload(struct koda_fs_session *session, struct koda_fs_job *job,
		       struct koda_error *err)
{
	const struct koda_fs_frame end = { .kind = KODA_FS_DATA,
					   .flags = KODA_FS_LAST,
					   .id = job->id };

	if (job->phase != KODA_FS_JOB_UPLOADS)
		return KODA_OK;
	job->phase = KODA_FS_JOB_SENT;
	session->sending = job->next;
	return add_frame(session, &end, err);
}

static int cancel(struct koda_fs_session *session, struct koda_fs_job *job, struct koda_error *err)
{
	const struct koda_fs_frame frame = { .kind = KODA_FS_CANCEL, .id = job->id };
	int r;

	if (job->cancelled)
		return KODA_OK;
	if (job->phase == KODA_FS_JOB_WAITS) {
		tell_status(session, job, KODA_FS_STATUS_CANCELLED);
		drop(session, job);
		return KODA_OK;
	}
	job->cancelled = true;
	r = add_frame(session, &frame, err);
	return r < 0 ? r : stop_upload(session, job, err);
}

int koda_fs_session_cancel(struct koda_fs_session *session, uint64_t id, struct koda_error *err)
{
	struct koda_fs_job *job = find(session, id);

	if (!job || job->over)
		return koda_fail(err, KODA_E_INVALID, 0, "there is no such request");
	return cancel(session, job, err);
}

int koda_fs_session_expire(struct koda_fs_session *session, uint64_t now_ns, struct koda_error *err)
{
	struct koda_fs_job *next;
	int r = KODA_OK;

	for (struct koda_fs_job *job = session->first; job && r == KODA_OK; job = next) {
		next = job->next;
		if (job->over || now_ns < job->give_up_ns)
			continue;
		tell_status(session, job, KODA_FS_STATUS_TIMEOUT);
		r = cancel(session, job, err);
	}
	return r;
}

uint64_t koda_fs_session_deadline(const struct koda_fs_session *session)
{
	uint64_t deadline = KODA_DEADLINE_NEVER;

	for (const struct koda_fs_job *job = session->first; job; job = job->next)
		if (!job->over && job->give_up_ns < deadline)
			deadline = job->give_up_ns;
	return deadline;
}

/* Puts the next frame of the request that is being sent into out. */
static int fill_next(struct koda_fs_session *session, struct koda_error *err)
{
	struct koda_fs_job *job = session->sending;
	bool last = false;
	int r;

	if (job->phase == KODA_FS_JOB_WAITS) {
		r = koda_buf_add(&session->out, job->frame.ptr, job->frame.len);
		if (r < 0)
			return koda_fail_nomem(err);
		koda_buf_clear(&job->frame);
		job->phase = job->request.op == KODA_FS_OP_WRITE ? KODA_FS_JOB_UPLOADS
								 : KODA_FS_JOB_SENT;
	} else {
		r = koda_fs_job_upload(job, &session->out, &last);
		if (r == KODA_E_INVALID)
			return cancel(session, job, err);
		if (r < 0)
			return koda_fail_nomem(err);
		if (last)
			job->phase = KODA_FS_JOB_SENT;
	}
	if (job->phase == KODA_FS_JOB_SENT)
		session->sending = job->next;
	return KODA_OK;
}

int koda_fs_session_fill(struct koda_fs_session *session, struct koda_error *err)
{
	int r = KODA_OK;

	while (r == KODA_OK && session->sending && session->out.len - session->out_at < OUT_ENOUGH)
		r = fill_next(session, err);
	return r;
}

void koda_fs_session_sent(struct koda_fs_session *session, size_t len)
{
	struct koda_buf *out = &session->out;

	session->out_at += len;
	if (session->out_at < out->len && session->out_at < OUT_ENOUGH)
		return;
	memmove(out->ptr, out->ptr + session->out_at, out->len - session->out_at);
	out->len -= session->out_at;
	session->out_at = 0;
}

static int fail_protocol(struct koda_error *err)
{
	return koda_fail(err, KODA_E_CHILD, 0, "the file worker has not kept to the protocol");
}

static int take_data(struct koda_fs_session *session, const struct koda_fs_frame *frame,
		     struct koda_error *err)
{
	struct koda_fs_job *job = find(session, frame->id);
	bool stop;

	if (!job || job->phase == KODA_FS_JOB_WAITS || frame->flags ||
	    !koda_fs_job_take(job, frame->text[0], &stop))
		return fail_protocol(err);
	return stop ? cancel(session, job, err) : KODA_OK;
}

static int take_reply(struct koda_fs_session *session, const struct koda_fs_frame *frame,
		      struct koda_error *err)
{
	struct koda_fs_job *job = find(session, frame->id);
	struct koda_fs_reply reply;
	int r;

	if (!job || !koda_fs_job_reply(job, frame, &reply))
		return fail_protocol(err);
	r = stop_upload(session, job, err);
	tell(session, job, &reply);
	drop(session, job);
	return r;
}

static int take_frame(struct koda_fs_session *session, const struct koda_fs_frame *frame,
		      struct koda_error *err)
{
	if (!session->greeted != (frame->kind == KODA_FS_HELLO))
		return fail_protocol(err);
	switch (frame->kind) {
	case KODA_FS_HELLO:
		session->greeted = true;
		return KODA_OK;
	case KODA_FS_DATA:
		return take_data(session, frame, err);
	case KODA_FS_REPLY:
		return take_reply(session, frame, err);
	case KODA_FS_REQUEST:
	case KODA_FS_CANCEL:
	case KODA_FS_KIND_COUNT:
		break;
	}
	return fail_protocol(err);
}

int koda_fs_session_room(struct koda_fs_session *session, size_t size, char **ret_room,
			 struct koda_error *err)
{
	return koda_buf_room(&session->in, size, ret_room) < 0 ? koda_fail_nomem(err) : KODA_OK;
}

int koda_fs_session_feed(struct koda_fs_session *session, size_t len, struct koda_error *err)
{
	struct koda_fs_frame frame;
	struct koda_span rest;
	size_t used;
	int r = KODA_OK;

	koda_buf_grew(&session->in, len);
	rest = koda_buf_span(&session->in);
	while (r == KODA_OK) {
		enum koda_fs_found found = koda_fs_frame_read(rest, KODA_FS_WORKER, &frame, &used);

		if (found == KODA_FS_FOUND_MORE)
			break;
		r = found == KODA_FS_FOUND_FRAME ? take_frame(session, &frame, err)
						 : fail_protocol(err);
		if (r == KODA_OK)
			rest = koda_span_skip(rest, used);
	}
	if (rest.len > 0)
		memmove(session->in.ptr, rest.ptr, rest.len);
	session->in.len = rest.len;
	return r;
}

void koda_fs_session_crash(struct koda_fs_session *session)
{
	while (session->first) {
		tell_status(session, session->first, KODA_FS_STATUS_CRASHED);
		drop(session, session->first);
	}
}
