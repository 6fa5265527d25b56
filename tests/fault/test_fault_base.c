/* SPDX-License-Identifier: MIT */
/* The base layer when memory runs out: NOMEM, nothing lost of what was there, nothing leaked. */
#include "../lib/exhaust.h"

#include "../lib/child.h"
#include "../lib/scratch.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/set.h"
#include "base/strv.h"
#include "base/trie.h"

#include <sys/mman.h>

static int join(void **ret, struct koda_error *err)
{
	return koda_path_join(
		"/a/rather/long/directory/that/does/not/fit/into/the/first/allocation", "name",
		(char **)ret, err);
}

static int make_absolute(void **ret, struct koda_error *err)
{
	return koda_path_absolute(
		"/a/../b/rather/long/path/that/does/not/fit/into/the/first/room/x", (char **)ret,
		err);
}

static int make_absolute_from_here(void **ret, struct koda_error *err)
{
	return koda_path_absolute("relative", (char **)ret, err);
}

static int resolve_from_here(void **ret, struct koda_error *err)
{
	return koda_path_resolve("relative", (char **)ret, err);
}

static int resolve(void **ret, struct koda_error *err)
{
	return koda_path_resolve(
		"/proc/self/root/proc/self/cwd/no/such/place/but/a/long/name/of/it", (char **)ret,
		err);
}

static bool same_text(const void *ret, const void *undisturbed)
{
	return strcmp(ret, undisturbed) == 0;
}

static const struct koda_exhaust entries[] = {
	{ "koda_path_join", join, same_text, free },
	{ "koda_path_absolute", make_absolute, same_text, free },
	{ "koda_path_absolute, relative", make_absolute_from_here, same_text, free },
	{ "koda_path_resolve", resolve, same_text, free },
	{ "koda_path_resolve, relative", resolve_from_here, same_text, free },
};

/* One add in three fails for want of memory; after each, the buffer holds what it held. */
static void a_buffer_keeps_its_contents(void **state)
{
	struct koda_rng rng = koda_rng_new();

	(void)state;
	for (int round = 0; round < 100; round++) {
		koda_auto_buf struct koda_buf buf = KODA_BUF_INIT(100000);
		size_t used = 0;

		for (int i = 0; i < 100; i++) {
			size_t len = koda_rng_below(&rng, 60);
			char bytes[64];
			bool failed;
			int r;

			memset(bytes, 'b', sizeof(bytes));
			bytes[len] = '\0';
			koda_alloc_arm(koda_rng_one_in(&rng, 3), KODA_ALLOC_ONCE);
			r = koda_rng_one_in(&rng, 2) ? koda_buf_add(&buf, bytes, len)
						     : koda_buf_addf(&buf, "%s", bytes);
			failed = koda_alloc_disarm();
			assert_int_equal(r, failed ? KODA_E_NOMEM : KODA_OK);
			used += failed ? 0 : len;
			assert_int_equal(buf.len, used);
			assert_true(!buf.ptr || strlen(buf.ptr) == used);
		}
	}
}

static void taking_an_empty_buffer_needs_memory(void **state)
{
	struct koda_buf buf = KODA_BUF_INIT(10);
	char *text = NULL;

	(void)state;
	koda_alloc_arm(1, KODA_ALLOC_DRY);
	assert_int_equal(koda_buf_take(&buf, &text), KODA_E_NOMEM);
	assert_true(koda_alloc_disarm());
	assert_null(text);
}

/* Adds 0, 1, 2 ... with allocations failing at random; a number counts once its add succeeds. */
static void a_set_keeps_its_entries(void **state)
{
	struct koda_rng rng = koda_rng_new();
	koda_auto_set struct koda_set set = KODA_SET_INIT(1000000);
	size_t count = 0;

	(void)state;
	while (count < 2000) {
		size_t index = SIZE_MAX;
		char text[32];
		bool failed;
		int r;

		(void)snprintf(text, sizeof(text), "entry number %zu", count);
		koda_alloc_arm(1 + koda_rng_below(&rng, 3), KODA_ALLOC_ONCE);
		r = koda_set_add(&set, koda_span_of(text), &index);
		failed = koda_alloc_disarm();
		assert_int_equal(r, failed ? KODA_E_NOMEM : KODA_OK);
		assert_true(index == (failed ? SIZE_MAX : count));
		assert_true(koda_set_find(&set, koda_span_of(text)) ==
			    (failed ? KODA_SET_NONE : count));
		count += !failed;
		assert_int_equal(set.count, count);
		assert_int_equal(koda_set_find(&set, koda_span_of("entry number 0")),
				 count ? 0 : KODA_SET_NONE);
	}
}

