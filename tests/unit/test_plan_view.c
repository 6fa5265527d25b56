/* SPDX-License-Identifier: MIT */
/* Rules to mounts, over a file system that exists only in a table: T-11 anchors, masks, veils,
 * holes, pins, placeholders, and the order of it all. */
#include "../lib/given.h"

#include "base/buf.h"
#include "plan/plan.h"
#include "plan/request.h"
#include "plan/view.h"
#include "policy/policy.h"

#define HOME "/home/u"
#define ROOT "/home/u/p"

/* Directories above ROOT are there without being listed. */
static bool is_above_root(const char *path)
{
	size_t len = strlen(path);

	return strcmp(path, "/") == 0 ||
	       (strncmp(ROOT, path, len) == 0 && (ROOT[len] == '/' || ROOT[len] == '\0'));
}

static int look(void *ctx, const char *path, struct koda_fs_stat *ret_look, struct koda_error *err)
{
	(void)err;
	given_look(ctx, path, is_above_root(path), ret_look);
	return KODA_OK;
}

/* A policy as text: one rule a line, "w", "W" (closed), "r" (hidden) or "h" (hole), then the
 * path. */
static struct koda_policy *policy_of(const char *const *rules)
{
	struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_policy_new(&policy, &err), err);
	for (; *rules; rules++) {
		enum koda_list list = (*rules)[0] == 'w'   ? KODA_LIST_ALLOW_WRITE
				      : (*rules)[0] == 'W' ? KODA_LIST_DENY_WRITE_WITHIN_ALLOW
				      : (*rules)[0] == 'r' ? KODA_LIST_DENY_READ
							   : KODA_LIST_ALLOW_READ_WITHIN_DENY;

		KODA_ASSERT_OK(koda_policy_add(policy, list, *rules + 2, strlen(*rules + 2), &err),
			       err);
	}
	return policy;
}

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define NOTHING   ((const char *const[]){ NULL })

struct scene {
	const char *root; /* NULL: no project at all, so no floor either */
	const char *const *rules;
	const char *const *things;
	const char *const *sockets;
	bool as_root;
};

/* The view as "name path" lines, without what every view has. */
static void plan_of(const struct scene *scene, struct koda_buf *out)
{
	struct given given = { scene->things };
	const struct koda_fs_ops fs = { look, &given };
	const struct koda_place place = { .size = sizeof(place),
					  .root = scene->root,
					  .home = HOME };
	koda_auto_policy struct koda_policy *policy = policy_of(scene->rules);
	koda_auto_plan struct koda_plan plan = KODA_PLAN_INIT;
	const struct koda_place rule_place = { .size = sizeof(rule_place), .home = NULL };
	struct koda_plan_request request = { .policy = policy,
					     .place = &place,
					     .fs = &fs,
					     .as_root = scene->as_root,
					     .sockets = scene->sockets };
	struct koda_rules *rules = NULL;
	struct koda_error err = { 0 };
	bool started = false;

	KODA_ASSERT_OK(koda_rules_new(policy, &rule_place, &rules, &err), err);
	request.rules = rules;
	KODA_ASSERT_OK(koda_plan_view(&plan, &request, &err), err);
	for (size_t i = 0; i < plan.count; i++) {
		const struct koda_op *op = &plan.lines[i].op;

		/* dev, then the private directories, come first; proc and what belongs to it
		 * last. */
		if (op->kind == KODA_OP_PROC)
			break;
		started = started || (op->kind != KODA_OP_DEV && op->kind != KODA_OP_TMPFS);
		if (started)
			assert_int_equal(koda_buf_addf(out, "%s %s\n", koda_op_name(op->kind),
						       op->text1.ptr),
					 KODA_OK);
	}
	koda_rules_free(rules);
}

static void expect_view(const char *name, const struct scene *scene, const char *want)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(65536);

	plan_of(scene, &out);
	if (strcmp(out.ptr ? out.ptr : "", want) != 0)
		fail_msg("%s:\n%s\nexpected:\n%s", name, out.ptr ? out.ptr : "", want);
}

