/* SPDX-License-Identifier: MIT */
/* Searches over trees: what is found, in which order, and what is never reached. */
#include "../lib/search_rig.h"

#include "base/macros.h"

#include <sys/socket.h>
#include <sys/un.h>

#define GLOB false
#define GREP true

static void expect(struct search_rig *rig, bool grep, const char *want)
{
	const char *got = search_rig_report(rig, grep);

	if (strcmp(got, want) != 0)
		fail_msg("%s: found\n%sexpected\n%s", rig->pattern, got, want);
	koda_buf_clear(&rig->out);
}

static void expect_glob(const char *dir, const char *pattern, uint32_t flags, const char *want)
{
	expect(&(struct search_rig){ .dir = dir, .pattern = pattern, .flags = flags }, GLOB, want);
}

static void expect_grep(const char *dir, const char *pattern, uint32_t flags, const char *want)
{
	expect(&(struct search_rig){ .dir = dir, .pattern = pattern, .flags = flags }, GREP, want);
}

static void make_tree(const char *dir)
{
	search_rig_file(dir, "a/b.c", "one\ntwo\n");
	search_rig_file(dir, "a.c", "two\n");
	search_rig_file(dir, "a/c/d.h", "three\r\ntwo three\r\n");
	search_rig_file(dir, "a-b/e.c", "no newline, two");
	search_rig_file(dir, ".hidden/f.c", "two\n");
	search_rig_file(dir, ".g.c", "two\n");
}

static void results_are_sorted_component_by_component(void **state)
{
	make_tree(*state);
	expect_glob(*state, "**/*.c", 0, "a/b.c\na-b/e.c\na.c\n");
	expect_glob(*state, "**", 0, "a\na/b.c\na/c\na/c/d.h\na-b\na-b/e.c\na.c\n");
	expect_glob(*state, "a/*", 0, "a/b.c\na/c\n");
	expect_glob(*state, "./a//c/", 0, "");
	expect_glob(*state, "./a/*/", 0, "a/c\n");
	expect_glob(*state, "{a,a-b}/*.c", 0, "a/b.c\na-b/e.c\n");
	expect_glob(*state, "nothing", 0, "");
	expect_grep(*state, "two", 0,
		    "a/b.c:2:two\na/c/d.h:2:two three\na-b/e.c:1:no newline, two\na.c:1:two\n");
}

static void hidden_names_are_found_by_name_or_by_request(void **state)
{
	make_tree(*state);
	expect_glob(*state, "**/*.c", KODA_FS_HIDDEN, ".g.c\n.hidden/f.c\na/b.c\na-b/e.c\na.c\n");
	expect_glob(*state, ".*", 0, ".g.c\n.hidden\n");
	expect_glob(*state, ".hidden/*", 0, ".hidden/f.c\n");
	expect_glob(*state, "**/.g.c", 0, ".g.c\n");
	expect_grep(*state, "^two$", 0, "a/b.c:2:two\na.c:1:two\n");
	expect_grep(*state, "^two$", KODA_FS_HIDDEN,
		    ".g.c:1:two\n.hidden/f.c:1:two\na/b.c:2:two\na.c:1:two\n");
	expect(&(struct search_rig){ .dir = *state, .pattern = "two", .include = ".g*" }, GREP,
	       ".g.c:1:two\n");
}

static void a_pattern_that_leads_elsewhere_is_refused(void **state)
{
	static const char *const patterns[] = {
		"", "/etc/*", "../x", "a/../b", "a/..", "[", "x\\"
	};

	KODA_EACH(pattern, patterns) {
		struct search_rig rig = { .dir = *state, .pattern = *pattern };

		KODA_ASSERT_FAILS(KODA_E_INVALID, search_rig_run(&rig, GLOB), rig.err);
	}
}

static void the_include_pattern_chooses_files(void **state)
{
	static const struct {
		const char *include, *want;
	} rows[] = {
		{ "*.h", "a/c/d.h:2:two three\n" },
		{ "*.{h,x}", "a/c/d.h:2:two three\n" },
		{ "a/*.c", "a/b.c:2:two\n" },
		{ "/a.c", "a.c:1:two\n" },
		{ "*.rs", "" },
	};
	struct search_rig wrong = { .dir = *state, .pattern = "two", .include = "[" };

	make_tree(*state);
	KODA_EACH(row, rows)
		expect(&(struct search_rig){ .dir = *state,
					     .pattern = "two",
					     .include = row->include },
		       GREP, row->want);
	KODA_ASSERT_FAILS(KODA_E_INVALID, search_rig_run(&wrong, GREP), wrong.err);
}

