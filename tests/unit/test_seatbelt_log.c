/* SPDX-License-Identifier: MIT */
/* T-105. Lines as log(1) of macOS writes them: what they tell, and what they cannot. */
#include "koda_test.h"

#include "base/macros.h"
#include "run/stream/violation.h"

#include <koda/seatbelt.h>
#include <stdio.h>

/* A line around a message, which is in JSON already. */
#define LINE(process, message)                                                                     \
	"{\"timezoneName\":\"\",\"messageType\":\"Error\",\"eventType\":\"logEvent\","             \
	"\"source\":null,\"formatString\":\"%{public}s\",\"activityIdentifier\":0,"                \
	"\"subsystem\":\"\",\"category\":\"\",\"threadID\":9,\"senderImageUUID\":\"X\","           \
	"\"backtrace\":{\"frames\":[{\"imageOffset\":1,\"imageUUID\":\"Y\"}]},"                    \
	"\"processImagePath\":\"\\/kernel\",\"senderImagePath\":\"\\/S\\/Sandbox\","               \
	"\"timestamp\":\"2026-01-02 03:04:05.678901+0000\",\"eventMessage\":\"" message            \
	"\",\"processID\":" process ",\"machTimestamp\":43149983861291}\n"
#define DENIAL(message) LINE("0", message)

static struct koda_violation_list *parse(const char *text, const char *tag)
{
	struct koda_violation_list *list = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_seatbelt_log_parse(text, strlen(text), tag, &list, &err), err);
	return list;
}

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static const struct {
	const char *line;
	int kind;
	const char *process;
	const char *call;
	const char *target;
	const char *tag;
} denials[] = {
	{ DENIAL("Sandbox: cat(9854) deny(1) file-read-data /private/etc/hosts\\nkoda-1"),
	  KODA_VIOLATION_FILE_READ, "cat", "file-read-data", "/private/etc/hosts", "koda-1" },
	{ DENIAL("Sandbox: bash(5) deny(1) file-write-create \\/w\\/.vscode\\nkoda-1"),
	  KODA_VIOLATION_FILE_WRITE, "bash", "file-write-create", "/w/.vscode", "koda-1" },
	{ DENIAL("Sandbox: ln(5) deny(1) file-link /w/x"), KODA_VIOLATION_FILE_WRITE, "ln",
	  "file-link", "/w/x", NULL },
	{ DENIAL("Sandbox: curl(7) deny(1) network-outbound remote:*:443\\nkoda-1"),
	  KODA_VIOLATION_NETWORK, "curl", "network-outbound", "remote:*:443", "koda-1" },
	{ DENIAL("Sandbox: sh(8) deny(1) process-exec* /usr/bin/open\\nkoda-1"),
	  KODA_VIOLATION_EXEC, "sh", "process-exec*", "/usr/bin/open", "koda-1" },
	{ DENIAL("Sandbox: zsh(8) deny(1) mach-lookup com.apple.diagnosticd\\nkoda-1"),
	  KODA_VIOLATION_OTHER, "zsh", "mach-lookup", "com.apple.diagnosticd", "koda-1" },
	{ DENIAL("Sandbox: sh(8) deny(1) process-fork\\nkoda-1"), KODA_VIOLATION_OTHER, "sh",
	  "process-fork", NULL, "koda-1" },
	{ DENIAL("Sandbox: Code Helper (GPU)(8) deny(1) sysctl-read kern.bootargs"),
	  KODA_VIOLATION_OTHER, "Code Helper (GPU)", "sysctl-read", "kern.bootargs", NULL },
	{ DENIAL("Sandbox: (8) deny(1) file-read-data /x"), KODA_VIOLATION_FILE_READ, NULL,
	  "file-read-data", "/x", NULL },
	/* What follows the last newline is no tag. */
	{ DENIAL("Sandbox: cat(9) deny(1) file-read-data /a\\nb c"), KODA_VIOLATION_FILE_READ,
	  "cat", "file-read-data", "/a\nb c", NULL },
	/* A name that ends like a tag, and one that begins another denial. */
	{ DENIAL("Sandbox: cat(9) deny(1) file-read-data /a\\nkoda-2\\nkoda-1"),
	  KODA_VIOLATION_FILE_READ, "cat", "file-read-data", "/a\nkoda-2", "koda-1" },
	{ DENIAL("Sandbox: cat(9) deny(1) file-read-data /a\\nSandbox: x(1) deny(1) y z\\nkoda-1"),
	  KODA_VIOLATION_FILE_READ, "cat", "file-read-data", "/a\nSandbox: x(1) deny(1) y z",
	  "koda-1" },
	{ DENIAL("Sandbox: cat(9) deny(1) file-read-data \\u00e9"), KODA_VIOLATION_FILE_READ, "cat",
	  "file-read-data", "\xc3\xa9", NULL },
};

