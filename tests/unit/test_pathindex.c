/* SPDX-License-Identifier: MIT */
/* The path index against a model that looks at every rule. */
#include "koda_test.h"

#include "policy/pathindex.h"

#define RULES   300
#define QUERIES 10000

static struct koda_span span(const char *text)
{
	return (struct koda_span){ text, strlen(text) };
}

static void add(struct koda_pathindex *index, const char *path, uint32_t marks)
{
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_pathindex_add(index, span(path), marks, &err), err);
}

/* The walk towards path must show exactly these "mark:rule" steps, joined by spaces. */
static void expect_walk(const struct koda_pathindex *index, const char *path, const char *steps)
{
	struct koda_pathwalk walk = koda_pathwalk_start(index, span(path));
	char seen[256] = "";
	size_t len = 0;

	while (koda_pathwalk_next(&walk))
		len += (size_t)snprintf(seen + len, sizeof(seen) - len, "%s%u:%.*s", len ? " " : "",
					walk.marks, (int)walk.rule.len, walk.rule.ptr);
	if (strcmp(seen, steps) != 0)
		fail_msg("%s shows \"%s\", expected \"%s\"", path, seen, steps);
	assert_false(koda_pathwalk_next(&walk));
}

static void an_empty_index_shows_nothing(void **state)
{
	koda_auto_pathindex struct koda_pathindex index = KODA_PATHINDEX_INIT;

	(void)state;
	expect_walk(&index, "/", "");
	expect_walk(&index, "/a/b", "");
}

static void a_walk_shows_the_rules_on_the_way(void **state)
{
	koda_auto_pathindex struct koda_pathindex index = KODA_PATHINDEX_INIT;
	static const struct {
		const char *path;
		const char *steps;
	} rows[] = {
		{ "/", "1:/" },
		{ "/a", "1:/ 2:/a" },
		{ "/a/b", "1:/ 2:/a" },
		{ "/a/b/c", "1:/ 2:/a 12:/a/b/c" },
		{ "/a/b/c/d/e/f", "1:/ 2:/a 12:/a/b/c" },
		{ "/a/bb/c", "1:/ 2:/a" },
		{ "/ab", "1:/" },
		{ "/A", "1:/" },
		{ "/x/y", "1:/" },
		{ "/\xff/%", "1:/ 16:/\xff/%" },
		/* Paths need not be in normal form. */
		{ "//a//./b/.//c/", "1:/ 2:/a 12:/a/b/c" },
		{ "/.", "1:/" },
	};

	(void)state;
	add(&index, "/", 1);
	add(&index, "/a", 2);
	add(&index, "/a/b/c", 4);
	add(&index, "/a/b/c", 8);
	add(&index, "/\xff/%", 16);
	KODA_EACH(row, rows)
		expect_walk(&index, row->path, row->steps);
}

static void marks_of_zero_show_nothing(void **state)
{
	koda_auto_pathindex struct koda_pathindex index = KODA_PATHINDEX_INIT;

	(void)state;
	add(&index, "/a", 0);
	expect_walk(&index, "/a/b", "");
	add(&index, "/a", 1U << 31);
	expect_walk(&index, "/a/b", "2147483648:/a");
}

/* A path that turns bad ends the walk; the rules before that point have been shown. */
static void a_walk_stops_at_what_is_not_sound(void **state)
{
	koda_auto_pathindex struct koda_pathindex index = KODA_PATHINDEX_INIT;
	struct koda_pathwalk walk;

	(void)state;
	add(&index, "/a", 1);
	add(&index, "/a/b", 2);
	expect_walk(&index, "/a/../a/b", "1:/a");
	expect_walk(&index, "/../a", "");
	walk = koda_pathwalk_start(&index, (struct koda_span){ "/a\0/b", 5 });
	assert_false(koda_pathwalk_next(&walk));
}

static void a_cleared_index_starts_again(void **state)
{
	koda_auto_pathindex struct koda_pathindex index = KODA_PATHINDEX_INIT;

	(void)state;
	add(&index, "/a", 1);
	koda_pathindex_clear(&index);
	expect_walk(&index, "/a", "");
	add(&index, "/b", 2);
	expect_walk(&index, "/a", "");
	expect_walk(&index, "/b", "2:/b");
}

