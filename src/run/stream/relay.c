/* SPDX-License-Identifier: MIT */
#include "run/stream/relay.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/sigguard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define CHUNK ((size_t)64 * 1024)
/* A command that writes so much gets a larger pipe, so that it and this process take fewer turns.
 * Not from the start: the kernel limits what all pipes of a user may hold. */
#define MUCH      ((uint64_t)1 << 20)
#define MUCH_PIPE (512 * 1024)
#define TURNS     16

/* write() to a terminal may block although poll() reports POLLOUT. O_NONBLOCK belongs to the open
 * file, which other processes share, so the terminal is opened once more. Returns -1 if to is no
 * terminal, or cannot be opened: the relay then writes to it as it is. The master of a
 * pseudoterminal is left alone, because opening it would make another pair. */
static int open_again(int to)
{
	char path[32];
	unsigned int number;

	if (to < 0 || !isatty(to) || ioctl(to, TIOCGPTN, &number) == 0)
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", to);
	return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* Sets up what all relays have. A relay without room for its bytes is of no use. */
static int prepare(struct koda_relay *relay, int from, int to, struct koda_error *err)
{
	*relay = (struct koda_relay)KODA_RELAY_INIT;
	relay->from = from;
	relay->to.fd = to;
	relay->left = UINT64_MAX;
	relay->head_left = UINT64_MAX;
	relay->pending = malloc(CHUNK);
	if (relay->pending)
		return KODA_OK;
	koda_relay_clear(relay);
	return koda_fail_nomem(err);
}

int koda_relay_open_input(struct koda_relay *relay, int from, int to, struct koda_error *err)
{
	int r = prepare(relay, from, to, err);

	if (r < 0)
		return r;
	relay->is_input = true;
	(void)fcntl(to, F_SETFL, O_NONBLOCK);
	return KODA_OK;
}

int koda_relay_open_bytes(struct koda_relay *relay, char *bytes, size_t len, int to,
			  struct koda_error *err)
{
	char *room;
	int r = koda_relay_open_input(relay, -1, to, err);

	if (r < 0)
		goto out;
	if (len > CHUNK) {
		room = realloc(relay->pending, len);
		if (!room) {
			koda_relay_clear(relay);
			r = koda_fail_nomem(err);
			goto out;
		}
		relay->pending = room;
	}
	memcpy(relay->pending, bytes, len);
	relay->pending_len = len;
	relay->ends_after_pending = true;
	relay->total = len;
	relay->last = len > 0 ? bytes[len - 1] : '\n';
out:
	free(bytes);
	return r;
}

int koda_relay_open_output(struct koda_relay *relay, int from, const struct koda_relay_sink *to,
			   uint64_t limit, struct koda_error *err)
{
	int terminal;
	int r = prepare(relay, from, to->fd, err);

	if (r < 0)
		return r;
	relay->to = *to;
	terminal = open_again(to->fd);
	if (terminal >= 0) {
		koda_fd_close(&relay->to.fd);
		relay->to.fd = terminal;
	}
	if (limit != UINT64_MAX) {
		relay->head_left = limit - limit / 2;
		relay->tail_size = (size_t)(limit / 2);
	}
	(void)fcntl(from, F_SETFL, O_NONBLOCK);
	return KODA_OK;
}

static void stop(struct koda_relay *relay)
{
	koda_fd_close(&relay->from);
	/* The command reads end of file. */
	if (relay->is_input)
		koda_fd_close(&relay->to.fd);
	relay->ends_after_pending = false;
	relay->pending_len = 0;
	relay->tail_left = 0;
}

bool koda_relay_wants(const struct koda_relay *relay, int *ret_fd, short *ret_events)
{
	if (relay->pending_len > 0 || relay->tail_left > 0 || relay->ends_after_pending) {
		*ret_fd = relay->to.fd;
		*ret_events = POLLOUT;
		return true;
	}
	*ret_fd = relay->from;
	*ret_events = POLLIN;
	return relay->from >= 0;
}

/* Keeps the last tail_size bytes. The ring is allocated when it is first needed. If that fails,
 * the bytes are only counted. */
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

/* Has the first len bytes of pending written, or passes them to the function of the sink. */
static void offer(struct koda_relay *relay, size_t len)
{
	relay->pending_at = 0;
	relay->pending_len = relay->to.fd >= 0 ? len : 0;
	if (relay->to.take && len > 0)
		relay->to.take(relay->to.ctx, relay->to.number, relay->pending, len);
}

/* Passes the head of the chunk just read on, and keeps the rest in the ring. */
static void take_in(struct koda_relay *relay, size_t len)
{
	size_t now = len;

	if (relay->to.fd < 0 && relay->total < MUCH && relay->total + len >= MUCH)
		(void)fcntl(relay->from, F_SETPIPE_SZ, MUCH_PIPE);
	relay->total += len;
	if (relay->tap)
		relay->tap(relay->tap_ctx, relay->pending, len);
	if (relay->head_left != UINT64_MAX) {
		now = relay->head_left < len ? (size_t)relay->head_left : len;
		relay->head_left -= now;
		keep_tail(relay, relay->pending + now, len - now);
	}
	relay->last = relay->pending[len - 1];
	offer(relay, now);
}

/* A terminal's end of file is the character VEOF at the start of a line. Within a line, a first one
 * is needed that ends the line. */
static void mark_end(struct koda_relay *relay)
{
	memset(relay->pending, relay->end_mark, 2);
	relay->pending_at = 0;
	relay->pending_len = relay->total == 0 || relay->last == '\n' ? 1 : 2;
	relay->ends_after_pending = false;
	koda_fd_close(&relay->from);
}

/* The source has ended. */
static void end_source(struct koda_relay *relay)
{
	if (relay->end_mark >= 0)
		mark_end(relay);
	else
		stop(relay);
}

/* Returns whether something was read. */
static bool read_some(struct koda_relay *relay)
{
	ssize_t n = read(relay->from, relay->pending, relay->left < CHUNK ? relay->left : CHUNK);
	/* Another process that holds the pipe has read the bytes that koda_relay_last counted. */
	bool is_robbed = n < 0 && errno == EAGAIN && relay->left != UINT64_MAX;

	if (n > 0) {
		take_in(relay, (size_t)n);
		if (relay->left != UINT64_MAX)
			relay->left -= (uint64_t)n;
		if (relay->left == 0)
			koda_fd_close(&relay->from);
		return true;
	}
	if (n == 0)
		end_source(relay);
	else if ((errno != EAGAIN && errno != EINTR) || is_robbed)
		stop(relay);
	return false;
}

/* Reads on while there is more, instead of polling for each part. Not for a callback, which may
 * free the command. The other streams get their turn in between. */
static void read_many(struct koda_relay *relay)
{
	for (int turns = relay->to.keeps ? TURNS : 1; turns > 0 && relay->from >= 0; turns--)
		if (!read_some(relay))
			return;
}

/* The caller's descriptor may be shared and stays blocking. After POLLOUT a write of PIPE_BUF bytes
 * to a pipe, a socket or a file does not block, so a slow reader cannot delay the deadline. */
static bool can_write(const struct koda_relay *relay)
{
	struct pollfd p = { .fd = relay->to.fd, .events = POLLOUT };

	return poll(&p, 1, 0) > 0;
}

/* EPIPE and ECONNRESET are no loss: the reader wanted no more. ENOSPC is one. */
static void note_failure(struct koda_relay *relay, int sys_errno)
{
	if (sys_errno != EPIPE && sys_errno != ECONNRESET)
		relay->failed = sys_errno;
}

static void write_chunks(struct koda_relay *relay)
{
	while (relay->pending_len > 0 && can_write(relay)) {
		size_t len = relay->pending_len < PIPE_BUF ? relay->pending_len : PIPE_BUF;
		ssize_t n = write(relay->to.fd, relay->pending + relay->pending_at, len);

		if (n > 0) {
			relay->pending_at += (size_t)n;
			relay->pending_len -= (size_t)n;
		} else if (n < 0 && errno == EAGAIN) {
			return; /* poll and write of a terminal disagree about its room */
		} else if (n < 0 && errno != EINTR) {
			note_failure(relay, errno);
			stop(relay); /* the rest cannot be written */
		}
	}
}

/* Moves the next part of the ring into pending, at most up to the end of the ring. */
static void take_tail(struct koda_relay *relay)
{
	size_t at = (size_t)((relay->tail_total - relay->tail_left) % relay->tail_size);
	size_t n = relay->tail_left < CHUNK ? relay->tail_left : CHUNK;

	n = n < relay->tail_size - at ? n : relay->tail_size - at;
	memcpy(relay->pending, relay->tail + at, n);
	relay->tail_left -= n;
	offer(relay, n);
}

static void write_some(struct koda_relay *relay)
{
	struct koda_sigguard quiet;

	if (relay->pending_len == 0)
		return;
	koda_sigguard_begin(&quiet);
	write_chunks(relay);
	koda_sigguard_end(&quiet);
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
	if (relay->pending_len == 0 && relay->tail_left > 0)
		take_tail(relay);
	else if (relay->pending_len == 0 && relay->from >= 0)
		read_many(relay);
	write_some(relay);
	if (relay->ends_after_pending && relay->pending_len == 0) {
		end_source(relay);
		write_some(relay);
	}
}

uint64_t koda_relay_dropped(const struct koda_relay *relay)
{
	return relay->tail_total > relay->tail_size ? relay->tail_total - relay->tail_size : 0;
}

/* Begins with the line that tells what is missing; the ring follows, from its oldest byte. */
bool koda_relay_finish(struct koda_relay *relay)
{
	uint64_t dropped = koda_relay_dropped(relay);
	int n;

	if (relay->tail_begun || (relay->to.fd < 0 && !relay->to.take) || relay->tail_total == 0)
		return false;
	relay->tail_begun = true;
	relay->tail_left = relay->tail ? (size_t)(relay->tail_total - dropped) : 0;
	if (dropped) {
		n = snprintf(relay->pending, CHUNK, "\n[... %llu bytes left out ...]\n",
			     (unsigned long long)dropped);
		offer(relay, (size_t)n);
	}
	while (relay->to.take && relay->tail_left > 0)
		take_tail(relay);
	return relay->pending_len > 0 || relay->tail_left > 0;
}

void koda_relay_clear(struct koda_relay *relay)
{
	stop(relay);
	koda_fd_close(&relay->to.fd);
	free(relay->pending);
	free(relay->tail);
	*relay = (struct koda_relay)KODA_RELAY_INIT;
}
