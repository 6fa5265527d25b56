/* SPDX-License-Identifier: MIT */
/* The lexical half of base/path.h; test_path_resolve.c and test_path_beneath.c ask the kernel. */
#include "koda_test.h"

#include "base/path.h"

#include <unistd.h>

#define TEXT(s)                                                                                    \
	{                                                                                          \
		(s), sizeof(s) - 1                                                                 \
	}

static const struct {
	const char *name;
	struct koda_span path;
	const char *names; /* joined by ',' */
	enum koda_step last;
} walks[] = {
	{ "root", TEXT("/"), "", KODA_STEP_END },
	{ "empty", TEXT(""), "", KODA_STEP_END },
	{ "one", TEXT("/a"), "a,", KODA_STEP_END },
	{ "three", TEXT("/a/bc/d"), "a,bc,d,", KODA_STEP_END },
	{ "no leading slash", TEXT("a/b"), "a,b,", KODA_STEP_END },
	{ "slashes", TEXT("//a///b//"), "a,b,", KODA_STEP_END },
	{ "dots vanish", TEXT("/./a/././b/."), "a,b,", KODA_STEP_END },
	{ "names that begin with dots", TEXT("/.a/..b/.../a."), ".a,..b,...,a.,", KODA_STEP_END },
	{ "up", TEXT("/a/../b"), "a,", KODA_STEP_BAD },
	{ "up at the end", TEXT("/a/.."), "a,", KODA_STEP_BAD },
	{ "NUL in a name", TEXT("/a/b\0c/d"), "a,", KODA_STEP_BAD },
	{ "NUL for a name", TEXT("/a/\0"), "a,", KODA_STEP_BAD },
	{ "NUL after a dot", TEXT("/.\0"), "", KODA_STEP_BAD },
	{ "not UTF-8", TEXT("/\xff\xfe"), "\xff\xfe,", KODA_STEP_END },
};

static void next_gives_component_after_component(void **state)
{
	(void)state;
	KODA_EACH(row, walks) {
		koda_auto_buf struct koda_buf names = KODA_BUF_INIT(100);
		struct koda_span rest = row->path;
		struct koda_span name;
		enum koda_step step;

		while ((step = koda_path_next(&rest, &name)) == KODA_STEP_NAME)
			assert_int_equal(koda_buf_addf(&names, "%.*s,", (int)name.len, name.ptr),
					 KODA_OK);
		KODA_EXPECT(row->name, step == row->last);
		KODA_EXPECT(row->name, koda_span_is(koda_buf_span(&names), row->names));
	}
}

static void next_stays_inside_the_span(void **state)
{
	struct koda_span rest = { "/abc", 3 };
	struct koda_span name;

	(void)state;
	assert_int_equal(koda_path_next(&rest, &name), KODA_STEP_NAME);
	KODA_ASSERT_SPAN(name, "ab");
	assert_int_equal(koda_path_next(&rest, &name), KODA_STEP_END);
}

static void a_component_may_be_as_long_as_the_kernel_allows(void **state)
{
	char path[KODA_NAME_MAX + 3] = "/";
	struct koda_span rest = { path, KODA_NAME_MAX + 1 };
	struct koda_span name;

	(void)state;
	memset(path + 1, 'n', KODA_NAME_MAX + 1);
	assert_int_equal(koda_path_next(&rest, &name), KODA_STEP_NAME);
	assert_int_equal(name.len, KODA_NAME_MAX);
	rest = (struct koda_span){ path, KODA_NAME_MAX + 2 };
	assert_int_equal(koda_path_next(&rest, &name), KODA_STEP_BAD);
}

static const struct {
	const char *name;
	struct koda_span path;
	const char *normal;
} normals[] = {
	{ "root", TEXT("/"), "/" },
	{ "many roots", TEXT("////"), "/" },
	{ "root and dot", TEXT("/./."), "/" },
	{ "plain", TEXT("/a/b"), "/a/b" },
	{ "trailing slash", TEXT("/a/b/"), "/a/b" },
	{ "two leading slashes", TEXT("//a"), "/a" },
	{ "inner slashes and dots", TEXT("/a//./b/./"), "/a/b" },
	{ "dotted names stay", TEXT("/.git/..x/..."), "/.git/..x/..." },
	{ "spaces and controls stay", TEXT("/a b/\n\t"), "/a b/\n\t" },
	{ "bytes stay", TEXT("/\xff\xc3\xa9"), "/\xff\xc3\xa9" },
	{ "tilde is a name", TEXT("/~/x"), "/~/x" },
};

static void normalise_gives_one_spelling(void **state)
{
	(void)state;
	KODA_EACH(row, normals) {
		koda_auto_buf struct koda_buf out = KODA_BUF_INIT(KODA_PATH_MAX);
		struct koda_error err = { 0 };

		KODA_EXPECT(row->name, koda_path_normalise(row->path, &out, &err) == KODA_OK);
		KODA_EXPECT(row->name, koda_span_is(koda_buf_span(&out), row->normal));
	}
}

