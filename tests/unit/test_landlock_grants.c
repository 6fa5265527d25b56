/* SPDX-License-Identifier: MIT */
/* T-36. Rules to Landlock grants, over a file system that exists only in a table; and on random
 * ones compared with the verdicts, as the kernel would read the grants. */
#include "../lib/given.h"

#include "base/buf.h"
#include "plan/landlock_grants.h"
#include "plan/landlock_rights.h"
#include "plan/plan.h"
#include "plan/request.h"
#include "policy/policy.h"

#define ROOT "/home/u/p"

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

static int look(void *ctx, const char *path, struct koda_fs_stat *ret_look, struct koda_error *err)
{
	(void)err;
	given_look(ctx, path, strcmp(path, "/") == 0, ret_look);
	return KODA_OK;
}

static int list(void *ctx, const char *dir, size_t max, struct koda_strv *names,
		struct koda_error *err)
{
	const struct given *given = ctx;
	size_t len = strcmp(dir, "/") == 0 ? 0 : strlen(dir);
	int r = KODA_OK;

	for (const char *const *thing = given->things; *thing && r == KODA_OK; thing++) {
		const char *path = *thing + 2;

		if (strncmp(path, dir, len) == 0 && path[len] == '/' &&
		    !strchr(path + len + 1, '/')) {
			assert_true(names->len < max);
			r = koda_strv_add(names, path + len + 1, err);
		}
	}
	return r;
}

static struct koda_policy *policy_of(const char *const *rules)
{
	struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_policy_new(&policy, &err), err);
	for (; *rules; rules++) {
		enum koda_list which = (*rules)[0] == 'w'   ? KODA_LIST_ALLOW_WRITE
				       : (*rules)[0] == 'W' ? KODA_LIST_DENY_WRITE_WITHIN_ALLOW
				       : (*rules)[0] == 'r' ? KODA_LIST_DENY_READ
							    : KODA_LIST_ALLOW_READ_WITHIN_DENY;

		KODA_ASSERT_OK(koda_policy_add(policy, which, *rules + 2, strlen(*rules + 2), &err),
			       err);
	}
	return policy;
}

struct scene {
	const char *name;
	const char *const *rules;
	const char *const *things;
	const char *const *sockets;
	const char *want; /* "R path", "W path" or "L path" (its names only), a line each */
};

static int cut(const struct scene *scene, const struct koda_rules *rules, struct koda_plan *plan,
	       struct koda_error *err)
{
	struct given given = { scene->things };
	const struct koda_fs_ops fs = { .look = look, .ctx = &given, .list = list };
	const struct koda_place place = { .size = sizeof(place), .root = ROOT };
	const struct koda_plan_request request = {
		.rules = rules, .place = &place, .fs = &fs, .sockets = scene->sockets
	};

	return koda_plan_landlock_grants(plan, &request, err);
}

static void describe(const struct koda_plan *plan, struct koda_buf *out)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct koda_op *op = &plan->lines[i].op;
		char kind = op->n1 & RIGHT_WRITE_FILE ? 'W' : op->n1 & RIGHT_READ_FILE ? 'R' : 'L';

		if (op->kind != KODA_OP_LANDLOCK)
			continue;
		assert_int_equal(op->flags, KODA_OP_EXACT);
		assert_int_equal(op->n2, op->text1.len);
		assert_int_equal(koda_buf_addf(out, "%c %s\n", kind, op->text1.ptr), KODA_OK);
	}
}

#define TOP "d /home", "d /home/u", "d /home/u/p"

