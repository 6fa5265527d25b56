/* SPDX-License-Identifier: MIT */
/* T-92. Which directories an index leads git into: what git itself writes is read, nothing else is.
 */
#include "koda_test.h"

#include "../lib/scratch.h"
#include "base/buf.h"
#include "base/fd.h"
#include "run/project/git_index.h"

#include <stdlib.h>
#include <sys/wait.h>

#define SHA1   "1111111111111111111111111111111111111111"
#define SHA256 SHA1 "111111111111111111111111"

#define HASH_LEN 20

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

/* Walks the bytes as an index of a SHA-1 repository. */
static int walk(struct koda_span bytes, struct seen *seen)
{
	struct koda_git_index index = { .hash_len = HASH_LEN };

	return koda_git_index_walk(&index, bytes, see, seen);
}

/* What git writes, in each of its ways. */
static const struct {
	const char *name;
	const char *make;
	size_t hash_len;
} written[] = {
	{ "v2", "git init -q .; git config index.version 2", 20 },
	{ "v3", "git init -q .; git config index.version 3; touch later; git add -N later", 20 },
	{ "v4", "git init -q .; git config index.version 4", 20 },
	{ "blocks of v2", "git init -q .; git config index.version 2; git config index.threads 3",
	  20 },
	{ "blocks of v4", "git init -q .; git config index.version 4; git config index.threads 3",
	  20 },
	{ "sha256", "git init -q --object-format=sha256 .", 32 },
	{ "flags",
	  "git init -q .; echo >s; echo >v; ln -s s l; echo >x; chmod 755 x; git add .;"
	  "git update-index --skip-worktree s; git update-index --assume-unchanged v",
	  20 },
	{ "untracked cache",
	  "git init -q .; git config core.untrackedCache true; mkdir u; echo >u/u;"
	  "git status >/dev/null; git update-index --untracked-cache",
	  20 },
	{ "fsmonitor",
	  "git init -q .; printf '#!/bin/sh\nprintf \"x\\\\0/\\\\0\"\n' >m; chmod 755 m;"
	  "git config core.fsmonitor ./m; git update-index --fsmonitor",
	  20 },
	{ "resolved conflict",
	  "git init -q .; git config user.name a; git config user.email a@b;"
	  "echo 1 >f; git add f; git commit -qm 1; git checkout -q -b b; echo 2 >f;"
	  "git commit -qam 2; git checkout -q -; echo 3 >f; git commit -qam 3;"
	  "git merge -q b >/dev/null || git add f",
	  20 },
	{ "conflict",
	  "git init -q .; git config user.name a; git config user.email a@b;"
	  "echo 1 >f; git add f; git commit -qm 1; git checkout -q -b b; echo 2 >f;"
	  "git commit -qam 2; git checkout -q -; echo 3 >f; git commit -qam 3;"
	  "git merge -q b >/dev/null || git ls-files -u | grep -q f",
	  20 },
	{ "without a hash", "git init -q .; git config index.skipHash true", 20 },
	{ "many",
	  "git init -q .; seq 10000 | while read -r i; do printf '100644 %s 0\td%s/f%s\n' "
	  "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391 $((i / 100)) $i; done |"
	  "git update-index --index-info; git config index.threads 4",
	  20 },
	{ "long names",
	  "git init -q .; d=$(printf '%0200d' 1); p=$d/$d/$d/$d/$d/$d/$d/$d/$d/$d/$d/$d/$d;"
	  "p=$p/$d/$d/$d/$d/$d; for i in a b; do printf '100644 %s 0\t%s\n' "
	  "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391 $p/$d/$i; done |"
	  "git update-index --index-info; git config index.version 4",
	  20 },
};

static void git_writes_what_we_read(void **state)
{
	KODA_EACH(row, written) {
		koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT((size_t)4 << 20);
		struct koda_git_index index = { .hash_len = row->hash_len };
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
		KODA_EXPECT(row->name, koda_git_index_walk(&index, koda_buf_span(&bytes), see,
							   &seen) == KODA_OK);
		KODA_EXPECT(row->name, seen.count == 2);
		KODA_EXPECT(row->name, strcmp(seen.last, "link") == 0);
		KODA_EXPECT(row->name, index.shared[0] == '\0');
		assert_int_equal(koda_git_index_walk(&index, koda_buf_span(&bytes), stop, &seen),
				 KODA_E_NOMEM);
		/* The other format finds no index in it. */
		index.hash_len = row->hash_len == 32 ? 20 : 32;
		KODA_EXPECT(row->name, koda_git_index_walk(&index, koda_buf_span(&bytes), see,
							   &seen) == KODA_E_INVALID);
	}
}

static void an_empty_index_is_one(void **state)
{
	koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT((size_t)1 << 20);
	struct seen seen = { 0 };

	shell(*state, "git init -q .; git read-tree --empty");
	load(*state, ".git/index", &bytes);
	assert_int_equal(walk(koda_buf_span(&bytes), &seen), KODA_OK);
	assert_int_equal(seen.count, 0);
}

