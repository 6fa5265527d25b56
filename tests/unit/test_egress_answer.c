/* SPDX-License-Identifier: MIT */
/* T-71. Whatever a rule or a host contains, an answer has the lines it is meant to have. */
#include "koda_test.h"

#include "proto/answer.h"
#include "proto/http_head.h"

static const int statuses[] = { 400, 403, 405, 408, 421, 431, 502, 503, 504 };

/* The answer as our own parser reads it; the number of headers. */
static size_t reread(const char *text, size_t len, struct egress_head *head)
{
	struct egress_head_scan scan = { 0 };
	struct egress_refusal why;
	size_t head_len = 0;

	assert_int_equal(egress_head_find(&scan, (struct koda_span){ text, len }, &head_len, &why),
			 EGRESS_DONE);
	assert_true(egress_head_response((struct koda_span){ text, head_len }, head, &why));
	assert_true(head->close);
	return head_len;
}

static struct koda_span header(const struct egress_head *head, const char *name)
{
	for (size_t i = 0; i < head->count; i++)
		if (koda_span_is(head->headers[i].name, name))
			return head->headers[i].value;
	return (struct koda_span){ NULL, 0 };
}

static void answers_each_status(void **state)
{
	(void)state;
	KODA_EACH(status, statuses) {
		struct egress_refusal why = { .status = *status,
					      .code = "some_code",
					      .text = "Why" };
		char out[EGRESS_ANSWER_MAX];
		struct egress_head head;
		size_t len = egress_answer(&why, koda_span_of("a.example:443"), false, out);
		size_t head_len = reread(out, len, &head);

		assert_int_equal(head.status, *status);
		KODA_ASSERT_SPAN(header(&head, "X-Koda-Reason"), "some_code");
		assert_int_equal(header(&head, "X-Koda-Rule").len, 0);
		assert_int_equal(head.length, len - head_len);
		assert_non_null(memmem(out + head_len, len - head_len, "a.example:443", 13));
		assert_non_null(memmem(out + head_len, len - head_len, "Why", 3));
		/* HEAD: an equal head without a body. */
		assert_int_equal(egress_answer(&why, koda_span_of("a.example:443"), true, out),
				 head_len);
	}
}

static void never_asks_for_a_password(void **state)
{
	struct egress_refusal why = { .status = 407, .code = "x" };
	char out[EGRESS_ANSWER_MAX];
	struct egress_head head;

	(void)state;
	(void)reread(out, egress_answer(&why, (struct koda_span){ NULL, 0 }, false, out), &head);
	assert_int_equal(head.status, 502);
}

static void keeps_foreign_text_in_its_line(void **state)
{
	static const char evil[] = " x\r\nSet-Cookie: a=b\r\n\r\n\0<\xff";
	struct koda_span text = { evil, sizeof(evil) - 1 };
	struct egress_refusal why = { .status = 403, .code = "c\r\nX: y", .rule = text };
	char out[EGRESS_ANSWER_MAX];
	struct egress_head head;
	size_t len = egress_answer(&why, text, false, out);

	(void)state;
	(void)reread(out, len, &head);
	assert_int_equal(header(&head, "Set-Cookie").len, 0);
	assert_int_equal(header(&head, "X").len, 0);
	KODA_ASSERT_SPAN(header(&head, "X-Koda-Reason"), "c%0D%0AX: y");
	KODA_ASSERT_SPAN(header(&head, "X-Koda-Rule"),
			 "%20x%0D%0ASet-Cookie: a=b%0D%0A%0D%0A%00<%FF");
	assert_null(memchr(out, 0, len));
}

static void stays_below_its_size(void **state)
{
	char longest[4096];
	struct egress_refusal why = { .status = 431, .rule = { longest, sizeof(longest) } };
	char out[EGRESS_ANSWER_MAX];
	struct egress_head head;
	size_t head_len;
	size_t len;

	(void)state;
	memset(longest, 1, sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	why.code = longest;
	why.text = longest;
	len = egress_answer(&why, (struct koda_span){ longest, sizeof(longest) }, false, out);
	assert_true(len < EGRESS_ANSWER_MAX);
	head_len = reread(out, len, &head);
	assert_int_equal(head.length, len - head_len);
}

static void establishes(void **state)
{
	struct koda_span text = egress_answer_established();
	struct egress_refusal why;
	struct egress_head head;

	(void)state;
	assert_true(egress_head_response(text, &head, &why));
	assert_int_equal(head.status, 200);
	assert_int_equal(head.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_each_status),
		cmocka_unit_test(never_asks_for_a_password),
		cmocka_unit_test(keeps_foreign_text_in_its_line),
		cmocka_unit_test(stays_below_its_size),
		cmocka_unit_test(establishes),
	};

	return KODA_TEST_RUN(tests);
}
