/* SPDX-License-Identifier: MIT */
/* The sealed plan: what is written is what is read, and nothing else is taken for a plan. */
#include "koda_test.h"

#include "base/buf.h"
#include "wire/op.h"
#include "wire/op_encode.h"

#define ROOM 65536

/* A plan in a buffer of exactly its size, so that a sanitizer sees a read of one byte more. */
static char *exact(const char *bytes, size_t len)
{
	char *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	return copy;
}

static bool is_sound(const char *bytes, size_t len)
{
	char *copy = exact(bytes, len);
	bool sound = koda_ops_are_sound(copy, len);

	free(copy);
	return sound;
}

static struct koda_op op_of(enum koda_op_kind kind, const char *text1, const char *text2)
{
	return (struct koda_op){ .kind = kind,
				 .flags = koda_op_accepts(kind),
				 .n1 = UINT64_MAX,
				 .n2 = 42,
				 .text1 = koda_span_of(text1),
				 .text2 = koda_span_of(text2) };
}

/* One op of every form of text. */
static const struct {
	enum koda_op_kind kind;
	const char *text1;
	const char *text2;
} sample[] = {
	{ KODA_OP_WRITABLE, "/a/b c/\xff", "" },
	{ KODA_OP_OVERLAY, "/", "/upper" },
	{ KODA_OP_DEV, "", "" },
	{ KODA_OP_PLACEHOLDER_FILE, "/a/.git/commondir", "./\n" },
	{ KODA_OP_FILE, "/run/a", "\x01\n" },
	{ KODA_OP_FILTER, "12345678", "" },
	{ KODA_OP_ENV, "A=\n", "" },
	{ KODA_OP_ARG, "", "" },
};

static void add_sample(struct koda_buf *out)
{
	KODA_EACH(row, sample) {
		struct koda_op op = op_of(row->kind, row->text1, row->text2);

		assert_int_equal(koda_ops_add(out, &op), KODA_OK);
	}
}

static void what_is_written_is_read(void **state)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(ROOM);
	struct koda_op op;
	size_t at = 0;

	(void)state;
	add_sample(&out);
	assert_true(is_sound(out.ptr, out.len));
	KODA_EACH(row, sample) {
		KODA_EXPECT(koda_op_name(row->kind), koda_ops_next(out.ptr, &at, &op));
		assert_int_equal(op.kind, row->kind);
		assert_int_equal(op.flags, koda_op_accepts(row->kind));
		assert_true(op.n1 == UINT64_MAX && op.n2 == 42);
		KODA_ASSERT_SPAN(op.text1, row->text1);
		KODA_ASSERT_SPAN(op.text2, row->text2);
		assert_int_equal(op.text1.ptr[op.text1.len], 0);
		assert_int_equal(op.text2.ptr[op.text2.len], 0);
	}
	assert_false(koda_ops_next(out.ptr, &at, &op));
	assert_false(koda_ops_next(out.ptr, &at, &op));
}

/* The filter is installed from where it lies: its instructions must be aligned. */
static void texts_of_a_record_are_aligned(void **state)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(ROOM);
	struct koda_op op;
	size_t at = 0;

	(void)state;
	for (size_t pad = 0; pad < 17; pad++) {
		struct koda_op env = op_of(KODA_OP_ENV, "0123456789abcdefg", "");
		struct koda_op filter = op_of(KODA_OP_FILTER, "12345678", "");

		env.text1.len = pad;
		assert_int_equal(koda_ops_add(&out, &env), KODA_OK);
		assert_int_equal(koda_ops_add(&out, &filter), KODA_OK);
	}
	assert_true(is_sound(out.ptr, out.len));
	while (koda_ops_next(out.ptr, &at, &op))
		assert_int_equal((op.text1.ptr - out.ptr) % 8, 0);
}

static void a_cut_plan_is_no_plan(void **state)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(ROOM);

	(void)state;
	add_sample(&out);
	for (size_t len = 0; len < out.len; len++) {
		struct koda_op_header header;
		char *copy = exact(out.ptr, len);

		if (koda_ops_are_sound(copy, len))
			fail_msg("%zu of %zu bytes pass", len, out.len);
		/* With a header that owns up to the length the records must still be whole. */
		if (len >= sizeof(header)) {
			memcpy(&header, copy, sizeof(header));
			header.bytes = len;
			memcpy(copy, &header, sizeof(header));
			if (koda_ops_are_sound(copy, len))
				fail_msg("%zu of %zu bytes pass with a matching header", len,
					 out.len);
		}
		free(copy);
	}
}

static void bytes_behind_the_plan_are_refused(void **state)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(ROOM);
	size_t len;

	(void)state;
	add_sample(&out);
	len = out.len;
	assert_int_equal(koda_buf_add(&out, "\0\0\0\0\0\0\0\0", 8), KODA_OK);
	assert_false(is_sound(out.ptr, out.len));
	assert_false(is_sound(out.ptr, len + 1));
	assert_true(is_sound(out.ptr, len));
}

