/* SPDX-License-Identifier: MIT */
/*
 * T-119. Writes profiles of random policies, with questions and what the verdict functions answer
 * to them, for evaluate.scm agree. Names have bytes that a careless writer would trip over.
 *
 *	agree SEED POLICIES [lie]
 *
 * With "lie" one answer of the last policy is turned round, so that the comparison must fail.
 */
#include "base/path.h"
#include "plan/path_order.h"
#include "plan/seatbelt.h"
#include "policy/policy.h"
#include "policy/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ROOT        "/w/p(1)"
#define QUESTIONS   20
#define SUBJECT_MAX 1024
#define TMPDIR      "/t\"/d" /* no rule of a policy is about it */

static uint64_t state;
static bool has_tmpdir; /* the last profile */

static unsigned int below(unsigned int n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned int)(state >> 33) % n;
}

static void must(int r, const struct koda_error *err)
{
	if (r == KODA_OK)
		return;
	(void)fprintf(stderr, "agree: %s %s\n", err->field, err->message);
	exit(2);
}

/* Few names, so that rules meet; among them protected ones. */
static const char *const names[] = {
	"a",        "b",     "a\"b", "back\\slash", "(x)",     "\n",     "\xff\xfe",
	"\xc3\xa9", " ; ",   ".git", "hooks",       "modules", ".koda",  "agents",
	"#|",       "\\x41", "\x01", ".vscode",     "ab",      "tail\\",
};

static const char *const tops[] = { ROOT, ROOT, ROOT, "/w", "/srv", "/dev", "/home/u" };

static size_t random_path(char *out, size_t size)
{
	int len = snprintf(out, size, "%s", tops[below(KODA_ARRAY_LEN(tops))]);

	for (unsigned int depth = below(5); depth > 0; depth--)
		len += snprintf(out + len, size - (size_t)len, "/%s",
				names[below(KODA_ARRAY_LEN(names))]);
	return (size_t)len;
}

static struct koda_policy *random_policy(void)
{
	static const enum koda_list lists[] = { KODA_LIST_DENY_READ,
						KODA_LIST_ALLOW_READ_WITHIN_DENY,
						KODA_LIST_ALLOW_WRITE, KODA_LIST_ALLOW_WRITE,
						KODA_LIST_DENY_WRITE_WITHIN_ALLOW };
	struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };

	must(koda_policy_new(&policy, &err), &err);
	if (below(4))
		must(koda_policy_add(policy, KODA_LIST_ALLOW_WRITE, ROOT, strlen(ROOT), &err),
		     &err);
	for (unsigned int count = below(12); count > 0; count--) {
		char path[512];
		size_t len = random_path(path, sizeof(path));

		must(koda_policy_add(policy, lists[below(KODA_ARRAY_LEN(lists))], path, len, &err),
		     &err);
	}
	koda_policy_set_flag(policy, KODA_FLAG_ALLOW_GIT_CONFIG, below(2));
	return policy;
}

static struct koda_rules *random_rules(const struct koda_policy *policy)
{
	static const char *const git_dirs[] = { ROOT "/.git", ROOT "/.git/modules/a",
						ROOT "/a/.git", NULL };
	static const char *const caches[] = { "/home/u/a", ROOT "/b/a", NULL };
	static const char *const exec_dirs[] = { ROOT "/a\"b/a", NULL };
	static const char *const hidden[] = { ROOT "/b/(x)", NULL };
	const struct koda_place place = { .size = sizeof(place),
					  .root = ROOT,
					  .home = below(4) ? NULL : "/home/u",
					  .git_dirs = below(2) ? git_dirs : NULL,
					  .caches = below(2) ? caches : NULL,
					  .exec_dirs = below(3) ? NULL : exec_dirs,
					  .hidden = below(3) ? NULL : hidden };
	struct koda_rules *rules = NULL;
	struct koda_error err = { 0 };

	must(koda_rules_new(policy, &place, &rules, &err), &err);
	return rules;
}

/* Writing, as this backend holds it: a cache has no copy. */
static bool is_written(const struct koda_rules *rules, struct koda_span path)
{
	bool in_tmpdir = has_tmpdir && koda_path_covers(koda_span_of(TMPDIR), path);
	struct koda_verdict v = koda_rules_write(rules, path.ptr, path.len);

	return in_tmpdir || (v.answer == KODA_ALLOW && v.reason != KODA_REASON_CACHE);
}