static void sound_paths(void **state)
{
	static const struct {
		const char *text;
		size_t len; /* 0: up to the terminator */
		bool sound;
	} rows[] = {
		{ "/", 0, true },
		{ "/a", 0, true },
		{ "/a/", 0, true },
		{ "//", 0, true },
		{ "/a//b/./c", 0, true },
		{ "/...", 0, true },
		{ "/.a", 0, true },
		{ "/..a", 0, true },
		{ "/a..", 0, true },
		{ "/\xff\n ", 0, true },
		{ "/~", 0, true },
		{ "a", 0, false },
		{ "./a", 0, false },
		{ "~", 0, false },
		{ " /a", 0, false },
		{ "..", 0, false },
		{ "/..", 0, false },
		{ "/../", 0, false },
		{ "/a/..", 0, false },
		{ "/a/../b", 0, false },
		{ "/a/.././b", 0, false },
		{ "/\0", 2, false },
		{ "/a\0", 3, false },
		{ "/a/\0b", 5, false },
		{ "/a/b/c\0/../d", 12, false },
	};

	(void)state;
	KODA_EACH(row, rows) {
		struct koda_span path = { row->text, row->len ? row->len : strlen(row->text) };

		KODA_EXPECT(row->text, koda_pathwalk_is_sound(path) == row->sound);
	}
	assert_false(koda_pathwalk_is_sound((struct koda_span){ NULL, 0 }));
	assert_false(koda_pathwalk_is_sound((struct koda_span){ "", 0 }));
}

static void long_paths_are_not_sound(void **state)
{
	char path[KODA_PATH_MAX + 1];

	(void)state;
	memset(path, 'a', sizeof(path));
	path[0] = '/';
	assert_true(koda_pathwalk_is_sound((struct koda_span){ path, 1 + KODA_NAME_MAX }));
	assert_false(koda_pathwalk_is_sound((struct koda_span){ path, 2 + KODA_NAME_MAX }));
	for (size_t i = 0; i < sizeof(path); i += 2)
		path[i] = '/';
	assert_true(koda_pathwalk_is_sound((struct koda_span){ path, KODA_PATH_MAX }));
	assert_false(koda_pathwalk_is_sound((struct koda_span){ path, KODA_PATH_MAX + 1 }));
}

/* Each path begins where the one before it went, as far as that is remembered, and no further. */
static void neighbours_share_their_directories_only(void **state)
{
	koda_auto_pathindex struct koda_pathindex index = KODA_PATHINDEX_INIT;
	static const char deep[] = "/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r";

	(void)state;
	add(&index, deep, 1);
	add(&index, "/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/s", 2);
	add(&index, "/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/r", 4);
	add(&index, "/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/s", 8);
	add(&index, deep, 16);
	add(&index, "/a/bb", 32);
	add(&index, "/a/b", 64);
	add(&index, "/a/b/bb", 128);
	add(&index, "/a", 256);
	add(&index, "/aa", 512);
	add(&index, "/", 1024);
	add(&index, "/bb", 2048);
	assert_int_equal(index.trie.nodes, 18 + 1 + 1 + 1 + 1 + 1 + 1 + 1);
	expect_walk(&index, deep, "1024:/ 256:/a 64:/a/b 17:/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r");
	expect_walk(&index, "/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/s",
		    "1024:/ 256:/a 64:/a/b 2:/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/s");
	expect_walk(&index, "/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/r",
		    "1024:/ 256:/a 64:/a/b 4:/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/r");
	expect_walk(&index, "/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/s",
		    "1024:/ 256:/a 64:/a/b 8:/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/s");
	expect_walk(&index, "/a/bb", "1024:/ 256:/a 32:/a/bb");
	expect_walk(&index, "/a/b/bb", "1024:/ 256:/a 64:/a/b 128:/a/b/bb");
	expect_walk(&index, "/aa/b", "1024:/ 512:/aa");
	expect_walk(&index, "/bb", "1024:/ 2048:/bb");
}