static const struct {
	const char *name;
	struct scene scene;
	const char *want;
} golden[] = {
	{ "nothing is allowed", { .root = ROOT, .rules = NOTHING, .things = NOTHING }, "" },
	{ "the project",
	  { .root = ROOT, .rules = LIST("w " ROOT), .things = NOTHING },
	  "writable " ROOT "\n" },
	{ "a rule that repeats another",
	  { .root = ROOT,
	    .rules = LIST("w " ROOT, "w " ROOT "/a"),
	    .things = LIST("d " ROOT "/a") },
	  "writable " ROOT "\n" },
	{ "closed inside",
	  { .root = ROOT,
	    .rules = LIST("w " ROOT, "W " ROOT "/a"),
	    .things = LIST("d " ROOT "/a") },
	  "writable " ROOT "\nread-only " ROOT "/a\n" },
	{ "T-11 the way to what is closed is anchored",
	  { .root = ROOT,
	    .rules = LIST("w " ROOT, "W " ROOT "/a/b/c"),
	    .things = LIST("d " ROOT "/a", "d " ROOT "/a/b", "f " ROOT "/a/b/c") },
	  "writable " ROOT "\nwritable " ROOT "/a\nwritable " ROOT "/a/b\n"
	  "read-only " ROOT "/a/b/c\n" },
	{ "a way that two share is anchored once",
	  { .root = ROOT,
	    .rules = LIST("w " ROOT, "W " ROOT "/a/b", "W " ROOT "/a/c"),
	    .things = LIST("d " ROOT "/a", "f " ROOT "/a/b", "f " ROOT "/a/c") },
	  "writable " ROOT "\nwritable " ROOT "/a\nread-only " ROOT "/a/b\n"
	  "read-only " ROOT "/a/c\n" },
	{ "hidden inside: a file, a directory",
	  { .root = ROOT,
	    .rules = LIST("w " ROOT, "r " ROOT "/a", "r " ROOT "/b"),
	    .things = LIST("d " ROOT "/a", "f " ROOT "/b") },
	  "writable " ROOT "\nmask " ROOT "/a\nmask " ROOT "/b\n" },
	{ "hidden with a hole",
	  { .root = ROOT,
	    .rules = LIST("w " ROOT, "r " ROOT "/a", "h " ROOT "/a/b/c"),
	    .things = LIST("d " ROOT "/a", "d " ROOT "/a/b", "d " ROOT "/a/b/c") },
	  "writable " ROOT "\nveil " ROOT "/a\nhole " ROOT "/a/b/c\n" },
	{ "hidden again in the hole",
	  { .root = ROOT,
	    .rules = LIST("w " ROOT, "r " ROOT "/a", "h " ROOT "/a/b", "r " ROOT "/a/b/c"),
	    .things = LIST("d " ROOT "/a", "d " ROOT "/a/b", "d " ROOT "/a/b/c") },
	  "writable " ROOT "\nveil " ROOT "/a\nhole " ROOT "/a/b\nmask " ROOT "/a/b/c\n" },
	{ "a hole stays read-only though the policy names it writable",
	  { .root = ROOT,
	    .rules = LIST("w " ROOT, "w " ROOT "/a/b", "r " ROOT "/a", "h " ROOT "/a/b"),
	    .things = LIST("d " ROOT "/a", "d " ROOT "/a/b") },
	  "writable " ROOT "\nveil " ROOT "/a\nhole " ROOT "/a/b\n" },
	{ "hidden outside, existing or not",
	  { .root = ROOT,
	    .rules = LIST("r /etc/a", "r /etc/b", "r /etc/c"),
	    .things = LIST("f /etc/a", "l /etc/c") },
	  "mask /etc/a\n" },
	{ "a link that is closed is pinned",
	  { .root = ROOT,
	    .rules = LIST("w " ROOT, "W " ROOT "/a", "r " ROOT "/b"),
	    .things = LIST("l " ROOT "/a", "l " ROOT "/b") },
	  "writable " ROOT "\npin " ROOT "/a\npin " ROOT "/b\n" },
	{ "a missing name is reserved",
	  { .root = ROOT, .rules = LIST("w " ROOT, "W " ROOT "/a"), .things = NOTHING },
	  "writable " ROOT "\nplaceholder " ROOT "/a\nread-only " ROOT "/a\n" },
	{ "hidden in directories that are closed to us: each once",
	  { .root = ROOT,
	    .rules = LIST("w " ROOT, "r " ROOT "/c/a", "r " ROOT "/d/b", "r " ROOT "/c/x/y"),
	    .things = LIST("c " ROOT "/c", "c " ROOT "/d") },
	  "writable " ROOT "\nmask " ROOT "/c\nmask " ROOT "/d\n" },
	{ "read-only in one",
	  { .root = ROOT,
	    .rules = LIST("w " ROOT, "W " ROOT "/c/a", "W " ROOT "/c/x/y"),
	    .things = LIST("c " ROOT "/c") },
	  "writable " ROOT "\nread-only " ROOT "/c\n" },
	{ "both: nothing covers the mask",
	  { .root = ROOT,
	    .rules = LIST("w " ROOT, "r " ROOT "/c/b", "W " ROOT "/c/a", "W " ROOT "/c/x/y"),
	    .things = LIST("c " ROOT "/c") },
	  "writable " ROOT "\nread-only " ROOT "/c\nmask " ROOT "/c\n" },
	{ "a writable place that does not exist",
	  { .root = ROOT, .rules = LIST("w /srv/x"), .things = NOTHING },
	  "" },
	{ "a writable place outside",
	  { .root = ROOT,
	    .rules = LIST("w /srv/x", "W /srv/x/y"),
	    .things = LIST("d /srv/x", "f /srv/x/y") },
	  "writable /srv/x\nread-only /srv/x/y\n" },
	{ "writable inside read-only inside writable does not exist",
	  { .root = ROOT,
	    .rules = LIST("w " ROOT, "W " ROOT "/a", "w " ROOT "/a/b"),
	    .things = LIST("d " ROOT "/a", "d " ROOT "/a/b") },
	  "writable " ROOT "\nread-only " ROOT "/a\n" },
	{ "hidden in a private directory is not there anyway",
	  { .root = ROOT, .rules = LIST("r /tmp/a", "r /run/b"), .things = LIST("f /tmp/a") },
	  "" },
	{ "a project below /tmp",
	  { .root = "/tmp/p",
	    .rules = LIST("w /tmp/p", "W /tmp/p/a", "r /tmp/p/b", "r /tmp/q"),
	    .things = LIST("d /tmp/p", "f /tmp/p/a", "f /tmp/p/b", "d /tmp/q") },
	  "read-only /tmp/p\nwritable /tmp/p\nread-only /tmp/p/a\nmask /tmp/p/b\n" },
	{ "a project below /tmp that is only read",
	  { .root = "/tmp/p",
	    .rules = LIST("r /tmp/p/b"),
	    .things = LIST("d /tmp/p", "f /tmp/p/b") },
	  "read-only /tmp/p\nmask /tmp/p/b\n" },
	{ "sockets of the host",
	  { .root = ROOT,
	    .rules = LIST("w " ROOT, "r /srv/hidden"),
	    .things = LIST("f " ROOT "/s", "f /srv/s", "f /run/s", "f /srv/hidden", "d /srv/d"),
	    .sockets = LIST(ROOT "/s", "/srv/s", "/run/s", "/srv/hidden", "/srv/d", "/gone") },
	  "mask /srv/hidden\nwritable " ROOT "\nmask " ROOT "/s\nmask /srv/s\n" },
};

