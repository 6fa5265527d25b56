/* SPDX-License-Identifier: MIT */
/* One request, and the reply that it gets. */
#ifndef FSWORKER_TASK_H
#define FSWORKER_TASK_H

#include "base/path.h"
#include "fsworker.h"
#include "policy/path_verdict.h"

#define FSWORKER_SAID_MAX 512

struct fsworker_task {
	struct fsworker *worker;
	struct koda_fs_frame request; /* texts borrowed */
	uint64_t looked;              /* when the connection was looked at last */
	struct koda_fs_frame reply;   /* texts are rule, path and said */
	char path[KODA_PATH_MAX + 1];
	char said[FSWORKER_SAID_MAX];
};

/* Starts the reply to a request, as done. */
void fsworker_task_start(struct fsworker_task *task, struct fsworker *worker,
			 const struct koda_fs_frame *request);
/* Sends the reply. Returns false if the client is gone. */
bool fsworker_task_end(struct fsworker_task *task);

static inline bool fsworker_task_has(const struct fsworker_task *task, enum koda_fs_flag flag)
{
	return task->request.flags & flag;
}

/* Returns true if the request is neither cancelled nor late, and the client is there. Fails it
 * otherwise. Asked between chunks and files. */
bool fsworker_task_goes_on(struct fsworker_task *task);
/* Returns the request's deadline. */
uint64_t fsworker_task_deadline(const struct fsworker_task *task);

/* All of these fail the request, unless it has failed before, and return false. */
bool fsworker_task_fail(struct fsworker_task *task, enum koda_fs_status status, const char *said);
/* With the status for the errno of a system call. */
bool fsworker_task_fail_errno(struct fsworker_task *task, int sys_errno);
bool fsworker_task_deny(struct fsworker_task *task, const struct koda_verdict *verdict,
			struct koda_span path);

/* Replaces the texts of the reply; what is too long is cut. */
void fsworker_task_set_path(struct fsworker_task *task, struct koda_span path);
void fsworker_task_set_said(struct fsworker_task *task, struct koda_span said);
/* Sets numbers 2 to 5 of the reply. */
void fsworker_task_set_hash(struct fsworker_task *task, const unsigned char *hash);

#endif
