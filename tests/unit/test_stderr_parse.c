/* SPDX-License-Identifier: MIT */
/* T-105. What a text tells, and that it tells no more. */
#include "koda_test.h"

#include "base/macros.h"
#include "run/stream/violation.h"

static struct koda_violation_list *parse(const char *text, size_t len)
{
	struct koda_violation_list *list = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_stderr_parse(text, len, "make all", &list, &err), err);
	return list;
}

/* Texts of one line, its kind, and its target or NULL. Kind -1: the line does not count. */
static const struct {
	const char *text;
	int kind;
	const char *target;
} lines[] = {
	{ "touch: cannot touch '/etc/x': Permission denied", KODA_VIOLATION_FILE_WRITE, "/etc/x" },
	{ "sh: 1: cannot create /etc/x: Permission denied", KODA_VIOLATION_FILE_WRITE, "/etc/x" },
	{ "bash: /etc/x: Permission denied", KODA_VIOLATION_FILE_WRITE, "/etc/x" },
	{ "ls: cannot open directory '/root': Permission denied", KODA_VIOLATION_FILE_READ,
	  "/root" },
	{ "cat: /etc/shadow: Permission denied", KODA_VIOLATION_FILE_READ, "/etc/shadow" },
	{ "cp: cannot create regular file '/usr/x': Permission denied", KODA_VIOLATION_FILE_WRITE,
	  "/usr/x" },
	{ "foo: /usr/x: Read-only file system", KODA_VIOLATION_FILE_WRITE, "/usr/x" },
	{ "chmod: changing permissions: Operation not permitted", KODA_VIOLATION_FILE_WRITE, NULL },
	{ "mv: cannot move '/a' to '/b': Permission denied", KODA_VIOLATION_FILE_WRITE, "/b" },
	{ "cat: secret/key: Permission denied", KODA_VIOLATION_FILE_READ, NULL },
	{ "frob: /srv/y: Operation not permitted", KODA_VIOLATION_OTHER, "/srv/y" },
	{ "Permission denied", KODA_VIOLATION_OTHER, NULL },
	/* The shell's name counts at the start of the line only, in any case. */
	{ "SH: /x: Permission denied", KODA_VIOLATION_FILE_WRITE, "/x" },
	{ " sh: /x: Permission denied", KODA_VIOLATION_OTHER, "/x" },
	/* The word is longer than "/", once it is trimmed at both ends. */
	{ "frob: / : Permission denied", KODA_VIOLATION_OTHER, NULL },
	{ "frob: `,\"'/p/q'\",:`: Permission denied\r", KODA_VIOLATION_OTHER, "/p/q" },
	{ "frob: (/tmp) /v) Permission denied", KODA_VIOLATION_OTHER, "/v)" },
	/* The writing verb goes first, and so does the error itself. */
	{ "find: cannot remove '/a': Permission denied", KODA_VIOLATION_FILE_WRITE, "/a" },
	{ "cat: /a: READ-ONLY FILE SYSTEM, Permission denied", KODA_VIOLATION_FILE_WRITE, "/a" },
	/* What does not count. */
	{ "cat: /x: No such file or directory", -1, NULL },
	{ "cat: /x: permission denied", -1, NULL },
	{ "make: *** [all] Error 1", -1, NULL },
	{ "", -1, NULL },
};

static void each_line(void **state)
{
	(void)state;
	for (size_t i = 0; i < KODA_ARRAY_LEN(lines); i++) {
		koda_auto_violation_list struct koda_violation_list *list =
			parse(lines[i].text, strlen(lines[i].text));
		const struct koda_violation_record *record = koda_violation_list_get(list, 0);

		KODA_EXPECT(lines[i].text, koda_violation_list_count(list) == (lines[i].kind >= 0));
		if (lines[i].kind < 0)
			continue;
		KODA_EXPECT(lines[i].text, (int)record->kind == lines[i].kind);
		KODA_EXPECT(lines[i].text, record->source == KODA_SOURCE_STDERR);
		KODA_EXPECT(lines[i].text, strcmp(record->command, "make all") == 0);
		KODA_EXPECT(lines[i].text,
			    lines[i].target
				    ? record->target && strcmp(record->target, lines[i].target) == 0
				    : !record->target);
	}
}

static void two_denials_in_their_order(void **state)
{
	static const char text[] = "building\ncat: /a: Permission denied\nnoise\n"
				   "touch: /b: Operation not permitted";
	koda_auto_violation_list struct koda_violation_list *list = parse(text, strlen(text));
	koda_auto_free char *block = NULL;

	(void)state;
	assert_int_equal(koda_violation_list_render(list, &block, NULL), KODA_OK);
	assert_string_equal(block, "<sandbox_violations>\ndeny file-read* /a\n"
				   "deny file-write* /b\n</sandbox_violations>");
}

static void odd_bytes(void **state)
{
	static const char text[] =
		"x: /a\0b: Permission denied\n\xff/\xfe /\xff\xfe: Permission denied";
	koda_auto_violation_list struct koda_violation_list *list = parse(text, sizeof(text) - 1);
	koda_auto_violation_list struct koda_violation_list *none = parse(NULL, 0);

	(void)state;
	assert_int_equal(koda_violation_list_count(none), 0);
	assert_int_equal(koda_violation_list_count(list), 2);
	assert_null(koda_violation_list_get(list, 0)->target);
	assert_string_equal(koda_violation_list_get(list, 1)->target, "/\xff\xfe");
}

/* More lines than are returned, and a word longer than any path. */
static void bounded(void **state)
{
	static const char line[] = "cat: /a: Permission denied\n";
	const size_t count = KODA_STDERR_VIOLATIONS_MAX + 7;
	const size_t long_len = (size_t)1 << 20;
	koda_auto_violation_list struct koda_violation_list *list = NULL;
	koda_auto_free char *text = malloc(count * strlen(line) + long_len);

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < count; i++)
		memcpy(text + i * strlen(line), line, strlen(line));
	list = parse(text, count * strlen(line));
	assert_int_equal(koda_violation_list_count(list), KODA_STDERR_VIOLATIONS_MAX);
	assert_int_equal(koda_violation_list_dropped(list), 7);
	koda_violation_list_free(KODA_TAKE(list));
	memset(text, '/', long_len);
	memcpy(text + long_len, " Permission denied", 18);
	list = parse(text, long_len + 18);
	assert_int_equal(strlen(koda_violation_list_get(list, 0)->target), KODA_VIOLATION_TEXT_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_line),
		cmocka_unit_test(two_denials_in_their_order),
		cmocka_unit_test(odd_bytes),
		cmocka_unit_test(bounded),
	};

	return KODA_TEST_RUN(tests);
}
