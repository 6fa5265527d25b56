/* SPDX-License-Identifier: MIT */
/* Directories that change while the scan for repositories looks at them. */
#include "koda_test.h"

#include "../lib/git_found.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

/* Makes and removes directories for as long as its parent lives. */
static _Noreturn void toggle(const char *dir)
{
	char names[8][16];

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (chdir(dir) < 0)
		_exit(1);
	for (size_t i = 0; i < KODA_ARRAY_LEN(names); i++)
		(void)snprintf(names[i], sizeof(names[i]), "new%zu", i);
	for (;;) {
		KODA_EACH(name, names)
			(void)mkdir(*name, 0755);
		KODA_EACH(name, names)
			(void)rmdir(*name);
	}
}

/* T-30. A file system in memory is the fastest to change. */
static void directories_that_come_and_go_hide_no_others(void **state)
{
	char base[] = "/dev/shm/koda-world-XXXXXX";
	const char *dir = mkdtemp(base) ? base : *state;
	size_t fewest = SIZE_MAX;
	pid_t pid;

	for (char at[] = "0/.git"; at[0] < '6'; at[0]++)
		koda_make_dirs(dir, at);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		toggle(dir);
	for (int i = 0; i < 2000; i++) {
		struct git_found found = git_scan(dir, 1);

		fewest = found.dirs.len < fewest ? found.dirs.len : fewest;
		git_found_clear(&found);
	}
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	if (dir == base)
		(void)nftw(dir, koda_scratch_remove_, 16, FTW_DEPTH | FTW_PHYS);
	assert_int_equal(fewest, 6);
}

static ino_t changing; /* a directory that is not counted yet when it is first looked at */

/* Directories that exist only between the first look at their parent and the second. */
static const char *const short_lived[] = { "new0", "new1" };
static ino_t fleeting; /* their parent */

/* Creates them, but st_nlink is from before, as when the kernel copies it first, st_ctime later. */
static int stat_torn(int fd, struct stat *ret_st)
{
	int r;

	KODA_EACH(name, short_lived)
		(void)mkdirat(fd, *name, 0755);
	r = fstatat(fd, "", ret_st, AT_EMPTY_PATH);
	ret_st->st_nlink -= (nlink_t)KODA_ARRAY_LEN(short_lived);
	return r;
}

/* In the place of the C library's. */
int fstat(int fd, struct stat *ret_st)
{
	int r = fstatat(fd, "", ret_st, AT_EMPTY_PATH);

	if (r == 0 && fleeting != 0 && ret_st->st_ino == fleeting) {
		if (faccessat(fd, short_lived[0], F_OK, 0) < 0)
			return stat_torn(fd, ret_st);
		KODA_EACH(name, short_lived)
			(void)unlinkat(fd, *name, AT_REMOVEDIR);
		fleeting = 0;
		return fstatat(fd, "", ret_st, AT_EMPTY_PATH);
	}
	if (r == 0 && changing != 0 && ret_st->st_ino == changing) {
		ret_st->st_nlink--;
		changing = 0;
	}
	return r;
}

/* T-30. Its time is from before the scan. */
static void a_directory_that_is_counted_late_hides_no_other(void **state)
{
	const struct timespec tick = { .tv_nsec = 50000000 };
	struct git_found found;
	struct stat st;

	koda_make_dirs(*state, "one/.git");
	koda_make_dirs(*state, "two/.git");
	(void)nanosleep(&tick, NULL);
	assert_int_equal(lstat(*state, &st), 0);
	changing = st.st_ino;
	found = git_scan(*state, 1);
	assert_int_equal(changing, 0);
	assert_int_equal(found.dirs.len, 2);
	git_found_clear(&found);
}

/* T-30. rmdir() on tmpfs may leave st_ctime as it was. */
static void directories_removed_without_a_new_time_hide_no_others(void **state)
{
	char base[] = "/dev/shm/koda-world-XXXXXX";
	const char *dir = mkdtemp(base) ? base : *state;
	size_t fewest = SIZE_MAX;
	struct stat st;

	for (char at[] = "0/.git"; at[0] < '6'; at[0]++)
		koda_make_dirs(dir, at);
	assert_int_equal(lstat(dir, &st), 0);
	for (int i = 0; i < 200; i++) {
		struct git_found found;

		fleeting = st.st_ino;
		found = git_scan(dir, 1);
		fewest = found.dirs.len < fewest ? found.dirs.len : fewest;
		git_found_clear(&found);
	}
	fleeting = 0;
	if (dir == base)
		(void)nftw(dir, koda_scratch_remove_, 16, FTW_DEPTH | FTW_PHYS);
	assert_int_equal(fewest, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(directories_that_come_and_go_hide_no_others),
		KODA_SCRATCH_TEST(a_directory_that_is_counted_late_hides_no_other),
		KODA_SCRATCH_TEST(directories_removed_without_a_new_time_hide_no_others),
	};

	return KODA_TEST_RUN(tests);
}
