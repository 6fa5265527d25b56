/* SPDX-License-Identifier: MIT */
/* T-95. Looks at paths that a command's output names: what they see, and what they cost. */
#include "koda_test.h"

#include "../lib/scratch.h"
#include "base/buf.h"
#include "policy/policy.h"
#include "run/stream/stderr_scan.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* As deep as a line of the reader can name. */
#define DEPTH 2000

static struct koda_safe_stat_result look(const char *dir, const char *name,
					 struct koda_safe_stat_budget *budget)
{
	char *path = strdup(koda_in(dir, name));
	struct koda_safe_stat_result result = koda_safe_stat_path(budget, path);

	if (result.state == KODA_SAFE_STAT_MISSING) {
		path[result.missing_len] = '\0';
		assert_int_not_equal(access(path, F_OK), 0);
	}
	if (result.state == KODA_SAFE_STAT_MISSING || result.state == KODA_SAFE_STAT_BLOCKED) {
		path[result.existing_len] = '\0';
		assert_int_equal(access(path, F_OK), 0);
	}
	free(path);
	return result;
}

static void what_is_seen(void **state)
{
	const char *dir = *state;
	struct koda_safe_stat_budget budget = { .steps = 0 };
	struct koda_safe_stat_result result;

	(void)koda_make_dir(dir, "dir");
	(void)koda_make_file(dir, "dir/file", "x");
	assert_int_equal(symlink("dir", koda_in(dir, "link")), 0);
	result = look(dir, "dir", &budget);
	assert_int_equal(result.state, KODA_SAFE_STAT_EXISTS);
	assert_true(S_ISDIR(result.mode));
	assert_int_equal(look(dir, "dir/file", &budget).state, KODA_SAFE_STAT_EXISTS);
	assert_int_equal(look(dir, "dir/none", &budget).state, KODA_SAFE_STAT_MISSING);
	assert_int_equal(look(dir, "none/none/none", &budget).state, KODA_SAFE_STAT_MISSING);
	result = look(dir, "dir/file/none", &budget);
	assert_int_equal(result.state, KODA_SAFE_STAT_BLOCKED);
	assert_true(S_ISREG(result.mode));
	/* A link is seen, never followed. */
	result = look(dir, "link", &budget);
	assert_true(S_ISLNK(result.mode));
	assert_int_equal(look(dir, "link/file", &budget).state, KODA_SAFE_STAT_BLOCKED);
	assert_int_equal(koda_safe_stat_path(&budget, "/").state, KODA_SAFE_STAT_EXISTS);
}

static void a_budget_that_is_spent_stays_so(void **state)
{
	struct koda_safe_stat_budget budget = { .steps = 0 };

	(void)state;
	assert_true(koda_safe_stat_spend(&budget, KODA_SAFE_STAT_STEPS - 1));
	assert_false(koda_safe_stat_spend(&budget, 2));
	assert_false(koda_safe_stat_spend(&budget, 1));
	assert_false(koda_safe_stat_spend(&budget, UINT64_MAX));
	assert_int_equal(budget.steps, KODA_SAFE_STAT_STEPS);
	assert_int_equal(koda_safe_stat_path(&budget, "/etc").state, KODA_SAFE_STAT_UNKNOWN);
}

/* --- what lines cost --- */

struct box {
	struct koda_policy *policy;
	struct koda_rules *rules;
	struct koda_stderr_scan reader;
	size_t found;
};

static void count(void *ctx, const struct koda_denial *noted)
{
	(void)noted;
	((struct box *)ctx)->found++;
}

static int open_box(void **state)
{
	const struct koda_place place = { .size = sizeof(place), .root = "/srv/app" };
	struct box *box = calloc(1, sizeof(*box));

	assert_non_null(box);
	assert_int_equal(koda_policy_new(&box->policy, NULL), KODA_OK);
	assert_int_equal(koda_policy_add(box->policy, KODA_LIST_ALLOW_WRITE, "/srv/app", 8, NULL),
			 KODA_OK);
	assert_int_equal(koda_rules_new(box->policy, &place, &box->rules, NULL), KODA_OK);
	box->reader = (struct koda_stderr_scan){
		.rules = box->rules, .cwd = "/srv/app", .on_denial = count, .ctx = box
	};
	*state = box;
	return 0;
}