static void test_scenes(void **state)
{
	const struct scene scenes[] = {
		{ "nothing is denied: the project as a whole", LIST("w " ROOT), LIST(TOP), NULL,
		  "R /\nW " ROOT "\n" },
		{ "what has a namespace of its own elsewhere is closed", LIST("w " ROOT),
		  LIST(TOP, "d /tmp", "d /proc", "d /dev", "d /run", "d /usr", "d /var",
		       "d /var/tmp", "d /var/lib"),
		  NULL, "R /home\nR /usr\nR /var/lib\nW " ROOT "\n" },
		{ "a protected file: its siblings, one by one", LIST("w " ROOT, "W " ROOT "/x"),
		  LIST(TOP, "f " ROOT "/x", "f " ROOT "/a", "d " ROOT "/d", "l " ROOT "/l"), NULL,
		  "R /\nW " ROOT "/a\nW " ROOT "/d\n" },
		{ "one that does not exist: nothing to hold", LIST("w " ROOT, "W " ROOT "/x"),
		  LIST(TOP, "f " ROOT "/a"), NULL, "R /\nW " ROOT "\n" },
		{ "one that is a link stays, too", LIST("w " ROOT, "W " ROOT "/x"),
		  LIST(TOP, "l " ROOT "/x", "f " ROOT "/a"), NULL, "R /\nW " ROOT "/a\n" },
		{ "far down: every directory on the way", LIST("w " ROOT, "W " ROOT "/d/e/x"),
		  LIST(TOP, "d " ROOT "/d", "d " ROOT "/d/e", "f " ROOT "/d/e/x",
		       "f " ROOT "/d/e/y", "d " ROOT "/d/f", "f " ROOT "/a"),
		  NULL, "R /\nW " ROOT "/d/e/y\nW " ROOT "/d/f\nW " ROOT "/a\n" },
		{ "a hidden file: names can be listed", LIST("w " ROOT, "r " ROOT "/s"),
		  LIST(TOP, "f " ROOT "/s", "f " ROOT "/a"), NULL,
		  "R " ROOT "/a\nL " ROOT "\nL /home/u\nL /home\nL /\nW " ROOT "/a\n" },
		{ "a hidden directory: they cannot", LIST("w " ROOT, "r /home/u/s"),
		  LIST(TOP, "d /home/u/s", "f /home/u/s/key", "f /home/u/f"), NULL,
		  "R " ROOT "\nR /home/u/f\nW " ROOT "\n" },
		{ "one that is not there yet: what appears beside it is not granted",
		  LIST("w " ROOT, "r /home/u/s"), LIST(TOP, "f /home/u/f"), NULL,
		  "R " ROOT "\nR /home/u/f\nW " ROOT "\n" },
		{ "nor its directory", LIST("w " ROOT, "r /home/u/a/b/s"), LIST(TOP, "f /home/u/f"),
		  NULL, "R " ROOT "\nR /home/u/f\nW " ROOT "\n" },
		{ "below a file there is nothing to be made", LIST("w " ROOT, "r /home/u/f/s"),
		  LIST(TOP, "f /home/u/f"), NULL, "R /\nW " ROOT "\n" },
		{ "where the command may write, others cannot be kept from it",
		  LIST("w " ROOT, "r " ROOT "/s"), LIST(TOP, "f " ROOT "/a"), NULL,
		  "R /\nW " ROOT "\n" },
		{ "a hole in it", LIST("w " ROOT, "r /home/u/s", "h /home/u/s/o"),
		  LIST(TOP, "d /home/u/s", "f /home/u/s/key", "d /home/u/s/o"), NULL,
		  "R /home/u/s/o\nR " ROOT "\nW " ROOT "\n" },
		{ "something in a directory that is closed: none of it",
		  LIST("w " ROOT, "r " ROOT "/c/s", "W " ROOT "/c/x"),
		  LIST(TOP, "c " ROOT "/c", "f " ROOT "/a"), NULL, "R " ROOT "/a\nW " ROOT "/a\n" },
		{ "the same of writing only: it can be listed, if it is ever opened",
		  LIST("w " ROOT, "W " ROOT "/c/x"), LIST(TOP, "c " ROOT "/c", "f " ROOT "/a"),
		  NULL, "R /\nW " ROOT "/a\n" },
		{ "a project in a closed directory", LIST("w /tmp/x"),
		  LIST("d /tmp", "d /tmp/x", "f /tmp/other", "d /usr"), NULL,
		  "R /tmp/x\nR /usr\nW /tmp/x\n" },
		{ "a socket of the host stays where it is", LIST("w " ROOT),
		  LIST(TOP, "f " ROOT "/s", "f " ROOT "/a"), LIST(ROOT "/s"),
		  "R /\nW " ROOT "/a\n" },
		{ "writable inside closed inside writable: closed",
		  LIST("w " ROOT, "W " ROOT "/d", "w " ROOT "/d/e"),
		  LIST(TOP, "d " ROOT "/d", "d " ROOT "/d/e", "f " ROOT "/a"), NULL,
		  "R /\nW " ROOT "/a\n" },
	};

	(void)state;
	KODA_EACH(scene, scenes) {
		koda_auto_policy struct koda_policy *policy = policy_of(scene->rules);
		koda_auto_buf struct koda_buf out = KODA_BUF_INIT(65536);
		koda_auto_plan struct koda_plan plan = KODA_PLAN_INIT;
		const struct koda_place nowhere = { .size = sizeof(nowhere), .home = NULL };
		struct koda_rules *rules = NULL;
		struct koda_error err = { 0 };

		KODA_ASSERT_OK(koda_rules_new(policy, &nowhere, &rules, &err), err);
		KODA_ASSERT_OK(cut(scene, rules, &plan, &err), err);
		describe(&plan, &out);
		if (strcmp(out.ptr ? out.ptr : "", scene->want) != 0)
			fail_msg("%s:\n%s\nexpected:\n%s", scene->name, out.ptr ? out.ptr : "",
				 scene->want);
		koda_rules_free(rules);
	}
}