static void denials_are_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < KODA_ARRAY_LEN(denials); i++) {
		koda_auto_violation_list struct koda_violation_list *list =
			parse(denials[i].line, NULL);
		const struct koda_violation_record *record = koda_violation_list_get(list, 0);

		KODA_EXPECT(denials[i].line, koda_violation_list_count(list) == 1);
		KODA_EXPECT(denials[i].line, (int)record->kind == denials[i].kind);
		KODA_EXPECT(denials[i].line, record->source == KODA_SOURCE_KERNEL);
		KODA_EXPECT(denials[i].line, same(record->process, denials[i].process));
		KODA_EXPECT(denials[i].line, same(record->call, denials[i].call));
		KODA_EXPECT(denials[i].line, same(record->target, denials[i].target));
		KODA_EXPECT(denials[i].line, same(record->command_id, denials[i].tag));
	}
}

static const char *const others[] = {
	"",
	"\n\n",
	"Filtering the log data using \"sender == \"Sandbox\"\"\n",
	"{\"count\":2,\"finished\":1}\n",
	/* Logged by a process, which can log any message. */
	LINE("77", "Sandbox: cat(9854) deny(1) file-read-data /x\\nkoda-1"),
	"{\"eventMessage\":\"Sandbox: cat(9854) deny(1) file-read-data /x\"}\n",
	"{\"processID\":0,\"eventMessage\":\"Sandbox: cat(9) deny(1) file-read-data /x\","
	"\"eventMessage\":\"Sandbox: cat(9) deny(1) file-read-data /y\"}\n",
	LINE("\"0\"", "Sandbox: cat(9854) deny(1) file-read-data /x"),
	/* The kernel repeats a denial, allows, or speaks of other policies. */
	DENIAL("2 duplicate reports for Sandbox: cat(9) deny(1) file-read-data /x\\nkoda-1"),
	DENIAL("Sandbox: cat(9) allow file-read-data /x\\nkoda-1"),
	DENIAL("System Policy: eslogger(9) deny(1) system-privilege 1016"),
	DENIAL("Sandbox: cat(9) deny(1) "),
	DENIAL("Sandbox: cat() deny(1) file-read-data /x"),
	DENIAL("Sandbox: cat(9) deny() file-read-data /x"),
	DENIAL("Sandbox: cat(9)"),
	DENIAL("Sandbox: "),
	DENIAL(""),
	/* Not JSON. */
	DENIAL("Sandbox: cat(9) deny(1) file-read-data /x\xff"),
	DENIAL("Sandbox: cat(9) deny(1) file-read-data /x\\u0000"),
	"{\"processID\":0,\"eventMessage\":\"Sandbox: cat(9) deny(1) file-read-data /x\"\n}\n",
	"[[[[[[[[[[[[[[[[[[[[",
	"{\"a\":[[[[[[[[[[[[1]]]]]]]]]]]],\"processID\":0,\"eventMessage\":\"Sandbox: cat(9) "
	"deny(1) "
	"file-read-data /x\"}\n",
};

static void other_lines_do_not_count(void **state)
{
	(void)state;
	for (size_t i = 0; i < KODA_ARRAY_LEN(others); i++) {
		koda_auto_violation_list struct koda_violation_list *list = parse(others[i], NULL);

		KODA_EXPECT(others[i], koda_violation_list_count(list) == 0);
		KODA_EXPECT(others[i], koda_violation_list_dropped(list) == 0);
	}
}

