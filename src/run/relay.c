/* SPDX-License-Identifier: MIT */
#include "run/relay.h"

#include "base/diag.h"
#include "base/fd.h"
#include "base/proc.h"
#include "base/quiet.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define CHUNK ((size_t)64 * 1024)

int koda_relay_open(struct koda_relay *relay, int from, int to, bool own_to, uint64_t ceiling,
		    struct koda_error *err)
{
	*relay = (struct koda_relay){
		.from = from, .to = to, .own_to = own_to, .end_mark = -1, .left = UINT64_MAX
	};
	relay->head_left = ceiling == UINT64_MAX ? UINT64_MAX : ceiling - ceiling / 2;
	relay->tail_size = ceiling == UINT64_MAX ? 0 : (size_t)(ceiling / 2);
	relay->pending = malloc(CHUNK);
	if (!relay->pending)
		return koda_fail_nomem(err);
	/* The pipe's end is ours alone; the caller's descriptor is shared with others. */
	(void)fcntl(own_to ? to : from, F_SETFL, O_NONBLOCK);
	return KODA_OK;
}

static void stop(struct koda_relay *relay)
{
	koda_fd_close(&relay->from);
	if (relay->own_to)
		koda_fd_close(&relay->to);
	relay->pending_len = 0;
}

bool koda_relay_wants(const struct koda_relay *relay, int *ret_fd, short *ret_events)
{
	if (relay->pending_len > 0) {
		*ret_fd = relay->to;
		*ret_events = POLLOUT;
		return true;
	}
	*ret_fd = relay->from;
	*ret_events = POLLIN;
	return relay->from >= 0;
}

/* Keeps the last tail_size bytes. The ring is made when it is first needed; without memory for it
 * only the count goes on. */
static void keep_tail(struct koda_relay *relay, const char *bytes, size_t len)
{
	if (!relay->tail && relay->tail_size > 0)
		relay->tail = malloc(relay->tail_size);
	for (size_t done = 0; relay->tail && done < len;) {
		size_t at = (size_t)((relay->tail_total + done) % relay->tail_size);
		size_t n = len - done < relay->tail_size - at ? len - done : relay->tail_size - at;

		memcpy(relay->tail + at, bytes + done, n);
		done += n;
	}
	relay->tail_total += len;
}

/* Decides what of the chunk just read passes at once. */
static void take_in(struct koda_relay *relay, size_t len)
{
	size_t now = len;

	relay->total += len;
	if (relay->tap)
		relay->tap(relay->tap_ctx, relay->pending, len);
	if (relay->head_left != UINT64_MAX) {
		now = relay->head_left < len ? (size_t)relay->head_left : len;
		relay->head_left -= now;
		keep_tail(relay, relay->pending + now, len - now);
	}
	relay->pending_at = 0;
	relay->pending_len = relay->to >= 0 ? now : 0;
	relay->last = relay->pending[len - 1];
}

/* A terminal has no end of file but a character for it, which counts only at the start of a line:
 * before that, the first one ends the line. */
static void mark_end(struct koda_relay *relay)
{
	memset(relay->pending, relay->end_mark, 2);
	relay->pending_at = 0;
	relay->pending_len = relay->total == 0 || relay->last == '\n' ? 1 : 2;
	koda_fd_close(&relay->from);
}

static void read_some(struct koda_relay *relay)
{
	ssize_t n = read(relay->from, relay->pending, relay->left < CHUNK ? relay->left : CHUNK);
	/* Whoever was given the command's end has read what was there. */
	bool is_robbed = n < 0 && errno == EAGAIN && relay->left != UINT64_MAX;

	if (n > 0) {
		take_in(relay, (size_t)n);
		if (relay->left != UINT64_MAX)
			relay->left -= (uint64_t)n;
		if (relay->left == 0)
			koda_fd_close(&relay->from);
		return;
	}
	if (n == 0 && relay->end_mark >= 0)
		mark_end(relay);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR) || is_robbed)
		stop(relay);
}

/* The caller's descriptor may be shared and stays blocking; a write of PIPE_BUF bytes after poll
 * said yes does not block, so a slow reader never keeps the deadline from being seen. */
static bool can_write(const struct koda_relay *relay)
{
	struct pollfd p = { .fd = relay->to, .events = POLLOUT };

	return poll(&p, 1, 0) > 0;
}

