/* SPDX-License-Identifier: MIT */
/* The event stream: one line of JSON for each event, written as it happens. */
#include "runner.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* How long the end waits for a reader that takes nothing. */
#define LAST_NS 2000000000ULL
/* How long the end waits for a reader that takes some bytes now and then. */
#define LAST_MOST_NS 4000000000ULL

static int fail_second(struct koda_error *err)
{
	return koda_fail(err, KODA_E_INVALID, 0,
			 "can be given only once, --events and --events-fd together");
}

/* Ignores SIGPIPE: a reader that goes away must not end the runner. Commands get the default. */
static void ignore_sigpipe(void)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	(void)sigaction(SIGPIPE, &ignore, NULL);
}

static int open_number(struct cli_events *events, const char *arg, struct koda_error *err)
{
	uint64_t number = 0;
	int r;

	if (events->fd >= 0)
		return fail_second(err);
	r = koda_parse_u64(arg, INT_MAX, &number, err);
	if (r < 0)
		return r;
	ignore_sigpipe();
	/* A copy that no child inherits. */
	events->fd = fcntl((int)number, F_DUPFD_CLOEXEC, 3);
	if (events->fd < 0)
		r = koda_fail(err, KODA_E_SYS, errno, "not an open descriptor");
	if (r < 0)
		cli_error_advise(err, "open it for writing, as 3> events.jsonl does for 3");
	return r;
}

static int open_file(struct cli_events *events, const char *path, struct koda_error *err)
{
	struct stat st;

	if (events->fd >= 0)
		return fail_second(err);
	ignore_sigpipe();
	/* A command may have made the file: symbolic links and FIFOs are not opened. */
	events->fd =
		open(path,
		     O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK,
		     0600);
	/* The number of a closed stream would be taken for that stream. */
	if (events->fd >= 0 && events->fd <= STDERR_FILENO) {
		int low = events->fd;

		events->fd = fcntl(low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		koda_fd_close(&low);
	}
	if (events->fd < 0 || fstat(events->fd, &st) < 0) {
		int r = koda_fail(err, KODA_E_SYS, errno, "cannot be written");

		cli_error_advise(err, "name a file, and no link, in a directory that is there and "
				      "that you may write");
		return r;
	}
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1 || st.st_uid != geteuid()) {
		koda_fd_close(&events->fd);
		return koda_fail(err, KODA_E_DENIED, 0,
				 "has to be a file of the user's own with no other name; use "
				 "--events-fd for anything else");
	}
	return KODA_OK;
}

int cli_events_open_fd(struct cli_events *events, const char *arg, struct koda_error *err)
{
	int r = open_number(events, arg, err);

	if (r < 0)
		cli_error_place(err, "--events-fd %.80s", arg);
	return r;
}

int cli_events_open_file(struct cli_events *events, const char *path, struct koda_error *err)
{
	int r = open_file(events, path, err);

	if (r < 0)
		cli_error_place(err, "--events %.80s", path);
	return r;
}

/* Writes at most PIPE_BUF bytes without waiting: a pipe takes them at once if poll() calls it
 * ready. O_NONBLOCK is not set, because the open file may be shared with other processes. */
static ssize_t write_part(int fd, const char *bytes, size_t len)
{
	struct pollfd polled = { .fd = fd, .events = POLLOUT };
	size_t part = len < PIPE_BUF ? len : PIPE_BUF;
	ssize_t n = send(fd, bytes, part, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n >= 0 || errno != ENOTSOCK)
		return n;
	if (poll(&polled, 1, 0) == 0) {
		errno = EAGAIN;
		return -1;
	}
	return write(fd, bytes, part);
}

/* Stops writing events. A reader that went away (EPIPE, ECONNRESET) is not worth a message; any
 * other error, such as a full disk, is told by cli_events_clear. */
static void give_up(struct cli_events *events, int sys_errno)
{
	if (sys_errno != EPIPE && sys_errno != ECONNRESET)
		events->failed = sys_errno;
	koda_fd_close(&events->fd);
}

/* Writes waiting events, as far as the reader takes them. */
static void write_waiting(struct cli_events *events)
{
	while (events->fd >= 0 && events->written < events->waiting.len) {
		ssize_t n = write_part(events->fd, events->waiting.ptr + events->written,
				       events->waiting.len - events->written);

		if (n >= 0)
			events->written += (size_t)n;
		else if (errno == EAGAIN)
			return;
		else if (errno != EINTR)
			give_up(events, errno);
	}
	events->waiting.len = 0;
	events->written = 0;
}

void cli_events_write(void *ctx, const struct koda_event *event)
{
	struct cli_events *events = ctx;
	struct koda_event told = *event;
	koda_auto_free char *line = NULL;

	events->ended = events->ended || event->type == KODA_EVENT_EXIT;
	if (events->explain)
		koda_explain_take_event(events->explain, event);
	if (event->type == KODA_EVENT_EXIT)
		told.data.exit.lost = events->lost;
	if (events->fd < 0 || koda_event_json(&told, &line, NULL) < 0)
		return;
	if ((events->waiting.len > CLI_EVENTS_KEPT && event->type != KODA_EVENT_EXIT &&
	     event->type != KODA_EVENT_LEFT_BEHIND) ||
	    koda_buf_add(&events->waiting, line, strlen(line)) < 0)
		events->lost++;
	write_waiting(events);
}

/* Writes the rest at the end, and waits for a slow reader for LAST_MOST_NS at most. */
static void finish_writing(struct cli_events *events)
{
	uint64_t last = koda_clock_now() + LAST_MOST_NS;
	uint64_t deadline = koda_clock_now() + LAST_NS;

	write_waiting(events);
	while (events->fd >= 0 && events->waiting.len > 0 && koda_clock_now() < deadline) {
		struct pollfd polled = { .fd = events->fd, .events = POLLOUT };
		size_t before = events->written;

		(void)poll(&polled, 1, koda_clock_left_ms(deadline));
		write_waiting(events);
		if (events->written != before && koda_clock_now() + LAST_NS < last)
			deadline = koda_clock_now() + LAST_NS;
	}
}

/* Returns the seconds since the epoch. */
static double now_secs(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void cli_events_refused(struct cli_events *events, const struct koda_error *err)
{
	char message[sizeof(err->field) + sizeof(err->message) + 2];
	const struct koda_event event = {
		.type = KODA_EVENT_EXIT,
		.time = now_secs(),
		.data.exit = { .code = CLI_EXIT_FAILED,
			       .end = err->code == KODA_E_SYS || err->code == KODA_E_UNSUPPORTED ||
						      err->code == KODA_E_CHILD
					      ? KODA_END_SETUP
					      : KODA_END_REFUSED,
			       .message = message },
	};

	(void)snprintf(message, sizeof(message), "%s%s%s", err->field, err->field[0] ? ": " : "",
		       err->message);

	if (!events->ended)
		cli_events_write(events, &event);
}

void cli_events_clear(struct cli_events *events)
{
	char text[256];
	char why[128];

	finish_writing(events);
	if (events->failed)
		(void)snprintf(text, sizeof(text),
			       CLI_PROGRAM ": events are lost, they cannot be written: %s\n",
			       strerror_r(events->failed, why, sizeof(why)));
	else if (events->lost > 0)
		(void)snprintf(text, sizeof(text),
			       CLI_PROGRAM ": %llu events are lost; their reader was too slow\n",
			       (unsigned long long)events->lost);
	if (events->failed || events->lost > 0)
		cli_output_warn(text, strlen(text));
	koda_explain_free(events->explain);
	koda_buf_clear(&events->waiting);
	koda_fd_close(&events->fd);
}
