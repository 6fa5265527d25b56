/* SPDX-License-Identifier: MIT */
/* WRITE requests, whose contents come in frames of their own. Several may be on their way. */
#ifndef FSWORKER_UPLOAD_H
#define FSWORKER_UPLOAD_H

#include "task.h"

struct fsworker_upload;

struct fsworker_uploads {
	struct fsworker_upload *live[KODA_FS_UPLOADS_MAX]; /* owned */
	size_t count;
	uint64_t *dropped; /* owned: requests that have ended before their last DATA frame */
	size_t dropped_count;
	size_t dropped_cap;
};

/* All of these return false if the connection cannot go on. */

/* Begins a WRITE. */
bool fsworker_upload_start(struct fsworker_uploads *uploads, struct fsworker *worker,
			   const struct koda_fs_frame *request);
/* Takes a DATA frame. With the last one of a request, the file is written. */
bool fsworker_upload_take(struct fsworker_uploads *uploads, struct fsworker *worker,
			  const struct koda_fs_frame *data);
/* Ends a request of that id, if there is one. */
bool fsworker_upload_cancel(struct fsworker_uploads *uploads, uint64_t id);
/* Ends the requests whose deadline has passed. */
bool fsworker_upload_expire(struct fsworker_uploads *uploads);
/* Has the DATA frames of a request that was refused dropped. */
bool fsworker_upload_drop(struct fsworker_uploads *uploads, uint64_t id);

/* Returns the earliest deadline. */
uint64_t fsworker_upload_deadline(const struct fsworker_uploads *uploads);
/* Returns true if the request with that id is waiting for content. */
bool fsworker_upload_has(const struct fsworker_uploads *uploads, uint64_t id);
void fsworker_upload_clear(struct fsworker_uploads *uploads);

#endif
