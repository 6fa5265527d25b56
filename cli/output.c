/* SPDX-License-Identifier: MIT */
#include "cli.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/fd.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

int cli_output_print(const char *bytes, size_t len, struct koda_error *err)
{
	int r = koda_fd_write_all(STDOUT_FILENO, bytes, len, err);

	if (r < 0)
		cli_error_place(err, "standard output");
	return r;
}

/* How long a reader of standard error may take for all messages of the program. */
#define TELL_NS 2000000000ULL

/* A pipe that poll calls ready takes PIPE_BUF bytes at once. */
void cli_output_warn(const char *bytes, size_t len)
{
	static uint64_t waited;
	uint64_t start = koda_clock_now();
	uint64_t deadline = start + TELL_NS - (waited < TELL_NS ? waited : TELL_NS);

	while (len > 0) {
		struct pollfd polled = { .fd = STDERR_FILENO, .events = POLLOUT };
		int ready = poll(&polled, 1, koda_clock_left_ms(deadline));
		ssize_t n;

		if (ready <= 0 && koda_clock_now() >= deadline)
			break;
		n = ready <= 0 ? 0 : write(STDERR_FILENO, bytes, len < PIPE_BUF ? len : PIPE_BUF);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			break;
		bytes += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	waited += koda_clock_now() - start;
}

int cli_output_escape(struct koda_buf *out, struct koda_span text)
{
	return koda_escape_text(out, text, "");
}
