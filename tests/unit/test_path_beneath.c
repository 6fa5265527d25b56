/* SPDX-License-Identifier: MIT */
/* Opening beneath a directory: escapes are refused, and each has a twin that opens. */
#include "koda_test.h"

#include "../lib/child.h"
#include "../lib/scratch.h"
#include "base/fd.h"
#include "base/path.h"

/* root/ has the tree to stay in; outside is its neighbour. */
static int open_tree(void *dir)
{
	(void)koda_make_dir(dir, "root");
	(void)koda_make_dir(dir, "root/sub");
	(void)koda_make_file(dir, "outside", "outside");
	(void)koda_make_file(dir, "root/file", "inside");
	(void)koda_make_link(dir, "root/to-file", "file");
	(void)koda_make_link(dir, "root/sub/to-file", "../file");
	(void)koda_make_link(dir, "root/absolute", koda_in(dir, "root/file"));
	(void)koda_make_link(dir, "root/escape", "../outside");
	(void)koda_make_link(dir, "root/to-up", "..");
	return open(koda_in(dir, "root"), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static const struct {
	const char *rel;
	int sys_errno; /* 0: opens */
} beneath[] = {
	{ "file", 0 },
	{ "./sub/../file", 0 },
	{ "../outside", EXDEV },
	{ "sub/../../outside", EXDEV },
	{ "..", EXDEV },
	{ "../root/file", EXDEV }, /* out and in again is out */
	{ "to-file", 0 },
	{ "sub/to-file", 0 },
	{ "escape", EXDEV },
	{ "to-up/outside", EXDEV },
	{ "absolute", EXDEV }, /* even though it leads back inside */
	{ "/etc/passwd", EXDEV },
	{ "absent", ENOENT },
	{ "", ENOENT },
};

static void nothing_opens_outside_the_directory(void **state)
{
	koda_auto_fd int root = open_tree(*state);
	int before = koda_count_fds();

	KODA_EACH(row, beneath) {
		koda_auto_fd int fd = -1;
		struct koda_error err = { 0 };
		int r = koda_path_open_beneath(root, row->rel, O_RDONLY, 0, &fd, &err);
		char text[8] = "";

		KODA_EXPECT(row->rel, r == (row->sys_errno ? KODA_E_SYS : KODA_OK));
		KODA_EXPECT(row->rel, err.sys_errno == row->sys_errno);
		KODA_EXPECT(row->rel, (fd >= 0) == (r == KODA_OK));
		if (fd >= 0) {
			KODA_EXPECT(row->rel, read(fd, text, 7) == 6 && !strcmp(text, "inside"));
			KODA_EXPECT(row->rel, fcntl(fd, F_GETFD) == FD_CLOEXEC);
		}
	}
	assert_int_equal(koda_count_fds(), before);
}

static void files_are_created_beneath_only(void **state)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL;
	koda_auto_fd int root = open_tree(*state);
	struct koda_error err = { 0 };
	koda_auto_fd int fd = -1;
	struct stat st;

	KODA_ASSERT_FAILS(KODA_E_SYS,
			  koda_path_open_beneath(root, "../new", flags, 0600, &fd, &err), err);
	assert_int_equal(stat(koda_in(*state, "new"), &st), -1);
	KODA_ASSERT_OK(koda_path_open_beneath(root, "sub/new", flags, 0600, &fd, &err), err);
	assert_int_equal(stat(koda_in(*state, "root/sub/new"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

/* The links below /proc/self jump anywhere without a path; its plain files are the twin. */
static void magic_links_are_refused(void **state)
{
	static const char *const links[] = { "cwd", "root", "exe", "root/etc/passwd", "fd/0" };
	koda_auto_fd int proc = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct koda_error err = { 0 };
	koda_auto_fd int fd = -1;

	(void)state;
	assert_true(proc >= 0);
	KODA_EACH(link, links) {
		koda_auto_fd int got = -1;

		KODA_EXPECT(*link, koda_path_open_beneath(proc, *link, O_PATH, 0, &got, &err) ==
					   KODA_E_SYS);
		KODA_EXPECT(*link, got == -1 && (err.sys_errno == ELOOP || err.sys_errno == EXDEV));
	}
	KODA_ASSERT_OK(koda_path_open_beneath(proc, "status", O_RDONLY, 0, &fd, &err), err);
}

static int open_with_openat2_failing(void *error)
{
	int want = *(int *)error == ENOSYS ? KODA_E_UNSUPPORTED : KODA_E_SYS;
	struct koda_error err = { 0 };
	int fd = -1;

	KODA_CHILD_CHECK(koda_child_block(SYS_openat2, *(int *)error));
	KODA_CHILD_CHECK(koda_path_open_beneath(AT_FDCWD, ".", O_PATH, 0, &fd, &err) == want);
	KODA_CHILD_CHECK(err.code == want && err.sys_errno == *(int *)error && fd == -1);
	return 0;
}

/* EAGAIN and EINTR are tried again, but not for ever; nothing falls back to a plain open. */
static void without_openat2_nothing_opens(void **state)
{
	int errors[] = { ENOSYS, EAGAIN, EINTR, EPERM };

	(void)state;
	KODA_EACH(error, errors)
		assert_int_equal(koda_child_run(open_with_openat2_failing, error), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(nothing_opens_outside_the_directory),
		KODA_SCRATCH_TEST(files_are_created_beneath_only),
		cmocka_unit_test(magic_links_are_refused),
		cmocka_unit_test(without_openat2_nothing_opens),
	};

	return KODA_TEST_RUN(tests);
}