static void a_trie_keeps_its_edges(void **state)
{
	struct koda_rng rng = koda_rng_new();
	koda_auto_trie struct koda_trie trie = KODA_TRIE_INIT(1000000);

	(void)state;
	while (trie.nodes < 2000) {
		uint32_t nodes = trie.nodes;
		uint32_t child = KODA_TRIE_NONE;
		uint32_t parent = (uint32_t)koda_rng_below(&rng, nodes + 1);
		struct koda_span label;
		char text[64];
		bool failed;
		int r;

		(void)snprintf(text, sizeof(text), "%s %u",
			       koda_rng_one_in(&rng, 2) ? "a label that is not short" : "l", nodes);
		label = koda_span_of(text);
		koda_alloc_arm(1 + koda_rng_below(&rng, 2), KODA_ALLOC_ONCE);
		r = koda_trie_add(&trie, parent, label, &child);
		failed = koda_alloc_disarm();
		assert_int_equal(r, failed ? KODA_E_NOMEM : KODA_OK);
		assert_int_equal(trie.nodes, failed ? nodes : nodes + 1);
		assert_true(child == (failed ? KODA_TRIE_NONE : nodes + 1));
		assert_true(koda_trie_find(&trie, parent, label) == child);
	}
}

static void a_vector_keeps_its_items(void **state)
{
	koda_auto_strv struct koda_strv strv = KODA_STRV_INIT;
	struct koda_rng rng = koda_rng_new();
	struct koda_error err = { 0 };

	(void)state;
	while (strv.len < 300) {
		size_t len = strv.len;
		bool failed;
		int r;

		koda_alloc_arm(koda_rng_below(&rng, 3), KODA_ALLOC_ONCE);
		r = koda_rng_one_in(&rng, 2)
			    ? koda_strv_add(&strv, "item", &err)
			    : koda_strv_add_span(&strv, (struct koda_span){ "items", 4 }, &err);
		failed = koda_alloc_disarm();
		assert_int_equal(r, failed ? KODA_E_NOMEM : KODA_OK);
		assert_int_equal(strv.len, failed ? len : len + 1);
		assert_true(!strv.items || !strv.items[strv.len]);
	}
	for (size_t i = 0; i < strv.len; i++)
		assert_string_equal(strv.items[i], "item");
}

static void a_set_is_copied_whole_or_not(void **state)
{
	koda_auto_set struct koda_set set = KODA_SET_INIT(1000);
	size_t n;

	(void)state;
	for (int i = 0; i < 20; i++) {
		char text[16];

		(void)snprintf(text, sizeof(text), "%d", i);
		assert_int_equal(koda_set_add(&set, koda_span_of(text), NULL), KODA_OK);
	}
	for (n = 1; n < KODA_EXHAUST_MAX; n++) {
		koda_auto_set struct koda_set copy = KODA_SET_INIT(1000);
		bool failed;
		int r;

		koda_alloc_arm(n, KODA_ALLOC_ONCE);
		r = koda_set_copy(&copy, &set);
		failed = koda_alloc_disarm();
		assert_int_equal(r, failed ? KODA_E_NOMEM : KODA_OK);
		if (!failed)
			break;
	}
	assert_true(n > 1);
}

static void normalising_says_out_of_memory(void **state)
{
	(void)state;
	for (size_t n = 1; n < KODA_EXHAUST_MAX; n++) {
		koda_auto_buf struct koda_buf out = KODA_BUF_INIT(KODA_PATH_MAX);
		const char *path =
			n % 2 ? "/a/path/of/some/length/that/needs/more/than/one/room/x" : "/";
		struct koda_error err = { 0 };
		bool failed;
		int r;

		koda_alloc_arm((n + 1) / 2, KODA_ALLOC_ONCE);
		r = koda_path_normalise(koda_span_of(path), &out, &err);
		failed = koda_alloc_disarm();
		assert_int_equal(r, failed ? KODA_E_NOMEM : KODA_OK);
		assert_int_equal(err.code, r);
		if (!failed)
			break;
	}
}

