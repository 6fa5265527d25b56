/* SPDX-License-Identifier: MIT */
/* T-92. Walks the entries and extensions of an index. */
#include "run/project/git_index.h"

#include "base/path.h"

#include <koda/error.h>
#include <stdint.h>
#include <string.h>

#define HEADER_LEN    12
#define COUNT_AT      8  /* in the header */
#define MODE_AT       24 /* in an entry */
#define STAT_LEN      40 /* bytes before the object name */
#define MODE_TYPE     0170000U
#define MODE_GITLINK  0160000U
#define MODE_SPARSE   0040000U /* no permission bits */
#define FLAG_EXTENDED 0x4000U
#define NAME_MASK     0x0fffU

struct walk {
	const unsigned char *at;
	size_t left;
	size_t hash_len;
	uint32_t version;
	char name[KODA_PATH_MAX + 1]; /* of the last entry; version 4 omits the common start */
	size_t name_len;              /* if it does not fit, it is no path */
	size_t kept;                  /* how many bytes are from the name before */
};

static uint32_t get32(const unsigned char *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void skip(struct walk *w, size_t len)
{
	w->at += len;
	w->left -= len;
}

/* Reads how many bytes of the last name are dropped, in git's offset encoding. False if it does not
 * end. */
static bool read_strip(struct walk *w, size_t *ret_strip)
{
	size_t value;

	if (w->left == 0)
		return false;
	value = *w->at & 127;
	while (*w->at & 128) {
		skip(w, 1);
		if (w->left == 0 || value > SIZE_MAX >> 8)
			return false;
		value = ((value + 1) << 7) | (*w->at & 127);
	}
	skip(w, 1);
	*ret_strip = value;
	return true;
}

static void keep_name(struct walk *w, size_t kept, size_t len)
{
	size_t end = len < KODA_PATH_MAX ? len : KODA_PATH_MAX;

	if (end > kept)
		memcpy(w->name + kept, w->at, end - kept);
	w->name[end] = '\0';
	w->name_len = len;
}

/* Reads the name of an entry, behind its fixed bytes; len is the length in its flags. A truncated
 * name is taken as it is, as git does. */
static bool read_name(struct walk *w, size_t fixed, size_t len)
{
	size_t kept = 0;
	size_t strip = 0;
	size_t more;

	if (w->version == 4) {
		if (!read_strip(w, &strip) || strip > w->name_len)
			return false;
		kept = w->name_len - strip;
	}
	if (len == NAME_MASK) {
		const unsigned char *end = memchr(w->at, '\0', w->left);

		len = kept + (end ? (size_t)(end - w->at) : w->left);
	}
	if (len < kept)
		return false;
	more = len - kept < w->left ? len - kept : w->left;
	keep_name(w, kept, kept + more);
	w->kept = kept;
	more = w->version == 4 ? more + 1 : ((fixed + len + 8) & ~(size_t)7) - fixed;
	skip(w, more < w->left ? more : w->left);
	return true;
}

static bool read_entry(struct walk *w, uint32_t *ret_mode)
{
	size_t fixed = STAT_LEN + w->hash_len + 2;
	unsigned int flags;

	if (w->left < fixed + 2)
		return false;
	*ret_mode = get32(w->at + MODE_AT);
	flags = (unsigned int)w->at[fixed - 2] << 8 | w->at[fixed - 1];
	if (flags & FLAG_EXTENDED) {
		if (w->version < 3)
			return false;
		fixed += 2;
	}
	skip(w, fixed);
	return read_name(w, fixed, flags & NAME_MASK);
}

/* Reads the extension "link", which names the shared index by its hash; zero: none. */
static void name_shared(const struct walk *w, char shared[KODA_GIT_INDEX_SHARED])
{
	static const char digits[] = "0123456789abcdef";
	static const char prefix[] = "sharedindex.";
	char *out = shared + strlen(prefix);

	memcpy(shared, prefix, sizeof(prefix));
	for (size_t i = 0; i < w->hash_len; i++) {
		*out++ = digits[w->at[i] >> 4];
		*out++ = digits[w->at[i] & 15];
	}
	*out = '\0';
}

/* With index.threads git takes the offset of the extensions from the extension "EOIE", and the
 * offsets of blocks of entries from "IEOT". Returns false unless these lead to the bytes that are
 * read here one after the other. at: the end of the entries. */
static bool is_linear(struct koda_span bytes, const struct walk *at)
{
	const unsigned char *start = (const unsigned char *)bytes.ptr;
	const size_t len = 8 + 4 + at->hash_len;
	const unsigned char *last;

	if (at->left < len + at->hash_len)
		return true;
	last = start + bytes.len - at->hash_len - len;
	return memcmp(last, "EOIE", 4) != 0 || get32(last + 8) == (size_t)(at->at - start);
}

/* Tells whether each block of the extension "IEOT" begins where the one before it ends, and none
 * after the entries. w is at its contents: a version, then pairs of offset and count. */
static bool has_linear_blocks(struct koda_span bytes, const struct walk *w, size_t len)
{
	const unsigned char *start = (const unsigned char *)bytes.ptr;
	struct walk entries = {
		.at = start, .left = bytes.len, .hash_len = w->hash_len, .version = w->version
	};
	uint32_t left = get32(start + COUNT_AT);

	skip(&entries, HEADER_LEN);
	for (size_t at = 4; at + 8 <= len; at += 8) {
		uint32_t count = get32(w->at + at + 4);
		uint32_t mode;

		if (get32(w->at + at) != (size_t)(entries.at - start) || count > left)
			return false;
		left -= count;
		/* A thread of git starts without a previous name. */
		for (uint32_t i = 0; i < count; i++)
			if (!read_entry(&entries, &mode) || (i == 0 && entries.kept > 0))
				return false;
	}
	return true;
}

/* What an index leads git to without naming its path. */
struct unnamed {
	bool gitlink; /* a gitlink that replaces an entry of the shared index and has its name */
	bool sparse;  /* a sparse directory; git writes names that end with "/" */
	bool blocks;  /* entries that are not one after the other */
};

/* Reads the extensions. Only with "sdir" git replaces sparse directories by the entries of their
 * trees. */
static void read_extensions(struct koda_span bytes, struct walk *w, char *shared,
			    struct unnamed *unnamed)
{
	bool is_sparse = false;
	bool has_blocks = false;

	unnamed->blocks = !is_linear(bytes, w);
	while (w->left >= 8) {
		const unsigned char *name = w->at;
		size_t len = get32(w->at + 4);

		is_sparse = is_sparse || memcmp(name, "sdir", 4) == 0;
		skip(w, 8);
		if (len > w->left)
			break;
		if (memcmp(name, "link", 4) == 0 && shared && !shared[0] && len >= w->hash_len)
			name_shared(w, shared);
		/* Git uses the first one. */
		if (memcmp(name, "IEOT", 4) == 0 && !unnamed->blocks && !has_blocks) {
			has_blocks = true;
			unnamed->blocks = !has_linear_blocks(bytes, w, len);
		}
		skip(w, len);
	}
	unnamed->sparse = unnamed->sparse && is_sparse;
	unnamed->gitlink = unnamed->gitlink && shared && shared[0];
}

/* Git concatenates the name of a sparse directory and those in its tree: "a" and "b" become "ab".
 * */
static int show(const struct walk *w, uint32_t mode, koda_git_index_fn *see, void *ctx,
		struct unnamed *unnamed)
{
	const bool sparse = mode == MODE_SPARSE;
	/* A name ends at a NUL, whatever its stated length is. */
	const size_t len = strlen(w->name);

	if (!sparse && (mode & MODE_TYPE) != MODE_GITLINK)
		return KODA_OK;
	unnamed->gitlink = unnamed->gitlink || (!sparse && len == 0);
	unnamed->sparse = unnamed->sparse || (sparse && (len == 0 || w->name[len - 1] != '/'));
	if (len == 0 || (sparse && w->name[len - 1] != '/'))
		return KODA_OK;
	return see(ctx, (struct koda_span){ w->name, len });
}

int koda_git_index_walk(struct koda_span bytes, size_t hash_len, koda_git_index_fn *see, void *ctx,
			char shared[KODA_GIT_INDEX_SHARED])
{
	struct walk w = { .at = (const unsigned char *)bytes.ptr,
			  .left = bytes.len,
			  .hash_len = hash_len };
	struct unnamed unnamed = { false, false, false };
	uint32_t count;
	int r = KODA_OK;

	if (shared)
		shared[0] = '\0';
	if (bytes.len < HEADER_LEN || memcmp(bytes.ptr, "DIRC", 4) != 0)
		return KODA_OK;
	w.version = get32(w.at + 4);
	count = get32(w.at + COUNT_AT);
	if (w.version < 2 || w.version > 4)
		return KODA_OK;
	skip(&w, HEADER_LEN);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t mode = 0;

		if (!read_entry(&w, &mode))
			return KODA_OK;
		if (w.name_len <= KODA_PATH_MAX)
			r = show(&w, mode, see, ctx, &unnamed);
		if (r < 0)
			return r;
	}
	read_extensions(bytes, &w, shared, &unnamed);
	if (unnamed.gitlink || unnamed.sparse || unnamed.blocks)
		r = see(ctx, (struct koda_span){ "", 0 });
	return r;
}