static void links_are_not_followed(void **state)
{
	search_rig_file(*state, "outside/secret.c", "two\n");
	search_rig_file(*state, "in/real/x.c", "two\n");
	(void)koda_make_link(*state, "in/dir", "../outside");
	(void)koda_make_link(*state, "in/file.c", "../outside/secret.c");
	(void)koda_make_link(*state, "in/loop", ".");
	(void)koda_make_link(*state, "in/.ignore", "../outside/hide");
	(void)koda_make_file(*state, "outside/hide", "x.c\n");
	/* The links themselves have names; what they lead to is not there. */
	expect(&(struct search_rig){ .dir = koda_in(*state, "in"), .pattern = "**" }, GLOB,
	       "dir\nfile.c\nloop\nreal\nreal/x.c\n");
	expect(&(struct search_rig){ .dir = koda_in(*state, "in"), .pattern = "two" }, GREP,
	       "real/x.c:1:two\n");
	expect(&(struct search_rig){ .dir = *state, .pattern = "two" }, GREP,
	       "in/real/x.c:1:two\noutside/secret.c:1:two\n");
}

static void special_files_do_not_block(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	make_tree(*state);
	assert_int_equal(mkfifo(koda_in(*state, "a/fifo.c"), 0600), 0);
	assert_int_equal(mkfifo(koda_in(*state, ".gitignore"), 0600), 0);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/s.c", (const char *)*state);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	expect_grep(*state, "^two", 0, "a/b.c:2:two\na/c/d.h:2:two three\na.c:1:two\n");
	expect_glob(*state, "**/*.c", 0, "a/b.c\na/fifo.c\na-b/e.c\na.c\ns.c\n");
	(void)close(fd);
}

/* What may not be read is neither named, nor searched, nor does it hide anything. */
static void what_may_not_be_read_is_not_told(void **state)
{
	make_tree(*state);
	search_rig_file(*state, "a/.ignore", "b.c\n");
	expect(&(struct search_rig){ .dir = *state, .pattern = "**", .denied = "a/c" }, GLOB,
	       "a\na-b\na-b/e.c\na.c\n");
	expect(&(struct search_rig){ .dir = *state, .pattern = "**/*.c", .denied = "a/.ignore" },
	       GLOB, "a/b.c\na-b/e.c\na.c\n");
	expect(&(struct search_rig){ .dir = *state, .pattern = "two", .denied = "a" }, GREP,
	       "a-b/e.c:1:no newline, two\na.c:1:two\n");
	expect(&(struct search_rig){ .dir = *state, .pattern = "two", .denied = "a/c/d.h" }, GREP,
	       "a-b/e.c:1:no newline, two\na.c:1:two\n");
}

static void names_may_be_any_bytes(void **state)
{
	static const char *const names[] = {
		"\n", " ", "%s", "--", "\xff\xfe", "x\xe2\x80\xae", "*"
	};
	char longest[256];
	struct search_rig rig = { .dir = *state, .pattern = "*" };

	memset(longest, 'n', 255);
	longest[255] = '\0';
	KODA_EACH(name, names)
		(void)koda_make_file(*state, *name, "hit\n");
	(void)koda_make_file(*state, longest, "hit\n");
	assert_non_null(strstr(search_rig_report(&rig, GLOB), "\xff\xfe\n"));
	assert_int_equal(rig.results, KODA_ARRAY_LEN(names) + 1);
	rig.pattern = "hit";
	(void)search_rig_report(&rig, GREP);
	assert_int_equal(rig.results, KODA_ARRAY_LEN(names) + 1);
	rig.pattern = "\xff*";
	(void)search_rig_report(&rig, GLOB);
	assert_int_equal(rig.results, 1);
	koda_buf_clear(&rig.out);
}

