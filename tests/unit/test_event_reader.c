/* SPDX-License-Identifier: MIT */
/*
 * Events read back: each type as koda_event_json writes it, in pieces of any size; malformed lines
 * are told with their number, and the others are read.
 */
#include "koda_test.h"

#include "base/buf.h"
#include "base/macros.h"

#include <koda/koda.h>

/* What a reader has told. */
struct heard {
	struct koda_buf lines; /* the events, written again */
	uint64_t bad[8];
	char why[256]; /* of the last one */
	size_t bad_count;
};

#define HEARD_INIT                                                                                 \
	{                                                                                          \
		.lines = KODA_BUF_INIT((size_t)16 << 20)                                           \
	}

static void hear(void *ctx, const struct koda_event *event)
{
	struct heard *heard = ctx;
	koda_auto_free char *line = NULL;

	assert_int_equal(koda_event_json(event, &line, NULL), KODA_OK);
	assert_int_equal(koda_buf_add(&heard->lines, line, strlen(line)), KODA_OK);
}

static void hear_bad(void *ctx, uint64_t line, const char *why)
{
	struct heard *heard = ctx;

	if (heard->bad_count < KODA_ARRAY_LEN(heard->bad))
		heard->bad[heard->bad_count] = line;
	heard->bad_count++;
	(void)snprintf(heard->why, sizeof(heard->why), "%s", why);
}

/* Reads text in pieces. Returns what the end of the reader returns. */
static int read_pieces(const char *text, size_t len, size_t piece, struct heard *heard)
{
	struct koda_event_reader *reader = NULL;
	struct koda_error err = { 0 };
	int r;

	KODA_ASSERT_OK(koda_event_reader_new(hear, hear_bad, heard, &reader, &err), err);
	for (size_t at = 0; at < len; at += piece)
		KODA_ASSERT_OK(koda_event_reader_feed(reader, text + at,
						      piece < len - at ? piece : len - at, &err),
			       err);
	r = koda_event_reader_end(reader, &err);
	koda_event_reader_free(reader);
	return r;
}

/* All that events can say. */
static char *all_events(void)
{
	static const uint64_t limits[KODA_LIMIT_COUNT] = { 1, 2, UINT64_MAX, 4, 5, 6, 7, 8 };
	static struct koda_findings findings;
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT((size_t)1 << 20);
	const struct koda_event events[] = {
		{ .type = KODA_EVENT_START,
		  .data.start = { "native", KODA_TRUST_SAFE, &findings, limits, "opaque",
				  KODA_SOURCE_STDERR, "why", "make \"x\"" } },
		{ .type = KODA_EVENT_VIOLATION,
		  .data.violation = { KODA_VIOLATION_FILE_WRITE, "/a\xff\n%b", "fs.deny_read /a",
				      KODA_SOURCE_KERNEL, "rm <x>\x1b[1m", "unlinkat", "rm",
				      "{\"fs\":{\"allow_write\":[\"%/a%FF\"]}}", 3 } },
		{ .type = KODA_EVENT_VIOLATION,
		  .data.violation = { .kind = KODA_VIOLATION_OTHER, .source = KODA_SOURCE_PROXY } },
		{ .type = KODA_EVENT_EGRESS,
		  .data.egress = { "x.com", 443, "8.8.8.8", true, "ok", "*.com", "GET", "/p", 10,
				   UINT32_MAX + 20ULL, 1.5, 7, "y.com" } },
		{ .type = KODA_EVENT_EGRESS,
		  .data.egress = { .host = "x.com", .port = 1, .reason = "not_listed" } },
		{ .type = KODA_EVENT_LIMIT,
		  .data.limit = { KODA_LIMIT_MEMORY, 1 << 20, "{\"floor\":\"limits.memory\"}" } },
		{ .type = KODA_EVENT_LEFT_BEHIND,
		  .data.left_behind = { "/a/\xc3\xa9/.git", KODA_LEFT_GITLINK, 2 } },
		{ .type = KODA_EVENT_LEFT_BEHIND,
		  .data.left_behind = { "/a/\xff", KODA_LEFT_UNSEEN, 0 } },
		{ .type = KODA_EVENT_EXIT,
		  .data.exit = { .code = 3, .end = KODA_END_EXITED, .wall_ms = 12.25 } },
		{ .type = KODA_EVENT_EXIT,
		  .data.exit = { -1, 9, KODA_END_SIGNAL, 1, NULL, true, 0 } },
		{ .type = KODA_EVENT_EXIT,
		  .data.exit = { 125, 0, KODA_END_SETUP, 0, "why: not", false, 9 } },
	};
	char *lines = NULL;

	for (int i = 0; i < KODA_CLAUSE_COUNT; i++)
		findings.clause[i].enforcement = (enum koda_enforcement)(i % 3);
	for (size_t i = 0; i < KODA_ARRAY_LEN(events); i++) {
		struct koda_event event = events[i];
		koda_auto_free char *line = NULL;

		event.time = 1700000000.5 + (double)i;
		event.id = i % 2 ? "id-1" : NULL;
		assert_int_equal(koda_event_json(&event, &line, NULL), KODA_OK);
		assert_int_equal(koda_buf_add(&text, line, strlen(line)), KODA_OK);
	}
	assert_int_equal(koda_buf_take(&text, &lines), KODA_OK);
	return lines;
}

