/* SPDX-License-Identifier: MIT */
/* GLOB and GREP: results are sent as they are found. */
#include "search/search.h"
#include "base/fd.h"
#include "judge.h"
#include "open.h"
#include "ops.h"
#include "records.h"

struct search {
	struct fsworker_records records;
	uint64_t most;
	bool is_grep;
	bool is_truncated;
};

static bool may_read(void *ctx, struct koda_span path)
{
	struct search *search = ctx;
	const struct fsworker *worker = search->records.task->worker;

	return koda_path_verdict_read(&worker->rules, path).answer == KODA_ALLOW;
}

static bool is_cancelled(void *ctx)
{
	struct search *search = ctx;

	return !fsworker_task_goes_on(search->records.task);
}

static bool add_path(struct search *search, struct koda_span path)
{
	return fsworker_records_add(&search->records, path.ptr, path.len) &&
	       fsworker_records_add(&search->records, "", 1);
}

static bool add_hit(struct search *search, struct koda_span path, uint64_t line,
		    struct koda_span text)
{
	const struct koda_fs_hit hit = { .line = line,
					 .path_len = (uint32_t)path.len,
					 .text_len = (uint32_t)text.len };

	return fsworker_records_add(&search->records, &hit, sizeof(hit)) &&
	       fsworker_records_add(&search->records, path.ptr, path.len) &&
	       fsworker_records_add(&search->records, text.ptr, text.len);
}

static bool emit(void *ctx, struct koda_span path, uint64_t line, struct koda_span text)
{
	struct search *search = ctx;

	if (search->records.count == search->most) {
		search->is_truncated = true;
		return false;
	}
	search->records.count++;
	return search->is_grep ? add_hit(search, path, line, text) : add_path(search, path);
}

static void run(struct fsworker_task *task, const struct fsworker_place *place, int dir,
		bool is_grep)
{
	const uint64_t most = task->request.n[0] ? task->request.n[0] : UINT64_MAX;
	struct search search = { .records = { .task = task }, .most = most, .is_grep = is_grep };
	const struct fsworker_search job = {
		.dir = dir,
		.path = fsworker_resolve_path(place),
		.root = place->root->path,
		.root_dir = place->root->fd,
		.pattern = task->request.text[1],
		.include = task->request.text[2],
		.flags = task->request.flags,
		.may_read = may_read,
		.emit = emit,
		.cancelled = is_cancelled,
		.ctx = &search,
	};
	struct koda_error err = { 0 };
	int r = is_grep ? fsworker_search_grep(&job, &err) : fsworker_search_glob(&job, &err);

	fsworker_records_end(&search.records);
	task->reply.n[0] = search.records.count;
	if (r == KODA_OK && search.is_truncated)
		task->reply.flags = KODA_FS_TRUNCATED;
	else if (r == KODA_E_INVALID)
		(void)fsworker_task_fail(task, KODA_FS_STATUS_PATTERN, err.message);
	else if (r < 0)
		(void)fsworker_task_fail(task,
					 r == KODA_E_LIMIT ? KODA_FS_STATUS_TOO_LARGE
							   : KODA_FS_STATUS_NO_MEMORY,
					 err.message);
}

static void search_below(struct fsworker_task *task, bool is_grep)
{
	fsworker_auto_place struct fsworker_place place = FSWORKER_PLACE_INIT;
	koda_auto_fd int dir = -1;

	if (fsworker_resolve(task, task->request.text[0], FSWORKER_RESOLVE_FOLLOW, &place) &&
	    fsworker_judge_read(task, fsworker_resolve_path(&place)) &&
	    fsworker_open_dir(task, &place, &dir))
		run(task, &place, dir, is_grep);
}

void fsworker_search_names(struct fsworker_task *task)
{
	search_below(task, false);
}

void fsworker_search_lines(struct fsworker_task *task)
{
	search_below(task, true);
}
