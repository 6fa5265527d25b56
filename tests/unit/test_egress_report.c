/* SPDX-License-Identifier: MIT */
/* Messages to a host that reads, and to one that does not. */
#include "koda_test.h"

#include "io/report.h"

#include "proto/reason.h"

#include <sys/socket.h>
#include <unistd.h>

static void test_text(void **state)
{
	char out[4];

	(void)state;
	EGRESS_REPORT_TEXT(out, koda_span_of("abcdef"));
	assert_string_equal(out, "abc");
	EGRESS_REPORT_TEXT(out, ((struct koda_span){ NULL, 0 }));
	assert_string_equal(out, "");
}

/* Every event is either heard, in order, or counted; answers to orders are never lost. */
static void test_deaf(void **state)
{
	struct egress_reports reports = { 0 };
	struct koda_egress_message message;
	int ends[2];
	uint32_t sent = 0;
	uint32_t heard = 0;
	uint32_t lost = 0;
	uint32_t replies = 0;
	uint32_t dropped = 0;
	uint32_t others = 0;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	reports.fd = ends[0];
	for (; sent < 3000; sent++) {
		message = (struct koda_egress_message){ .kind = KODA_EGRESS_EVENT, .ms = sent };
		egress_report_event(&reports, &message, &dropped);
	}
	assert_int_equal(reports.count, EGRESS_REPORTS_SHARE);
	/* There is room for others. */
	message = (struct koda_egress_message){ .kind = KODA_EGRESS_EVENT, .id = 77 };
	egress_report_event(&reports, &message, &others);
	assert_int_equal(others, 0);
	assert_int_equal(reports.count, EGRESS_REPORTS_SHARE + 1);
	for (uint32_t i = 0; i < 10; i++) {
		message = (struct koda_egress_message){ .kind = KODA_EGRESS_ADDED, .id = i };
		assert_true(egress_report(&reports, &message));
	}
	for (int i = 0; i < 10000; i++) {
		if (recv(ends[1], &message, sizeof(message), MSG_DONTWAIT) != sizeof(message)) {
			if (reports.count == 0)
				break;
			egress_reports_flush(&reports);
			continue;
		}
		assert_int_equal(message.magic, KODA_EGRESS_MAGIC);
		if (message.kind == KODA_EGRESS_ADDED) {
			assert_int_equal(message.id, replies++);
			continue;
		}
		if (message.id == 77)
			continue;
		assert_int_equal(message.ms, heard + lost + message.dropped);
		lost += message.dropped;
		heard++;
	}
	assert_int_equal(replies, 10);
	message = (struct koda_egress_message){ .kind = KODA_EGRESS_EVENT, .ms = sent };
	egress_report_event(&reports, &message, &dropped);
	assert_int_equal(dropped, 0);
	assert_int_equal(recv(ends[1], &message, sizeof(message), MSG_DONTWAIT), sizeof(message));
	lost += message.dropped;
	assert_true(lost > 0);
	assert_int_equal(heard + lost, sent);
	egress_reports_clear(&reports);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

/* T-83. Unread questions do not displace replies to the host. */
static void test_questions(void **state)
{
	struct egress_reports reports = { 0 };
	struct koda_egress_message message;
	unsigned int kept = 0;
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	reports.fd = ends[0];
	for (uint32_t i = 0; i < 3000; i++) {
		message = (struct koda_egress_message){ .kind = KODA_EGRESS_ASK, .id = i };
		kept += egress_report(&reports, &message);
	}
	assert_true(kept >= EGRESS_REPORTS_ASKS && kept < 3000);
	assert_int_equal(reports.count, EGRESS_REPORTS_ASKS);
	for (uint32_t i = 0; i < EGRESS_REPORTS_MAX - EGRESS_REPORTS_ASKS; i++) {
		message = (struct koda_egress_message){ .kind = KODA_EGRESS_RULED, .id = i };
		assert_true(egress_report(&reports, &message));
	}
	egress_reports_clear(&reports);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void test_reasons(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < KODA_EGRESS_REASON_COUNT; i++) {
		const char *code =
			egress_reason_refusal((enum koda_egress_reason)i, koda_span_of("")).code;

		assert_true(code[0] != '\0' && egress_reason_text((enum koda_egress_reason)i)[0]);
		assert_int_equal(egress_reason_of(code, 0), i);
	}
	assert_int_equal(egress_reason_of("what", 431), KODA_EGRESS_HEAD_TOO_LARGE);
	assert_int_equal(egress_reason_of("what", 999), KODA_EGRESS_BAD_REQUEST);
	assert_string_equal(
		egress_reason_refusal((enum koda_egress_reason)999, koda_span_of("")).code,
		"bad_request");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_deaf),
		cmocka_unit_test(test_questions),
		cmocka_unit_test(test_reasons),
	};

	return KODA_TEST_RUN(tests);
}
