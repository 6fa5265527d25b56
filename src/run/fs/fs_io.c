/* SPDX-License-Identifier: MIT */
/* Carries the bytes between a session and the worker's socket. */
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "run/fs/fs.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

/* Bytes of one recv(). */
#define PART ((size_t)128 << 10)

void koda_fs_io_end(struct koda_fs *fs, const struct koda_error *why)
{
	if (!fs->command)
		return;
	fs->why = *why;
	koda_fd_close(&fs->socket);
	koda_command_free(KODA_TAKE(fs->command));
	koda_fs_session_crash(&fs->session);
}

/* The socket is closed: the worker ends, or was never started. */
static int report_end(struct koda_fs *fs, struct koda_error *err)
{
	int r = koda_fs_worker_end(KODA_TAKE(fs->command), &fs->why);

	koda_fd_close(&fs->socket);
	koda_fs_session_crash(&fs->session);
	if (err)
		*err = fs->why;
	return r;
}

/* Ends a worker that cannot be spoken to any more. */
static int give_up(struct koda_fs *fs, int code, const struct koda_error *why,
		   struct koda_error *err)
{
	koda_fs_io_end(fs, why);
	if (err)
		*err = *why;
	return code;
}

/* Returns 1 if all was sent, 0 if the socket is full, -1 if it is closed. */
static int send_some(struct koda_fs *fs)
{
	struct koda_span out = koda_fs_session_out(&fs->session);
	ssize_t n;

	while (out.len > 0) {
		n = send(fs->socket, out.ptr, out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		koda_fs_session_sent(&fs->session, (size_t)n);
		out = koda_fs_session_out(&fs->session);
	}
	return 1;
}

/* Returns 1 if something was received, 0 if there is nothing, -1 at the end. Fails: as
 * koda_fs_session_feed. */
static int receive_some(struct koda_fs *fs, int *ret_state, struct koda_error *err)
{
	char *room;
	ssize_t n;
	int r = koda_fs_session_room(&fs->session, PART, &room, err);

	if (r < 0)
		return r;
	do {
		n = recv(fs->socket, room, PART, MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	*ret_state = n > 0 ? 1 : n < 0 && errno == EAGAIN ? 0 : -1;
	return n > 0 ? koda_fs_session_feed(&fs->session, (size_t)n, err) : KODA_OK;
}

int koda_fs_io(struct koda_fs *fs, struct koda_error *err)
{
	struct koda_error why = { .code = KODA_OK };
	int received = 1;
	int sent = 1;
	int r = KODA_OK;

	if (!fs->command) {
		if (err)
			*err = fs->why;
		return KODA_E_CHILD;
	}
	/* What came before the worker closed its socket is still taken. */
	while (r == KODA_OK && received > 0) {
		r = koda_fs_session_fill(&fs->session, &why);
		if (r == KODA_OK && sent >= 0)
			sent = send_some(fs);
		if (r == KODA_OK)
			r = receive_some(fs, &received, &why);
	}
	if (r == KODA_OK && received == 0)
		r = koda_fs_session_expire(&fs->session, koda_clock_now(), &why);
	if (r < 0)
		return give_up(fs, r, &why, err);
	return received < 0 ? report_end(fs, err) : KODA_OK;
}

static short wanted(const struct koda_fs *fs)
{
	return koda_fs_session_out(&fs->session).len > 0 || fs->session.sending ? POLLIN | POLLOUT
										: POLLIN;
}

int koda_fs_io_wait(struct koda_fs *fs, uint64_t deadline_ns, struct koda_error *err)
{
	struct pollfd polled = { .fd = fs->socket, .events = wanted(fs) };
	uint64_t expires = koda_fs_session_deadline(&fs->session);

	if (expires < deadline_ns)
		deadline_ns = expires;
	if (poll(&polled, 1, koda_clock_left_ms(deadline_ns)) < 0 && errno != EINTR)
		return koda_fail(err, KODA_E_SYS, errno, "cannot wait for the file worker");
	return KODA_OK;
}

void koda_fs_io_watch(struct koda_fs *fs)
{
	struct itimerspec spec = { .it_value = { 0 } };
	struct epoll_event event = { .events = EPOLLIN };
	uint64_t at_ns;

	if (fs->epoll < 0)
		return;
	if (fs->command) {
		event.events = (uint32_t)(unsigned short)wanted(fs);
		at_ns = koda_fs_session_deadline(&fs->session);
		if (epoll_ctl(fs->epoll, EPOLL_CTL_MOD, fs->socket, &event) < 0 && errno == ENOENT)
			(void)epoll_ctl(fs->epoll, EPOLL_CTL_ADD, fs->socket, &event);
	} else {
		at_ns = 1; /* koda_fs_step reports the end at once */
	}
	if (at_ns != KODA_DEADLINE_NEVER)
		spec.it_value = (struct timespec){ .tv_sec = (time_t)(at_ns / 1000000000U),
						   .tv_nsec = (long)(at_ns % 1000000000U) };
	(void)timerfd_settime(fs->timer, TFD_TIMER_ABSTIME, &spec, NULL);
}
