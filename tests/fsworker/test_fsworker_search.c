/* SPDX-License-Identifier: MIT */
/* GLOB, GREP and GETENV: results as records, within the rules. */
#include "rig.h"

static void make_tree(const char *dir)
{
	(void)koda_make_dir(dir, "root/src");
	(void)koda_make_dir(dir, "root/secret");
	(void)koda_make_file(dir, "root/a.c", "one\nneedle here\n");
	(void)koda_make_file(dir, "root/src/b.c", "needle\nneedle again\n");
	(void)koda_make_file(dir, "root/src/b.h", "needle\n");
	(void)koda_make_file(dir, "root/src/binary.c", "needle\n");
	(void)koda_make_file(dir, "root/secret/c.c", "needle\n");
	(void)koda_make_file(dir, "root/.hidden.c", "needle\n");
	(void)koda_make_file(dir, "root/ignored.c", "needle\n");
	(void)koda_make_file(dir, "root/.ignore", "ignored.c\nbinary.c\n");
	(void)koda_make_link(dir, "root/link", "..");
	(void)koda_make_file(dir, "outside.c", "needle\n");
}

static const struct rig_rule rules[] = { { "root", MARK(ALLOW_WRITE) },
					 { "root/secret", MARK(DENY_READ) } };

/* The result of a search as text: a line for each path or hit. */
static const char *found(struct rig *rig, enum koda_fs_op op, const char *dir, const char *pattern,
			 const char *include, uint32_t flags, uint64_t most)
{
	static char text[4096];
	struct koda_fs_frame request = rig_request(rig, op, dir);
	struct answer answer;
	size_t len = 0, count = 0;

	request.text[1] = koda_span_of(pattern);
	request.text[2] = koda_span_of(include);
	request.flags = flags;
	request.n[0] = most;
	rig_ask(rig, &request, &answer);
	text[0] = '\0';
	for (size_t at = 0; at < answer.data.len; count++) {
		const char *from = answer.data.ptr + at;
		struct koda_fs_hit hit = { 0 };

		if (op == KODA_FS_OP_GLOB) {
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s\n", from);
			at += strlen(from) + 1;
			continue;
		}
		memcpy(&hit, from, sizeof(hit));
		from += sizeof(hit);
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%.*s:%u:%.*s\n",
					(int)hit.path_len, from, (unsigned int)hit.line,
					(int)hit.text_len, from + hit.path_len);
		at += sizeof(hit) + hit.path_len + hit.text_len;
	}
	assert_int_equal(answer.frame.n[0], count);
	len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
				answer.frame.flags & KODA_FS_TRUNCATED ? "more\n" : "",
				answer.frame.code ? koda_fs_status_text(answer.frame.code) : "");
	rig_answer_clear(&answer);
	return text;
}

static void searches_find(void **state)
{
	struct rig_setup setup = { .dir = *state };
	struct rig rig;

	memcpy(setup.rules, rules, sizeof(rules));
	make_tree(*state);
	rig_start(&rig, &setup);
	assert_string_equal(found(&rig, KODA_FS_OP_GLOB, ".", "**/*.c", "", 0, 0),
			    "a.c\nsrc/b.c\n");
	assert_string_equal(found(&rig, KODA_FS_OP_GLOB, "src", "*.?", "", KODA_FS_NO_IGNORE, 0),
			    "b.c\nb.h\nbinary.c\n");
	assert_string_equal(found(&rig, KODA_FS_OP_GLOB, ".", "**/*.c", "", 0, 1), "a.c\nmore\n");
	assert_string_equal(found(&rig, KODA_FS_OP_GLOB, ".", "**/*.c", "", 0, 2),
			    "a.c\nsrc/b.c\n");
	assert_string_equal(found(&rig, KODA_FS_OP_GLOB, ".", "[", "", 0, 0),
			    koda_fs_status_text(KODA_FS_STATUS_PATTERN));
	assert_string_equal(found(&rig, KODA_FS_OP_GREP, ".", "^needle", "", 0, 0),
			    "a.c:2:needle here\nsrc/b.c:1:needle\nsrc/b.c:2:needle again\n"
			    "src/b.h:1:needle\n");
	assert_string_equal(found(&rig, KODA_FS_OP_GREP, ".", "NEEDLE HERE", "*.c",
				  KODA_FS_LITERAL | KODA_FS_IGNORE_CASE, 0),
			    "a.c:2:needle here\n");
	assert_string_equal(found(&rig, KODA_FS_OP_GREP, ".", "needle", "*.c", 0, 2),
			    "a.c:2:needle here\nsrc/b.c:1:needle\nmore\n");
	assert_string_equal(found(&rig, KODA_FS_OP_GREP, ".", "(", "", 0, 0),
			    koda_fs_status_text(KODA_FS_STATUS_PATTERN));
	assert_string_equal(found(&rig, KODA_FS_OP_GREP, ".", "nothing", "", 0, 0), "");
	/* Rules, roots and kinds of files. */
	assert_string_equal(found(&rig, KODA_FS_OP_GREP, "secret", "needle", "", 0, 0),
			    koda_fs_status_text(KODA_FS_STATUS_DENIED));
	assert_string_equal(found(&rig, KODA_FS_OP_GREP, "..", "needle", "", 0, 0),
			    koda_fs_status_text(KODA_FS_STATUS_OUTSIDE));
	assert_string_equal(found(&rig, KODA_FS_OP_GLOB, "link", "*", "", 0, 0),
			    koda_fs_status_text(KODA_FS_STATUS_OUTSIDE));
	assert_string_equal(found(&rig, KODA_FS_OP_GREP, "a.c", "needle", "", 0, 0),
			    koda_fs_status_text(KODA_FS_STATUS_NOT_DIR));
	assert_int_equal(rig_stop(&rig), 0);
}