static const char several[] = "Filtering the log data using \"sender == \"Sandbox\"\"\n" DENIAL(
	"Sandbox: cat(1) deny(1) file-read-data /a\\nkoda-1")
	DENIAL("Sandbox: cat(2) deny(1) file-read-data /b\\nkoda-2")
		DENIAL("Sandbox: Safari(3) deny(1) file-read-data /c")
			DENIAL("Sandbox: touch(4) deny(1) file-write-create /d\\nkoda-1");

static void a_tag_chooses_a_command(void **state)
{
	koda_auto_violation_list struct koda_violation_list *all = parse(several, NULL);
	koda_auto_violation_list struct koda_violation_list *one = parse(several, "koda-1");
	koda_auto_violation_list struct koda_violation_list *none = parse(several, "koda-");
	koda_auto_free char *block = NULL;
	struct koda_error err = { 0 };

	(void)state;
	assert_int_equal(koda_violation_list_count(all), 4);
	assert_int_equal(koda_violation_list_count(one), 2);
	assert_int_equal(koda_violation_list_count(none), 0);
	KODA_ASSERT_OK(koda_violation_list_render(one, &block, &err), err);
	assert_non_null(strstr(block, "deny file-read* /a\ndeny file-write* /d\n"));
}

/* A line without its end is a line; half of one does not count. */
static void last_lines(void **state)
{
	koda_auto_violation_list struct koda_violation_list *whole = NULL;
	koda_auto_violation_list struct koda_violation_list *half = NULL;
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_OK(
		koda_seatbelt_log_parse(several, sizeof(several) - 2, "koda-1", &whole, &err), err);
	KODA_ASSERT_OK(koda_seatbelt_log_parse(several, sizeof(several) - 3, "koda-1", &half, &err),
		       err);
	assert_int_equal(koda_violation_list_count(whole), 2);
	assert_int_equal(koda_violation_list_count(half), 1);
}

static void lists_are_bounded(void **state)
{
	static const char line[] = DENIAL("Sandbox: cat(1) deny(1) file-read-data /a\\nkoda-1");
	const size_t len = sizeof(line) - 1;
	char *text = malloc(len * (KODA_SEATBELT_LOG_MAX + 5) + 1);
	koda_auto_violation_list struct koda_violation_list *list = NULL;

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < KODA_SEATBELT_LOG_MAX + 5; i++)
		memcpy(text + i * len, line, len + 1);
	list = parse(text, NULL);
	assert_int_equal(koda_violation_list_count(list), KODA_SEATBELT_LOG_MAX);
	assert_int_equal(koda_violation_list_dropped(list), 5);
	free(text);
}

/* A target that is too long is cut, and a line that is too long does not count. */
static void long_lines(void **state)
{
	static const size_t lens[] = { 1000, 20000, KODA_SEATBELT_LOG_LINE_MAX };

	(void)state;
	for (size_t i = 0; i < KODA_ARRAY_LEN(lens); i++) {
		koda_auto_violation_list struct koda_violation_list *list = NULL;
		char *text = malloc(lens[i] + 200);
		int len;

		assert_non_null(text);
		len = snprintf(text, lens[i] + 200,
			       "{\"processID\":0,\"eventMessage\":"
			       "\"Sandbox: cat(1) deny(1) file-read-data /%0*d\"}",
			       (int)lens[i], 0);
		assert_true(len > 0);
		list = parse(text, NULL);
		assert_int_equal(koda_violation_list_count(list), i < 2);
		if (i < 2)
			assert_int_equal(strlen(koda_violation_list_get(list, 0)->target),
					 i == 0 ? lens[i] + 1 : KODA_VIOLATION_TEXT_MAX);
		free(text);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(denials_are_read),
		cmocka_unit_test(other_lines_do_not_count),
		cmocka_unit_test(a_tag_chooses_a_command),
		cmocka_unit_test(last_lines),
		cmocka_unit_test(lists_are_bounded),
		cmocka_unit_test(long_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