/* --- random trees --- */

#define THINGS 60

struct forest {
	char text[THINGS][128];
	const char *things[THINGS + 1];
	size_t count;
	char rule_text[12][130];
	const char *rules[13];
};

static void grow(struct forest *f, struct koda_rng *rng)
{
	static const char kinds[] = "ddfl";

	f->count = 0;
	(void)snprintf(f->text[f->count++], sizeof(f->text[0]), "d /w");
	while (f->count < THINGS) {
		const char *under = f->text[koda_rng_below(rng, f->count)];
		char kind = kinds[koda_rng_below(rng, sizeof(kinds) - 1)];

		if (under[0] != 'd' || strlen(under) > 100)
			continue;
		/* Numbered, so that no name comes twice. */
		(void)snprintf(f->text[f->count], sizeof(f->text[0]), "%c %.100s/%zu", kind,
			       under + 2, f->count);
		f->count++;
	}
	for (size_t i = 0; i < f->count; i++)
		f->things[i] = f->text[i];
	f->things[f->count] = NULL;
}

static void rule(struct forest *f, struct koda_rng *rng)
{
	static const char kinds[] = "wwWWrrh";
	size_t count = 1 + koda_rng_below(rng, 11);

	for (size_t i = 0; i < count; i++) {
		/* Now and then about something that is not there. */
		(void)snprintf(f->rule_text[i], sizeof(f->rule_text[0]), "%c %.110s%s",
			       kinds[koda_rng_below(rng, sizeof(kinds) - 1)],
			       f->text[koda_rng_below(rng, f->count)] + 2,
			       koda_rng_one_in(rng, 5) ? "/none" : "");
		f->rules[i] = f->rule_text[i];
	}
	f->rules[count] = NULL;
}

/* What Landlock would say: some grant at the path or above has the right. */
static bool is_granted(const struct koda_plan *plan, const char *path, uint64_t right)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct koda_op *op = &plan->lines[i].op;
		size_t len = op->text1.len;

		if (op->kind == KODA_OP_LANDLOCK && (op->n1 & right) &&
		    (len == 1 || (strncmp(path, op->text1.ptr, len) == 0 &&
				  (path[len] == '/' || path[len] == '\0'))))
			return true;
	}
	return false;
}

