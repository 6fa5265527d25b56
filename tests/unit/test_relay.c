/* SPDX-License-Identifier: MIT */
/* Bytes on their way: all of them, at once, within the limit, and never waiting. */
#include "koda_test.h"

#include "base/buf.h"
#include "base/fd.h"
#include "run/stream/relay.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define MANY ((size_t)1 << 20)

static char *pattern(size_t len)
{
	char *text = malloc(len + 1);

	assert_non_null(text);
	for (size_t i = 0; i < len; i++)
		text[i] = (char)('a' + i % 23);
	text[len] = '\0';
	return text;
}

/* Opens an output relay to a duplicate of to, which stays the caller's. */
static void open_relay(struct koda_relay *relay, int from, int to, uint64_t limit)
{
	const struct koda_relay_sink sink = { .fd = to < 0 ? -1 : fcntl(to, F_DUPFD_CLOEXEC, 3) };
	struct koda_error err = { 0 };

	assert_true(to < 0 || sink.fd >= 0);
	KODA_ASSERT_OK(koda_relay_open_output(relay, from, &sink, limit, &err), err);
}

/* Lets len bytes pass through an output relay with that limit; what comes out is left in out. */
static void pass(const char *text, size_t len, uint64_t limit, struct koda_buf *out,
		 uint64_t *ret_dropped)
{
	koda_auto_fd int end = -1;
	koda_auto_fd int to = memfd_create("to", MFD_CLOEXEC);
	struct koda_relay relay = KODA_RELAY_INIT;
	struct koda_error err = { 0 };
	int from = -1;
	size_t sent = 0;
	short events;
	int fd;

	KODA_ASSERT_OK(koda_fd_pipe(&from, &end, &err), err);
	open_relay(&relay, from, to, limit);
	while (sent < len) {
		size_t n = len - sent < 4096 ? len - sent : 4096;

		assert_int_equal(write(end, text + sent, n), (ssize_t)n);
		sent += n;
		koda_relay_step(&relay);
	}
	koda_fd_close(&end);
	for (int i = 0; i < 10000 && koda_relay_wants(&relay, &fd, &events); i++)
		koda_relay_step(&relay);
	assert_false(koda_relay_wants(&relay, &fd, &events));
	if (koda_relay_finish(&relay))
		assert_true(koda_relay_wants(&relay, &fd, &events));
	for (int i = 0; i < 10000 && koda_relay_wants(&relay, &fd, &events); i++)
		koda_relay_step(&relay);
	assert_false(koda_relay_wants(&relay, &fd, &events));
	assert_false(koda_relay_finish(&relay)); /* once is enough */
	assert_int_equal(relay.total, len);
	*ret_dropped = koda_relay_dropped(&relay);
	koda_relay_clear(&relay);
	assert_int_equal(lseek(to, 0, SEEK_SET), 0);
	KODA_ASSERT_OK(koda_fd_read_all(to, out, &err), err);
}

static void everything_passes_without_a_limit(void **state)
{
	static const size_t sizes[] = { 0, 1, 4095, 4096, 65536, 65537, MANY };

	(void)state;
	KODA_EACH(size, sizes) {
		koda_auto_buf struct koda_buf out = KODA_BUF_INIT(2 * MANY);
		char *text = pattern(*size);
		uint64_t dropped = 1;

		pass(text, *size, UINT64_MAX, &out, &dropped);
		assert_int_equal(dropped, 0);
		assert_int_equal(out.len, *size);
		if (*size)
			assert_memory_equal(out.ptr, text, *size);
		free(text);
	}
}

static void head_and_tail_are_kept(void **state)
{
	static const struct {
		size_t len;
		uint64_t limit;
	} rows[] = { { 10, 10 },     { 11, 10 },        { 100, 10 },     { 100, 11 },
		     { 4096, 4096 }, { MANY, 4096 },    { MANY, 65536 }, { MANY, MANY },
		     { MANY, 2 },    { MANY, MANY - 1 } };

	(void)state;
	KODA_EACH(row, rows) {
		koda_auto_buf struct koda_buf out = KODA_BUF_INIT(2 * MANY);
		size_t limit = (size_t)row->limit;
		size_t head = limit - limit / 2;
		char *text = pattern(row->len);
		uint64_t dropped = 0;
		char line[80];

		pass(text, row->len, row->limit, &out, &dropped);
		assert_int_equal(dropped, row->len > limit ? row->len - limit : 0);
		if (dropped == 0) {
			assert_int_equal(out.len, row->len);
			assert_memory_equal(out.ptr, text, row->len);
		} else {
			(void)snprintf(line, sizeof(line), "\n[... %llu bytes left out ...]\n",
				       (unsigned long long)dropped);
			assert_int_equal(out.len, limit + strlen(line));
			assert_memory_equal(out.ptr, text, head);
			assert_memory_equal(out.ptr + head, line, strlen(line));
			assert_memory_equal(out.ptr + out.len - limit / 2,
					    text + row->len - limit / 2, limit / 2);
		}
		free(text);
	}
}

