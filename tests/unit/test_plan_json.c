/* SPDX-License-Identifier: MIT */
/* A plan as JSON: every op in it once, numbers and flags by name. */
#include "koda_test.h"

#include "plan/json.h"
#include "plan/plan.h"

#include <sys/resource.h>

static const char *render(const struct koda_op *ops, size_t count, const char *why,
			  struct koda_buf *out)
{
	koda_auto_plan struct koda_plan plan = KODA_PLAN_INIT;
	struct koda_error err = { 0 };

	for (size_t i = 0; i < count; i++)
		KODA_ASSERT_OK(koda_plan_add(&plan, &ops[i], why, &err), err);
	KODA_ASSERT_OK(koda_plan_json(&plan, out, &err), err);
	return out->ptr;
}

#define TEXT(literal)                                                                              \
	{                                                                                          \
		literal, sizeof(literal) - 1                                                       \
	}

static const struct {
	struct koda_op op;
	const char *want;
} rows[] = {
	{ { .kind = KODA_OP_WRITABLE, .n1 = 5, .n2 = 7, .text1 = TEXT("/a") },
	  "{\"op\":\"writable\",\"path\":\"/a\",\"device\":5,\"inode\":7,\"why\":\"rule\"}" },
	{ { .kind = KODA_OP_READONLY, .flags = KODA_OP_LATE, .text1 = TEXT("/a\n\"") },
	  "{\"op\":\"read-only\",\"path\":\"/a\\u000A\\\"\",\"device\":0,\"inode\":0,"
	  "\"flags\":[\"late\"],\"why\":\"rule\"}" },
	{ { .kind = KODA_OP_TMPFS,
	    .flags = KODA_OP_CLOSED | 1U << 20,
	    .n1 = 9,
	    .n2 = 0755,
	    .text1 = TEXT("/t") },
	  "{\"op\":\"tmpfs\",\"path\":\"/t\",\"bytes\":9,\"mode\":\"0755\","
	  "\"flags\":[\"closed\",1048576],\"why\":\"rule\"}" },
	{ { .kind = KODA_OP_PLACEHOLDER_FILE,
	    .flags = KODA_OP_ALONE,
	    .text1 = TEXT("/h"),
	    .text2 = TEXT("x\n") },
	  "{\"op\":\"placeholder-file\",\"path\":\"/h\",\"contents\":\"x\\u000A\","
	  "\"flags\":[\"alone\"],\"why\":\"rule\"}" },
	{ { .kind = KODA_OP_FILE, .n1 = 0444, .text1 = TEXT("/run/f"), .text2 = TEXT("abc") },
	  "{\"op\":\"file\",\"path\":\"/run/f\",\"bytes\":3,\"mode\":\"0444\",\"why\":\"rule\"}" },
	{ { .kind = KODA_OP_OVERLAY, .text1 = TEXT("/c"), .text2 = TEXT("/u") },
	  "{\"op\":\"overlay\",\"path\":\"/c\",\"onto\":\"/u\",\"why\":\"rule\"}" },
	{ { .kind = KODA_OP_LANDLOCK,
	    .n1 = 1ULL << 0 | 1ULL << 15 | 1ULL << 16,
	    .text1 = TEXT("/l") },
	  "{\"op\":\"landlock\",\"path\":\"/l\",\"rights\":[\"execute\",\"ioctl_dev\",65536],"
	  "\"why\":\"rule\"}" },
	{ { .kind = KODA_OP_LANDLOCK, .flags = KODA_OP_EXACT, .text1 = TEXT("/l") },
	  "{\"op\":\"landlock\",\"path\":\"/l\",\"rights\":[],\"flags\":[\"exact\"],"
	  "\"why\":\"rule\"}" },
	{ { .kind = KODA_OP_MASK,
	    .flags = KODA_OP_DIRECTORY | KODA_OP_FLEETING,
	    .text1 = TEXT("/m") },
	  "{\"op\":\"mask\",\"path\":\"/m\",\"device\":0,\"inode\":0,"
	  "\"flags\":[\"fleeting\",\"directory\"],\"why\":\"rule\"}" },
	{ { .kind = KODA_OP_FILTER, .flags = KODA_OP_NOTIFY, .text1 = TEXT("01234567") },
	  "{\"op\":\"filter\",\"instructions\":1,\"flags\":[\"asked\"],\"why\":\"rule\"}" },
	{ { .kind = KODA_OP_FILTER, .text1 = TEXT("0123456789abcdef") },
	  "{\"op\":\"filter\",\"instructions\":2,\"why\":\"rule\"}" },
	{ { .kind = KODA_OP_DEV, .n1 = 3 }, "{\"op\":\"dev\",\"n1\":3,\"why\":\"rule\"}" },
	{ { .kind = KODA_OP_RLIMIT, .flags = RLIMIT_NPROC, .n1 = 1, .n2 = UINT64_MAX },
	  "\"limits\":{\"processes\":{\"soft\":1,\"hard\":18446744073709551615}}" },
	{ { .kind = KODA_OP_RLIMIT, .flags = 77, .n1 = 1, .n2 = 2 },
	  "\"limits\":{\"77\":{\"soft\":1,\"hard\":2}}" },
	{ { .kind = KODA_OP_NET, .n1 = 3128, .n2 = 0 },
	  "\"network\":{\"proxy_port\":3128,\"bind\":true}" },
	{ { .kind = KODA_OP_NET, .n1 = 0, .n2 = 1 },
	  "\"network\":{\"proxy_port\":null,\"bind\":false}" },
	{ { .kind = KODA_OP_CWD, .text1 = TEXT("/\xff") }, "\"cwd\":\"%/%FF\"" },
	{ { .kind = KODA_OP_ENV, .text1 = TEXT("A=b") }, "\"env\":[\"A=b\"]" },
	{ { .kind = KODA_OP_ARG, .text1 = TEXT("sh") }, "\"program\":\"sh\",\"argv\":[]" },
};

