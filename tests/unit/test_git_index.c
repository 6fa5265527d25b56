/* SPDX-License-Identifier: MIT */
/* T-92. Which directories an index leads git into, as git itself writes it. */
#include "koda_test.h"

#include "../lib/scratch.h"
#include "base/buf.h"
#include "base/fd.h"
#include "run/project/git_index.h"

#include <stdlib.h>
#include <sys/wait.h>

#define SHA1   "1111111111111111111111111111111111111111"
#define SHA256 SHA1 "111111111111111111111111"

struct seen {
	size_t count;
	char last[64];
};

static int see(void *ctx, struct koda_span path)
{
	struct seen *seen = ctx;

	seen->count++;
	(void)snprintf(seen->last, sizeof(seen->last), "%s", path.ptr);
	return KODA_OK;
}

static int stop(void *ctx, struct koda_span path)
{
	(void)see(ctx, path);
	return KODA_E_NOMEM;
}

/* Runs a shell in the directory. */
static void shell(const char *dir, const char *text)
{
	pid_t pid = fork();
	int status = -1;

	assert_true(pid >= 0);
	if (pid == 0) {
		if (chdir(dir) < 0 || setenv("GIT_CONFIG_NOSYSTEM", "1", 1) < 0 ||
		    setenv("HOME", dir, 1) < 0)
			_exit(1);
		execl("/bin/sh", "sh", "-ec", text, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("the shell failed: %s", text);
}

static void load(const char *dir, const char *name, struct koda_buf *out)
{
	koda_auto_fd int fd = open(koda_in(dir, name), O_RDONLY | O_CLOEXEC);
	struct koda_error err = { 0 };

	assert_true(fd >= 0);
	KODA_ASSERT_OK(koda_fd_read_all(fd, out, &err), err);
}

static void git_writes_what_we_read(void **state)
{
	static const struct {
		const char *name;
		const char *make;
		size_t hash_len;
		size_t gitlinks;
	} rows[] = {
		{ "v2", "git init -q .; git config index.version 2", 20, 2 },
		{ "v3", "git init -q .; git config index.version 3; touch later; git add -N later",
		  20, 2 },
		{ "v4", "git init -q .; git config index.version 4", 20, 2 },
		{ "blocks of v2",
		  "git init -q .; git config index.version 2; git config index.threads 3", 20, 2 },
		{ "blocks of v4",
		  "git init -q .; git config index.version 4; git config index.threads 3", 20, 2 },
		{ "sha256", "git init -q --object-format=sha256 .", 32, 2 },
	};

	KODA_EACH(row, rows) {
		koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT((size_t)1 << 20);
		char shared[KODA_GIT_INDEX_SHARED];
		struct seen seen = { 0 };
		const char *dir = koda_make_dir(*state, row->name);
		char add[512];

		shell(dir, row->make);
		(void)snprintf(add, sizeof(add),
			       "mkdir -p a/b; echo >a/a; echo >a/b/c; echo >z; git add a z;"
			       "git update-index --add --cacheinfo 160000,%s,a/b/link;"
			       "git update-index --add --cacheinfo 160000,%s,link;"
			       "git update-index --index-version $(git config index.version ||"
			       " echo 2)",
			       row->hash_len == 32 ? SHA256 : SHA1,
			       row->hash_len == 32 ? SHA256 : SHA1);
		shell(dir, add);
		load(dir, ".git/index", &bytes);
		assert_int_equal(koda_git_index_walk(koda_buf_span(&bytes), row->hash_len, see,
						     &seen, shared),
				 KODA_OK);
		KODA_EXPECT(row->name, seen.count == row->gitlinks);
		KODA_EXPECT(row->name, strcmp(seen.last, "link") == 0);
		KODA_EXPECT(row->name, shared[0] == '\0');
		assert_int_equal(koda_git_index_walk(koda_buf_span(&bytes), row->hash_len, stop,
						     &seen, shared),
				 KODA_E_NOMEM);
	}
}

static void a_split_index_names_the_other_part(void **state)
{
	koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT((size_t)1 << 20);
	koda_auto_buf struct koda_buf rest = KODA_BUF_INIT((size_t)1 << 20);
	char shared[KODA_GIT_INDEX_SHARED];
	struct seen seen = { 0 };
	char path[128];

	shell(*state, "git init -q .; git update-index --add --cacheinfo 160000," SHA1 ",link;"
		      "git update-index --split-index");
	load(*state, ".git/index", &bytes);
	assert_int_equal(koda_git_index_walk(koda_buf_span(&bytes), 20, see, &seen, shared), 0);
	assert_int_equal(seen.count, 0);
	(void)snprintf(path, sizeof(path), ".git/%s", shared);
	load(*state, path, &rest);
	assert_int_equal(koda_git_index_walk(koda_buf_span(&rest), 20, see, &seen, NULL), 0);
	assert_int_equal(seen.count, 1);
}

/* Cut off anywhere, and with any byte changed, it ends. */
static void nothing_in_it_is_believed(void **state)
{
	koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT((size_t)1 << 20);
	char shared[KODA_GIT_INDEX_SHARED];
	struct seen seen = { 0 };

	shell(*state, "git init -q .; git update-index --add --cacheinfo 160000," SHA1 ",a/link;"
		      "git update-index --add --cacheinfo 160000," SHA1 ",a/links;"
		      "git update-index --index-version 4");
	load(*state, ".git/index", &bytes);
	for (size_t len = 0; len < bytes.len; len++) {
		/* So that a sanitizer sees what is read beyond the end. */
		koda_auto_free char *copy = malloc(len + 1);

		assert_non_null(copy);
		memcpy(copy, bytes.ptr, len);
		(void)!koda_git_index_walk((struct koda_span){ copy, len }, 20, see, &seen, shared);
		for (int value = 0; value < 256; value += 15) {
			char kept = bytes.ptr[len];

			bytes.ptr[len] = (char)value;
			(void)!koda_git_index_walk(koda_buf_span(&bytes), 20, see, &seen, shared);
			bytes.ptr[len] = kept;
		}
	}
}

/* What git takes for the end of a name is one, whatever length is stated; and a name that is too
 * long for a path hides none that comes after it. */
static void no_entry_hides_another(void **state)
{
	koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT((size_t)1 << 20);
	char shared[KODA_GIT_INDEX_SHARED];
	struct seen seen = { 0 };

	shell(*state, "git init -q .; git config index.version 2;"
		      "git update-index --add --cacheinfo 160000," SHA1 ",abcdef");
	load(*state, ".git/index", &bytes);
	bytes.ptr[12 + 62 + 3] = '\0';
	assert_int_equal(koda_git_index_walk(koda_buf_span(&bytes), 20, see, &seen, shared), 0);
	assert_int_equal(seen.count, 1);
	assert_string_equal(seen.last, "abc");
}

/* The trees of a sparse index may have gitlinks in them. */
static void sparse_directories_are_shown(void **state)
{
	koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT((size_t)1 << 20);
	char shared[KODA_GIT_INDEX_SHARED];
	struct seen seen = { 0 };
	char *name;

	shell(*state, "git init -q .; mkdir kept away; echo >kept/a; echo >away/a; git add .;"
		      "git -c user.name=a -c user.email=a@b commit -qm a;"
		      "git sparse-checkout set --cone --sparse-index kept");
	load(*state, ".git/index", &bytes);
	assert_int_equal(koda_git_index_walk(koda_buf_span(&bytes), 20, see, &seen, shared), 0);
	assert_int_equal(seen.count, 1);
	assert_string_equal(seen.last, "away/");
	/* Without the slash an entry of the tree has another name than one below "away". */
	name = memmem(bytes.ptr, bytes.len, "away/", 5);
	assert_non_null(name);
	name[4] = '+';
	assert_int_equal(koda_git_index_walk(koda_buf_span(&bytes), 20, see, &seen, shared), 0);
	assert_int_equal(seen.count, 2);
	assert_string_equal(seen.last, "");
}

/* Git's threads go by offsets, which may lead to other entries. */
static void offsets_that_lead_elsewhere_are_told(void **state)
{
	koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT((size_t)1 << 20);
	const char *const names[] = { "EOIE", "IEOT" };
	char shared[KODA_GIT_INDEX_SHARED];
	struct seen seen = { 0 };

	shell(*state, "git init -q .; git config index.threads 3; echo >a; echo >b; git add .");
	load(*state, ".git/index", &bytes);
	assert_int_equal(koda_git_index_walk(koda_buf_span(&bytes), 20, see, &seen, shared), 0);
	assert_int_equal(seen.count, 0);
	for (size_t i = 0; i < KODA_ARRAY_LEN(names); i++) {
		char *found = memmem(bytes.ptr, bytes.len, names[i], 4);
		char *offset;

		assert_non_null(found);
		/* The one has the offset first, the other a version. */
		offset = found + 8 + 4 * i + 3;
		(*offset)++;
		assert_int_equal(koda_git_index_walk(koda_buf_span(&bytes), 20, see, &seen, shared),
				 0);
		assert_int_equal(seen.count, i + 1);
		assert_string_equal(seen.last, "");
		(*offset)--;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(git_writes_what_we_read),
		KODA_SCRATCH_TEST(a_split_index_names_the_other_part),
		KODA_SCRATCH_TEST(nothing_in_it_is_believed),
		KODA_SCRATCH_TEST(no_entry_hides_another),
		KODA_SCRATCH_TEST(sparse_directories_are_shown),
		KODA_SCRATCH_TEST(offsets_that_lead_elsewhere_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