static int close_box(void **state)
{
	struct box *box = *state;

	koda_rules_free(box->rules);
	koda_policy_free(box->policy);
	free(box);
	return 0;
}

/* Reads a line of so many copies of a word, within what, and returns what that has cost. */
static uint64_t cost(struct box *box, const char *before, const char *word, size_t times,
		     const char *after)
{
	koda_auto_buf struct koda_buf line = KODA_BUF_INIT(1 << 16);
	uint64_t spent = box->reader.budget.steps;

	assert_int_equal(koda_buf_addf(&line, "%s", before), KODA_OK);
	for (size_t i = 0; i < times; i++)
		assert_int_equal(koda_buf_addf(&line, "%s", word), KODA_OK);
	assert_int_equal(koda_buf_addf(&line, "%s\n", after), KODA_OK);
	koda_stderr_scan_take(&box->reader, line.ptr, line.len);
	return box->reader.budget.steps - spent;
}

/* Below a directory that exists, so that every component can be opened. */
static void a_deep_path_costs_its_depth(void **state)
{
	koda_auto_buf struct koda_buf before = KODA_BUF_INIT(1 << 16);
	char name[2 * 500 + 2] = "d";
	void *dir = NULL;

	assert_int_equal(koda_scratch_setup(&dir), 0);
	assert_int_equal(koda_buf_addf(&before, "mkdir: %s", (const char *)dir), KODA_OK);
	for (int i = 0; i < 500; i++) {
		(void)koda_make_dir(dir, name);
		memcpy(name + strlen(name), "/d", sizeof("/d"));
	}
	/* A component takes one look, and a second if RESOLVE_CACHED gives EAGAIN, as it may while
	 * other processes mount and rename. */
	assert_in_range(cost(*state, before.ptr, "/d", 500, ": File exists"), 500, 1100);
	assert_in_range(cost(*state, before.ptr, "/d", 500, ": Permission denied"), 1, 1100);
	assert_int_equal(koda_scratch_teardown(&dir), 0);
}

static void lines_that_ask_for_much_are_bounded(void **state)
{
	static const struct {
		const char *before;
		const char *word;
		size_t times;
		const char *after;
	} lines[] = {
		{ "mkdir: ", "/d", DEPTH, ": File exists" },
		{ "mkdir: ", "/d", DEPTH, ": Permission denied" },
		{ "rm: ", "/d", DEPTH, ": Device or resource busy" },
		{ "x ", "/ ", DEPTH, "Read-only file system" },
		{ "x ", "a/ ", 1300, "File exists" },
		{ "x ", "''", DEPTH, " Operation not permitted" },
	};
	struct box *box = *state;

	KODA_EACH(row, lines)
		for (int i = 0; i < 1000; i++)
			(void)cost(box, row->before, row->word, row->times, row->after);
	assert_int_equal(box->reader.budget.steps, KODA_SAFE_STAT_STEPS);
	/* From then on nothing is looked at, be it worth it. */
	box->found = 0;
	assert_int_equal(
		cost(box, "touch: cannot touch '/etc/", "x", 1, "': Read-only file system"), 0);
	assert_int_equal(box->found, 0);
}

/* Those of an ordinary build do not use it up. */
static void ordinary_lines_are_cheap(void **state)
{
	struct box *box = *state;

	for (int i = 0; i < 1000; i++)
		assert_in_range(cost(box, "mkdir: cannot create directory '/usr/lib/python3/", "x",
				     1, "': Read-only file system"),
				1, 20);
	assert_int_equal(cost(box, "all is ", "/well ", 500, "here"), 0);
	assert_int_equal(box->found, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(what_is_seen),
		cmocka_unit_test(a_budget_that_is_spent_stays_so),
		cmocka_unit_test_setup_teardown(a_deep_path_costs_its_depth, open_box, close_box),
		cmocka_unit_test_setup_teardown(lines_that_ask_for_much_are_bounded, open_box,
						close_box),
		cmocka_unit_test_setup_teardown(ordinary_lines_are_cheap, open_box, close_box),
	};

	return KODA_TEST_RUN(tests);
}