static void the_head_is_not_held_back(void **state)
{
	koda_auto_fd int end = -1;
	koda_auto_fd int to = memfd_create("to", MFD_CLOEXEC);
	struct koda_relay relay = KODA_RELAY_INIT;
	struct koda_error err = { 0 };
	int from = -1;

	(void)state;
	KODA_ASSERT_OK(koda_fd_pipe(&from, &end, &err), err);
	open_relay(&relay, from, to, 100);
	assert_int_equal(write(end, "abc", 3), 3);
	koda_relay_step(&relay);
	assert_int_equal(lseek(to, 0, SEEK_END), 3);
	/* Nothing to read: it does not wait. */
	koda_relay_step(&relay);
	koda_relay_clear(&relay);
}

static void output_to_nowhere_is_counted(void **state)
{
	koda_auto_fd int end = -1;
	struct koda_relay relay = KODA_RELAY_INIT;
	struct koda_error err = { 0 };
	int from = -1;

	(void)state;
	KODA_ASSERT_OK(koda_fd_pipe(&from, &end, &err), err);
	open_relay(&relay, from, -1, 2);
	assert_int_equal(write(end, "abcdef", 6), 6);
	koda_relay_step(&relay);
	assert_false(koda_relay_finish(&relay));
	assert_int_equal(relay.total, 6);
	assert_int_equal(koda_relay_dropped(&relay), 4);
	koda_relay_clear(&relay);
}

/* A reader that takes nothing holds up nobody: step returns, and asks to be called when there is
 * room. */
static void a_slow_reader_is_not_waited_for(void **state)
{
	koda_auto_fd int end = -1;
	koda_auto_fd int reader = -1;
	koda_auto_fd int to = -1;
	struct koda_relay relay = KODA_RELAY_INIT;
	struct koda_error err = { 0 };
	char *text = pattern(65536);
	int from = -1;
	short events;
	int fd;

	(void)state;
	KODA_ASSERT_OK(koda_fd_pipe(&from, &end, &err), err);
	KODA_ASSERT_OK(koda_fd_pipe(&reader, &to, &err), err);
	open_relay(&relay, from, to, UINT64_MAX);
	(void)fcntl(end, F_SETFL, O_NONBLOCK);
	for (int i = 0; i < 8; i++) {
		(void)!write(end, text, 65536);
		koda_relay_step(&relay);
	}
	assert_true(koda_relay_wants(&relay, &fd, &events));
	assert_int_equal(fd, relay.to.fd);
	assert_int_equal(events, POLLOUT);
	assert_int_equal(fcntl(to, F_GETFL) & O_NONBLOCK, 0);
	koda_relay_clear(&relay);
	free(text);
}

/* Nor is it for the tail, which goes on when there is room again. */
static void a_tail_that_nobody_reads_is_not_waited_for(void **state)
{
	koda_auto_fd int end = -1;
	koda_auto_fd int reader = -1;
	koda_auto_fd int to = -1;
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(2 * MANY);
	struct koda_relay relay = KODA_RELAY_INIT;
	struct koda_error err = { 0 };
	char *text = pattern(MANY);
	char part[4096];
	int from = -1;
	short events;
	int fd;

	(void)state;
	KODA_ASSERT_OK(koda_fd_pipe(&from, &end, &err), err);
	KODA_ASSERT_OK(koda_fd_pipe(&reader, &to, &err), err);
	open_relay(&relay, from, to, 2 * MANY);
	relay.head_left = 0;
	for (size_t sent = 0; sent < MANY; sent += 4096) {
		assert_int_equal(write(end, text + sent, 4096), 4096);
		koda_relay_step(&relay);
	}
	koda_fd_close(&end);
	koda_relay_step(&relay);
	assert_true(koda_relay_finish(&relay));
	for (int i = 0; i < 100; i++)
		koda_relay_step(&relay);
	assert_true(koda_relay_wants(&relay, &fd, &events));
	assert_int_equal(fd, relay.to.fd);
	assert_int_equal(events, POLLOUT);
	while (out.len < MANY) {
		ssize_t n = read(reader, part, sizeof(part));

		assert_true(n > 0);
		assert_int_equal(koda_buf_add(&out, part, (size_t)n), KODA_OK);
		koda_relay_step(&relay);
	}
	assert_memory_equal(out.ptr, text, MANY);
	assert_false(koda_relay_wants(&relay, &fd, &events));
	koda_relay_clear(&relay);
	free(text);
}

/* The end of what it reads from closes what it owns, and only that. */
static void ends_are_passed_on(void **state)
{
	koda_auto_fd int end = -1;
	koda_auto_fd int reader = -1;
	struct koda_relay relay = KODA_RELAY_INIT;
	struct koda_error err = { 0 };
	int from = -1;
	int to = -1;
	short events;
	char byte;
	int fd;

	(void)state;
	KODA_ASSERT_OK(koda_fd_pipe(&from, &end, &err), err);
	KODA_ASSERT_OK(koda_fd_pipe(&reader, &to, &err), err);
	KODA_ASSERT_OK(koda_relay_open_input(&relay, from, to, &err), err);
	assert_int_equal(write(end, "x", 1), 1);
	koda_relay_step(&relay);
	koda_fd_close(&end);
	koda_relay_step(&relay);
	assert_false(koda_relay_wants(&relay, &fd, &events));
	assert_int_equal(read(reader, &byte, 1), 1);
	assert_int_equal(read(reader, &byte, 1), 0);
	koda_relay_clear(&relay);
	koda_relay_clear(&relay); /* twice is fine */
}

