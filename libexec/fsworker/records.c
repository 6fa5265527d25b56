/* SPDX-License-Identifier: MIT */
#include "records.h"

static bool send_frame(struct fsworker_records *records)
{
	size_t len = records->filled;

	records->filled = 0;
	return fsworker_conn_data(&records->task->worker->conn, records->task->request.id, len);
}

bool fsworker_records_add(struct fsworker_records *records, const void *bytes, size_t len)
{
	const char *from = bytes;

	while (len > 0) {
		char *room = fsworker_conn_room(&records->task->worker->conn);
		size_t free_bytes = KODA_FS_CHUNK - records->filled;
		size_t n = len < free_bytes ? len : free_bytes;

		if (!room)
			return false;
		memcpy(room + records->filled, from, n);
		records->filled += n;
		from += n;
		len -= n;
		if (records->filled == KODA_FS_CHUNK && !send_frame(records))
			return false;
	}
	return true;
}

void fsworker_records_end(struct fsworker_records *records)
{
	if (records->filled > 0)
		(void)send_frame(records);
}