/* Every single bit of the fixed parts: a flipped one is noticed or changes a number only. */
static void no_flipped_bit_leads_outside(void **state)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(ROOM);

	(void)state;
	add_sample(&out);
	for (size_t bit = 0; bit < out.len * 8; bit++) {
		char *copy = exact(out.ptr, out.len);
		struct koda_op op;
		size_t at = 0;
		size_t count = 0;

		copy[bit / 8] = (char)(copy[bit / 8] ^ 1 << bit % 8);
		if (koda_ops_are_sound(copy, out.len)) {
			for (; koda_ops_next(copy, &at, &op); count++) {
				assert_true(op.kind < KODA_OP_COUNT);
				assert_true(op.text1.ptr >= copy &&
					    op.text2.ptr + op.text2.len < copy + out.len);
			}
			assert_int_equal(count, sizeof(sample) / sizeof(sample[0]));
		}
		free(copy);
	}
}

/* Changes the record of a plan of one op and says whether it still passes. */
static bool passes_with(uint32_t kind, uint32_t len1, uint32_t len2)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(ROOM);
	struct koda_op op = op_of(KODA_OP_ENV, "abc", "");
	struct koda_op_record record;
	char *at;

	assert_int_equal(koda_ops_add(&out, &op), KODA_OK);
	at = out.ptr + sizeof(struct koda_op_header);
	memcpy(&record, at, sizeof(record));
	record.kind = kind;
	record.len1 = len1;
	record.len2 = len2;
	memcpy(at, &record, sizeof(record));
	return is_sound(out.ptr, out.len);
}

static void kinds_and_lengths_are_checked(void **state)
{
	static const struct {
		const char *name;
		uint32_t kind;
		uint32_t len1;
		uint32_t len2;
		bool want;
	} rows[] = {
		{ "as written", KODA_OP_ENV, 3, 0, true },
		{ "first unknown kind", KODA_OP_COUNT, 3, 0, false },
		{ "largest kind", UINT32_MAX, 3, 0, false },
		{ "negative kind", 0x80000000U, 3, 0, false },
		{ "longer first text", KODA_OP_ENV, 4, 0, false },
		{ "shorter first text", KODA_OP_ENV, 2, 0, false },
		{ "a second text", KODA_OP_ENV, 3, 1, false },
		{ "largest first text", KODA_OP_ENV, UINT32_MAX, 0, false },
		{ "largest second text", KODA_OP_ENV, 3, UINT32_MAX, false },
		{ "sum passes 32 bits", KODA_OP_ENV, UINT32_MAX, UINT32_MAX, false },
		{ "sum wraps to small", KODA_OP_ENV, UINT32_MAX - 38, 3, false },
		{ "no path", KODA_OP_CWD, 3, 0, false },
		{ "text where none belongs", KODA_OP_PROC, 3, 0, false },
	};

	(void)state;
	KODA_EACH(row, rows)
		KODA_EXPECT(row->name, passes_with(row->kind, row->len1, row->len2) == row->want);
}

static void headers_are_checked(void **state)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(ROOM);
	const struct koda_op_header rows[] = {
		{ 0, 8, 0 },
		{ KODA_OP_MAGIC + 1, 8, 0 },
		{ KODA_OP_MAGIC, 7, 0 },
		{ KODA_OP_MAGIC, 9, 0 },
		{ KODA_OP_MAGIC, 0, 0 },
		{ KODA_OP_MAGIC, UINT32_MAX, 0 },
		{ KODA_OP_MAGIC, 8, 1 },
		{ KODA_OP_MAGIC, 8, UINT64_MAX },
	};
	struct koda_op_header empty = { KODA_OP_MAGIC, 0, sizeof(empty) };

	(void)state;
	add_sample(&out);
	KODA_EACH(row, rows) {
		struct koda_op_header header = *row;

		header.bytes = header.bytes ? header.bytes : out.len;
		memcpy(out.ptr, &header, sizeof(header));
		assert_false(is_sound(out.ptr, out.len));
	}
	assert_true(is_sound((const char *)&empty, sizeof(empty)));
}

