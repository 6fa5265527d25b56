/* SPDX-License-Identifier: MIT */
/*
 * T-106. The client's side of the file worker's protocol. It takes bytes and calls the callbacks of
 * requests; it owns no socket and no clock. Nothing that the worker sends is trusted: bytes that
 * are no answer to a request end the session, and each request then gets the status CRASHED.
 */
#ifndef KODA_RUN_FS_SESSION_H
#define KODA_RUN_FS_SESSION_H

#include "run/fs/job.h"

/* Sees each reply before the request's own on_done. */
typedef void koda_fs_session_fn(void *ctx, const struct koda_fs_reply *reply,
				struct koda_fs_job *job);

struct koda_fs_session {
	struct koda_buf in;  /* the beginning of a frame */
	struct koda_buf out; /* to be sent, from out_at on */
	size_t out_at;
	struct koda_fs_job *first; /* owned list, in the order of sending */
	struct koda_fs_job *last;
	struct koda_fs_job *sending; /* the first that is not sent completely */
	uint64_t last_id;
	bool greeted; /* the worker's HELLO has come */
	koda_fs_session_fn *on_reply;
	void *ctx;
};

/* Prepares a session, whose first frame is a HELLO. Fails: NOMEM. */
KODA_CHECK int koda_fs_session_begin(struct koda_fs_session *session, koda_fs_session_fn *on_reply,
				     void *ctx, struct koda_error *err);
/* Drops all requests without a reply. */
void koda_fs_session_clear(struct koda_fs_session *session);

/* Adds a request. Fails: as koda_fs_job_new. */
KODA_CHECK int koda_fs_session_add(struct koda_fs_session *session,
				   const struct koda_fs_request *request, uint64_t now_ns,
				   uint64_t *ret_id, struct koda_error *err);
/* Cancels a request. Fails: INVALID if there is none of this id, NOMEM. */
KODA_CHECK int koda_fs_session_cancel(struct koda_fs_session *session, uint64_t id,
				      struct koda_error *err);
/* Ends the requests whose time has passed, although the worker did not. Fails: NOMEM. */
KODA_CHECK int koda_fs_session_expire(struct koda_fs_session *session, uint64_t now_ns,
				      struct koda_error *err);
/* Returns when the next request has to be ended so. */
uint64_t koda_fs_session_deadline(const struct koda_fs_session *session);

/* Puts as much into out as is worth a system call. Fails: NOMEM. */
KODA_CHECK int koda_fs_session_fill(struct koda_fs_session *session, struct koda_error *err);
/* Tells that len bytes of out were sent. */
void koda_fs_session_sent(struct koda_fs_session *session, size_t len);
static inline struct koda_span koda_fs_session_out(const struct koda_fs_session *session)
{
	return koda_span_skip(koda_buf_span(&session->out), session->out_at);
}

/* Returns room for bytes from the worker; koda_fs_session_feed takes len of them. Fails: NOMEM;
 * CHILD if the worker has not kept to the protocol. */
KODA_CHECK int koda_fs_session_room(struct koda_fs_session *session, size_t size, char **ret_room,
				    struct koda_error *err);
KODA_CHECK int koda_fs_session_feed(struct koda_fs_session *session, size_t len,
				    struct koda_error *err);
/* Gives every request the status CRASHED. */
void koda_fs_session_crash(struct koda_fs_session *session);

#endif