/* Results of more than a frame come in order and whole; one that was asked for with a ceiling ends
 * there. */
static void huge_results_are_streamed(void **state)
{
	enum {
		LINES = 40000
	};
	struct rig_setup setup = { .dir = *state };
	struct koda_fs_frame request;
	struct answer answer;
	struct rig rig;
	FILE *file;
	size_t at = 0;

	file = fopen(koda_in(*state, "root/many"), "we");
	assert_non_null(file);
	for (int i = 1; i <= LINES; i++)
		assert_true(fprintf(file, "line %d of them\n", i) > 0);
	assert_int_equal(fclose(file), 0);
	rig_start(&rig, &setup);
	request = rig_request(&rig, KODA_FS_OP_GREP, ".");
	request.text[1] = koda_span_of("line");
	rig_ask(&rig, &request, &answer);
	assert_int_equal(answer.frame.n[0], LINES);
	for (uint64_t i = 1; i <= LINES; i++) {
		char wanted[64];
		struct koda_fs_hit hit;

		memcpy(&hit, answer.data.ptr + at, sizeof(hit));
		at += sizeof(hit);
		assert_int_equal(hit.line, i);
		(void)snprintf(wanted, sizeof(wanted), "manyline %u of them", (unsigned int)i);
		assert_int_equal(hit.path_len + hit.text_len, strlen(wanted));
		assert_memory_equal(answer.data.ptr + at, wanted, strlen(wanted));
		at += hit.path_len + hit.text_len;
	}
	assert_int_equal(at, answer.data.len);
	rig_answer_clear(&answer);
	assert_int_equal(rig_stop(&rig), 0);
}

/* The environment of the worker is told as far as the set-up lists it. */
static void variables_are_told(void **state)
{
	char first[] = "ONE=1", second[] = "TWO=", third[] = "SECRET=x";
	char *envp[] = { first, second, third, NULL };
	struct rig_setup setup = { .dir = *state, .envp = envp };
	struct koda_fs_frame request;
	struct answer answer;
	struct rig rig;

	setup.env_names = "ONE\0TWO\0THREE";
	setup.env_len = sizeof("ONE\0TWO\0THREE");
	rig_start(&rig, &setup);
	request = rig_request(&rig, KODA_FS_OP_GETENV, "");
	request.text[0] = (struct koda_span){ "TWO\0SECRET\0ONE\0THREE\0ON", 24 };
	rig_ask(&rig, &request, &answer);
	assert_int_equal(answer.frame.n[0], 5);
	assert_int_equal(answer.data.len, 11);
	assert_memory_equal(answer.data.ptr,
			    "1\0"
			    "0\0"
			    "11\0"
			    "0\0"
			    "0",
			    11);
	rig_answer_clear(&answer);
	request = rig_request(&rig, KODA_FS_OP_GETENV, "ONE");
	rig_ask(&rig, &request, &answer);
	assert_int_equal(answer.frame.code, KODA_FS_STATUS_INVALID);
	request = rig_request(&rig, KODA_FS_OP_GETENV, "");
	rig_ask(&rig, &request, &answer);
	assert_int_equal(answer.frame.code, KODA_FS_STATUS_OK);
	assert_int_equal(answer.data.len, 0);
	assert_int_equal(rig_stop(&rig), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(searches_find),
		RIG_TEST(huge_results_are_streamed),
		RIG_TEST(variables_are_told),
	};

	return KODA_TEST_RUN(tests);
}
