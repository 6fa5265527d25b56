/* SPDX-License-Identifier: MIT */
/* READ: a range of a file, in chunks that are read right into the output. */
#include "base/fd.h"
#include "base/sha256.h"
#include "judge.h"
#include "open.h"
#include "ops.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

struct range {
	uint64_t at;
	uint64_t left;
	uint64_t sent;
	uint64_t size; /* of the file */
	struct koda_sha256 hash;
};

/* Sends one chunk. Returns false at the end of the range, of the file, or of the request. */
static bool send_chunk(struct fsworker_task *task, int fd, struct range *range)
{
	struct fsworker_conn *conn = &task->worker->conn;
	size_t want = range->left < KODA_FS_CHUNK ? (size_t)range->left : KODA_FS_CHUNK;
	char *room = fsworker_conn_room(conn);
	ssize_t n;

	if (want == 0 || range->at >= INT64_MAX || !room || !fsworker_task_goes_on(task))
		return false;
	n = pread(fd, room, want, (off_t)range->at);
	if (n < 0)
		return fsworker_task_fail_errno(task, errno);
	if (n == 0)
		return false;
	if (fsworker_task_has(task, KODA_FS_HASH))
		koda_sha256_add(&range->hash, room, (size_t)n);
	range->at += (uint64_t)n;
	range->left -= (uint64_t)n;
	range->sent += (uint64_t)n;
	/* A short read of a file is its end, as far as its size says so. */
	return fsworker_conn_data(conn, task->request.id, (size_t)n) &&
	       ((size_t)n == want || range->at < range->size);
}

static void send_range(struct fsworker_task *task, int fd, uint64_t size)
{
	const uint64_t most = task->request.n[0];
	struct range range = { .at = task->request.n[2], .left = most ? most : UINT64_MAX };
	unsigned char hash[KODA_SHA256_BYTES];

	range.size = size;
	koda_sha256_start(&range.hash);
	while (send_chunk(task, fd, &range))
		;
	task->reply.n[0] = range.sent;
	task->reply.n[1] = range.size;
	if (range.left == 0 && range.at < range.size)
		task->reply.flags = KODA_FS_TRUNCATED;
	if (fsworker_task_has(task, KODA_FS_HASH)) {
		koda_sha256_end(&range.hash, hash);
		fsworker_task_set_hash(task, hash);
	}
}

void fsworker_read(struct fsworker_task *task)
{
	fsworker_auto_place struct fsworker_place place = FSWORKER_PLACE_INIT;
	koda_auto_fd int fd = -1;

	if (fsworker_resolve(task, task->request.text[0], FSWORKER_RESOLVE_FOLLOW, &place) &&
	    fsworker_judge_read(task, fsworker_resolve_path(&place)) &&
	    fsworker_open_file(task, &place, O_RDONLY, &fd))
		send_range(task, fd, (uint64_t)place.st.st_size);
}
