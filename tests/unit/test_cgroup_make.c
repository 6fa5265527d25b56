/* SPDX-License-Identifier: MIT */
/* T-31 the launcher's half of control groups, in a hierarchy made of files: what is set, that it is
 * read back, and what is told at the end. */
#include "koda_test.h"

#include "../lib/scratch.h"
#include "base/buf.h"
#include "wire/op_encode.h"

#include <setjmp.h>

/* NOLINTNEXTLINE(bugprone-suspicious-include): the launcher is no library */
#include "../../libexec/stage2/guardian/cgroup.c"

static jmp_buf failed;
static enum koda_launch_step step;
static unsigned int told[8]; /* reports by limit */

void stage2_fail(enum koda_launch_step failed_step, const char *path, int sys_errno)
{
	(void)path;
	(void)sys_errno;
	step = failed_step;
	longjmp(failed, 1);
}

bool stage2_report_send(uint32_t kind, int status)
{
	assert_int_equal(kind, KODA_REPORT_LIMIT);
	told[status]++;
	return true;
}

static void put(const char *dir, const char *file, const char *text)
{
	int fd = open(koda_in(dir, file), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(close(fd), 0);
}

static void expect_text(const char *dir, const char *file, const char *want)
{
	char text[64] = "";
	int fd = open(koda_in(dir, file), O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_true(read(fd, text, sizeof(text) - 1) >= 0);
	assert_int_equal(close(fd), 0);
	assert_string_equal(text, want);
}

/* The group as the kernel would make it for this process. Owned by the caller. */
static char *new_group(const char *dir)
{
	static const char *const files[] = { "memory.max", "memory.swap.max", "memory.oom.group",
					     "pids.max",   "cgroup.procs",    "cgroup.kill" };
	char own[32];
	char *path;

	(void)snprintf(own, sizeof(own), "koda-%d", (int)getpid());
	path = strdup(koda_make_dir(dir, own));
	assert_non_null(path);
	KODA_EACH(file, files)
		put(path, *file, "9"); /* written over */
	return path;
}

/* Opens the group that a plan asks for below dir; -2 if the launcher failed. */
static int open_group(const char *dir, struct koda_buf *bytes)
{
	const struct koda_op op = {
		.kind = KODA_OP_CGROUP, .n1 = 209715200, .n2 = 41, .text1 = koda_span_of(dir)
	};
	struct plan plan;

	assert_int_equal(koda_ops_add(bytes, &op), KODA_OK);
	plan = (struct plan){ bytes->ptr, bytes->len };
	step = KODA_LAUNCH_NONE;
	memset(told, 0, sizeof(told));
	if (setjmp(failed) != 0)
		return -2;
	return stage2_cgroup_open(&plan, 4711);
}

static void limits_are_set(void **state)
{
	koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT(65536);
	koda_auto_free char *path = new_group(*state);

	(void)koda_make_dir(*state, "koda-4194305"); /* no process has this number */
	assert_int_equal(open_group(*state, &bytes), 1);
	expect_text(path, "cgroup.procs", "4711");
	expect_text(path, "memory.max", "209715200");
	expect_text(path, "memory.swap.max", "0");
	expect_text(path, "memory.oom.group", "1");
	expect_text(path, "pids.max", "41");
	/* What a killed guardian left is gone. */
	assert_int_equal(rmdir(koda_in(*state, "koda-4194305")), -1);
	assert_false(stage2_cgroup_report());
	stage2_cgroup_close();
	expect_text(path, "cgroup.kill", "1");
	assert_int_equal(told[KODA_REPORT_LIMIT_MEMORY] + told[KODA_REPORT_LIMIT_PROCESSES], 0);
}

static void the_end_by_a_limit_is_told(void **state)
{
	koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT(65536);
	koda_auto_free char *path = new_group(*state);

	put(path, "memory.events", "low 0\nmax 7\noom 2\noom_kill 0\noom_group_kill 0\n");
	put(path, "pids.events", "max 3\n");
	assert_int_equal(open_group(*state, &bytes), 1);
	assert_false(stage2_cgroup_report());
	assert_int_equal(told[KODA_REPORT_LIMIT_PROCESSES], 1);
	put(path, "memory.events", "low 0\nmax 7\noom 2\noom_kill 4\noom_group_kill 1\n");
	assert_true(stage2_cgroup_report());
	assert_int_equal(told[KODA_REPORT_LIMIT_MEMORY], 1);
	stage2_cgroup_close();
}

static void a_limit_that_does_not_take_ends_it(void **state)
{
	koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT(65536);
	koda_auto_free char *path = new_group(*state);

	/* Whatever is written is lost. */
	assert_int_equal(unlink(koda_in(path, "memory.max")), 0);
	(void)koda_make_link(path, "memory.max", "/dev/zero");
	assert_int_equal(open_group(*state, &bytes), -2);
	assert_int_equal(step, KODA_LAUNCH_CGROUP_LIMIT_LOST);
	stage2_cgroup_close();
}

/* Then init watches. */
static void no_group_no_failure(void **state)
{
	koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT(65536);

	assert_int_equal(open_group(koda_in(*state, "missing"), &bytes), 0);
	assert_false(stage2_cgroup_report());
	stage2_cgroup_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(limits_are_set),
		KODA_SCRATCH_TEST(the_end_by_a_limit_is_told),
		KODA_SCRATCH_TEST(a_limit_that_does_not_take_ends_it),
		KODA_SCRATCH_TEST(no_group_no_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
