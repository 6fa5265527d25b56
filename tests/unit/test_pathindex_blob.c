/* SPDX-License-Identifier: MIT */
/* A path index goes out as bytes and comes back the same; nothing else is accepted. */
#include "koda_test.h"

#include "../lib/rules.h"
#include "policy/path_verdict.h"
#include "policy/pathindex_blob.h"
#include "policy/rules.h"

#define CASES 300

static const struct koda_place place = { .size = sizeof(place), .root = "/p", .home = "/home/u" };

static void add(struct koda_pathindex *index, const char *path, uint32_t marks)
{
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_pathindex_add(index, koda_span_of(path), marks, &err), err);
}

static void same(struct koda_verdict a, struct koda_verdict b, const char *path)
{
	KODA_EXPECT(path, a.answer == b.answer && a.reason == b.reason);
	KODA_EXPECT(path, koda_span_eq(a.rule, b.rule));
}

static void a_rule_set_decides_the_same_after_the_way(void **state)
{
	static const char *const asked[] = {
		"/",
		"/p",
		"/p/.git/hooks/x",
		"/p/.git/config",
		"/p/.git/modules/a/hooks",
		"/p/src",
		"/p/.vscode/tasks.json",
		"/home/u/.ssh/id_rsa",
		"/home/u/.config/koda/db/x",
		"/secret/a",
		"/secret/open/a",
		"/proc/sys/kernel",
		"/etc/passwd",
		"/p/../etc",
		"relative",
	};
	struct koda_rules *rules = koda_rules_of("{'fs':{'deny_read':['/secret'],"
						 "'allow_read_within_deny':['/secret/open'],"
						 "'allow_write':['/p'],"
						 "'deny_write_within_allow':['/p/no']}}",
						 &place);
	koda_auto_buf struct koda_buf blob = KODA_BUF_INIT(SIZE_MAX);
	koda_auto_pathindex struct koda_pathindex index = KODA_PATHINDEX_INIT;
	struct koda_error err = { 0 };

	(void)state;
	assert_int_equal(koda_rules_blob_add(rules, &blob), KODA_OK);
	KODA_ASSERT_OK(koda_pathindex_blob_read(koda_buf_span(&blob), &index, &err), err);
	assert_int_equal(index.texts.count, koda_rules_marked(rules)->count);
	KODA_EACH(path, asked) {
		struct koda_span span = koda_span_of(*path);

		same(koda_path_verdict_read(&index, span),
		     koda_rules_read(rules, span.ptr, span.len), *path);
		same(koda_path_verdict_write(&index, span),
		     koda_rules_write(rules, span.ptr, span.len), *path);
		same(koda_path_verdict_replace(&index, span),
		     koda_rules_replace(rules, span.ptr, span.len), *path);
	}
	koda_rules_free(rules);
}

static void an_empty_index_is_a_blob_too(void **state)
{
	koda_auto_pathindex struct koda_pathindex index = KODA_PATHINDEX_INIT;
	koda_auto_pathindex struct koda_pathindex back = KODA_PATHINDEX_INIT;
	koda_auto_buf struct koda_buf blob = KODA_BUF_INIT(SIZE_MAX);
	struct koda_error err = { 0 };

	(void)state;
	assert_int_equal(koda_pathindex_blob_add(&index, &blob), KODA_OK);
	assert_int_equal(blob.len, sizeof(struct koda_pathindex_blob_head));
	KODA_ASSERT_OK(koda_pathindex_blob_read(koda_buf_span(&blob), &back, &err), err);
	assert_int_equal(back.texts.count, 0);
}

static void a_full_buffer_is_left_as_it_was(void **state)
{
	koda_auto_pathindex struct koda_pathindex index = KODA_PATHINDEX_INIT;
	koda_auto_buf struct koda_buf blob = KODA_BUF_INIT(30);

	(void)state;
	add(&index, "/a/long/path/that/does/not/fit", 1);
	assert_int_equal(koda_buf_add(&blob, "x", 1), KODA_OK);
	assert_int_equal(koda_pathindex_blob_add(&index, &blob), KODA_E_LIMIT);
	assert_int_equal(blob.len, 1);
}

/* One entry, and a head that fits it unless the row says otherwise. */
struct row {
	const char *name;
	const char *path;
	uint32_t marks;
	uint32_t magic, version, count, bytes; /* added to the right value */
	size_t cut;
	const char *behind;
};

static const struct row rows[] = {
	{ .name = "the magic", .path = "/a", .marks = 1, .magic = 1 },
	{ .name = "the version", .path = "/a", .marks = 1, .version = 1 },
	{ .name = "one entry more", .path = "/a", .marks = 1, .count = 1 },
	{ .name = "one entry less", .path = "/a", .marks = 1, .count = UINT32_MAX },
	{ .name = "very many entries", .path = "/a", .marks = 1, .count = UINT32_MAX - 1 },
	{ .name = "one byte more", .path = "/a", .marks = 1, .bytes = 1 },
	{ .name = "cut", .path = "/a", .marks = 1, .cut = 1 },
	{ .name = "cut in the entry", .path = "/a", .marks = 1, .cut = 7 },
	{ .name = "cut in the head", .path = "/a", .marks = 1, .cut = 11 },
	{ .name = "a byte behind", .path = "/a", .marks = 1, .behind = "x" },
	{ .name = "counted behind", .path = "/a", .marks = 1, .behind = "x", .bytes = 1 },
	{ .name = "no mark", .path = "/a", .marks = 0 },
	{ .name = "a mark that does not exist", .path = "/a", .marks = 1U << 29 },
	{ .name = "an empty path", .path = "", .marks = 1 },
	{ .name = "a relative path", .path = "a/b", .marks = 1 },
	{ .name = "a slash too much", .path = "/a/", .marks = 1 },
	{ .name = "two slashes", .path = "//a", .marks = 1 },
	{ .name = "a dot", .path = "/./a", .marks = 1 },
	{ .name = "two dots", .path = "/a/..", .marks = 1 },
};

