/* SPDX-License-Identifier: MIT */
/* Carries out a request through the file worker, and writes its reply. */
#ifndef FSCOMPAT_OPERATE_H
#define FSCOMPAT_OPERATE_H

#include "reply.h"
#include "request.h"
#include "stop.h"

struct fscompat_worker {
	struct koda_fs *fs; /* borrowed */
	const char *cwd;    /* borrowed; where relative paths begin */
	bool crashed;
};

/* Carries out any request but SHUTDOWN. Returns 1 with the reply, also if that is an error; 0 if a
 * signal came. A worker that has crashed is started again for the next request. Fails: SYS, NOMEM.
 */
KODA_CHECK int fscompat_operate(struct fscompat_worker *worker,
				const struct fscompat_request *request, struct fscompat_stop *stop,
				struct fscompat_reply *reply, struct koda_error *err);

#endif
