/* SPDX-License-Identifier: MIT */
/* Results of any number and size, as a stream of DATA frames of full size. */
#ifndef FSWORKER_RECORDS_H
#define FSWORKER_RECORDS_H

#include "task.h"

struct fsworker_records {
	struct fsworker_task *task;
	size_t filled;  /* bytes of the frame that is begun */
	uint64_t count; /* kept by the caller */
};

/* Appends bytes of a record. Returns false if the client is gone. */
bool fsworker_records_add(struct fsworker_records *records, const void *bytes, size_t len);
/* Collects the last frame. */
void fsworker_records_end(struct fsworker_records *records);

#endif
