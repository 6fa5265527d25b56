/* SPDX-License-Identifier: MIT */
/* For random rules and trees, the worker allows what the verdicts of `policy check` allow. */
#include "rig.h"

#include "policy/path_verdict.h"

#define PATHS 40

/* Directories are even numbers, files odd ones. */
struct tree {
	char paths[PATHS][64]; /* relative to the scratch directory */
	size_t count;
};

static void make_tree(const char *dir, struct koda_rng *rng, struct tree *tree)
{
	(void)snprintf(tree->paths[0], sizeof(tree->paths[0]), "root");
	for (tree->count = 1; tree->count < PATHS; tree->count++) {
		char *path = tree->paths[tree->count];
		size_t above = koda_rng_below(rng, (tree->count + 1) / 2) * 2;

		if (strlen(tree->paths[above]) > 40)
			above = 0;
		(void)snprintf(path, sizeof(tree->paths[0]), "%.48s/%zu", tree->paths[above],
			       tree->count);
		if (tree->count % 2)
			(void)koda_make_file(dir, path, "content");
		else
			(void)koda_make_dir(dir, path);
	}
}

static void make_rules(const char *dir, struct koda_rng *rng, const struct tree *tree,
		       struct koda_pathindex *index)
{
	static const uint32_t marks[] = { MARK(DENY_READ),   MARK(READ_HOLE),  MARK(ALLOW_WRITE),
					  MARK(ALLOW_WRITE), MARK(DENY_WRITE), MARK(PROJECT_NAME),
					  MARK(OWN_STATE),   MARK(GIT),        MARK(CACHE) };
	struct koda_error err;

	if (!koda_rng_one_in(rng, 4))
		KODA_ASSERT_OK(koda_pathindex_add(index, koda_span_of(koda_in(dir, "root")),
						  MARK(ALLOW_WRITE), &err),
			       err);
	for (size_t i = 0; i < 6; i++) {
		const char *path = koda_in(dir, tree->paths[koda_rng_below(rng, tree->count)]);

		KODA_ASSERT_OK(koda_pathindex_add(index, koda_span_of(path),
						  marks[koda_rng_below(rng, KODA_ARRAY_LEN(marks))],
						  &err),
			       err);
	}
}

static void expect(const char *what, const char *path, bool allowed, enum koda_fs_status status)
{
	bool denied = status == KODA_FS_STATUS_DENIED;

	if (denied == allowed)
		fail_msg("%s %s: the verdict is %s, the worker says \"%s\"", what, path,
			 allowed ? "allow" : "deny", koda_fs_status_text(status));
}

static void compare_path(struct rig *rig, const struct koda_pathindex *index, const char *path,
			 bool is_file)
{
	struct koda_span span = koda_span_of(path);
	bool reads = koda_path_verdict_read(index, span).answer == KODA_ALLOW;
	bool writes = koda_path_verdict_write(index, span).answer == KODA_ALLOW;
	bool replaces = koda_path_verdict_replace(index, span).answer == KODA_ALLOW;

	expect("stat", path, reads, rig_do(rig, KODA_FS_OP_STAT, path, 0));
	expect("list", path, reads, rig_do(rig, KODA_FS_OP_LIST, path, 0));
	expect("read", path, reads, rig_do(rig, KODA_FS_OP_READ, path, 0));
	if (is_file) {
		expect("write", path, replaces, rig_write(rig, path, "x", 0));
		expect("write in place", path, writes,
		       rig_write(rig, path, "content", KODA_FS_IN_PLACE));
		expect("edit", path, replaces, rig_do2(rig, KODA_FS_OP_EDIT, path, "nothing", 0));
	}
	expect("mkdir", path, writes, rig_do(rig, KODA_FS_OP_MKDIR, path, 0));
	/* A directory that is not empty stays. */
	if (!is_file && strcmp(strrchr(path, '/'), "/root") != 0)
		expect("remove", path, replaces, rig_do(rig, KODA_FS_OP_REMOVE, path, 0));
}

static void compare(const char *dir, struct koda_rng *rng)
{
	koda_auto_pathindex struct koda_pathindex index = KODA_PATHINDEX_INIT;
	struct rig_setup setup = { .dir = dir, .index = &index };
	struct tree tree;
	struct rig rig;

	make_tree(dir, rng, &tree);
	make_rules(dir, rng, &tree, &index);
	rig_start(&rig, &setup);
	for (size_t i = 0; i < tree.count; i++) {
		char path[PATH_MAX];

		(void)snprintf(path, sizeof(path), "%s", koda_in(dir, tree.paths[i]));
		compare_path(&rig, &index, path, i % 2);
		if (i % 2)
			continue;
		/* A name that does not exist in it, unless it is removed by now. */
		(void)snprintf(path + strlen(path), 16, "/missing");
		if (access(koda_in(dir, tree.paths[i]), F_OK) == 0)
			compare_path(&rig, &index, path, true);
	}
	assert_int_equal(rig_stop(&rig), 0);
}

static void the_worker_agrees_with_the_verdicts(void **state)
{
	struct koda_rng rng = koda_rng_new();

	for (int i = 0; i < 8; i++) {
		void *inner = NULL;

		(void)state;
		assert_int_equal(rig_setup_root(&inner), 0);
		compare(inner, &rng);
		assert_int_equal(koda_scratch_teardown(&inner), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_worker_agrees_with_the_verdicts),
	};

	return KODA_TEST_RUN(tests);
}