static void reading_without_memory_fails(void **state)
{
	koda_auto_fd int fd = memfd_create("test", MFD_CLOEXEC);
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(1000);
	struct koda_error err = { 0 };
	int r;

	(void)state;
	assert_int_equal(write(fd, "text", 4), 4);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	koda_alloc_arm(1, KODA_ALLOC_DRY);
	r = koda_fd_read_all(fd, &out, &err);
	assert_true(koda_alloc_disarm());
	assert_int_equal(r, KODA_E_NOMEM);
	KODA_ASSERT_OK(koda_fd_read_all(fd, &out, &err), err);
	assert_string_equal(out.ptr, "text");
}

/* posix_spawn's lists are on the heap: ENOMEM comes as a system error. */
static void spawning_without_memory_leaves_nothing_behind(void **state)
{
	char *const argv[] = { (char *)(uintptr_t) "true", NULL };
	struct koda_fdmap give[16];
	int before = koda_count_fds();
	size_t n;

	(void)state;
	for (int i = 0; i < 16; i++)
		give[i] = (struct koda_fdmap){ STDERR_FILENO, 3 + 2 * i };
	for (n = 1; n < KODA_EXHAUST_MAX; n++) {
		koda_auto_proc struct koda_proc proc = KODA_PROC_INIT;
		struct koda_error err = { 0 };
		bool failed;
		int r;

		koda_alloc_arm(n, KODA_ALLOC_ONCE);
		r = koda_proc_spawn(&proc, "/bin/true", argv, (char *[]){ NULL }, give, 16, &err);
		failed = koda_alloc_disarm();
		if (!failed) {
			assert_int_equal(r, KODA_OK);
			break;
		}
		assert_true(r == KODA_E_NOMEM || (r == KODA_E_SYS && err.sys_errno == ENOMEM));
		assert_int_equal(proc.pid, 0);
		assert_int_equal(koda_count_fds(), before);
	}
	assert_true(n > 1);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void links_are_listed_whole_or_not(void **state)
{
	size_t n;

	(void)state;
	for (n = 1; n < KODA_EXHAUST_MAX; n++) {
		koda_auto_strv struct koda_strv links = KODA_STRV_INIT;
		koda_auto_free char *resolved = NULL;
		struct koda_error err = { 0 };
		bool failed;
		int r;

		koda_alloc_arm(n, KODA_ALLOC_ONCE);
		r = koda_path_trace("/proc/self/root/proc/self/cwd", &resolved, &links, &err);
		failed = koda_alloc_disarm();
		assert_int_equal(r, failed ? KODA_E_NOMEM : KODA_OK);
		assert_int_equal(err.code, r);
		if (!failed)
			break;
	}
	assert_true(n > 1);
}

/* A working directory whose name does not fit into a buffer's first room. */
static void *scratch;

static int setup(void **state)
{
	(void)state;
	if (koda_scratch_setup(&scratch) < 0)
		return -1;
	return chdir(koda_make_dir(scratch,
				   "a-name-that-is-longer-than-the-room-a-buffer-begins-with"
				   "-so-that-it-has-to-grow-when-it-takes-the-whole-of-it"));
}

static int teardown(void **state)
{
	(void)state;
	return chdir("/") < 0 ? -1 : koda_scratch_teardown(&scratch);
}

#define ENTRIES (sizeof(entries) / sizeof(entries[0]))

int main(void)
{
	struct CMUnitTest tests[ENTRIES + 10] = {
		cmocka_unit_test(a_buffer_keeps_its_contents),
		cmocka_unit_test(taking_an_empty_buffer_needs_memory),
		cmocka_unit_test(a_set_keeps_its_entries),
		cmocka_unit_test(a_trie_keeps_its_edges),
		cmocka_unit_test(a_vector_keeps_its_items),
		cmocka_unit_test(a_set_is_copied_whole_or_not),
		cmocka_unit_test(normalising_says_out_of_memory),
		cmocka_unit_test(reading_without_memory_fails),
		cmocka_unit_test(links_are_listed_whole_or_not),
		cmocka_unit_test(spawning_without_memory_leaves_nothing_behind),
	};

	for (size_t i = 0; i < ENTRIES; i++)
		tests[10 + i] = KODA_EXHAUST_TEST(&entries[i]);
	return cmocka_run_group_tests(tests, setup, teardown);
}
