/* SPDX-License-Identifier: MIT */
/* T-85. The launcher's side of descriptors that are handed over: nothing that the message says is
 * believed, and nothing of one that is refused is kept. */
#include "koda_test.h"

#include "../lib/child.h"
#include "base/fd.h"
#include "base/macros.h"
#include "wire/passed_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool receive(const struct koda_passed_fds *handed, size_t len, const int *fds, size_t count,
		    struct koda_passed_fds *ret_handed, int *got)
{
	struct koda_error err = { 0 };
	int ours = -1;
	int theirs = -1;
	bool taken;

	KODA_ASSERT_OK(koda_fd_socketpair(&ours, &theirs, &err), err);
	if (len > 0)
		KODA_ASSERT_OK(koda_fd_send(ours, handed, len, fds, count, &err), err);
	taken = koda_passed_fds_receive(theirs, ret_handed, got);
	koda_fd_close(&ours);
	koda_fd_close(&theirs);
	return taken;
}

static void takes_what_was_sent(void **state)
{
	const struct koda_passed_fds handed = { .count = 2, .numbers = { 127, 3 } };
	const int fds[] = { memfd_create("a", MFD_CLOEXEC), memfd_create("b", MFD_CLOEXEC) };
	int got[KODA_PASSED_FDS_MAX];
	struct koda_passed_fds back;
	struct stat wanted;
	struct stat st;

	(void)state;
	assert_true(receive(&handed, sizeof(handed), fds, 2, &back, got));
	assert_int_equal(back.count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(back.numbers[i], handed.numbers[i]);
		assert_true(got[i] > KODA_PASSED_FDS_LAST);
		assert_int_equal(fcntl(got[i], F_GETFD), FD_CLOEXEC);
		assert_int_equal(fstat(fds[i], &wanted), 0);
		assert_int_equal(fstat(got[i], &st), 0);
		assert_true(st.st_ino == wanted.st_ino && st.st_dev == wanted.st_dev);
		(void)close(got[i]);
		(void)close(fds[i]);
	}
}

static void refuses_and_keeps_nothing(void **state)
{
	static const struct {
		struct koda_passed_fds handed;
		size_t len;
		size_t sent;
	} cases[] = {
		{ { .count = 0 }, 0, 0 },
		{ { .count = 0 }, sizeof(struct koda_passed_fds), 0 },
		{ { .count = 1, .numbers = { 3 } }, sizeof(struct koda_passed_fds), 0 },
		{ { .count = 1, .numbers = { 3 } }, sizeof(struct koda_passed_fds), 2 },
		{ { .count = 2, .numbers = { 3, 4 } }, sizeof(struct koda_passed_fds), 1 },
		{ { .count = 2, .numbers = { 3, 3 } }, sizeof(struct koda_passed_fds), 2 },
		{ { .count = 1, .numbers = { 2 } }, sizeof(struct koda_passed_fds), 1 },
		{ { .count = 1, .numbers = { -1 } }, sizeof(struct koda_passed_fds), 1 },
		{ { .count = 1, .numbers = { 128 } }, sizeof(struct koda_passed_fds), 1 },
		{ { .count = 17, .numbers = { 3 } }, sizeof(struct koda_passed_fds), 16 },
		{ { .count = UINT32_MAX, .numbers = { 3 } }, sizeof(struct koda_passed_fds), 1 },
		{ { .count = 1, .numbers = { 3 } }, sizeof(struct koda_passed_fds) - 1, 1 },
		{ { .count = 1, .numbers = { 3 } }, 1, 1 },
	};
	int fds[KODA_PASSED_FDS_MAX];
	int before;

	(void)state;
	for (size_t i = 0; i < KODA_PASSED_FDS_MAX; i++)
		fds[i] = memfd_create("given", MFD_CLOEXEC);
	before = koda_count_fds();
	for (size_t i = 0; i < KODA_ARRAY_LEN(cases); i++) {
		int got[KODA_PASSED_FDS_MAX];
		struct koda_passed_fds back;

		errno = 0;
		if (receive(&cases[i].handed, cases[i].len, fds, cases[i].sent, &back, got))
			fail_msg("case %zu was taken", i);
		assert_int_equal(errno, cases[i].len == 0 ? EAGAIN : EPROTO);
		assert_int_equal(koda_count_fds(), before);
	}
	for (size_t i = 0; i < KODA_PASSED_FDS_MAX; i++)
		(void)close(fds[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_what_was_sent),
		cmocka_unit_test(refuses_and_keeps_nothing),
	};

	return KODA_TEST_RUN(tests);
}