/* A right to remove or make something in the directory above is one over the thing itself. */
static void compare(const struct forest *f, const struct koda_plan *plan,
		    const struct koda_rules *rules)
{
	const uint64_t make = RIGHTS_ALL & ~RIGHTS_DEVICE;

	for (size_t i = 0; i < f->count; i++) {
		const char *path = f->things[i] + 2;
		size_t len = strlen(path);
		bool reads = koda_rules_read(rules, path, len).answer == KODA_ALLOW;
		bool writes = koda_rules_write(rules, path, len).answer == KODA_ALLOW;
		/* To list a file means nothing. */
		uint64_t of_kind =
			f->things[i][0] == 'd' ? RIGHTS_READ : RIGHT_READ_FILE | RIGHT_EXECUTE;
		koda_auto_free char *above = strndup(path, (size_t)(strrchr(path, '/') - path));

		assert_non_null(above);
		if (f->things[i][0] != 'l') {
			KODA_EXPECT(path, writes || !is_granted(plan, path, RIGHT_WRITE_FILE));
			KODA_EXPECT(path, reads || !is_granted(plan, path, of_kind));
			KODA_EXPECT(path, writes || !is_granted(plan, path, make));
		}
		if (f->things[i][0] == 'f')
			KODA_EXPECT(path,
				    reads == is_granted(plan, path, RIGHT_READ_FILE) &&
					    writes == is_granted(plan, path, RIGHT_WRITE_FILE));
		KODA_EXPECT(path, writes || !is_granted(plan, above, make));
	}
}

static void test_random(void **state)
{
	static struct forest forest;
	struct koda_rng rng = koda_rng_new();

	(void)state;
	for (int i = 0; i < 2000; i++) {
		koda_auto_plan struct koda_plan plan = KODA_PLAN_INIT;
		koda_auto_policy struct koda_policy *policy = NULL;
		const struct koda_place nowhere = { .size = sizeof(nowhere), .home = NULL };
		const struct scene scene = { .things = forest.things };
		struct koda_rules *rules = NULL;
		struct koda_error err = { 0 };

		grow(&forest, &rng);
		rule(&forest, &rng);
		policy = policy_of(forest.rules);
		KODA_ASSERT_OK(koda_rules_new(policy, &nowhere, &rules, &err), err);
		KODA_ASSERT_OK(cut(&scene, rules, &plan, &err), err);
		compare(&forest, &plan, rules);
		koda_rules_free(rules);
	}
}

/* --- too much --- */

static int list_many(void *ctx, const char *dir, size_t max, struct koda_strv *names,
		     struct koda_error *err)
{
	int r = KODA_OK;

	(void)ctx;
	for (size_t i = 0; i < max && strcmp(dir, ROOT) == 0 && r == KODA_OK; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "%zu", i);
		r = koda_strv_add(names, name, err);
	}
	return r;
}

static int look_many(void *ctx, const char *path, struct koda_fs_stat *ret_look,
		     struct koda_error *err)
{
	(void)ctx;
	(void)path;
	(void)err;
	*ret_look = (struct koda_fs_stat){ .type = KODA_FILE_OTHER, .ino = 1 };
	return KODA_OK;
}

static void test_bound(void **state)
{
	koda_auto_policy struct koda_policy *policy = policy_of(LIST("w " ROOT, "W " ROOT "/x"));
	koda_auto_plan struct koda_plan plan = KODA_PLAN_INIT;
	const struct koda_fs_ops fs = { .look = look_many, .list = list_many };
	const struct koda_place place = { .size = sizeof(place), .root = ROOT };
	struct koda_plan_request request = { .place = &place, .fs = &fs };
	const struct koda_place nowhere = { .size = sizeof(nowhere), .home = NULL };
	struct koda_rules *rules = NULL;
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_OK(koda_rules_new(policy, &nowhere, &rules, &err), err);
	request.rules = rules;
	KODA_ASSERT_FAILS(KODA_E_LIMIT, koda_plan_landlock_grants(&plan, &request, &err), err);
	assert_non_null(strstr(err.message, "without namespaces"));
	koda_rules_free(rules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scenes),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_bound),
	};

	return KODA_TEST_RUN(tests);
}
