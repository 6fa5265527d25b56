/* SPDX-License-Identifier: MIT */
#include "koda_test.h"

#include "plan/landlock_rights.h"
#include "policy/policy.h"
#include "run/stream/grants.h"
#include "run/stream/stderr_scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct box {
	struct koda_policy *policy;
	struct koda_rules *rules;
	struct koda_violations *found;
	struct koda_stderr_scan scan;
};

static void keep(void *ctx, const struct koda_denial *denial)
{
	struct box *box = ctx;

	const struct koda_violation_record record = { .size = sizeof(record),
						      .kind = denial->kind,
						      .source = denial->source,
						      .target = denial->target,
						      .rule = denial->rule };
	bool news;

	assert_int_equal(koda_violations_merge(box->found, &record, &news, NULL), KODA_OK);
}

static void allow(struct koda_policy *policy, enum koda_list list, const char *path)
{
	assert_int_equal(koda_policy_add(policy, list, path, strlen(path), NULL), KODA_OK);
}

static int open_box(void **state)
{
	const struct koda_place place = { .size = sizeof(place), .root = "/srv/app" };
	struct box *box = calloc(1, sizeof(*box));

	assert_non_null(box);
	assert_int_equal(koda_policy_new(&box->policy, NULL), KODA_OK);
	allow(box->policy, KODA_LIST_ALLOW_WRITE, "/srv/app");
	allow(box->policy, KODA_LIST_DENY_READ, "/secret");
	assert_int_equal(koda_rules_new(box->policy, &place, &box->rules, NULL), KODA_OK);
	box->scan = (struct koda_stderr_scan){
		.rules = box->rules, .cwd = "/srv/app/sub", .on_denial = keep, .ctx = box
	};
	assert_int_equal(koda_violations_new(KODA_VIOLATIONS_DEFAULT, &box->found, NULL), KODA_OK);
	*state = box;
	return 0;
}

static int close_box(void **state)
{
	struct box *box = *state;

	koda_violations_free(box->found);
	koda_rules_free(box->rules);
	koda_policy_free(box->policy);
	free(box);
	return 0;
}

/* Forgets what was found. */
static void forget(struct box *box)
{
	struct koda_violation_list *list = NULL;

	assert_int_equal(koda_violations_drain(box->found, &list, NULL), KODA_OK);
	koda_violation_list_free(list);
}

/* Asserts the rule of the first violation. */
static void assert_rule(struct box *box, const char *rule)
{
	koda_auto_violation_list struct koda_violation_list *list = NULL;

	assert_int_equal(koda_violations_snapshot(box->found, &list, NULL), KODA_OK);
	assert_string_equal(koda_violation_list_get(list, 0)->rule, rule);
}

/* Reads text; the block must be exactly lines between the tags, or nothing. */
static void expect(struct box *box, const char *text, const char *lines)
{
	koda_auto_violation_list struct koda_violation_list *list = NULL;
	koda_auto_free char *block = NULL;
	char expected[1024];

	forget(box);
	koda_stderr_scan_take(&box->scan, text, strlen(text));
	assert_int_equal(koda_violations_snapshot(box->found, &list, NULL), KODA_OK);
	assert_int_equal(koda_violation_list_render(list, &block, NULL), KODA_OK);
	(void)snprintf(expected, sizeof(expected), "%s%s%s",
		       lines[0] ? "<sandbox_violations>\n" : "", lines,
		       lines[0] ? "</sandbox_violations>" : "");
	assert_string_equal(block, expected);
}