static void add_row(struct koda_buf *out, const struct row *row)
{
	size_t len = strlen(row->path);
	struct koda_pathindex_blob_head head = {
		KODA_PATHINDEX_BLOB_MAGIC + row->magic,
		KODA_PATHINDEX_BLOB_VERSION + row->version,
		1 + row->count,
		(uint32_t)len + row->bytes,
	};
	struct koda_pathindex_blob_entry entry = { row->marks, (uint32_t)len };

	assert_int_equal(koda_buf_add(out, &head, sizeof(head)), KODA_OK);
	assert_int_equal(koda_buf_add(out, &entry, sizeof(entry)), KODA_OK);
	assert_int_equal(koda_buf_add(out, row->path, len), KODA_OK);
	if (row->behind)
		assert_int_equal(koda_buf_add(out, row->behind, strlen(row->behind)), KODA_OK);
	out->len -= row->cut;
}

static void malformed_bytes_are_refused(void **state)
{
	const struct row right = { .name = "right", .path = "/a", .marks = 1 };
	koda_auto_pathindex struct koda_pathindex index = KODA_PATHINDEX_INIT;
	koda_auto_buf struct koda_buf blob = KODA_BUF_INIT(SIZE_MAX);
	struct koda_error err = { 0 };

	(void)state;
	add_row(&blob, &right);
	KODA_ASSERT_OK(koda_pathindex_blob_read(koda_buf_span(&blob), &index, &err), err);
	koda_pathindex_clear(&index);
	KODA_EACH(row, rows) {
		blob.len = 0;
		add_row(&blob, row);
		if (koda_pathindex_blob_read(koda_buf_span(&blob), &index, &err) != KODA_E_INVALID)
			fail_msg("%s is accepted", row->name);
		assert_int_equal(index.texts.count, 0);
	}
}

static void a_path_that_is_there_twice_is_refused(void **state)
{
	koda_auto_pathindex struct koda_pathindex index = KODA_PATHINDEX_INIT;
	koda_auto_buf struct koda_buf blob = KODA_BUF_INIT(SIZE_MAX);
	struct koda_error err = { 0 };
	char *second;

	(void)state;
	add(&index, "/a", 1);
	add(&index, "/b", 2);
	assert_int_equal(koda_pathindex_blob_add(&index, &blob), KODA_OK);
	koda_pathindex_clear(&index);
	KODA_ASSERT_OK(koda_pathindex_blob_read(koda_buf_span(&blob), &index, &err), err);
	koda_pathindex_clear(&index);
	second = memchr(blob.ptr, 'b', blob.len);
	assert_non_null(second);
	*second = 'a';
	KODA_ASSERT_FAILS(KODA_E_INVALID,
			  koda_pathindex_blob_read(koda_buf_span(&blob), &index, &err), err);
}

/* Random paths of few names, so that they are above each other. */
static void every_index_survives(void **state)
{
	struct koda_rng rng = koda_rng_new();

	(void)state;
	for (size_t i = 0; i < CASES; i++) {
		koda_auto_pathindex struct koda_pathindex index = KODA_PATHINDEX_INIT;
		koda_auto_pathindex struct koda_pathindex back = KODA_PATHINDEX_INIT;
		koda_auto_buf struct koda_buf blob = KODA_BUF_INIT(SIZE_MAX);
		koda_auto_buf struct koda_buf again = KODA_BUF_INIT(SIZE_MAX);
		struct koda_error err = { 0 };

		for (size_t n = koda_rng_below(&rng, 20); n > 0; n--) {
			char path[16] = "/";
			size_t len = 0;

			for (size_t d = koda_rng_below(&rng, 6); d > 0; d--) {
				path[len++] = '/';
				path[len++] = (char)('a' + koda_rng_below(&rng, 3));
			}
			add(&index, path, 1U << koda_rng_below(&rng, KODA_REASON_COUNT));
		}
		assert_int_equal(koda_pathindex_blob_add(&index, &blob), KODA_OK);
		KODA_ASSERT_OK(koda_pathindex_blob_read(koda_buf_span(&blob), &back, &err), err);
		assert_int_equal(back.texts.count, index.texts.count);
		assert_int_equal(back.marks, index.marks);
		for (size_t n = 0; n < index.texts.count; n++) {
			struct koda_span path = koda_strlist_get(&index.texts, n);

			same(koda_path_verdict_write(&back, path),
			     koda_path_verdict_write(&index, path), path.ptr);
			same(koda_path_verdict_read(&back, path),
			     koda_path_verdict_read(&index, path), path.ptr);
		}
		assert_int_equal(koda_pathindex_blob_add(&back, &again), KODA_OK);
		assert_int_equal(again.len, blob.len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rule_set_decides_the_same_after_the_way),
		cmocka_unit_test(an_empty_index_is_a_blob_too),
		cmocka_unit_test(a_full_buffer_is_left_as_it_was),
		cmocka_unit_test(malformed_bytes_are_refused),
		cmocka_unit_test(a_path_that_is_there_twice_is_refused),
		cmocka_unit_test(every_index_survives),
	};

	return KODA_TEST_RUN(tests);
}