static void there_and_back(void **state)
{
	koda_auto_free char *text = all_events();
	static const size_t pieces[] = { 1, 2, 7, 1000, 1 << 20 };

	(void)state;
	KODA_EACH(piece, pieces) {
		struct heard heard = HEARD_INIT;

		assert_int_equal(read_pieces(text, strlen(text), *piece, &heard), KODA_OK);
		if (heard.bad_count > 0)
			fail_msg("line %llu: %s", (unsigned long long)heard.bad[0], heard.why);
		KODA_ASSERT_SPAN(koda_buf_span(&heard.lines), text);
		koda_buf_clear(&heard.lines);
	}
}

#define EXIT "{\"type\":\"exit\",\"time\":1,\"reason\":\"exited\"}\n"

static void bad_lines(void **state)
{
	static const char *const rows[] = {
		"x",
		"[]",
		"{}",
		"\"exit\"",
		"{\"type\":1}",
		"{\"type\":\"exit\"}", /* no reason */
		"{\"type\":\"exit\",\"reason\":\"gone\"}",
		"{\"type\":\"exit\",\"reason\":\"exited\",\"code\":-1}",
		"{\"type\":\"exit\",\"reason\":\"exited\",\"code\":256}",
		"{\"type\":\"exit\",\"reason\":\"exited\",\"reason\":\"exited\"}",
		"{\"type\":\"exit\",\"reason\":\"exited\",\"time\":\"1\"}",
		"{\"type\":\"exit\",\"reason\":\"exi",
		"{\"type\":\"exit\",\"reason\":\"exited\",\"message\":\"\\u0000\"}",
		"{\"type\":\"exit\",\"reason\":\"exited\",\"message\":\"\xff\"}",
		"{\"type\":\"exit\",\"reason\":\"exited\",\"x\":[[[[[[[[[1]]]]]]]]]}",
		"{\"type\":\"violation\",\"target\":\"/x\"}",
		"{\"type\":\"violation\",\"kind\":\"files\"}",
		"{\"type\":\"violation\",\"kind\":\"other\",\"target\":[]}",
		"{\"type\":\"violation\",\"kind\":\"other\",\"source\":\"me\"}",
		"{\"type\":\"egress\",\"port\":1}",
		"{\"type\":\"egress\",\"host\":null}",
		"{\"type\":\"egress\",\"host\":\"x\",\"port\":65536}",
		"{\"type\":\"egress\",\"host\":\"x\",\"verdict\":\"maybe\"}",
		"{\"type\":\"egress\",\"host\":\"x\",\"bytes_up\":-1}",
		"{\"type\":\"limit\",\"which\":\"luck\"}",
		"{\"type\":\"left_behind\",\"what\":\"git_dir\"}",
		"{\"type\":\"start\",\"backend\":\"native\",\"clauses\":[]}",
		"{\"type\":\"start\",\"backend\":\"native\",\"clauses\":{\"memory\":\"perhaps\"}}",
		"{\"type\":\"start\",\"backend\":\"native\",\"limits\":{\"memory\":\"1\"}}",
	};

	(void)state;
	KODA_EACH(row, rows) {
		struct heard heard = HEARD_INIT;
		char text[512];

		(void)snprintf(text, sizeof(text), EXIT "\n%s\n" EXIT, *row);
		KODA_EXPECT(*row, read_pieces(text, strlen(text), 64, &heard) == KODA_OK);
		KODA_EXPECT(*row, heard.bad_count == 1 && heard.bad[0] == 3 && heard.why[0]);
		KODA_EXPECT(*row, memmem(heard.lines.ptr, heard.lines.len, "exit", 4));
		koda_buf_clear(&heard.lines);
	}
}

