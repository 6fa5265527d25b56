/* SPDX-License-Identifier: MIT */
#include "koda_test.h"

#include "../lib/child.h"
#include "../lib/scratch.h"
#include "base/fd.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

static bool is_cloexec(int fd)
{
	return fcntl(fd, F_GETFD) == FD_CLOEXEC;
}

static void close_leaves_minus_one_and_keeps_errno(void **state)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int copy = fd;

	(void)state;
	assert_true(fd >= 0);
	errno = ERANGE;
	koda_fd_close(&fd);
	koda_fd_close(&fd);
	assert_int_equal(fd, -1);
	assert_int_equal(errno, ERANGE);
	assert_int_equal(fcntl(copy, F_GETFD), -1);
}

static void take_moves_a_descriptor_out(void **state)
{
	int fd = 7;

	(void)state;
	assert_int_equal(koda_take_fd(&fd), 7);
	assert_int_equal(fd, -1);
}

static void a_regular_file_opens_close_on_exec(void **state)
{
	const char *path = koda_make_file(*state, "file", "text");
	struct koda_error err = { 0 };
	koda_auto_fd int fd = -1;
	char text[8] = "";

	KODA_ASSERT_OK(koda_fd_open_regular(path, &fd, &err), err);
	assert_true(is_cloexec(fd));
	assert_int_equal(read(fd, text, sizeof(text)), 4);
	assert_string_equal(text, "text");
	assert_int_equal(write(fd, "x", 1), -1);
}

static void a_link_to_a_regular_file_opens_too(void **state)
{
	struct koda_error err = { 0 };
	koda_auto_fd int fd = -1;

	(void)koda_make_file(*state, "file", "text");
	KODA_ASSERT_OK(koda_fd_open_regular(koda_make_link(*state, "link", "file"), &fd, &err),
		       err);
}

/* None of these may hang: the FIFO has no writer. */
static void what_is_no_regular_file_is_refused(void **state)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	koda_auto_fd int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const struct {
		const char *path;
		int code;
		int sys_errno;
	} rows[] = {
		{ koda_make_dir(*state, "dir"), KODA_E_INVALID, 0 },
		{ koda_in(*state, "fifo"), KODA_E_INVALID, 0 },
		{ koda_in(*state, "socket"), KODA_E_INVALID, 0 },
		{ koda_make_link(*state, "to-fifo", "fifo"), KODA_E_INVALID, 0 },
		{ "/dev/null", KODA_E_INVALID, 0 },
		{ "/proc/self/status", KODA_E_INVALID, 0 },
		{ koda_make_link(*state, "to-proc", "/proc/self/maps"), KODA_E_INVALID, 0 },
		{ koda_in(*state, "absent"), KODA_E_SYS, ENOENT },
		{ koda_make_link(*state, "dangling", "absent"), KODA_E_SYS, ENOENT },
		{ koda_make_link(*state, "loop", "loop"), KODA_E_SYS, ELOOP },
		{ "", KODA_E_SYS, ENOENT },
	};
	int before = koda_count_fds();

	assert_int_equal(mkfifo(koda_in(*state, "fifo"), 0600), 0);
	(void)snprintf(at.sun_path, sizeof(at.sun_path), "%s", koda_in(*state, "socket"));
	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	KODA_EACH(row, rows) {
		struct koda_error err = { 0 };
		int fd = 99;

		KODA_EXPECT(row->path, koda_fd_open_regular(row->path, &fd, &err) == row->code);
		KODA_EXPECT(row->path, err.code == row->code && err.sys_errno == row->sys_errno);
		KODA_EXPECT(row->path, fd == 99 && err.message[0]);
	}
	assert_int_equal(koda_count_fds(), before);
}

static int open_as_ordinary_user(void *path)
{
	struct koda_error err = { 0 };
	int fd = -1;

	KODA_CHILD_CHECK(koda_child_drop_root());
	KODA_CHILD_CHECK(koda_fd_open_regular(path, &fd, &err) == KODA_E_SYS);
	KODA_CHILD_CHECK(err.sys_errno == EACCES && fd == -1);
	return 0;
}

static void an_unreadable_file_is_refused(void **state)
{
	char *path = strdup(koda_make_file(*state, "secret", "text"));

	assert_int_equal(chmod(*state, 0755), 0);
	assert_int_equal(chmod(path, 0), 0);
	assert_int_equal(koda_child_run(open_as_ordinary_user, path), 0);
	free(path);
}