static const struct {
	const char *name;
	struct koda_span path;
	const char *says;
} refused[] = {
	{ "empty", TEXT(""), "empty" },
	{ "nowhere", { NULL, 0 }, "empty" },
	{ "relative", TEXT("a/b"), "not absolute" },
	{ "dot", TEXT("."), "not absolute" },
	{ "tilde", TEXT("~/x"), "not absolute" },
	{ "relative and long",
	  TEXT("0123456789012345678901234567890123456789012345678901234567890123456789"
	       "0123456789012345678901234567890123456789012345678901234567890123456789"),
	  "not absolute" },
	{ "up", TEXT("/a/../b"), "'..'" },
	{ "up first", TEXT("/.."), "'..'" },
	{ "up last", TEXT("/a/.."), "'..'" },
	{ "NUL", TEXT("/a\0b"), "NUL" },
	{ "NUL last", TEXT("/a\0"), "NUL" },
	{ "NUL alone", TEXT("\0"), "NUL" },
	{ "NUL in a relative path", TEXT("a\0b"), "NUL" },
	{ "NUL after an up", TEXT("/../\0"), "NUL" },
};

static void normalise_refuses_what_a_rule_may_not_have(void **state)
{
	(void)state;
	KODA_EACH(row, refused) {
		koda_auto_buf struct koda_buf out = KODA_BUF_INIT(KODA_PATH_MAX);
		struct koda_error err = { 0 };

		KODA_EXPECT(row->name, koda_path_normalise(row->path, &out, &err) == KODA_E_POLICY);
		KODA_EXPECT(row->name, err.code == KODA_E_POLICY);
		KODA_EXPECT(row->name, strstr(err.message, row->says) != NULL);
	}
}

/* "/nnn.../nnn..." of exactly len bytes, every name at most 255 long. */
static char *long_path(size_t len)
{
	char *path = malloc(len + 1);

	assert_non_null(path);
	for (size_t i = 0; i < len; i++)
		path[i] = i % 200 == 0 ? '/' : 'n';
	path[len] = '\0';
	return path;
}

static const struct {
	const char *name;
	size_t len;
	size_t room;
	int code;
} lengths[] = {
	{ "the longest", KODA_PATH_MAX, KODA_PATH_MAX, KODA_OK },
	{ "one too long", KODA_PATH_MAX + 1, 2 * KODA_PATH_MAX, KODA_E_LIMIT },
	{ "a megabyte", 1 << 20, 2 << 20, KODA_E_LIMIT },
	{ "no room in the buffer", 1000, 999, KODA_E_LIMIT },
	{ "no room for a slash", 402, 400, KODA_E_LIMIT },
};

static void normalise_knows_the_longest_path(void **state)
{
	(void)state;
	KODA_EACH(row, lengths) {
		koda_auto_buf struct koda_buf out = KODA_BUF_INIT(row->room);
		struct koda_error err = { 0 };
		char *path = long_path(row->len);

		KODA_EXPECT(row->name, koda_path_normalise((struct koda_span){ path, row->len },
							   &out, &err) == row->code);
		KODA_EXPECT(row->name, err.code == row->code);
		KODA_EXPECT(row->name, row->code < 0 || strcmp(out.ptr, path) == 0);
		free(path);
	}
}

static void normalise_has_no_room_for_the_root(void **state)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(0);
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_FAILS(KODA_E_LIMIT, koda_path_normalise(koda_span_of("/"), &out, &err), err);
	KODA_ASSERT_FAILS(KODA_E_LIMIT, koda_path_normalise(koda_span_of("/a"), &out, &err), err);
}

static void normalise_refuses_an_over_long_name(void **state)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(KODA_PATH_MAX);
	struct koda_error err = { 0 };
	char path[KODA_NAME_MAX + 3];

	(void)state;
	memset(path, 'n', sizeof(path));
	path[0] = '/';
	KODA_ASSERT_FAILS(
		KODA_E_POLICY,
		koda_path_normalise((struct koda_span){ path, KODA_NAME_MAX + 2 }, &out, &err),
		err);
}

static void normalise_is_idempotent_on_random_bytes(void **state)
{
	struct koda_rng rng = koda_rng_new();

	(void)state;
	for (int round = 0; round < 20000; round++) {
		koda_auto_buf struct koda_buf once = KODA_BUF_INIT(100);
		koda_auto_buf struct koda_buf twice = KODA_BUF_INIT(100);
		struct koda_span path;
		char text[20];

		for (size_t i = 0; i < sizeof(text); i++)
			text[i] = "/./.ab\n\xff"[koda_rng_below(&rng, 8)];
		text[0] = '/';
		path = (struct koda_span){ text, 1 + koda_rng_below(&rng, sizeof(text)) };
		if (koda_path_normalise(path, &once, NULL) < 0)
			continue;
		assert_int_equal(koda_path_normalise(koda_buf_span(&once), &twice, NULL), KODA_OK);
		assert_true(koda_span_eq(koda_buf_span(&once), koda_buf_span(&twice)));
		assert_true(once.len == 1 || once.ptr[once.len - 1] != '/');
		assert_null(strstr(once.ptr, "//"));
		assert_null(strstr(once.ptr, "/./"));
	}
}