/* What a later release may add, other line ends, and a last line without an end. */
static void taken(void **state)
{
	static const char text[] =
		"{\"type\":\"later\",\"reason\":1}\r\n"
		"{\"type\":\"exit\",\"reason\":\"exited\",\"later\":{\"x\":[1]}}\r\n"
		"{\"type\":\"violation\",\"kind\":\"other\",\"hint\":{\"later\":1}}\n"
		"{\"type\":\"exit\",\"reason\":\"signal\",\"signal\":9}";
	struct heard heard = HEARD_INIT;

	(void)state;
	assert_int_equal(read_pieces(text, strlen(text), 5, &heard), KODA_OK);
	assert_int_equal(heard.bad_count, 0);
	assert_non_null(strstr(heard.lines.ptr, "\"hint\":null"));
	assert_non_null(strstr(heard.lines.ptr, "\"signal\":9"));
	koda_buf_clear(&heard.lines);
}

static void no_event_file(void **state)
{
	static const char *const rows[] = { "x\n", "\n\n{}\n", "\177ELF\002\n\n\377" };
	struct heard heard = HEARD_INIT;

	(void)state;
	assert_int_equal(read_pieces("", 0, 1, &heard), KODA_OK);
	KODA_EACH(row, rows)
		assert_int_equal(read_pieces(*row, strlen(*row), 1, &heard), KODA_E_INVALID);
	koda_buf_clear(&heard.lines);
}

/* A line that is too long is one malformed line, and is not kept. */
static void long_lines(void **state)
{
	size_t len = KODA_EVENT_LINE_MAX + 10;
	koda_auto_free char *text = malloc(2 * len + sizeof(EXIT));
	static const size_t pieces[] = { 4096, (size_t)4 << 20 };

	(void)state;
	assert_non_null(text);
	memset(text, ' ', 2 * len);
	text[len] = '\n';
	memcpy(text + len + 1, EXIT, sizeof(EXIT) - 1);
	KODA_EACH(piece, pieces) {
		struct heard heard = HEARD_INIT;

		assert_int_equal(read_pieces(text, 2 * len, *piece, &heard), KODA_OK);
		assert_int_equal(heard.bad_count, 2);
		assert_int_equal(heard.bad[0], 1);
		assert_int_equal(heard.bad[1], 3);
		assert_non_null(memmem(heard.lines.ptr, heard.lines.len, "exit", 4));
		koda_buf_clear(&heard.lines);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_and_back), cmocka_unit_test(bad_lines),
		cmocka_unit_test(taken),          cmocka_unit_test(no_event_file),
		cmocka_unit_test(long_lines),
	};

	return KODA_TEST_RUN(tests);
}
