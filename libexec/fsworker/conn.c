/* SPDX-License-Identifier: MIT */
#include "conn.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>

/* A frame, and room to look beyond it. */
#define IN_BYTES (2 * KODA_FS_FRAME_MAX)
/* Sent from here on; a chunk more fits behind it. */
#define OUT_ENOUGH KODA_FS_CHUNK
#define OUT_BYTES  (OUT_ENOUGH + 2 * KODA_FS_CHUNK)
/* How long the worker stays awake after its last reply. */
#define AWAKE_NS 50000U
/* As many CANCEL frames as there is room for. */
#define CANCELLED_MAX (IN_BYTES / sizeof(struct koda_fs_header))

int fsworker_conn_init(struct fsworker_conn *conn, int socket)
{
	*conn = (struct fsworker_conn){
		.socket = socket,
		.in = malloc(IN_BYTES),
		.out = malloc(OUT_BYTES),
		.cancelled = calloc(CANCELLED_MAX, sizeof(*conn->cancelled)),
	};
	return conn->in && conn->out && conn->cancelled ? KODA_OK : KODA_E_NOMEM;
}

void fsworker_conn_clear(struct fsworker_conn *conn)
{
	free(conn->in);
	free(conn->out);
	free(conn->cancelled);
	*conn = (struct fsworker_conn){ .socket = -1 };
}

/* Receives once. Returns false if nothing came. */
static bool receive(struct fsworker_conn *conn, int flags)
{
	ssize_t n;

	do
		n = recv(conn->socket, conn->in + conn->end, IN_BYTES - conn->end, flags);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		conn->end += (size_t)n;
	else if (n == 0 || errno != EAGAIN)
		conn->ended = true;
	return n > 0;
}

void fsworker_conn_look(struct fsworker_conn *conn)
{
	if (!conn->ended && conn->end < IN_BYTES)
		(void)receive(conn, MSG_DONTWAIT);
}

/* Waits until the client takes output; receives meanwhile. */
static void await_taking(struct fsworker_conn *conn)
{
	bool receives = !conn->ended && conn->end < IN_BYTES;
	struct pollfd fd = { .fd = conn->socket,
			     .events = (short)(POLLOUT | (receives ? POLLIN : 0)) };

	if (poll(&fd, 1, -1) > 0 && (fd.revents & POLLIN))
		fsworker_conn_look(conn);
}

bool fsworker_conn_flush(struct fsworker_conn *conn)
{
	size_t sent = 0;

	while (!conn->gone && sent < conn->waiting) {
		ssize_t n = send(conn->socket, conn->out + sent, conn->waiting - sent,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0)
			sent += (size_t)n;
		else if (errno == EAGAIN)
			await_taking(conn);
		else if (errno != EINTR)
			conn->gone = true;
	}
	conn->waiting = 0;
	return !conn->gone;
}

/* Puts the unread frames to the start of the buffer, if the next one needs len bytes. */
static void make_room(struct fsworker_conn *conn, size_t len)
{
	if (conn->at != conn->end && conn->at + len <= IN_BYTES)
		return;
	memmove(conn->in, conn->in + conn->at, conn->end - conn->at);
	conn->end -= conn->at;
	conn->scanned = conn->scanned > conn->at ? conn->scanned - conn->at : 0;
	conn->at = 0;
}

/* Receives for a moment without going to sleep: a client that asks for one thing after the other
 * sends its next request within it, and waking a processor takes longer than most requests. Others
 * that want this processor get it. Returns false if nothing came. */
static bool receive_soon(struct fsworker_conn *conn)
{
	uint64_t end = koda_clock_now() + AWAKE_NS;

	do {
		if (receive(conn, MSG_DONTWAIT) || conn->ended)
			return true;
		(void)sched_yield();
	} while (koda_clock_now() < end);
	return false;
}

/* Receives more of a frame that needs len bytes. Returns false at the deadline. */
static bool await_more(struct fsworker_conn *conn, size_t len, uint64_t deadline_ns)
{
	struct pollfd fd = { .fd = conn->socket, .events = POLLIN };

	make_room(conn, len);
	if (!fsworker_conn_flush(conn)) {
		conn->ended = true;
		return true;
	}
	if (receive_soon(conn))
		return true;
	if (poll(&fd, 1, koda_clock_left_ms(deadline_ns)) == 0)
		return koda_clock_now() < deadline_ns;
	fsworker_conn_look(conn);
	return true;
}