static const struct {
	const char *dir;
	const char *path;
	bool covers;
} covers[] = {
	{ "/", "/", true },         { "/", "/a/b", true },
	{ "/a", "/a", true },       { "/a", "/a/b", true },
	{ "/a", "/a/b/c", true },   { "/a", "/ab", false },
	{ "/a/b", "/a", false },    { "/a/b", "/a/bc", false },
	{ "/a", "/", false },       { "/a", "/b/a", false },
	{ "/a/b", "/a/b-", false }, { "/a/b", "/a/B", false },
	{ "/a.b", "/a", false },    { "/a", "/a.b", false },
	{ "/a", "/a\x01", false },  { "/home/u", "/home/user", false },
};

static void covers_ends_at_a_component(void **state)
{
	(void)state;
	KODA_EACH(row, covers)
		KODA_EXPECT(row->path, koda_path_covers(koda_span_of(row->dir),
							koda_span_of(row->path)) == row->covers);
}

static const struct {
	const char *dir;
	const char *name;
	const char *joined;
} joins[] = {
	{ "/", "a", "/a" },
	{ "/a", "b", "/a/b" },
	{ "/a/b", "c/d", "/a/b/c/d" },
	{ "/a", ".git", "/a/.git" },
};

static void join_puts_one_slash_between(void **state)
{
	(void)state;
	KODA_EACH(row, joins) {
		koda_auto_free char *path = NULL;
		struct koda_error err = { 0 };

		KODA_ASSERT_OK(koda_path_join(row->dir, row->name, &path, &err), err);
		assert_string_equal(path, row->joined);
	}
}

static const struct {
	const char *path;
	const char *absolute;
} absolutes[] = {
	{ "/", "/" },           { "//", "/" },
	{ "/a/b/", "/a/b" },    { "/a/./b", "/a/b" },
	{ "/a/../b", "/b" },    { "/..", "/" },
	{ "/../../a", "/a" },   { "/a/b/../../..", "/" },
	{ "/a/..", "/" },       { "/a/b/..", "/a" },
	{ "/a//..//b", "/b" },  { "/...", "/..." },
	{ "/a/..b", "/a/..b" },
};

static void absolute_folds_by_spelling(void **state)
{
	(void)state;
	KODA_EACH(row, absolutes) {
		koda_auto_free char *path = NULL;
		struct koda_error err = { 0 };

		KODA_ASSERT_OK(koda_path_absolute(row->path, &path, &err), err);
		KODA_EXPECT(row->path, strcmp(path, row->absolute) == 0);
	}
}

static void absolute_refuses_the_empty_path(void **state)
{
	struct koda_error err = { 0 };
	char *path = NULL;

	(void)state;
	KODA_ASSERT_FAILS(KODA_E_INVALID, koda_path_absolute("", &path, &err), err);
	assert_null(path);
}

static void absolute_knows_the_longest_path(void **state)
{
	koda_auto_free char *fits = long_path(KODA_PATH_MAX);
	koda_auto_free char *over = long_path(KODA_PATH_MAX + 1);
	koda_auto_free char *far = long_path(3 * KODA_PATH_MAX);
	koda_auto_free char *path = NULL;
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_OK(koda_path_absolute(fits, &path, &err), err);
	assert_string_equal(path, fits);
	koda_free_ptr(&path);
	KODA_ASSERT_FAILS(KODA_E_LIMIT, koda_path_absolute(over, &path, &err), err);
	KODA_ASSERT_FAILS(KODA_E_LIMIT, koda_path_absolute(far, &path, &err), err);
	assert_null(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(next_gives_component_after_component),
		cmocka_unit_test(next_stays_inside_the_span),
		cmocka_unit_test(a_component_may_be_as_long_as_the_kernel_allows),
		cmocka_unit_test(normalise_gives_one_spelling),
		cmocka_unit_test(normalise_refuses_what_a_rule_may_not_have),
		cmocka_unit_test(normalise_knows_the_longest_path),
		cmocka_unit_test(normalise_has_no_room_for_the_root),
		cmocka_unit_test(normalise_refuses_an_over_long_name),
		cmocka_unit_test(normalise_is_idempotent_on_random_bytes),
		cmocka_unit_test(covers_ends_at_a_component),
		cmocka_unit_test(join_puts_one_slash_between),
		cmocka_unit_test(absolute_folds_by_spelling),
		cmocka_unit_test(absolute_refuses_the_empty_path),
		cmocka_unit_test(absolute_knows_the_longest_path),
	};

	return KODA_TEST_RUN(tests);
}