static void binary_files_are_passed_over(void **state)
{
	char big[70000];
	FILE *file;

	memset(big, 'x', sizeof(big));
	big[60000] = '\n';
	memcpy(big, "two\n", 4);
	file = fopen(koda_in(*state, "late"), "we");
	assert_int_equal(fwrite(big, 1, sizeof(big), file), sizeof(big));
	assert_int_equal(fwrite("\0", 1, 1, file), 1);
	assert_int_equal(fclose(file), 0);
	file = fopen(koda_in(*state, "early"), "we");
	assert_int_equal(fwrite("two\n\0two\n", 1, 9, file), 9);
	assert_int_equal(fclose(file), 0);
	(void)koda_make_file(*state, "latin1", "\xe4 two \xff\n");
	/* Of a file that turns out to be binary later, what stands before is text. */
	expect_grep(*state, "two", 0, "late:1:two\nlatin1:1:\xe4 two \xff\n");
	expect_grep(*state, "^. two .$", 0, "");
}

/* Lines and numbers are right wherever the pieces of a file end. */
static void long_files_are_searched_in_pieces(void **state)
{
	FILE *file = fopen(koda_in(*state, "f"), "we");
	struct search_rig rig = { .dir = *state, .pattern = "needle [0-9]+$" };
	char want[64];

	for (int i = 1; i <= 60000; i++)
		(void)fprintf(file, i % 20000 ? "%d filler\n" : "%d needle 77\n", i);
	assert_int_equal(fclose(file), 0);
	expect(&rig, GREP,
	       "f:20000:20000 needle 77\nf:40000:40000 needle 77\nf:60000:60000 needle 77\n");
	/* A line over many pieces, and one that is too long for any. */
	file = fopen(koda_in(*state, "f"), "we");
	for (int i = 0; i < 300000; i++)
		(void)fputs("x ", file);
	(void)fputs("needle 1\nneedle 2\n", file);
	assert_int_equal(fclose(file), 0);
	(void)search_rig_report(&rig, GREP);
	assert_int_equal(rig.results, 2);
	(void)snprintf(want, sizeof(want), "\nf:2:needle 2\n");
	assert_non_null(strstr(rig.out.ptr, want));
	file = fopen(koda_in(*state, "f"), "we");
	(void)fputs("needle 1\n", file);
	for (int i = 0; i < 90; i++) {
		char block[100000];

		memset(block, 'x', sizeof(block));
		(void)fwrite(block, 1, sizeof(block), file);
	}
	(void)fputs("\nneedle 2\n", file);
	assert_int_equal(fclose(file), 0);
	expect(&rig, GREP, "f:1:needle 1\n");
	koda_buf_clear(&rig.out);
}

static void a_search_ends_when_it_is_told_to(void **state)
{
	struct search_rig rig = { .dir = *state, .pattern = "**", .most = 2 };

	make_tree(*state);
	expect(&rig, GLOB, "a\na/b.c\n");
	rig.pattern = "two";
	expect(&rig, GREP, "a/b.c:2:two\na/c/d.h:2:two three\n");
	rig.most = 0;
	rig.looks = 1;
	expect(&rig, GREP, "");
	rig.pattern = "**";
	expect(&rig, GLOB, "");
}

/* Directories go deeper than the walk; nothing is lost above, and it ends. */
static void depth_is_bounded(void **state)
{
	struct search_rig rig = { .dir = *state, .pattern = "**" };
	int dir = open(*state, O_RDONLY | O_CLOEXEC);

	for (int i = 0; i < 600; i++) {
		int below;

		assert_int_equal(mkdirat(dir, "d", 0777), 0);
		below = openat(dir, "d", O_RDONLY | O_CLOEXEC);
		(void)close(dir);
		dir = below;
	}
	(void)close(dir);
	(void)search_rig_report(&rig, GLOB);
	assert_in_range(rig.results, 200, 600);
	koda_buf_clear(&rig.out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(results_are_sorted_component_by_component),
		KODA_SCRATCH_TEST(hidden_names_are_found_by_name_or_by_request),
		KODA_SCRATCH_TEST(a_pattern_that_leads_elsewhere_is_refused),
		KODA_SCRATCH_TEST(the_include_pattern_chooses_files),
		KODA_SCRATCH_TEST(links_are_not_followed),
		KODA_SCRATCH_TEST(special_files_do_not_block),
		KODA_SCRATCH_TEST(what_may_not_be_read_is_not_told),
		KODA_SCRATCH_TEST(names_may_be_any_bytes),
		KODA_SCRATCH_TEST(binary_files_are_passed_over),
		KODA_SCRATCH_TEST(long_files_are_searched_in_pieces),
		KODA_SCRATCH_TEST(a_search_ends_when_it_is_told_to),
		KODA_SCRATCH_TEST(depth_is_bounded),
	};

	return KODA_TEST_RUN(tests);
}
