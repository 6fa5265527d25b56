/* SPDX-License-Identifier: MIT */
/* In-memory files that nobody can change any more. */
#include "koda_test.h"

#include "../lib/child.h"
#include "base/fd.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

static void a_sealed_file_reads_back_from_the_start(void **state)
{
	static const char bytes[] = "plan\0with NUL";
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(100);
	struct koda_error err = { 0 };
	koda_auto_fd int fd = -1;

	(void)state;
	KODA_ASSERT_OK(koda_fd_sealed("plan", bytes, sizeof(bytes), &fd, &err), err);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	KODA_ASSERT_OK(koda_fd_read_all(fd, &out, &err), err);
	assert_int_equal(out.len, sizeof(bytes));
	assert_memory_equal(out.ptr, bytes, sizeof(bytes));
}

static void a_sealed_file_may_be_empty(void **state)
{
	struct koda_error err = { 0 };
	koda_auto_fd int fd = -1;
	struct stat st;

	(void)state;
	KODA_ASSERT_OK(koda_fd_sealed("plan", NULL, 0, &fd, &err), err);
	assert_true(koda_fd_is_sealed(fd));
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 0);
}

static void a_sealed_file_cannot_be_changed_in_any_way(void **state)
{
	char link[64];
	struct koda_error err = { 0 };
	koda_auto_fd int again = -1;
	koda_auto_fd int fd = -1;
	char text[4] = "";

	(void)state;
	KODA_ASSERT_OK(koda_fd_sealed("plan", "text", 4, &fd, &err), err);
	assert_true(koda_fd_is_sealed(fd));
	assert_int_equal(pwrite(fd, "X", 1, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(pwrite(fd, "X", 1, 4), -1);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(fd, 100), -1);
	assert_int_equal(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4), -1);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
	assert_ptr_equal(mmap(NULL, 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	again = open(link, O_RDWR | O_CLOEXEC);
	assert_int_equal(pwrite(again, "X", 1, 0), -1);
	assert_int_equal(pread(fd, text, sizeof(text), 0), 4);
	assert_memory_equal(text, "text", 4);
}

static const struct {
	const char *name;
	int seals;
	bool sealed;
} seal_sets[] = {
	{ "none", 0, false },
	{ "no write seal", F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW, false },
	{ "no grow seal", F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_WRITE, false },
	{ "no shrink seal", F_SEAL_SEAL | F_SEAL_GROW | F_SEAL_WRITE, false },
	{ "no seal seal", F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE, false },
	{ "future writes only", F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE,
	  false },
	{ "all", F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE, true },
};

static void only_all_seals_together_count(void **state)
{
	(void)state;
	KODA_EACH(row, seal_sets) {
		koda_auto_fd int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

		assert_int_equal(fcntl(fd, F_ADD_SEALS, row->seals), 0);
		KODA_EXPECT(row->name, koda_fd_is_sealed(fd) == row->sealed);
	}
}

static void what_cannot_have_seals_is_not_sealed(void **state)
{
	koda_auto_fd int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_false(koda_fd_is_sealed(null));
	assert_false(koda_fd_is_sealed(-1));
}

static int seal_with_fcntl_broken(void *error)
{
	struct koda_error err = { 0 };
	int before = koda_count_fds();
	int fd = 99;

	KODA_CHILD_CHECK(koda_child_block(SYS_fcntl, *(int *)error));
	KODA_CHILD_CHECK(koda_fd_sealed("plan", "text", 4, &fd, &err) == KODA_E_SYS);
	KODA_CHILD_CHECK(err.sys_errno == *(int *)error && fd == 99);
	KODA_CHILD_CHECK(koda_count_fds() == before);
	return 0;
}

static void a_file_that_cannot_be_sealed_is_not_given_out(void **state)
{
	int error = EPERM;

	(void)state;
	assert_int_equal(koda_child_run(seal_with_fcntl_broken, &error), 0);
}

/* The kernel says yes and does nothing: only reading the seals back can tell. */
static void seals_that_did_not_take_are_noticed(void **state)
{
	int error = 0;

	(void)state;
	assert_int_equal(koda_child_run(seal_with_fcntl_broken, &error), 0);
}

static int seal_more_than_may_be_written(void *arg)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct rlimit two = { .rlim_cur = 2, .rlim_max = 2 };
	struct koda_error err = { 0 };
	int fd = 99;

	(void)arg;
	KODA_CHILD_CHECK(sigaction(SIGXFSZ, &ignore, NULL) == 0);
	KODA_CHILD_CHECK(setrlimit(RLIMIT_FSIZE, &two) == 0);
	KODA_CHILD_CHECK(koda_fd_sealed("plan", "text", 4, &fd, &err) == KODA_E_SYS);
	KODA_CHILD_CHECK(err.sys_errno == EFBIG && fd == 99);
	return 0;
}

static void a_file_that_could_not_be_written_whole_is_not_given_out(void **state)
{
	(void)state;
	assert_int_equal(koda_child_run(seal_more_than_may_be_written, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sealed_file_reads_back_from_the_start),
		cmocka_unit_test(a_sealed_file_may_be_empty),
		cmocka_unit_test(a_sealed_file_cannot_be_changed_in_any_way),
		cmocka_unit_test(only_all_seals_together_count),
		cmocka_unit_test(what_cannot_have_seals_is_not_sealed),
		cmocka_unit_test(a_file_that_cannot_be_sealed_is_not_given_out),
		cmocka_unit_test(seals_that_did_not_take_are_noticed),
		cmocka_unit_test(a_file_that_could_not_be_written_whole_is_not_given_out),
	};

	return KODA_TEST_RUN(tests);
}
