/* SPDX-License-Identifier: MIT */
/* One request of the file worker on its way: its frames out, what has come of its result, its
 * reply.
 */
#ifndef KODA_RUN_FS_JOB_H
#define KODA_RUN_FS_JOB_H

#include "base/buf.h"
#include "wire/fs_frame.h"

enum koda_fs_job_phase {
	KODA_FS_JOB_WAITS = 0, /* nothing of it was sent */
	KODA_FS_JOB_UPLOADS,   /* the request was sent, the content not completely */
	KODA_FS_JOB_SENT
};

struct koda_fs_job {
	struct koda_fs_job *next;
	uint64_t id;
	struct koda_fs_request request; /* texts but for content are in frame */
	enum koda_fs_job_phase phase;
	struct koda_buf frame; /* the request, until it is sent */
	size_t uploaded;       /* of request.content */
	uint64_t give_up_ns;   /* when it is over even without a reply */
	bool cancelled;        /* the worker was told; what comes is dropped */
	bool too_large;        /* that was why */
	bool over;             /* the caller has a reply; the worker's is dropped */
	struct koda_buf kept;  /* content for the reply, or the beginning of an item */
	uint64_t received;     /* bytes or items */
};

/* Checks a request of the caller and makes a job of it. Fails: INVALID, UNSUPPORTED, NOMEM. */
KODA_CHECK int koda_fs_job_new(const struct koda_fs_request *request, uint64_t id, uint64_t now_ns,
			       struct koda_fs_job **ret_job, struct koda_error *err);
/* NULL is fine. */
void koda_fs_job_free(struct koda_fs_job *job);

/* Appends the next chunk of the content. *ret_last: it was the last. Fails: LIMIT, NOMEM; INVALID
 * if the source has failed. */
KODA_CHECK int koda_fs_job_upload(struct koda_fs_job *job, struct koda_buf *out, bool *ret_last);
/* Takes a part of the result. *ret_stop: the caller does not want more. Returns false if it cannot
 * be a part of this job's result. */
bool koda_fs_job_take(struct koda_fs_job *job, struct koda_span bytes, bool *ret_stop);
/* Makes the caller's reply of the worker's, which it borrows from. Returns false if that cannot be
 * the reply of this job. */
bool koda_fs_job_reply(const struct koda_fs_job *job, const struct koda_fs_frame *frame,
		       struct koda_fs_reply *ret_reply);

#endif
