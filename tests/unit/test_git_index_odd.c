/* SPDX-License-Identifier: MIT */
/* T-92. Indexes that no tool writes: git reads some of them in its own way, so all are refused. */
#include "koda_test.h"

#include "base/buf.h"
#include "run/project/git_index.h"

#define HASH_LEN 20

struct seen {
	size_t count;
};

static int see(void *ctx, struct koda_span path)
{
	struct seen *seen = ctx;

	(void)path;
	seen->count++;
	return KODA_OK;
}

/* Walks the bytes as an index of a SHA-1 repository. */
static int walk(struct koda_span bytes, struct seen *seen)
{
	struct koda_git_index index = { .hash_len = HASH_LEN };

	return koda_git_index_walk(&index, bytes, see, seen);
}

/* Of an entry. Without a tail the name ends as its version requires. */
struct entry {
	const char *name;
	unsigned int mode;
	unsigned int flags;    /* besides the length */
	int length;            /* in the flags; -1: of the name */
	unsigned int extended; /* if the flags say so */
	unsigned int strip;    /* in version 4 */
};

struct made {
	const char *what;
	unsigned int version;
	struct entry entries[3];
	const char *extensions; /* and the hash; NULL: only the hash */
	size_t len;             /* of the extensions */
	unsigned int missing;   /* entries that the header counts but the file lacks */
	bool fine;
};

static void put(struct koda_buf *out, unsigned int value, size_t bytes)
{
	while (bytes-- > 0) {
		const char c = (char)(value >> 8 * bytes);

		assert_int_equal(koda_buf_add(out, &c, 1), 0);
	}
}

static void put_entry(struct koda_buf *out, const struct made *made, const struct entry *entry)
{
	const size_t start = out->len;
	const size_t len = strlen(entry->name);

	for (size_t i = 0; i < 10; i++)
		put(out, i == 6 ? entry->mode : 0, 4);
	for (size_t i = 0; i < 5; i++)
		put(out, 0x11111111, 4);
	put(out,
	    entry->flags | (entry->length < 0 ? (unsigned int)len : (unsigned int)entry->length),
	    2);
	if (entry->flags & 0x4000)
		put(out, entry->extended, 2);
	if (made->version == 4)
		put(out, entry->strip, 1);
	assert_int_equal(koda_buf_add(out, entry->name, len), 0);
	put(out, 0, 1);
	while (made->version < 4 && (out->len - start) % 8 != 0)
		put(out, 0, 1);
}

#define LINK    0160000
#define REGULAR 0100644

#define EXTENSIONS(text) .extensions = (text), .len = sizeof(text) - 1
#define HASH             "hhhhhhhhhhhhhhhhhhhh"