static void pipe_and_socketpair_are_close_on_exec(void **state)
{
	int fds[4] = { -1, -1, -1, -1 };
	struct koda_error err = { 0 };
	int type = 0;
	socklen_t size = sizeof(type);

	(void)state;
	KODA_ASSERT_OK(koda_fd_pipe(&fds[0], &fds[1], &err), err);
	KODA_ASSERT_OK(koda_fd_socketpair(&fds[2], &fds[3], &err), err);
	for (size_t i = 0; i < 4; i++)
		assert_true(is_cloexec(fds[i]));
	assert_int_equal(getsockopt(fds[2], SOL_SOCKET, SO_TYPE, &type, &size), 0);
	assert_int_equal(type, SOCK_SEQPACKET);
	assert_int_equal(write(fds[1], "p", 1), 1);
	assert_int_equal(read(fds[0], &(char){ 0 }, 1), 1);
	for (size_t i = 0; i < 4; i++)
		koda_fd_close(&fds[i]);
}

static int make_descriptors_when_none_are_left(void *arg)
{
	struct koda_error err = { 0 };
	int a = 99;
	int b = 99;

	(void)arg;
	KODA_CHILD_CHECK(koda_child_block(SYS_pipe2, EMFILE));
	KODA_CHILD_CHECK(koda_child_block(SYS_socketpair, ENFILE));
	KODA_CHILD_CHECK(koda_child_block(SYS_memfd_create, ENOSYS));
	KODA_CHILD_CHECK(koda_fd_pipe(&a, &b, &err) == KODA_E_SYS && err.sys_errno == EMFILE);
	KODA_CHILD_CHECK(koda_fd_socketpair(&a, &b, &err) == KODA_E_SYS);
	KODA_CHILD_CHECK(err.sys_errno == ENFILE);
	KODA_CHILD_CHECK(koda_fd_sealed("x", "x", 1, &a, &err) == KODA_E_SYS);
	KODA_CHILD_CHECK(err.sys_errno == ENOSYS && a == 99 && b == 99);
	return 0;
}

static void descriptors_that_cannot_be_made_are_reported(void **state)
{
	(void)state;
	assert_int_equal(koda_child_run(make_descriptors_when_none_are_left, NULL), 0);
}

static int seal_more_than_a_file_may_have(void *arg)
{
	const struct rlimit none = { 0, 0 };
	struct koda_error err = { 0 };
	sigset_t pending;
	int fd = 99;

	(void)arg;
	KODA_CHILD_CHECK(setrlimit(RLIMIT_FSIZE, &none) == 0);
	KODA_CHILD_CHECK(koda_fd_sealed("x", "x", 1, &fd, &err) == KODA_E_SYS);
	KODA_CHILD_CHECK(err.sys_errno == EFBIG && fd == 99);
	/* Nor later. */
	KODA_CHILD_CHECK(sigpending(&pending) == 0 && !sigismember(&pending, SIGXFSZ));
	return 0;
}

static void a_limit_of_file_sizes_is_no_signal(void **state)
{
	(void)state;
	assert_int_equal(koda_child_run(seal_more_than_a_file_may_have, NULL), 0);
}

static int open_without_stat(void *path)
{
	struct koda_error err = { 0 };
	int fd = 99;

	KODA_CHILD_CHECK(koda_child_block(SYS_newfstatat, EIO));
	KODA_CHILD_CHECK(koda_fd_open_regular(path, &fd, &err) == KODA_E_SYS);
	KODA_CHILD_CHECK(err.sys_errno == EIO && fd == 99);
	return 0;
}

static void a_file_whose_kind_is_unknown_is_refused(void **state)
{
	char *path = strdup(koda_make_file(*state, "file", "text"));

	assert_int_equal(koda_child_run(open_without_stat, path), 0);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(close_leaves_minus_one_and_keeps_errno),
		cmocka_unit_test(take_moves_a_descriptor_out),
		KODA_SCRATCH_TEST(a_regular_file_opens_close_on_exec),
		KODA_SCRATCH_TEST(a_link_to_a_regular_file_opens_too),
		KODA_SCRATCH_TEST(what_is_no_regular_file_is_refused),
		KODA_SCRATCH_TEST(an_unreadable_file_is_refused),
		cmocka_unit_test(pipe_and_socketpair_are_close_on_exec),
		cmocka_unit_test(descriptors_that_cannot_be_made_are_reported),
		cmocka_unit_test(a_limit_of_file_sizes_is_no_signal),
		KODA_SCRATCH_TEST(a_file_whose_kind_is_unknown_is_refused),
	};

	return KODA_TEST_RUN(tests);
}
