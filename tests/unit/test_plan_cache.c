/* SPDX-License-Identifier: MIT */
/* T-24 package caches: what is planned for them, over a file system that exists only in a table. */
#include "koda_test.h"

#include "base/buf.h"
#include "plan/plan.h"
#include "plan/request.h"
#include "plan/view.h"
#include "policy/policy.h"

#define HOME  "/home/u"
#define ROOT  "/home/u/p"
#define CACHE "/home/u/.cache"
#define STORE "/home/u/.local/state/koda/caches/=p"

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* "d path", "l path" (a link) or "f path". */
static int look(void *ctx, const char *path, struct koda_fs_stat *ret_look, struct koda_error *err)
{
	(void)err;
	*ret_look = (struct koda_fs_stat){ .type = KODA_FILE_MISSING };
	for (const char *const *thing = ctx; *thing; thing++)
		if (strcmp(*thing + 2, path) == 0)
			ret_look->type = (*thing)[0] == 'd'   ? KODA_FILE_DIR
					 : (*thing)[0] == 'l' ? KODA_FILE_LINK
							      : KODA_FILE_OTHER;
	if (ret_look->type != KODA_FILE_MISSING)
		ret_look->ino = strlen(path);
	return KODA_OK;
}

struct scene {
	const char *const *writable; /* allow_write */
	const char *const *closed;   /* deny_write_within_allow */
	const char *const *hidden;   /* deny_read */
	const char *const *holes;
	const char *const *things;
	const char *const *sockets;
	const char *const *exec_dirs;
	const char *store;
};

static void add_all(struct koda_policy *policy, enum koda_list list, const char *const *paths)
{
	struct koda_error err = { 0 };

	for (; paths && *paths; paths++)
		KODA_ASSERT_OK(koda_policy_add(policy, list, *paths, strlen(*paths), &err), err);
}

/* "name path [store] flags" a line: what lies in or above the cache, and our state. */
static void plan_of(const struct scene *scene, struct koda_buf *out)
{
	const struct koda_fs_ops fs = { look, (void *)(uintptr_t)scene->things };
	const struct koda_place place = { .size = sizeof(place),
					  .root = ROOT,
					  .home = HOME,
					  .exec_dirs = scene->exec_dirs,
					  .caches = LIST(CACHE) };
	koda_auto_policy struct koda_policy *policy = NULL;
	koda_auto_plan struct koda_plan plan = KODA_PLAN_INIT;
	struct koda_plan_request request = {
		.place = &place, .fs = &fs, .sockets = scene->sockets, .caches = scene->store
	};
	struct koda_rules *rules = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_policy_new(&policy, &err), err);
	add_all(policy, KODA_LIST_ALLOW_WRITE, scene->writable);
	add_all(policy, KODA_LIST_DENY_WRITE_WITHIN_ALLOW, scene->closed);
	add_all(policy, KODA_LIST_DENY_READ, scene->hidden);
	add_all(policy, KODA_LIST_ALLOW_READ_WITHIN_DENY, scene->holes);
	KODA_ASSERT_OK(koda_rules_new(policy, &place, &rules, &err), err);
	request.policy = policy;
	request.rules = rules;
	KODA_ASSERT_OK(koda_plan_view(&plan, &request, &err), err);
	assert_int_equal(koda_buf_add(out, "", 0), KODA_OK);
	for (size_t i = 0; i < plan.count; i++) {
		const struct koda_op *op = &plan.lines[i].op;
		bool ours = strncmp(op->text1.ptr, CACHE, strlen(CACHE)) == 0 ||
			    strstr(op->text1.ptr, "/koda");

		/* Nothing is ever put into the host's cache. */
		assert_true(op->kind != KODA_OP_PLACEHOLDER && op->kind != KODA_OP_PLACEHOLDER_FILE
				    ? true
				    : strncmp(op->text1.ptr, CACHE, strlen(CACHE)) != 0);
		if (ours)
			assert_int_equal(
				koda_buf_addf(out, "%s %s%s%.*s%s%s\n", koda_op_name(op->kind),
					      op->text1.ptr, op->text2.len ? " " : "",
					      (int)op->text2.len, op->text2.ptr,
					      op->flags & KODA_OP_LATE ? " late" : "",
					      op->flags & KODA_OP_FLEETING ? " loose" : ""),
				KODA_OK);
	}
	koda_rules_free(rules);
}

#define OVERLAY "overlay " CACHE " " STORE "/.cache\n"
#define HIDDEN  "mask /home/u/.local/state/koda loose\n"