static void texts_are_what_their_kind_needs(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		bool path;
		bool word;
	} rows[] = {
		{ "/", 1, true, true },        { "/a", 2, true, true },
		{ "/...", 4, true, true },     { "/.a/b..", 7, true, true },
		{ "/a\nb", 4, true, true },    { "", 0, false, true },
		{ "a", 1, false, true },       { "./a", 3, false, true },
		{ "//", 2, false, true },      { "/a/", 3, false, true },
		{ "/a//b", 5, false, true },   { "/.", 2, false, true },
		{ "/..", 3, false, true },     { "/a/./b", 6, false, true },
		{ "/a/../b", 7, false, true }, { "/a/..", 5, false, true },
		{ "/a\0b", 4, false, false },  { "a\0", 2, false, false },
	};

	(void)state;
	KODA_EACH(row, rows) {
		static const enum koda_op_kind kinds[] = { KODA_OP_CWD, KODA_OP_ARG,
							   KODA_OP_FILTER };
		const bool want[] = { row->path, row->word, true };

		for (size_t i = 0; i < 3; i++) {
			koda_auto_buf struct koda_buf out = KODA_BUF_INIT(ROOM);
			struct koda_op op = op_of(kinds[i], "", "");

			op.text1 = (struct koda_span){ row->text, row->len };
			assert_int_equal(koda_ops_add(&out, &op), KODA_OK);
			KODA_EXPECT(row->text, is_sound(out.ptr, out.len) == want[i]);
		}
	}
}

static void long_names_and_paths_are_refused(void **state)
{
	static const struct {
		size_t name; /* bytes of one component */
		size_t path; /* bytes in all */
		bool want;
	} rows[] = {
		{ 255, 256, true }, { 256, 257, false }, { 9, 4090, true }, { 9, 4100, false }
	};

	(void)state;
	KODA_EACH(row, rows) {
		koda_auto_buf struct koda_buf out = KODA_BUF_INIT(ROOM);
		struct koda_op op = op_of(KODA_OP_CWD, "", "");
		char text[5000];

		memset(text, 'x', sizeof(text));
		for (size_t i = 0; i < sizeof(text); i += row->name + 1)
			text[i] = '/';
		op.text1 = (struct koda_span){ text, row->path };
		assert_int_equal(koda_ops_add(&out, &op), KODA_OK);
		assert_true(is_sound(out.ptr, out.len) == row->want);
	}
}

static void a_text_without_terminator_is_refused(void **state)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(ROOM);
	struct koda_op op = op_of(KODA_OP_OVERLAY, "/a", "/b");
	size_t first = sizeof(struct koda_op_header) + sizeof(struct koda_op_record) + 2;

	(void)state;
	assert_int_equal(koda_ops_add(&out, &op), KODA_OK);
	assert_true(is_sound(out.ptr, out.len));
	out.ptr[first] = 'x';
	assert_false(is_sound(out.ptr, out.len));
	out.ptr[first] = '\0';
	out.ptr[first + 3] = 'x';
	assert_false(is_sound(out.ptr, out.len));
}

static void too_much_is_refused(void **state)
{
	koda_auto_buf struct koda_buf small = KODA_BUF_INIT(64);
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(KODA_OP_PLAN_MAX);
	struct koda_op op = op_of(KODA_OP_FILTER, "", "");
	char *text = calloc(1, KODA_OP_PLAN_MAX + 1);

	(void)state;
	assert_non_null(text);
	op.text1 = (struct koda_span){ text, KODA_OP_PLAN_MAX + 1 };
	assert_int_equal(koda_ops_add(&out, &op), KODA_E_LIMIT);
	op.text1.len = KODA_OP_PLAN_MAX;
	assert_int_equal(koda_ops_add(&out, &op), KODA_E_LIMIT);
	assert_int_equal(out.len, 0);
	op.text1.len = 100;
	assert_int_equal(koda_ops_add(&small, &op), KODA_E_LIMIT);
	free(text);
}

static void every_kind_has_a_name(void **state)
{
	(void)state;
	for (int a = 0; a < KODA_OP_COUNT; a++) {
		assert_true(koda_op_name((enum koda_op_kind)a)[0] != '\0');
		for (int b = 0; b < a; b++)
			assert_string_not_equal(koda_op_name((enum koda_op_kind)a),
						koda_op_name((enum koda_op_kind)b));
	}
	assert_string_equal(koda_op_name(KODA_OP_COUNT), "?");
	assert_string_equal(koda_op_name((enum koda_op_kind) - 1), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(texts_of_a_record_are_aligned),
		cmocka_unit_test(a_cut_plan_is_no_plan),
		cmocka_unit_test(bytes_behind_the_plan_are_refused),
		cmocka_unit_test(no_flipped_bit_leads_outside),
		cmocka_unit_test(kinds_and_lengths_are_checked),
		cmocka_unit_test(headers_are_checked),
		cmocka_unit_test(texts_are_what_their_kind_needs),
		cmocka_unit_test(long_names_and_paths_are_refused),
		cmocka_unit_test(a_text_without_terminator_is_refused),
		cmocka_unit_test(too_much_is_refused),
		cmocka_unit_test(every_kind_has_a_name),
	};

	return KODA_TEST_RUN(tests);
}