static void golden_views(void **state)
{
	(void)state;
	KODA_EACH(row, golden)
		expect_view(row->name, &row->scene, row->want);
}

/* Whatever the order of the rules, parents come before children. */
static void order_is_by_depth(void **state)
{
	static const char *const names[] = { "a", "b", "c" };
	struct koda_rng rng = koda_rng_new();

	(void)state;
	for (unsigned int turn = 0; turn < 300; turn++) {
		koda_auto_buf struct koda_buf out = KODA_BUF_INIT(65536);
		char texts[12][64];
		const char *rules[14] = { "w " ROOT };
		const char *things[13] = { NULL };
		struct scene scene = { .root = ROOT, .rules = rules, .things = things };
		size_t depth = 0;

		for (size_t i = 0; i < 12; i++) {
			size_t n = (size_t)snprintf(texts[i], sizeof(texts[i]), "%c %s",
						    "wWrh"[koda_rng_below(&rng, 4)], ROOT);

			for (size_t k = 1 + koda_rng_below(&rng, 4); k > 0; k--)
				n += (size_t)snprintf(texts[i] + n, sizeof(texts[i]) - n, "/%s",
						      names[koda_rng_below(&rng, 3)]);
			rules[i + 1] = texts[i];
			things[i] = texts[i]; /* any letter but d and l makes a file of it */
		}
		plan_of(&scene, &out);
		for (char *rest = out.ptr, *line; (line = strsep(&rest, "\n")) && *line;) {
			size_t here = 0;

			for (const char *c = line; *c; c++)
				here += *c == '/';
			if (strncmp(line, "placeholder", 11) != 0 &&
			    strncmp(line, "writable", 8) != 0)
				assert_true(here >= depth);
			if (strncmp(line, "placeholder", 11) != 0 &&
			    strncmp(line, "writable", 8) != 0)
				depth = here;
		}
	}
}

