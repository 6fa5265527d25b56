/* SPDX-License-Identifier: MIT */
#include "conn.h"

#include "base/error.h"
#include "base/fd.h"
#include "frame.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

/* How much is received at a time, so that memory grows with what has come, not with its length. */
#define PART ((size_t)64 * 1024)

void fscompat_conn_clear(struct fscompat_conn *conn)
{
	koda_fd_close(&conn->socket);
	koda_buf_clear(&conn->in);
}

/* Receives up to need bytes. Returns 1; 0 at the end, or if a signal came. */
static int receive_part(struct fscompat_conn *conn, size_t need, struct koda_error *err)
{
	char *room;
	ssize_t n;
	size_t part = need < PART ? need : PART;
	int r = fscompat_stop_wait(conn->stop, conn->socket, POLLIN, -1, err);

	if (r != KODA_OK)
		return r < 0 ? r : 0;
	if (koda_buf_room(&conn->in, part, &room) < 0)
		return koda_fail_nomem(err);
	n = recv(conn->socket, room, part, 0);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return koda_fail(err, KODA_E_SYS, errno, "the client cannot be read from");
	if (n == 0 && conn->in.len > 0)
		return koda_fail(err, KODA_E_INVALID, 0, "the connection ended within a message");
	if (n > 0)
		koda_buf_grew(&conn->in, (size_t)n);
	return n != 0;
}

int fscompat_conn_read(struct fscompat_conn *conn, struct koda_span *ret_payload,
		       struct koda_error *err)
{
	size_t need = 0;
	int r;

	koda_buf_clear(&conn->in);
	conn->in = (struct koda_buf)KODA_BUF_INIT(FSCOMPAT_FRAME_HEAD + FSCOMPAT_FRAME_MAX);
	do {
		r = fscompat_frame_need(koda_buf_span(&conn->in), &need, err);
		if (r == KODA_OK && need > 0)
			r = receive_part(conn, need, err);
		else if (r == KODA_OK)
			*ret_payload = fscompat_frame_payload(koda_buf_span(&conn->in));
	} while (need > 0 && r > 0);
	return r < 0 || need > 0 ? r : 1;
}

int fscompat_conn_write(struct fscompat_conn *conn, struct koda_span frame, struct koda_error *err)
{
	while (frame.len > 0) {
		ssize_t n = send(conn->socket, frame.ptr, frame.len, MSG_NOSIGNAL);
		int r;

		if (n >= 0) {
			frame = koda_span_skip(frame, (size_t)n);
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return koda_fail(err, KODA_E_SYS, errno, "the client cannot be written to");
		r = fscompat_stop_wait(conn->stop, conn->socket, POLLOUT, -1, err);
		if (r != KODA_OK)
			return r < 0 ? r : 0;
	}
	return 1;
}
