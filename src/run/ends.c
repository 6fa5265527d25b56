/* SPDX-License-Identifier: MIT */
#include "run/ends.h"

#include "base/fd.h"

int koda_ends_make(struct koda_ends *ends, struct koda_error *err)
{
	int r = koda_fd_socketpair(&ends->status[0], &ends->status[1], err);

	if (r == KODA_OK)
		r = koda_fd_socketpair(&ends->life[0], &ends->life[1], err);
	if (r == KODA_OK)
		r = koda_fd_pipe(&ends->stream[0][1], &ends->stream[0][0], err);
	for (size_t i = 1; i < 3 && r == KODA_OK; i++)
		r = koda_fd_pipe(&ends->stream[i][0], &ends->stream[i][1], err);
	return r;
}

static void close_side(struct koda_ends *ends, size_t side)
{
	koda_fd_close(&ends->status[side]);
	koda_fd_close(&ends->life[side]);
	for (size_t i = 0; i < 3; i++)
		koda_fd_close(&ends->stream[i][side]);
}

void koda_ends_close_theirs(struct koda_ends *ends)
{
	close_side(ends, 1);
}

void koda_ends_close(struct koda_ends *ends)
{
	close_side(ends, 0);
	close_side(ends, 1);
}