static void kernel_files_of_root_are_closed_after_proc(void **state)
{
	struct given given = { LIST("d /proc/sys", "f /proc/sysrq-trigger", "d /sys") };
	const struct koda_fs_ops fs = { look, &given };
	const struct koda_place place = { .size = sizeof(place), .root = ROOT, .home = HOME };
	koda_auto_policy struct koda_policy *policy = policy_of(NOTHING);
	struct koda_plan_request request = { .policy = policy, .place = &place, .fs = &fs };
	struct koda_error err = { 0 };
	struct koda_rules *rules = NULL;

	(void)state;
	KODA_ASSERT_OK(koda_rules_new(policy, &place, &rules, &err), err);
	request.rules = rules;
	for (int as_root = 0; as_root < 2; as_root++) {
		koda_auto_plan struct koda_plan plan = KODA_PLAN_INIT;
		bool proc = false;
		unsigned int closed = 0;

		request.as_root = as_root;
		KODA_ASSERT_OK(koda_plan_view(&plan, &request, &err), err);
		for (size_t i = 0; i < plan.count; i++) {
			const struct koda_op *op = &plan.lines[i].op;

			proc = proc || op->kind == KODA_OP_PROC;
			if (op->kind == KODA_OP_READONLY && (op->flags & KODA_OP_LATE)) {
				assert_true(proc);
				assert_true(strncmp(op->text1.ptr, "/proc/", 6) == 0);
				closed++;
			}
		}
		assert_true(proc);
		if (as_root)
			assert_int_equal(closed, 2);
	}
	koda_rules_free(rules);
}

/* What was planned is recognised again when it is mounted. */
static void mounts_carry_the_object(void **state)
{
	struct given given = { LIST("f " ROOT "/a") };
	const struct koda_fs_ops fs = { look, &given };
	const struct koda_place place = { .size = sizeof(place), .root = ROOT, .home = HOME };
	koda_auto_policy struct koda_policy *policy = policy_of(LIST("w " ROOT, "W " ROOT "/a"));
	koda_auto_plan struct koda_plan plan = KODA_PLAN_INIT;
	struct koda_plan_request request = { .policy = policy, .place = &place, .fs = &fs };
	const struct koda_place nowhere = { .size = sizeof(nowhere), .root = NULL };
	struct koda_error err = { 0 };
	struct koda_rules *rules = NULL;
	unsigned int seen = 0;

	(void)state;
	KODA_ASSERT_OK(koda_rules_new(policy, &nowhere, &rules, &err), err);
	request.rules = rules;
	KODA_ASSERT_OK(koda_plan_view(&plan, &request, &err), err);
	for (size_t i = 0; i < plan.count; i++) {
		const struct koda_op *op = &plan.lines[i].op;

		if ((op->kind == KODA_OP_WRITABLE || op->kind == KODA_OP_READONLY) &&
		    !(op->flags & KODA_OP_LATE)) {
			assert_int_equal(op->n2, op->text1.len);
			seen++;
		}
	}
	assert_int_equal(seen, 2);
	koda_rules_free(rules);
}

static int fail_to_look(void *ctx, const char *path, struct koda_fs_stat *ret_look,
			struct koda_error *err)
{
	(void)ctx;
	(void)ret_look;
	if (err)
		*err = (struct koda_error){ .code = KODA_E_SYS, .message = "broken" };
	(void)path;
	return KODA_E_SYS;
}

static void a_file_system_that_fails_fails_the_plan(void **state)
{
	const struct koda_fs_ops fs = { fail_to_look, NULL };
	const struct koda_place place = { .size = sizeof(place), .root = ROOT, .home = HOME };
	koda_auto_policy struct koda_policy *policy = policy_of(LIST("w " ROOT));
	koda_auto_plan struct koda_plan plan = KODA_PLAN_INIT;
	struct koda_plan_request request = { .policy = policy, .place = &place, .fs = &fs };
	struct koda_error err = { 0 };
	struct koda_rules *rules = NULL;

	(void)state;
	KODA_ASSERT_OK(koda_rules_new(policy, &place, &rules, &err), err);
	request.rules = rules;
	KODA_ASSERT_FAILS(KODA_E_SYS, koda_plan_view(&plan, &request, &err), err);
	koda_rules_free(rules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_views),
		cmocka_unit_test(order_is_by_depth),
		cmocka_unit_test(kernel_files_of_root_are_closed_after_proc),
		cmocka_unit_test(mounts_carry_the_object),
		cmocka_unit_test(a_file_system_that_fails_fails_the_plan),
	};

	return KODA_TEST_RUN(tests);
}