static void messages_of_programs(void **state)
{
	static const struct {
		const char *message;
		const char *line;
	} table[] = {
		{ "touch: cannot touch '/etc/x': Read-only file system\n",
		  "deny file-write* /etc/x\n" },
		{ "sh: 1: cannot create /etc/x: Read-only file system\n",
		  "deny file-write* /etc/x\n" },
		{ "bash: /etc/x y: Read-only file system\n", "deny file-write* /etc/x\n" },
		{ "fatal: cannot copy '/usr/x' to '/etc/y': Read-only file system\n",
		  "deny file-write* /etc/y\n" },
		{ "mv: cannot move '/etc/x' to '/etc/y': Read-only file system\n",
		  "deny file-write* /etc/x\n" },
		{ "cat: /secret/key: Permission denied\n", "deny file-read* /secret/key\n" },
		{ "mkdir: cannot create directory \xe2\x80\x98/a b\xe2\x80\x99: Permission "
		  "denied\n",
		  "deny file-write* /a b\n" },
		{ "PermissionError: [Errno 13] Permission denied: '/secret'\n",
		  "deny file-read* /secret\n" },
		{ "touch: cannot touch '../../up': Read-only file system\n",
		  "deny file-write* /srv/up\n" },
		{ "rm: cannot remove '.envrc': Device or resource busy\n", "" },
		{ "rm: cannot remove '../.envrc': Device or resource busy\n",
		  "deny file-write* /srv/app/.envrc\n" },
		/* What leads to something protected stays as well. */
		{ "mv: cannot move '../.git' to 'old': Device or resource busy\n",
		  "deny file-write* /srv/app/.git\n" },
		{ "OSError: [Errno 16] Device or resource busy: '../.claude' -> 'old'\n",
		  "deny file-write* /srv/app/.claude\n" },
		{ "Error: EBUSY: resource busy or locked, rename '/srv/app/.git' -> 'old'\n",
		  "deny file-write* /srv/app/.git\n" },
		{ "rm: cannot remove '/srv/app': Device or resource busy\n",
		  "deny file-write* /srv/app\n" },
		{ "rmdir: failed to remove '../other': Device or resource busy\n", "" },
		{ "sh: 1: cannot create ../.envrc: Permission denied\n",
		  "deny file-write* /srv/app/.envrc\n" },
		{ "sh: 1: cannot create /etc/passwd: Permission denied\n",
		  "deny file-write* /etc/passwd\n" },
		{ "tee: /etc/passwd: Permission denied\n", "deny file-write* /etc/passwd\n" },
		{ "truncate: cannot open '/etc/passwd' for writing: Permission denied\n",
		  "deny file-write* /etc/passwd\n" },
		{ "chmod: changing permissions of '/etc/passwd': Operation not permitted\n",
		  "deny file-write* /etc/passwd\n" },
		/* It is not there, so nobody wanted to read it. */
		{ "bash: line 1: /etc/nobody-has-this: Permission denied\n",
		  "deny file-write* /etc/nobody-has-this\n" },
		/* Other libraries' words: Go, node. */
		{ "mkdir /etc/x: read-only file system\n", "deny file-write* /etc/x\n" },
		{ "Error: EROFS: read-only file system, open '/etc/x'\n",
		  "deny file-write* /etc/x\n" },
		{ "Error: EACCES: permission denied, open '/secret/key'\n",
		  "deny file-read* /secret/key\n" },
		/* A name that is reserved is there for those who would make it. */
		{ "mkdir: cannot create directory '../.vscode': File exists\n",
		  "deny file-write* /srv/app/.vscode\n" },
		{ "touch: cannot touch '../.vscode/x': Not a directory\n",
		  "deny file-write* /srv/app/.vscode/x\n" },
		{ "sh: 1: cannot create ../.vscode/x: Directory nonexistent\n",
		  "deny file-write* /srv/app/.vscode/x\n" },
		{ "tee: ../.vscode: Is a directory\n", "deny file-write* /srv/app/.vscode\n" },
		{ "sh: 1: cannot create ../.mcp.json: Is a directory\n",
		  "deny file-write* /srv/app/.mcp.json\n" },
		{ "Error: EEXIST: file already exists, mkdir '/srv/app/.vscode'\n",
		  "deny file-write* /srv/app/.vscode\n" },
	};

	for (size_t i = 0; i < KODA_ARRAY_LEN(table); i++)
		expect(*state, table[i].message, table[i].line);
}

/* On a hidden path the verb tells whether it was to be written. */
static void kinds_on_a_hidden_path(void **state)
{
	expect(*state, "touch: cannot touch '/secret/x': Permission denied\n",
	       "deny file-write* /secret/x\n");
	expect(*state, "mkdir: cannot create directory '/secret/x': Permission denied\n",
	       "deny file-write* /secret/x\n");
	expect(*state, "sh: 1: cannot create /secret/x: Permission denied\n",
	       "deny file-write* /secret/x\n");
	expect(*state, "ls: cannot open directory '/secret': Permission denied\n",
	       "deny file-read* /secret\n");
	expect(*state, "cat: /secret/touch: Permission denied\n",
	       "deny file-read* /secret/touch\n");
	expect(*state, "sh: 1: cannot open /secret/x: Permission denied\n",
	       "deny file-read* /secret/x\n");
}