static struct koda_span rest_from(const struct fsworker_conn *conn, size_t at)
{
	return (struct koda_span){ conn->in + at, conn->end - at };
}

static void forget_cancel(struct fsworker_conn *conn, uint64_t id)
{
	for (size_t i = 0; i < conn->cancelled_count; i++) {
		if (conn->cancelled[i] == id) {
			conn->cancelled[i] = conn->cancelled[--conn->cancelled_count];
			return;
		}
	}
}

enum fsworker_conn_found fsworker_conn_next(struct fsworker_conn *conn, uint64_t deadline_ns,
					    struct koda_fs_frame *ret_frame)
{
	size_t len = 0;
	enum koda_fs_found found;

	for (;;) {
		found = koda_fs_frame_read(rest_from(conn, conn->at), KODA_FS_CLIENT, ret_frame,
					   &len);
		if (found != KODA_FS_FOUND_MORE)
			break;
		if (conn->ended)
			return conn->at == conn->end ? FSWORKER_CONN_END : FSWORKER_CONN_LOST;
		if (!await_more(conn, len, deadline_ns))
			return FSWORKER_CONN_LATE;
	}
	if (found == KODA_FS_FOUND_LOST)
		return FSWORKER_CONN_LOST;
	if (ret_frame->kind == KODA_FS_CANCEL && conn->scanned > conn->at)
		forget_cancel(conn, ret_frame->id);
	conn->at += len;
	return found == KODA_FS_FOUND_WRONG ? FSWORKER_CONN_WRONG : FSWORKER_CONN_FRAME;
}

bool fsworker_conn_cancelled(struct fsworker_conn *conn, uint64_t id)
{
	struct koda_fs_frame frame;
	size_t len;

	if (conn->scanned < conn->at)
		conn->scanned = conn->at;
	for (;;) {
		enum koda_fs_found found = koda_fs_frame_read(rest_from(conn, conn->scanned),
							      KODA_FS_CLIENT, &frame, &len);

		if (found != KODA_FS_FOUND_FRAME && found != KODA_FS_FOUND_WRONG)
			break;
		conn->scanned += len;
		if (frame.kind == KODA_FS_CANCEL && conn->cancelled_count < CANCELLED_MAX)
			conn->cancelled[conn->cancelled_count++] = frame.id;
	}
	for (size_t i = 0; i < conn->cancelled_count; i++)
		if (conn->cancelled[i] == id)
			return true;
	return false;
}

bool fsworker_conn_send(struct fsworker_conn *conn, const struct koda_fs_frame *frame)
{
	struct koda_fs_header header = koda_fs_frame_header(frame);

	/* Texts of a reply are bounded, so the frame is smaller than a chunk. */
	memcpy(conn->out + conn->waiting, &header, sizeof(header));
	conn->waiting += sizeof(header);
	for (size_t i = 0; i < KODA_FS_TEXTS; i++) {
		if (frame->text[i].len > 0)
			memcpy(conn->out + conn->waiting, frame->text[i].ptr, frame->text[i].len);
		conn->waiting += frame->text[i].len;
	}
	return conn->waiting < OUT_ENOUGH || fsworker_conn_flush(conn);
}

char *fsworker_conn_room(struct fsworker_conn *conn)
{
	if (conn->gone)
		return NULL;
	return conn->out + conn->waiting + sizeof(struct koda_fs_header);
}

bool fsworker_conn_data(struct fsworker_conn *conn, uint64_t id, size_t len)
{
	const struct koda_fs_frame frame = { .kind = KODA_FS_DATA,
					     .id = id,
					     .text = { { "", len } } };
	struct koda_fs_header header = koda_fs_frame_header(&frame);

	memcpy(conn->out + conn->waiting, &header, sizeof(header));
	conn->waiting += header.bytes;
	return conn->waiting < OUT_ENOUGH || fsworker_conn_flush(conn);
}
