/* SPDX-License-Identifier: MIT */
/* LIST: the names in a directory with their types, sorted by bytes. */
#include "base/fd.h"
#include "judge.h"
#include "open.h"
#include "ops.h"
#include "records.h"
#include "search/listing.h"

#include <dirent.h>
#include <errno.h>

/* Of the names in one directory. */
#define NAMES_MAX ((size_t)256 << 20)

static char letter_of(uint8_t type)
{
	switch (type) {
	case DT_DIR:
		return 'd';
	case DT_REG:
		return 'f';
	case DT_LNK:
		return 'l';
	case DT_FIFO:
		return 'p';
	case DT_SOCK:
		return 's';
	case DT_BLK:
		return 'b';
	case DT_CHR:
		return 'c';
	default:
		return '?';
	}
}

static void send_names(struct fsworker_task *task, const struct fsworker_listing *listing)
{
	struct fsworker_records records = { .task = task };
	const uint64_t most = task->request.n[0] ? task->request.n[0] : UINT64_MAX;

	while (records.count < listing->count && records.count < most &&
	       (records.count % 1024 > 0 || fsworker_task_goes_on(task))) {
		struct koda_span name = fsworker_listing_name(listing, records.count);
		char letter = letter_of(listing->entries[records.count].type);

		if (!fsworker_records_add(&records, &letter, 1) ||
		    !fsworker_records_add(&records, name.ptr, name.len + 1))
			break;
		records.count++;
	}
	fsworker_records_end(&records);
	task->reply.n[0] = records.count;
	if (records.count == most && records.count < listing->count)
		task->reply.flags = KODA_FS_TRUNCATED;
}

void fsworker_list(struct fsworker_task *task)
{
	fsworker_auto_place struct fsworker_place place = FSWORKER_PLACE_INIT;
	struct fsworker_listing listing = { .names = KODA_BUF_INIT(NAMES_MAX) };
	koda_auto_fd int dir = -1;
	int r;

	if (!fsworker_resolve(task, task->request.text[0], FSWORKER_RESOLVE_FOLLOW, &place) ||
	    !fsworker_judge_read(task, fsworker_resolve_path(&place)) ||
	    !fsworker_open_dir(task, &place, &dir))
		return;
	r = fsworker_listing_add(&listing, dir);
	if (r < 0)
		(void)fsworker_task_fail(task,
					 r == KODA_E_LIMIT ? KODA_FS_STATUS_TOO_LARGE
							   : KODA_FS_STATUS_NO_MEMORY,
					 "");
	else
		send_names(task, &listing);
	fsworker_listing_clear(&listing);
}
