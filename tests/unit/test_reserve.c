/* SPDX-License-Identifier: MIT */
/* T-32 reserving every name of a plan: what is left when one cannot be, and how long many take. */
#include "koda_test.h"

#include "../lib/scratch.h"
#include "base/buf.h"
#include "wire/op_encode.h"

#include <setjmp.h>
#include <time.h>

/* NOLINTBEGIN(bugprone-suspicious-include): the launcher is no library */
#include "../../libexec/stage2/guardian/reservation.c"
#include "../../libexec/stage2/guardian/reserve.c"
/* NOLINTEND(bugprone-suspicious-include) */

static jmp_buf failed;
static size_t made;

_Noreturn void stage2_fail(enum koda_launch_step step, const char *path, int sys_errno)
{
	(void)step;
	(void)path;
	(void)sys_errno;
	longjmp(failed, 1);
}

int stage2_placeholder_make(int parent, const char *name, const struct koda_op *op)
{
	(void)parent;
	(void)name;
	(void)op;
	made++;
	return 0;
}

bool stage2_placeholder_is(int parent, const char *name, const struct koda_op *op)
{
	(void)parent;
	(void)name;
	(void)op;
	return true;
}

void stage2_placeholder_remove(int parent, const char *name, const struct koda_op *op)
{
	(void)parent;
	(void)name;
	(void)op;
}

void stage2_journal_use(const struct plan *plan)
{
	(void)plan;
}

void stage2_store_use(const struct plan *plan)
{
	(void)plan;
}

void stage2_handover_note(int dir, const struct koda_op *op)
{
	(void)dir;
	(void)op;
}

void stage2_handover_undo(struct reservation *list, size_t count)
{
	(void)list;
	(void)count;
}

void stage2_handover_postpone(struct reservation *list, size_t count, pid_t process)
{
	(void)list;
	(void)count;
	(void)process;
}

static struct koda_buf bytes = KODA_BUF_INIT(KODA_OP_PLAN_MAX);

static void add(enum koda_op_kind kind, const char *path)
{
	const struct koda_op op = { .kind = kind,
				    .text1 = koda_span_of(path),
				    .text2 = koda_span_of("") };

	assert_int_equal(koda_ops_add(&bytes, &op), KODA_OK);
}

static bool reserve(void)
{
	static struct plan plan;

	plan = (struct plan){ bytes.ptr, bytes.len };
	if (setjmp(failed) != 0)
		return false;
	stage2_reserve_all(&plan);
	return true;
}

static void forget(void)
{
	size_t count;

	free(stage2_reserve_list(&count));
	reservations = NULL;
	reservation_count = 0;
	bytes.len = 0;
	made = 0;
}

static void what_could_not_be_locked_has_no_descriptor(void **state)
{
	const struct reservation *list;
	size_t count;

	(void)koda_make_dir(*state, "project");
	add(KODA_OP_PLACEHOLDER, koda_in(*state, "project/a"));
	add(KODA_OP_PLACEHOLDER, koda_in(*state, "gone/a"));
	assert_false(reserve());
	list = stage2_reserve_list(&count);
	assert_int_equal(count, 2);
	assert_true(list[0].parent > 2);
	assert_int_equal(list[1].parent, -1);
	assert_int_equal(close(list[0].parent), 0);
	forget();
}

/* Each was compared with all before it. */
static void many_names_take_no_time(void **state)
{
	const size_t many = 100000;
	struct timespec from;
	struct timespec to;
	size_t count;
	char name[32];

	(void)koda_make_dir(*state, "project");
	for (size_t i = 0; i < many; i++) {
		(void)snprintf(name, sizeof(name), "project/%zu", i);
		add(KODA_OP_PLACEHOLDER, koda_in(*state, name));
	}
	assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from), 0);
	assert_true(reserve());
	assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to), 0);
	assert_int_equal(made, many);
	assert_true(to.tv_sec - from.tv_sec < 2);
	assert_int_equal(close(stage2_reserve_list(&count)[0].parent), 0);
	forget();
}

/* Files that are alike have one inode, also if a directory was listed between them. */
static void files_that_are_alike_are_names_of_one(void **state)
{
	size_t count;

	(void)koda_make_dir(*state, "project");
	(void)koda_make_file(*state, "project/a", "");
	add(KODA_OP_PLACEHOLDER_FILE, koda_in(*state, "project/a"));
	add(KODA_OP_PLACEHOLDER, koda_in(*state, "project/b"));
	add(KODA_OP_PLACEHOLDER_FILE, koda_in(*state, "project/c"));
	assert_true(reserve());
	assert_int_equal(made, 2);
	assert_int_equal(access(koda_in(*state, "project/c"), F_OK), 0);
	assert_int_equal(close(stage2_reserve_list(&count)[0].parent), 0);
	forget();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(what_could_not_be_locked_has_no_descriptor),
		KODA_SCRATCH_TEST(many_names_take_no_time),
		KODA_SCRATCH_TEST(files_that_are_alike_are_names_of_one),
	};
	int r = KODA_TEST_RUN(tests);

	koda_buf_clear(&bytes);
	return r;
}