/* What is read one way by git, and perhaps another way by us. */
static const struct made indexes[] = {
	{ "all is well", 2, { { "a", LINK, 0, -1, 0, 0 } }, .fine = true },
	{ "all is well in version 4", 4, { { "a", LINK, 0, -1, 0, 0 } }, .fine = true },
	{ "an unknown optional extension",
	  2,
	  { { "a", LINK, 0, -1, 0, 0 } },
	  EXTENSIONS("TEST\0\0\0\2xx" HASH),
	  .fine = true },
	{ "stages",
	  2,
	  { { "a", REGULAR, 0x1000, -1, 0, 0 }, { "a", REGULAR, 0x3000, -1, 0, 0 } },
	  .fine = true },
	{ "no version", 1, { { "a", LINK, 0, -1, 0, 0 } } },
	{ "a later version", 5, { { "a", LINK, 0, -1, 0, 0 } } },
	{ "fewer entries", 2, { { "a", LINK, 0, -1, 0, 0 } }, .missing = 1 },
	{ "a first entry that drops a byte", 4, { { "a", LINK, 0, -1, 0, 1 } } },
	{ "extended flags in version 2", 2, { { "a", LINK, 0x4000, -1, 0x4000, 0 } } },
	{ "unknown extended flags", 3, { { "a", LINK, 0x4000, -1, 1, 0 } } },
	{ "a length that is too short", 2, { { "abc", LINK, 0, 1, 0, 0 } } },
	{ "a length that is too long", 2, { { "abc", LINK, 0, 4, 0, 0 } } },
	{ "a length that stands for a long name", 2, { { "abc", LINK, 0, 0xfff, 0, 0 } } },
	{ "an absolute path", 2, { { "/a", LINK, 0, -1, 0, 0 } } },
	{ "a way upwards", 2, { { "../a", LINK, 0, -1, 0, 0 } } },
	{ "a way upwards inside", 2, { { "a/../b", LINK, 0, -1, 0, 0 } } },
	{ "a dot", 2, { { "./a", LINK, 0, -1, 0, 0 } } },
	{ "an empty component", 2, { { "a//b", LINK, 0, -1, 0, 0 } } },
	{ "a slash at the end", 2, { { "a/", LINK, 0, -1, 0, 0 } } },
	{ "a git directory", 2, { { "a/.GIT/b", LINK, 0, -1, 0, 0 } } },
	{ "no name, and no shared index", 2, { { "", LINK, 0, -1, 0, 0 } } },
	{ "further bits of the mode", 2, { { "a", 0160755, 0, -1, 0, 0 } } },
	{ "a mode of no kind", 2, { { "a", 0, 0, -1, 0, 0 } } },
	{ "a sparse directory without a slash", 2, { { "a", 0040000, 0, -1, 0, 0 } } },
	{ "names that are not sorted",
	  2,
	  { { "b", LINK, 0, -1, 0, 0 }, { "a", LINK, 0, -1, 0, 0 } } },
	{ "a name that occurs twice",
	  2,
	  { { "a", REGULAR, 0, -1, 0, 0 }, { "a", LINK, 0, -1, 0, 0 } } },
	{ "stages that are not sorted",
	  2,
	  { { "a", LINK, 0x2000, -1, 0, 0 }, { "a", LINK, 0x1000, -1, 0, 0 } } },
	{ "a shorter name after a longer one",
	  4,
	  { { "ab", LINK, 0, -1, 0, 0 }, { "", LINK, 0, 1, 0, 1 } } },
	{ "more dropped than there is",
	  4,
	  { { "ab", LINK, 0, -1, 0, 0 }, { "b", LINK, 0, -1, 0, 3 } } },
	{ "two extensions of a kind",
	  2,
	  { { "a", LINK, 0, -1, 0, 0 } },
	  EXTENSIONS("link\0\0\0\x14" HASH "link\0\0\0\x14" HASH HASH) },
	{ "an extension beyond the end",
	  2,
	  { { "a", LINK, 0, -1, 0, 0 } },
	  EXTENSIONS("link\0\0\0\x28" HASH HASH) },
	{ "an extension that is too short",
	  2,
	  { { "a", LINK, 0, -1, 0, 0 } },
	  EXTENSIONS("link\0\0\0\x13hhhhhhhhhhhhhhhhhhh" HASH) },
	{ "an unknown extension that has to be known",
	  2,
	  { { "a", LINK, 0, -1, 0, 0 } },
	  EXTENSIONS("test\0\0\0\0" HASH) },
	{ "bytes between the extensions and the hash",
	  2,
	  { { "a", LINK, 0, -1, 0, 0 } },
	  EXTENSIONS("x" HASH) },
	{ "a hash that is too short",
	  2,
	  { { "a", LINK, 0, -1, 0, 0 } },
	  EXTENSIONS("hhhhhhhhhhhhhhhhhhh") },
	{ "an end of entries before the end",
	  2,
	  { { "a", LINK, 0, -1, 0, 0 } },
	  EXTENSIONS("EOIE\0\0\0\x18\0\0\0\x54" HASH "TREE\0\0\0\0" HASH) },
	{ "a table that misses an entry",
	  2,
	  { { "a", LINK, 0, -1, 0, 0 } },
	  EXTENSIONS("IEOT\0\0\0\x04\0\0\0\1" HASH) },
	{ "a table of another version",
	  2,
	  { { "a", LINK, 0, -1, 0, 0 } },
	  EXTENSIONS("IEOT\0\0\0\x0c\0\0\0\2\0\0\0\x0c\0\0\0\1" HASH) },
};

static void what_no_tool_writes_is_refused(void **state)
{
	(void)state;
	KODA_EACH(row, indexes) {
		koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT((size_t)1 << 20);
		struct seen seen = { 0 };
		unsigned int count = 0;

		while (count < 3 && row->entries[count].name)
			count++;
		put(&bytes, 0x44495243, 4); /* DIRC */
		put(&bytes, row->version, 4);
		put(&bytes, count + row->missing, 4);
		for (unsigned int i = 0; i < count; i++)
			put_entry(&bytes, row, &row->entries[i]);
		assert_int_equal(koda_buf_add(&bytes, row->extensions ? row->extensions : HASH,
					      row->extensions ? row->len : HASH_LEN),
				 0);
		KODA_EXPECT(row->what, walk(koda_buf_span(&bytes), &seen) ==
					       (row->fine ? KODA_OK : KODA_E_INVALID));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_no_tool_writes_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