static void messages_that_the_rules_do_not_confirm(void **state)
{
	expect(*state, "cat: /etc/shadow: No such file or directory\n", "");
	expect(*state, "touch: cannot touch '/srv/app/f': Permission denied\n", "");
	expect(*state, "ssh: Permission denied (publickey)\n", "");
	/* Ordinary permissions refuse with the same word, and so does reading. */
	expect(*state, "cat: /etc/passwd: Permission denied\n", "");
	expect(*state, "cat: '/etc/passwd': Permission denied\n", "");
	expect(*state, "grep: /proc/self/status: Permission denied\n", "");
	expect(*state, "cat: /proc/created: Permission denied\n", "");
	expect(*state, "cat: created: Permission denied\n", "");
	expect(*state, "cat: ../../../proc/tee: Permission denied\n", "");
	expect(*state, "Permission denied\n", "");
	expect(*state, "x: '': Permission denied\n", "");
	/* What is there for everybody is nothing to tell of, and neither is what no rule names. */
	expect(*state, "mkdir: cannot create directory '/etc': File exists\n", "");
	expect(*state, "mkdir: cannot create directory '/etc/passwd/x': Not a directory\n", "");
	expect(*state, "mkdir: cannot create directory '../src': File exists\n", "");
	expect(*state, "mkdir: cannot create directory '../src/x': Not a directory\n", "");
	/* Who reads a name that is reserved finds a directory: nothing was denied. */
	expect(*state, "cat: ../.mcp.json: Is a directory\n", "");
	expect(*state, "grep: ../.envrc: Is a directory\n", "");
	expect(*state, "head: error reading '../.envrc': Is a directory\n", "");
	expect(*state, "\n\n", "");
}

/* Without quotes the directories that exist tell where a path with blanks ends. */
static void blanks_in_paths(void **state)
{
	char dir[] = "/var/tmp/a b c XXXXXX";
	char line[128];
	char found[128];

	assert_non_null(mkdtemp(dir));
	(void)snprintf(found, sizeof(found), "deny file-write* %s/x\n", dir);
	(void)snprintf(line, sizeof(line), "sh: 1: cannot create %s/x: Read-only file system\n",
		       dir);
	expect(*state, line, found);
	(void)snprintf(line, sizeof(line), "open %s/x for writing: read-only file system\n", dir);
	expect(*state, line, found);
	(void)snprintf(line, sizeof(line), "x: %s/x: line 2: y z: Read-only file system\n", dir);
	expect(*state, line, found);
	assert_int_equal(rmdir(dir), 0);
	expect(*state, "open /etc/x for writing: read-only file system\n",
	       "deny file-write* /etc/x\n");
}

/* What was to be done is no name, but what follows it is one. */
static void verbs(void **state)
{
	struct box *box = *state;

	box->scan.cwd = "/etc";
	expect(box, "tar: x.tar: Cannot open: Permission denied\n", "");
	expect(box, "sh: 1: cannot create open: Permission denied\n",
	       "deny file-write* /etc/open\n");
}

static void the_rule_without_a_text_is_one_word(void **state)
{
	struct box *box = *state;

	expect(box, "touch: cannot touch '/etc/x': Read-only file system\n",
	       "deny file-write* /etc/x\n");
	assert_rule(box, "default");
	expect(box, "cat: /secret/key: Permission denied\n", "deny file-read* /secret/key\n");
	assert_rule(box, "fs.deny_read /secret");
}

static void once_each_and_across_pieces(void **state)
{
	struct box *box = *state;
	const char *text = "cat: /secret/a: Permission denied\n";

	expect(box,
	       "cat: /secret/a: Permission denied\ncat: /secret/a: Permission denied\n"
	       "cat: /secret/b: Permission denied\n",
	       "deny file-read* /secret/a\ndeny file-read* /secret/b\n");
	for (size_t cut = 0; cut < strlen(text); cut++) {
		forget(box);
		koda_stderr_scan_take(&box->scan, text, cut);
		koda_stderr_scan_take(&box->scan, text + cut, strlen(text) - cut);
		assert_int_equal(koda_violations_count(box->found), 1);
	}
}