/* Components from a small world; with noise, what a normal form would drop. */
static size_t random_path(struct koda_rng *rng, bool noise, char out[static 256])
{
	static const char *const names[] = { "a", "b", "c", "aa", "ab", "\xff", ".a", "a b" };
	size_t depth = koda_rng_below(rng, 6);
	size_t len = 0;

	for (size_t i = 0; i < depth; i++) {
		if (noise && koda_rng_one_in(rng, 4))
			len += (size_t)snprintf(out + len, 8, "%s",
						koda_rng_one_in(rng, 2) ? "/" : "/.");
		len += (size_t)snprintf(
			out + len, 16, "/%s",
			names[koda_rng_below(rng, sizeof(names) / sizeof(names[0]))]);
	}
	if (depth == 0 || (noise && koda_rng_one_in(rng, 8)))
		out[len++] = '/';
	return len;
}

static void agrees_with_a_model_that_looks_at_every_rule(void **state)
{
	koda_auto_pathindex struct koda_pathindex index = KODA_PATHINDEX_INIT;
	static char rules[RULES][256];
	struct koda_rng rng = koda_rng_new();
	struct koda_error err = { 0 };
	uint32_t marks[RULES];
	size_t lens[RULES];
	size_t steps = 0;

	(void)state;
	for (size_t i = 0; i < RULES; i++) {
		lens[i] = random_path(&rng, false, rules[i]);
		marks[i] = 1U << koda_rng_below(&rng, 32);
		KODA_ASSERT_OK(koda_pathindex_add(&index, (struct koda_span){ rules[i], lens[i] },
						  marks[i], &err),
			       err);
	}
	for (size_t q = 0; q < QUERIES; q++) {
		koda_auto_buf struct koda_buf normal = KODA_BUF_INIT(KODA_PATH_MAX);
		struct koda_pathwalk walk;
		uint32_t by_depth[257] = { 0 }; /* marks of the rule of each length */
		char query[256];
		size_t len = random_path(&rng, true, query);

		KODA_ASSERT_OK(koda_path_normalise((struct koda_span){ query, len }, &normal, &err),
			       err);
		for (size_t i = 0; i < RULES; i++)
			if (koda_path_covers((struct koda_span){ rules[i], lens[i] },
					     koda_buf_span(&normal)))
				by_depth[lens[i]] |= marks[i];
		walk = koda_pathwalk_start(&index, (struct koda_span){ query, len });
		for (size_t at = 1; at <= normal.len; at++) {
			if (!by_depth[at])
				continue;
			assert_true(koda_pathwalk_next(&walk));
			assert_int_equal(walk.marks, by_depth[at]);
			assert_int_equal(walk.rule.len, at);
			assert_memory_equal(walk.rule.ptr, normal.ptr, at);
			steps++;
		}
		assert_false(koda_pathwalk_next(&walk));
	}
	assert_true(steps > QUERIES / 2);
}

static void room_that_is_reserved_shows_nothing(void **state)
{
	koda_auto_pathindex struct koda_pathindex index = KODA_PATHINDEX_INIT;
	const struct koda_pathnode *nodes;

	(void)state;
	assert_int_equal(koda_pathindex_reserve(&index, SIZE_MAX, 0), KODA_E_LIMIT);
	assert_int_equal(koda_pathindex_reserve(&index, 3, 100), KODA_OK);
	expect_walk(&index, "/a", "");
	assert_false(koda_pathindex_leads_to(&index, span("/")));
	nodes = index.nodes;
	add(&index, "/a", 1);
	add(&index, "/b", 2);
	add(&index, "/c", 4);
	assert_ptr_equal(index.nodes, nodes);
	add(&index, "/c/d", 8);
	expect_walk(&index, "/c/d", "4:/c 8:/c/d");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_index_shows_nothing),
		cmocka_unit_test(a_walk_shows_the_rules_on_the_way),
		cmocka_unit_test(marks_of_zero_show_nothing),
		cmocka_unit_test(a_walk_stops_at_what_is_not_sound),
		cmocka_unit_test(a_cleared_index_starts_again),
		cmocka_unit_test(sound_paths),
		cmocka_unit_test(long_paths_are_not_sound),
		cmocka_unit_test(neighbours_share_their_directories_only),
		cmocka_unit_test(agrees_with_a_model_that_looks_at_every_rule),
		cmocka_unit_test(room_that_is_reserved_shows_nothing),
	};

	return KODA_TEST_RUN(tests);
}
