/* SPDX-License-Identifier: MIT */
#include "run/backend/channels.h"

#include "base/fd.h"

int koda_channels_make(struct koda_channels *channels, struct koda_error *err)
{
	int r = koda_fd_socketpair(&channels->status[0], &channels->status[1], err);

	if (r == KODA_OK)
		r = koda_fd_socketpair(&channels->life[0], &channels->life[1], err);
	if (r == KODA_OK)
		r = koda_fd_pipe(&channels->stream[0][1], &channels->stream[0][0], err);
	for (size_t i = 1; i < 3 && r == KODA_OK; i++)
		r = koda_fd_pipe(&channels->stream[i][0], &channels->stream[i][1], err);
	return r;
}

static void close_side(struct koda_channels *channels, size_t side)
{
	koda_fd_close(&channels->status[side]);
	koda_fd_close(&channels->life[side]);
	for (size_t i = 0; i < 3; i++)
		koda_fd_close(&channels->stream[i][side]);
}

void koda_channels_close_theirs(struct koda_channels *channels)
{
	close_side(channels, 1);
}

void koda_channels_close(struct koda_channels *channels)
{
	close_side(channels, 0);
	close_side(channels, 1);
}
