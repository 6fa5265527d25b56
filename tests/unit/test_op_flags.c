/* SPDX-License-Identifier: MIT */
/* The sealed plan: the decoder refuses a flag that the kind of its operation does not accept. */
#include "koda_test.h"

#include "base/buf.h"
#include "wire/op.h"
#include "wire/op_encode.h"

#define ROOM 65536

static bool passes_with_flags(enum koda_op_kind kind, uint32_t flags)
{
	static const char *const texts[] = { "", "/a", "w" };
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(ROOM);
	bool passes = false;

	/* Whichever pair of texts the kind needs. */
	for (size_t i = 0; i < KODA_ARRAY_LEN(texts) * KODA_ARRAY_LEN(texts) && !passes; i++) {
		const struct koda_op op = { .kind = kind,
					    .flags = flags,
					    .text1 = koda_span_of(texts[i % 3]),
					    .text2 = koda_span_of(texts[i / 3]) };

		koda_buf_clear(&out);
		assert_int_equal(koda_ops_add(&out, &op), KODA_OK);
		passes = koda_ops_are_sound(out.ptr, out.len);
	}
	return passes;
}

/* Every bit, alone and with those that the kind accepts; a limit's flags are a resource. */
static void a_kind_has_no_flags_but_its_own(void **state)
{
	uint32_t all = 0;

	(void)state;
#define FLAG_IS_NEW(name, bit, text)                                                               \
	assert_int_equal(all &KODA_OP_##name, 0);                                                  \
	all |= KODA_OP_##name;
	KODA_OP_FLAGS(FLAG_IS_NEW)
#undef FLAG_IS_NEW
	for (int i = 0; i < KODA_OP_COUNT; i++) {
		const enum koda_op_kind kind = (enum koda_op_kind)i;
		const uint32_t accepted = koda_op_accepts(kind);

		KODA_EXPECT(koda_op_name(kind), (accepted & ~all) == 0);
		KODA_EXPECT(koda_op_name(kind), passes_with_flags(kind, accepted));
		for (unsigned int bit = 0; bit < 32; bit++) {
			const uint32_t flag = 1U << bit;
			const bool want = (accepted & flag) != 0;

			KODA_EXPECT(koda_op_name(kind), passes_with_flags(kind, flag) == want);
			KODA_EXPECT(koda_op_name(kind),
				    passes_with_flags(kind, accepted | flag) == want);
		}
	}
	/* What used to share a bit. */
	assert_false(passes_with_flags(KODA_OP_MASK, KODA_OP_EXACT));
	assert_false(passes_with_flags(KODA_OP_LANDLOCK, KODA_OP_ONLY_INSIDE));
	assert_false(passes_with_flags(KODA_OP_RLIMIT, 16));
}

/* The stage of a kind tells which process carries it out. */
static void stages_are_those_of_the_processes(void **state)
{
	static const struct {
		enum koda_op_kind kind;
		enum koda_op_stage stage;
	} rows[] = {
		{ KODA_OP_PLACEHOLDER, KODA_STAGE_RESERVE },
		{ KODA_OP_PLACEHOLDER_FILE, KODA_STAGE_RESERVE },
		{ KODA_OP_WRITABLE, KODA_STAGE_VIEW },
		{ KODA_OP_PROC, KODA_STAGE_VIEW },
		{ KODA_OP_SCRATCH, KODA_STAGE_LANDLOCK },
		{ KODA_OP_SOCKET, KODA_STAGE_LANDLOCK },
		{ KODA_OP_FILTER, KODA_STAGE_LOCKDOWN },
		{ KODA_OP_ARG, KODA_STAGE_COMMAND },
		{ KODA_OP_STORE, KODA_STAGE_GUARDIAN },
	};

	(void)state;
	KODA_EACH(row, rows)
		KODA_EXPECT(koda_op_name(row->kind), koda_op_stage(row->kind) == row->stage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kind_has_no_flags_but_its_own),
		cmocka_unit_test(stages_are_those_of_the_processes),
	};

	return KODA_TEST_RUN(tests);
}