static void each_op_is_spelled_out(void **state)
{
	(void)state;
	KODA_EACH(row, rows) {
		koda_auto_buf struct koda_buf out = KODA_BUF_INIT(65536);
		const char *text = render(&row->op, 1, "rule", &out);

		if (!strstr(text, row->want))
			fail_msg("%s\nexpected in it:\n%s", text, row->want);
	}
}

/* Whatever kinds there are: what has no place of its own is a step. */
static void no_kind_is_left_out(void **state)
{
	(void)state;
	for (int kind = 0; kind < KODA_OP_COUNT; kind++) {
		const struct koda_op op = {
			.kind = (enum koda_op_kind)kind, .n1 = 1, .n2 = 1, .text1 = TEXT("/marker")
		};
		koda_auto_buf struct koda_buf out = KODA_BUF_INIT(65536);
		koda_auto_buf struct koda_buf nothing = KODA_BUF_INIT(65536);

		KODA_EXPECT(koda_op_name(op.kind), strcmp(render(&op, 1, "why", &out),
							  render(NULL, 0, "", &nothing)) != 0);
	}
}

static void words_keep_their_order(void **state)
{
	const struct koda_op ops[] = {
		{ .kind = KODA_OP_ARG, .text1 = TEXT("/bin/sh") },
		{ .kind = KODA_OP_ENV, .text1 = TEXT("B=2") },
		{ .kind = KODA_OP_ARG, .text1 = TEXT("sh") },
		{ .kind = KODA_OP_ARG, .text1 = TEXT("-c") },
		{ .kind = KODA_OP_ENV, .text1 = TEXT("A=1") },
		{ .kind = KODA_OP_ARG, .text1 = TEXT("") },
	};
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(65536);

	(void)state;
	assert_string_equal(render(ops, sizeof(ops) / sizeof(ops[0]), "", &out),
			    "{\"steps\":[],\"limits\":{},\"cwd\":null,\"env\":[\"B=2\",\"A=1\"],"
			    "\"program\":\"/bin/sh\",\"argv\":[\"sh\",\"-c\",\"\"]}\n");
}

static void a_full_buffer_is_an_error(void **state)
{
	const struct koda_op op = { .kind = KODA_OP_CWD, .text1 = TEXT("/somewhere") };
	koda_auto_plan struct koda_plan plan = KODA_PLAN_INIT;
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(20);
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_OK(koda_plan_add(&plan, &op, "", &err), err);
	KODA_ASSERT_FAILS(KODA_E_LIMIT, koda_plan_json(&plan, &out, &err), err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_op_is_spelled_out),
		cmocka_unit_test(no_kind_is_left_out),
		cmocka_unit_test(words_keep_their_order),
		cmocka_unit_test(a_full_buffer_is_an_error),
	};

	return KODA_TEST_RUN(tests);
}