static void a_split_index_names_the_other_part(void **state)
{
	static const char *const versions[] = { "2", "4" };

	KODA_EACH(version, versions) {
		koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT((size_t)1 << 20);
		koda_auto_buf struct koda_buf rest = KODA_BUF_INIT((size_t)1 << 20);
		struct koda_git_index index = { .hash_len = HASH_LEN };
		struct koda_git_index other = { .hash_len = HASH_LEN, .is_shared = true };
		const char *dir = koda_make_dir(*state, *version);
		struct seen seen = { 0 };
		char path[128];

		shell(dir, "git init -q .; git update-index --add --cacheinfo 160000," SHA1 ",link;"
			   "echo >file; git add file");
		(void)snprintf(
			path, sizeof(path),
			"git update-index --index-version %s; git update-index --split-index",
			*version);
		shell(dir, path);
		load(dir, ".git/index", &bytes);
		assert_int_equal(koda_git_index_walk(&index, koda_buf_span(&bytes), see, &seen), 0);
		assert_int_equal(seen.count, 0);
		assert_false(index.has_unnamed);
		(void)snprintf(path, sizeof(path), ".git/%s", index.shared);
		load(dir, path, &rest);
		assert_int_equal(koda_git_index_walk(&other, koda_buf_span(&rest), see, &seen), 0);
		assert_int_equal(seen.count, 1);
		/* Another commit of the submodule: the entry is replaced, and has no name. */
		shell(dir, "git update-index --cacheinfo "
			   "160000,2222222222222222222222222222222222222222,link");
		bytes.len = 0;
		load(dir, ".git/index", &bytes);
		assert_int_equal(koda_git_index_walk(&index, koda_buf_span(&bytes), see, &seen), 0);
		assert_int_equal(seen.count, 1);
		assert_true(index.has_unnamed);
		other.see_all = true;
		assert_int_equal(koda_git_index_walk(&other, koda_buf_span(&rest), see, &seen), 0);
		assert_int_equal(seen.count, 3);
		/* The other part has a name for each, and is no split index itself. */
		assert_int_equal(koda_git_index_walk(&other, koda_buf_span(&bytes), see, &seen),
				 KODA_E_INVALID);
	}
}

/* Cut off anywhere it is no index, and with any byte changed the walk ends. */
static void nothing_in_it_is_believed(void **state)
{
	koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT((size_t)1 << 20);
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
		assert_int_equal(walk((struct koda_span){ copy, len }, &seen), KODA_E_INVALID);
		for (int value = 0; value < 256; value += 15) {
			char kept = bytes.ptr[len];

			bytes.ptr[len] = (char)value;
			(void)!walk(koda_buf_span(&bytes), &seen);
			bytes.ptr[len] = kept;
		}
	}
}

/* The trees of a sparse index may have gitlinks in them. */
static void sparse_directories_are_shown(void **state)
{
	koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT((size_t)1 << 20);
	struct seen seen = { 0 };
	char *name;

	shell(*state, "git init -q .; mkdir kept away; echo >kept/a; echo >away/a; git add .;"
		      "git -c user.name=a -c user.email=a@b commit -qm a;"
		      "git sparse-checkout set --cone --sparse-index kept");
	load(*state, ".git/index", &bytes);
	assert_int_equal(walk(koda_buf_span(&bytes), &seen), 0);
	assert_int_equal(seen.count, 1);
	assert_string_equal(seen.last, "away/");
	/* Git concatenates: without the slash "away" and "evil" become "awayevil". */
	name = memmem(bytes.ptr, bytes.len, "away/", 5);
	assert_non_null(name);
	name[4] = '+';
	assert_int_equal(walk(koda_buf_span(&bytes), &seen), KODA_E_INVALID);
}

/* Git's threads go by offsets, which may lead to other entries. */
static void offsets_that_lead_elsewhere_are_refused(void **state)
{
	koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT((size_t)1 << 20);
	const char *const names[] = { "EOIE", "IEOT" };
	struct seen seen = { 0 };

	shell(*state, "git init -q .; git config index.threads 3; echo >a; echo >b; git add .");
	load(*state, ".git/index", &bytes);
	assert_int_equal(walk(koda_buf_span(&bytes), &seen), 0);
	for (size_t i = 0; i < KODA_ARRAY_LEN(names); i++) {
		char *found = memmem(bytes.ptr, bytes.len, names[i], 4);
		char *offset;

		assert_non_null(found);
		/* The one has the offset first, the other a version. */
		offset = found + 8 + 4 * i + 3;
		(*offset)++;
		assert_int_equal(walk(koda_buf_span(&bytes), &seen), KODA_E_INVALID);
		(*offset)--;
	}
	assert_int_equal(walk(koda_buf_span(&bytes), &seen), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(git_writes_what_we_read),
		KODA_SCRATCH_TEST(an_empty_index_is_one),
		KODA_SCRATCH_TEST(a_split_index_names_the_other_part),
		KODA_SCRATCH_TEST(nothing_in_it_is_believed),
		KODA_SCRATCH_TEST(sparse_directories_are_shown),
		KODA_SCRATCH_TEST(offsets_that_lead_elsewhere_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