static void bounded(void **state)
{
	struct box *box = *state;
	char line[8192];

	for (int i = 0; i < KODA_VIOLATIONS_DEFAULT + 20; i++) {
		int n = snprintf(line, sizeof(line), "cat: /secret/%d: Permission denied\n", i);

		koda_stderr_scan_take(&box->scan, line, (size_t)n);
	}
	assert_int_equal(koda_violations_count(box->found), KODA_VIOLATIONS_DEFAULT);
	assert_int_equal(koda_violations_dropped(box->found), 20);
	/* A line longer than what is kept is read as far as that. */
	forget(box);
	memset(line, 'x', sizeof(line));
	koda_stderr_scan_take(&box->scan, line, sizeof(line));
	koda_stderr_scan_take(&box->scan, " /secret: Permission denied\n", 28);
	assert_int_equal(koda_violations_count(box->found), 0);
	koda_stderr_scan_take(&box->scan, "cat: /secret: Permission denied\n", 32);
	assert_int_equal(koda_violations_count(box->found), 1);
}

static void a_last_line_without_its_end(void **state)
{
	struct box *box = *state;

	koda_stderr_scan_take(&box->scan, "cat: /secret: Permission denied", 31);
	assert_int_equal(koda_violations_count(box->found), 0);
	koda_stderr_scan_end(&box->scan);
	assert_int_equal(koda_violations_count(box->found), 1);
	forget(box);
	koda_stderr_scan_end(&box->scan);
	assert_int_equal(koda_violations_count(box->found), 0);
}

static void grant(struct koda_plan *plan, const char *path, uint64_t rights)
{
	const struct koda_op op = { .kind = KODA_OP_LANDLOCK,
				    .flags = KODA_OP_EXACT,
				    .n1 = rights,
				    .text1 = koda_span_of(path) };

	assert_int_equal(koda_plan_add(plan, &op, NULL, NULL), KODA_OK);
}

/* What Landlock alone refuses although the rules would have it. */
static void refusals_of_landlock(void **state)
{
	static const struct {
		const char *message;
		const char *line;
	} table[] = {
		{ "touch: cannot touch '../new': Permission denied\n",
		  "deny file-write* /srv/app/new\n" },
		{ "rm: cannot remove '../file': Permission denied\n",
		  "deny file-write* /srv/app/file\n" },
		{ "rmdir: failed to remove '../sub': Permission denied\n",
		  "deny file-write* /srv/app/sub\n" },
		/* There the rest is a matter of modes. */
		{ "touch: cannot touch 'new': Permission denied\n", "" },
		{ "rm: cannot remove 'deep/new': Permission denied\n", "" },
		{ "cat: ../new: No such file or directory\n", "" },
		{ "touch: cannot touch '../new': Read-only file system\n", "" },
	};
	koda_auto_plan struct koda_plan plan = KODA_PLAN_INIT;
	struct koda_grants grants = KODA_GRANTS_INIT;
	struct box *box = *state;

	assert_false(koda_grants_refuse(&grants, "/srv/app/new", true));
	grant(&plan, "/srv", RIGHTS_READ);
	grant(&plan, "/srv/app/sub", RIGHTS_TREE);
	grant(&plan, "/srv/app/file", RIGHT_WRITE_FILE | RIGHT_TRUNCATE);
	assert_int_equal(koda_grants_take(&grants, &plan, NULL), KODA_OK);
	box->scan.grants = &grants;
	for (size_t i = 0; i < KODA_ARRAY_LEN(table); i++)
		expect(box, table[i].message, table[i].line);
	assert_true(koda_grants_refuse(&grants, "/srv/app/file", true));
	assert_false(koda_grants_refuse(&grants, "/srv/app/file", false));
	assert_true(koda_grants_refuse(&grants, "/srv/app/other", false));
	assert_true(koda_grants_refuse(&grants, "/srv/app/sub", true));
	assert_false(koda_grants_refuse(&grants, "/srv/app/sub/x/y", true));
	koda_grants_clear(&grants);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(messages_of_programs, open_box, close_box),
		cmocka_unit_test_setup_teardown(messages_that_the_rules_do_not_confirm, open_box,
						close_box),
		cmocka_unit_test_setup_teardown(kinds_on_a_hidden_path, open_box, close_box),
		cmocka_unit_test_setup_teardown(blanks_in_paths, open_box, close_box),
		cmocka_unit_test_setup_teardown(verbs, open_box, close_box),
		cmocka_unit_test_setup_teardown(the_rule_without_a_text_is_one_word, open_box,
						close_box),
		cmocka_unit_test_setup_teardown(once_each_and_across_pieces, open_box, close_box),
		cmocka_unit_test_setup_teardown(a_last_line_without_its_end, open_box, close_box),
		cmocka_unit_test_setup_teardown(refusals_of_landlock, open_box, close_box),
		cmocka_unit_test_setup_teardown(bounded, open_box, close_box),
	};

	return KODA_TEST_RUN(tests);
}