/* A reader that goes away has what it wanted; a full disk has not. */
static void note_failure(struct koda_relay *relay, int sys_errno)
{
	if (sys_errno != EPIPE && sys_errno != ECONNRESET)
		relay->failed = sys_errno;
}

static void write_chunks(struct koda_relay *relay)
{
	while (relay->pending_len > 0 && can_write(relay)) {
		size_t len = relay->pending_len < PIPE_BUF ? relay->pending_len : PIPE_BUF;
		ssize_t n = write(relay->to, relay->pending + relay->pending_at, len);

		if (n > 0) {
			relay->pending_at += (size_t)n;
			relay->pending_len -= (size_t)n;
		} else if (n < 0 && errno != EAGAIN && errno != EINTR) {
			note_failure(relay, errno);
			stop(relay); /* nobody takes any more */
		}
	}
}

static void write_some(struct koda_relay *relay)
{
	struct koda_quiet quiet;

	if (relay->pending_len == 0)
		return;
	koda_quiet_begin(&quiet);
	write_chunks(relay);
	koda_quiet_end(&quiet);
}

void koda_relay_last(struct koda_relay *relay)
{
	int there = 0;

	if (relay->from < 0)
		return;
	if (ioctl(relay->from, FIONREAD, &there) < 0 || there < 0)
		there = 0;
	relay->left = (uint64_t)there;
	if (relay->left == 0)
		koda_fd_close(&relay->from);
}

void koda_relay_step(struct koda_relay *relay)
{
	if (relay->pending_len == 0 && relay->from >= 0)
		read_some(relay);
	write_some(relay);
}

uint64_t koda_relay_dropped(const struct koda_relay *relay)
{
	return relay->tail_total > relay->tail_size ? relay->tail_total - relay->tail_size : 0;
}

/* Waits for room, at most until the deadline. */
static bool await_room(const struct koda_relay *relay, uint64_t deadline_ns)
{
	struct pollfd p = { .fd = relay->to, .events = POLLOUT };
	int n;

	do {
		n = poll(&p, 1, koda_clock_left_ms(deadline_ns));
	} while (n < 0 ? errno == EINTR : n == 0 && koda_clock_now() < deadline_ns);
	return n > 0;
}

/* In pieces for which there is room, so that a reader that stops reading is noticed. */
static bool write_all(struct koda_relay *relay, const char *bytes, size_t len, uint64_t deadline_ns)
{
	while (len > 0) {
		ssize_t n;

		if (!await_room(relay, deadline_ns))
			return false;
		n = write(relay->to, bytes, len < PIPE_BUF ? len : PIPE_BUF);
		if (n < 0 && errno != EAGAIN && errno != EINTR) {
			note_failure(relay, errno);
			return false;
		}
		bytes += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return true;
}

/* The line that tells what is missing, then the ring from its oldest byte. */
static bool write_tail(struct koda_relay *relay, uint64_t dropped, uint64_t deadline_ns)
{
	size_t kept = (size_t)(relay->tail_total - dropped);
	size_t start =
		dropped && relay->tail_size ? (size_t)(relay->tail_total % relay->tail_size) : 0;
	char line[80];
	int n;

	if (dropped) {
		n = snprintf(line, sizeof(line), "\n[... %llu bytes left out ...]\n",
			     (unsigned long long)dropped);
		if (!write_all(relay, line, (size_t)n, deadline_ns))
			return false;
	}
	if (!relay->tail)
		return true;
	return write_all(relay, relay->tail + start, kept - start, deadline_ns) &&
	       write_all(relay, relay->tail, start, deadline_ns);
}

void koda_relay_finish(struct koda_relay *relay, uint64_t deadline_ns)
{
	uint64_t dropped = koda_relay_dropped(relay);
	struct koda_quiet quiet;

	if (relay->to < 0 || (!dropped && relay->tail_total == 0))
		return;
	koda_quiet_begin(&quiet);
	(void)write_tail(relay, dropped, deadline_ns);
	koda_quiet_end(&quiet);
}

void koda_relay_clear(struct koda_relay *relay)
{
	stop(relay);
	free(relay->pending);
	free(relay->tail);
	*relay = (struct koda_relay)KODA_RELAY_INIT;
}