/* Creating, renaming or removing. Says of a cache inside path what koda_rules_replace cannot. */
static bool is_replaced(const struct koda_rules *rules, struct koda_span path)
{
	const struct koda_strlist *marked = koda_rules_marked(rules);

	if (has_tmpdir && koda_path_covers(koda_span_of(TMPDIR), path))
		return path.len > strlen(TMPDIR);
	if (koda_rules_replace(rules, path.ptr, path.len).answer != KODA_ALLOW ||
	    !is_written(rules, path) || !is_written(rules, koda_plan_path_parent(path)))
		return false;
	for (size_t i = 0; i < marked->count; i++) {
		struct koda_span mark = koda_strlist_get(marked, i);

		if (mark.len > path.len && memcmp(mark.ptr, path.ptr, path.len) == 0 &&
		    mark.ptr[path.len] == '/' && !is_written(rules, mark))
			return false;
	}
	return true;
}

static void ask(const char *operation, struct koda_span path, bool expected)
{
	(void)printf("%s ", operation);
	for (size_t i = 0; i < path.len; i++)
		(void)printf("%02x", (unsigned char)path.ptr[i]);
	(void)printf(" %s\n", expected ? "allow" : "deny");
}

static void ask_all(const struct koda_rules *rules, struct koda_span path, bool lie)
{
	bool reads = koda_rules_read(rules, path.ptr, path.len).answer == KODA_ALLOW;

	ask("file-read-data", path, reads);
	ask("process-exec", path, reads);
	ask("file-write-data", path, is_written(rules, path) != lie);
	ask("file-write-unlink", path, is_replaced(rules, path));
	ask("file-write-create", path, is_replaced(rules, path));
}

/* A path that a rule names, one below it, its parent, or a neighbour whose name is longer; one of
 * the temporary directory; or any. */
static size_t random_subject(const struct koda_rules *rules, char *out)
{
	const struct koda_strlist *marked = koda_rules_marked(rules);
	struct koda_span path;
	const char *more = "";

	if (below(8) == 0)
		return (size_t)snprintf(out, SUBJECT_MAX, "%s%s%s", below(4) ? TMPDIR : "/t\"",
					below(3) ? "/" : "x", names[below(KODA_ARRAY_LEN(names))]);
	if (below(16) == 0)
		return (size_t)snprintf(out, SUBJECT_MAX, "%s", below(2) ? TMPDIR : "/t\"");
	if (below(2) == 0)
		return random_path(out, SUBJECT_MAX);
	path = koda_strlist_get(marked, below((unsigned int)marked->count));
	if (below(3) == 0)
		path = koda_plan_path_parent(path);
	memcpy(out, path.ptr, path.len);
	out[path.len] = '\0';
	if (path.len > 1 && below(3) == 0) {
		strcat(out, "/");
		more = names[below(KODA_ARRAY_LEN(names))];
	} else if (path.len > 1 && below(4) == 0) {
		more = "x";
	}
	return strlen(strcat(out, more));
}

static void one(bool lie)
{
	struct koda_policy *policy = random_policy();
	struct koda_rules *rules = random_rules(policy);
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(KODA_SEATBELT_MAX);
	const struct koda_seatbelt seatbelt = { .rules = rules,
						.policy = policy,
						.tmpdir = below(2) ? TMPDIR : NULL,
						.tag = below(2) ? "koda-1" : NULL };
	struct koda_error err = { 0 };

	has_tmpdir = seatbelt.tmpdir != NULL;
	must(koda_seatbelt_print(&seatbelt, &text, &err), &err);
	(void)printf("profile %zu\n", text.len);
	(void)fwrite(text.ptr, 1, text.len, stdout);
	for (unsigned int i = 0; i < QUESTIONS; i++) {
		char path[SUBJECT_MAX];
		size_t len = random_subject(rules, path);

		ask_all(rules, (struct koda_span){ path, len }, lie && i == QUESTIONS - 1);
	}
	koda_rules_free(rules);
	koda_policy_free(policy);
}

int main(int argc, char **argv)
{
	unsigned long policies = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

	if (policies == 0)
		return 2;
	state = strtoul(argv[1], NULL, 10) * 2 + 1;
	for (unsigned long i = 0; i < policies; i++)
		one(argc > 3 && i == policies - 1);
	return fflush(stdout) == 0 ? 0 : 2;
}
