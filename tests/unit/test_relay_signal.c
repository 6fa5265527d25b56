/* SPDX-License-Identifier: MIT */
/* A relay whose reader is gone, or whose file is full, sends no signal to the host. */
#include "koda_test.h"

#include "../lib/child.h"
#include "base/fd.h"
#include "run/stream/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* A command that does not read its input must not end the program that started it. */
static int write_to_nobody(void *arg)
{
	struct koda_relay relay = KODA_RELAY_INIT;
	int from = -1;
	int to = -1;
	int end = -1;
	int reader = -1;
	short events;
	int fd;

	(void)arg;
	(void)sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
	KODA_CHILD_CHECK(koda_fd_pipe(&from, &end, NULL) == KODA_OK);
	KODA_CHILD_CHECK(koda_fd_pipe(&reader, &to, NULL) == KODA_OK);
	KODA_CHILD_CHECK(koda_relay_open_input(&relay, from, to, NULL) == KODA_OK);
	(void)close(reader);
	KODA_CHILD_CHECK(write(end, "x", 1) == 1);
	koda_relay_step(&relay);
	KODA_CHILD_CHECK(!koda_relay_wants(&relay, &fd, &events));
	koda_relay_clear(&relay);
	(void)close(end);
	return 0;
}

static void a_reader_that_is_gone_is_no_signal(void **state)
{
	(void)state;
	assert_int_equal(koda_child_run(write_to_nobody, NULL), 0);
}

/* Nor must a file that may not grow any more; what writes to it besides has the signal as always.
 */
static int write_too_much(void *besides)
{
	static const struct rlimit limit = { 4096, RLIM_INFINITY };
	struct koda_relay relay = KODA_RELAY_INIT;
	struct koda_relay_sink sink = { .fd = -1 };
	char text[8192] = { 0 };
	int to = memfd_create("to", MFD_CLOEXEC);
	int from = -1;
	int end = -1;

	(void)sigaction(SIGXFSZ, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
	KODA_CHILD_CHECK(to >= 0 && setrlimit(RLIMIT_FSIZE, &limit) == 0);
	KODA_CHILD_CHECK(koda_fd_pipe(&from, &end, NULL) == KODA_OK);
	sink.fd = fcntl(to, F_DUPFD_CLOEXEC, 3);
	KODA_CHILD_CHECK(koda_relay_open_output(&relay, from, &sink, UINT64_MAX, NULL) == KODA_OK);
	KODA_CHILD_CHECK(write(end, text, sizeof(text)) == (ssize_t)sizeof(text));
	koda_relay_step(&relay);
	KODA_CHILD_CHECK(relay.failed == EFBIG);
	koda_relay_clear(&relay);
	if (besides)
		(void)!write(to, text, 1);
	(void)close(end);
	(void)close(to);
	return 0;
}

static void a_file_that_is_full_is_no_signal(void **state)
{
	assert_int_equal(koda_child_run(write_too_much, NULL), 0);
	assert_int_equal(koda_child_run(write_too_much, state), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reader_that_is_gone_is_no_signal),
		cmocka_unit_test(a_file_that_is_full_is_no_signal),
	};

	return KODA_TEST_RUN(tests);
}