static void what_is_there_is_the_last(void **state)
{
	koda_auto_fd int end = -1;
	koda_auto_fd int to = memfd_create("to", MFD_CLOEXEC);
	struct koda_relay relay = KODA_RELAY_INIT;
	char got[16] = { 0 };
	int from = -1;
	short events;
	int fd;

	(void)state;
	assert_int_equal(koda_fd_pipe(&from, &end, NULL), KODA_OK);
	open_relay(&relay, from, to, UINT64_MAX);
	assert_int_equal(write(end, "last", 4), 4);
	koda_relay_last(&relay);
	/* Somebody else has the other end, and goes on. */
	assert_int_equal(write(end, "more", 4), 4);
	for (int i = 0; i < 10 && koda_relay_wants(&relay, &fd, &events); i++)
		koda_relay_step(&relay);
	assert_false(koda_relay_wants(&relay, &fd, &events));
	assert_int_equal(pread(to, got, sizeof(got), 0), 4);
	assert_string_equal(got, "last");
	koda_relay_clear(&relay);
}

/* A pipe's end can be opened from the other, by whoever was given that. */
static void what_somebody_else_has_read_is_not_waited_for(void **state)
{
	koda_auto_fd int end = -1;
	koda_auto_fd int thief = -1;
	koda_auto_fd int to = memfd_create("to", MFD_CLOEXEC);
	struct koda_relay relay = KODA_RELAY_INIT;
	char got[16] = { 0 };
	int from = -1;
	short events;
	int fd;

	(void)state;
	assert_int_equal(koda_fd_pipe(&from, &end, NULL), KODA_OK);
	thief = fcntl(from, F_DUPFD_CLOEXEC, 3);
	assert_true(thief >= 0);
	open_relay(&relay, from, to, UINT64_MAX);
	assert_int_equal(write(end, "last", 4), 4);
	koda_relay_last(&relay);
	assert_int_equal(read(thief, got, 3), 3);
	for (int i = 0; i < 10 && koda_relay_wants(&relay, &fd, &events); i++)
		koda_relay_step(&relay);
	assert_false(koda_relay_wants(&relay, &fd, &events));
	assert_int_equal(relay.total, 1);
	koda_relay_clear(&relay);
}

/* poll says that a terminal can be written to when there is room for a byte, and a blocking write
 * of more waits for a reader. */
static void a_terminal_that_nobody_reads_is_not_waited_for(void **state)
{
	koda_auto_fd int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	koda_auto_fd int slave = -1;
	koda_auto_fd int end = -1;
	struct koda_relay relay = KODA_RELAY_INIT;
	char *text = pattern(MANY);
	size_t sent = 0;
	int from = -1;

	(void)state;
	/* Each line end becomes two bytes on the way, which poll does not know of. */
	for (size_t i = 1; i < MANY; i += 2)
		text[i] = '\n';
	assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(slave >= 0);
	assert_int_equal(koda_fd_pipe(&from, &end, NULL), KODA_OK);
	assert_int_equal(fcntl(end, F_SETFL, O_NONBLOCK), 0);
	open_relay(&relay, from, slave, UINT64_MAX);
	(void)alarm(20);
	for (int i = 0; i < 100; i++) {
		ssize_t n = write(end, text + sent, MANY - sent);

		sent += n > 0 ? (size_t)n : 0;
		koda_relay_step(&relay);
	}
	(void)alarm(0);
	assert_true(relay.total > relay.pending_len); /* a part of it has gone */
	assert_true(relay.pending_len > 0);
	assert_int_equal(relay.failed, 0);
	assert_int_equal(fcntl(slave, F_GETFL) & O_NONBLOCK, 0);
	koda_relay_clear(&relay);
	assert_true(fcntl(slave, F_GETFD) >= 0); /* the caller's own stays open */
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_passes_without_a_limit),
		cmocka_unit_test(head_and_tail_are_kept),
		cmocka_unit_test(the_head_is_not_held_back),
		cmocka_unit_test(output_to_nowhere_is_counted),
		cmocka_unit_test(what_is_there_is_the_last),
		cmocka_unit_test(what_somebody_else_has_read_is_not_waited_for),
		cmocka_unit_test(a_slow_reader_is_not_waited_for),
		cmocka_unit_test(a_tail_that_nobody_reads_is_not_waited_for),
		cmocka_unit_test(a_terminal_that_nobody_reads_is_not_waited_for),
		cmocka_unit_test(ends_are_passed_on),
	};

	return KODA_TEST_RUN(tests);
}