static const struct {
	const char *name;
	struct scene scene;
	const char *want;
} golden[] = {
	{ "a cache is a copy, and where it is kept is hidden before it exists",
	  { .writable = LIST(ROOT), .things = LIST("d " CACHE), .store = STORE },
	  OVERLAY HIDDEN },
	{ "who may write nothing gets no copy",
	  { .things = LIST("d " CACHE), .store = STORE },
	  HIDDEN },
	{ "nowhere to keep it",
	  { .writable = LIST(ROOT), .things = LIST("d " CACHE) },
	  "tmpfs " CACHE "\n" },
	{ "it became a link",
	  { .writable = LIST(ROOT), .things = LIST("l " CACHE), .store = STORE },
	  HIDDEN },
	{ "the policy opens the host's own",
	  { .writable = LIST(ROOT, CACHE), .things = LIST("d " CACHE), .store = STORE },
	  "writable " CACHE "\n" HIDDEN },
	{ "the policy opens a part of the host's own",
	  { .writable = LIST(ROOT, CACHE "/a"),
	    .things = LIST("d " CACHE, "d " CACHE "/a"),
	    .store = STORE },
	  OVERLAY "writable " CACHE "/a\n" HIDDEN },
	{ "the policy closes all of it",
	  { .writable = LIST(ROOT), .closed = LIST(CACHE), .things = LIST("d " CACHE) },
	  "" },
	{ "the policy hides all of it",
	  { .writable = LIST(ROOT), .hidden = LIST(CACHE), .things = LIST("d " CACHE) },
	  "mask " CACHE "\n" },
	{ "a socket of the host",
	  { .writable = LIST(ROOT),
	    .things = LIST("d " CACHE, "f " CACHE "/s"),
	    .sockets = LIST(CACHE "/s"),
	    .store = STORE },
	  OVERLAY HIDDEN "mask " CACHE "/s loose\n" },
};

static void golden_views(void **state)
{
	(void)state;
	KODA_EACH(row, golden) {
		koda_auto_buf struct koda_buf out = KODA_BUF_INIT(65536);

		plan_of(&row->scene, &out);
		if (strcmp(out.ptr, row->want) != 0)
			fail_msg("%s:\n%s\nexpected:\n%s", row->name, out.ptr, row->want);
	}
}

/* The ops after the overlay's line, which carries a number of what is closed. */
static void expect_inside(const struct scene *scene, const char *want)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(65536);
	char *line;

	plan_of(scene, &out);
	assert_memory_equal(out.ptr, "overlay " CACHE " " STORE "/.cache-",
			    strlen("overlay " CACHE " " STORE "/.cache-"));
	line = strchr(out.ptr, '\n');
	assert_non_null(line);
	assert_string_equal(line + 1, want);
}

/* From the copy and never from the host, whether it exists or not; the way is held. */
static void what_is_closed_inside_is_closed_in_the_copy(void **state)
{
	(void)state;
	expect_inside(
		&(struct scene){ .writable = LIST(ROOT),
				 .closed = LIST(CACHE "/a/b"),
				 .hidden = LIST(CACHE "/c"),
				 .things = LIST("d " CACHE, "d " CACHE "/a", "d " CACHE "/a/b"),
				 .store = STORE },
		"mask " CACHE "/c late\nwritable " CACHE "/a late\nread-only " CACHE
		"/a/b late\n" HIDDEN);
	expect_inside(&(struct scene){ .writable = LIST(ROOT),
				       .exec_dirs = LIST(CACHE "/bin"),
				       .things = LIST("d " CACHE, "d " CACHE "/bin"),
				       .store = STORE },
		      "read-only " CACHE "/bin late\n" HIDDEN);
	expect_inside(
		&(struct scene){ .writable = LIST(ROOT),
				 .hidden = LIST(CACHE "/c"),
				 .holes = LIST(CACHE "/c/d"),
				 .things = LIST("d " CACHE, "d " CACHE "/c", "d " CACHE "/c/d"),
				 .store = STORE },
		"veil " CACHE "/c\nhole " CACHE "/c/d\n" HIDDEN);
	/* What a link leads to has its own rule. */
	expect_inside(&(struct scene){ .writable = LIST(ROOT),
				       .hidden = LIST(CACHE "/l", CACHE "/m/x"),
				       .things = LIST("d " CACHE, "l " CACHE "/l", "l " CACHE "/m"),
				       .store = STORE },
		      HIDDEN);
}

/* The first line of a plan: where the copy is kept. */
static void store_of(const struct scene *scene, char *out, size_t size)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(65536);

	plan_of(scene, &text);
	text.ptr[strcspn(text.ptr, "\n")] = '\0';
	assert_true(strlen(text.ptr) < size);
	(void)strcpy(out, text.ptr);
}

/* A run with other rules would find what it cannot mount over. */
static void copies_are_told_apart_by_what_is_closed(void **state)
{
	struct scene one = { .writable = LIST(ROOT),
			     .closed = LIST(CACHE "/a", CACHE "/b"),
			     .things = LIST("d " CACHE),
			     .store = STORE };
	struct scene swapped = one;
	struct scene other = one;
	char a[256];
	char b[256];

	(void)state;
	swapped.closed = LIST(CACHE "/b", CACHE "/a");
	other.closed = LIST(CACHE "/a", CACHE "/c");
	store_of(&one, a, sizeof(a));
	store_of(&swapped, b, sizeof(b));
	assert_string_equal(a, b);
	store_of(&other, b, sizeof(b));
	assert_string_not_equal(a, b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_views),
		cmocka_unit_test(what_is_closed_inside_is_closed_in_the_copy),
		cmocka_unit_test(copies_are_told_apart_by_what_is_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
