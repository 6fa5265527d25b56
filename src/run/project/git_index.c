/* SPDX-License-Identifier: MIT */
/* T-92. Walks the entries and extensions of an index. */
#include "run/project/git_index.h"

#include "base/path.h"

#include <koda/error.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#define HEADER_LEN     12
#define COUNT_AT       8  /* in the header */
#define MODE_AT        24 /* in an entry */
#define STAT_LEN       40 /* bytes before the object name */
#define MODE_GITLINK   0160000U
#define MODE_SPARSE    0040000U
#define FLAG_EXTENDED  0x4000U
#define STAGE_SHIFT    12
#define STAGE_MASK     3U
#define NAME_MASK      0x0fffU
#define EXTENDED_KNOWN 0x6000U /* skip-worktree, intent-to-add */
#define EXTENSION_LEN  8       /* name and length */
#define EXTENSIONS_MAX 16      /* git writes eight kinds */

/* Where the reading is, and the last entry. */
struct walk {
	const unsigned char *at;
	size_t left;
	size_t hash_len;
	uint32_t version;
	uint32_t mode;
	unsigned int stage;
	bool unnamed;                 /* some entry has no name */
	char name[KODA_PATH_MAX + 1]; /* version 4 omits the common start */
	size_t name_len;
	size_t kept; /* how many bytes are from the name before */
};

static uint32_t get16(const unsigned char *at)
{
	return (uint32_t)at[0] << 8 | at[1];
}

static uint32_t get32(const unsigned char *at)
{
	return get16(at) << 16 | get16(at + 2);
}

static void skip(struct walk *w, size_t len)
{
	w->at += len;
	w->left -= len;
}

/* --- entries --- */

/* Reads how many bytes of the last name are kept. Version 4 tells how many are dropped, in git's
 * offset encoding. Other readers ignore the number at the first entry, so it must be 0 there. */
static bool read_kept(struct walk *w)
{
	size_t strip;

	w->kept = 0;
	if (w->version < 4)
		return true;
	if (w->left == 0)
		return false;
	strip = *w->at & 127;
	while (*w->at & 128) {
		skip(w, 1);
		if (w->left == 0 || strip > w->name_len)
			return false;
		strip = ((strip + 1) << 7) | (*w->at & 127);
	}
	skip(w, 1);
	if (strip > w->name_len)
		return false;
	w->kept = w->name_len - strip;
	return true;
}

/* Tells whether the name that begins with the kept bytes and ends with len more may come next:
 * names are sorted, and one that occurs again is a conflict, of the next stage. Entries without a
 * name replace entries of a shared index; they come first. */
static bool is_in_order(const struct walk *w, size_t len, unsigned int stage)
{
	const size_t old = w->name_len - w->kept;
	const int order = memcmp(w->name + w->kept, w->at, old < len ? old : len);

	if (w->kept + len == 0)
		return w->name_len == 0 && stage == 0;
	if (order != 0 || old != len)
		return order < 0 || (order == 0 && old < len);
	return w->stage > 0 && stage > w->stage;
}

/* Reads the rest of a name, its end and its padding. stated: its length in the flags. fixed: the
 * length of the entry so far. */
static bool read_name(struct walk *w, size_t fixed, size_t stated, unsigned int stage)
{
	const unsigned char *end;
	size_t pad = 1;
	size_t len;

	if (!read_kept(w))
		return false;
	end = memchr(w->at, '\0', w->left);
	len = end ? (size_t)(end - w->at) : 0;
	if (!end || w->kept + len > KODA_PATH_MAX ||
	    stated != (w->kept + len < NAME_MASK ? w->kept + len : NAME_MASK) ||
	    !is_in_order(w, len, stage))
		return false;
	memcpy(w->name + w->kept, w->at, len + 1);
	w->name_len = w->kept + len;
	w->stage = stage;
	skip(w, len);
	if (w->version < 4)
		pad = 8 - (fixed + len) % 8;
	if (pad > w->left)
		return false;
	for (size_t i = 0; i < pad; i++)
		if (w->at[i] != '\0')
			return false;
	skip(w, pad);
	return true;
}

static bool read_entry(struct walk *w)
{
	size_t fixed = STAT_LEN + w->hash_len + 2;
	uint32_t flags;

	if (w->left < fixed + 2)
		return false;
	w->mode = get32(w->at + MODE_AT);
	flags = get16(w->at + fixed - 2);
	if (flags & FLAG_EXTENDED) {
		if (w->version < 3 || get16(w->at + fixed) & ~EXTENDED_KNOWN)
			return false;
		fixed += 2;
	}
	skip(w, fixed);
	return read_name(w, fixed, flags & NAME_MASK, flags >> STAGE_SHIFT & STAGE_MASK);
}

static bool is_known_mode(uint32_t mode)
{
	return mode == 0100644 || mode == 0100755 || mode == 0120000 || mode == MODE_GITLINK ||
	       mode == MODE_SPARSE;
}

/* Tells whether git would add an entry of this name: no component is empty, ".", ".." or ".git" in
 * any case. The name of a sparse directory, and no other, ends with "/". */
static bool is_ordinary(const char *name, size_t len, bool sparse)
{
	const char *const end = name + len;

	if (len > 0 && (end[-1] == '/') != sparse)
		return false;
	while (name < end) {
		const char *slash = memchr(name, '/', (size_t)(end - name));
		size_t part = (size_t)((slash ? slash : end) - name);

		if (part == 0 || (part == 1 && name[0] == '.') ||
		    (part == 2 && name[0] == '.' && name[1] == '.') ||
		    (part == 4 && strncasecmp(name, ".git", 4) == 0))
			return false;
		name += part + 1;
	}
	return true;
}

static int show(struct koda_git_index *index, struct walk *w, koda_git_index_fn *see, void *ctx)
{
	const bool sparse = w->mode == MODE_SPARSE;

	if (!is_known_mode(w->mode) || !is_ordinary(w->name, w->name_len, sparse) ||
	    (sparse && w->name_len == 0))
		return KODA_E_INVALID;
	w->unnamed = w->unnamed || w->name_len == 0;
	if (w->mode != MODE_GITLINK && !sparse && !index->see_all)
		return KODA_OK;
	if (w->name_len > 0)
		return see(ctx, (struct koda_span){ w->name, w->name_len });
	index->has_unnamed = true;
	return KODA_OK;
}

/* --- extensions --- */

/* Reads the extension "link", which names the shared index by its hash; zero: none. */
static bool read_link(struct koda_git_index *index, const unsigned char *at, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	static const char prefix[] = "sharedindex.";
	char *out = index->shared + strlen(prefix);
	unsigned char any = 0;

	if (index->is_shared || len < index->hash_len)
		return false;
	for (size_t i = 0; i < index->hash_len; i++) {
		*out++ = digits[at[i] >> 4];
		*out++ = digits[at[i] & 15];
		any |= at[i];
	}
	*out = '\0';
	if (any)
		memcpy(index->shared, prefix, strlen(prefix));
	return true;
}

/* With index.threads git takes the offsets of blocks of entries from the extension "IEOT": a
 * version, then pairs of offset and count. Tells whether each block begins where the one before it
 * ends, and the last one ends with the entries. */
static bool are_blocks_linear(struct koda_span bytes, const struct walk *w,
			      const unsigned char *table, size_t len)
{
	const unsigned char *start = (const unsigned char *)bytes.ptr;
	struct walk entries = { .at = start + HEADER_LEN,
				.left = bytes.len - HEADER_LEN,
				.hash_len = w->hash_len,
				.version = w->version };
	uint32_t left = get32(start + COUNT_AT);

	if (len < 4 || (len - 4) % 8 != 0 || get32(table) != 1)
		return false;
	for (size_t at = 4; at < len; at += 8) {
		uint32_t count = get32(table + at + 4);

		if (get32(table + at) != (size_t)(entries.at - start) || count > left)
			return false;
		left -= count;
		/* A thread of git starts without a previous name. */
		for (uint32_t i = 0; i < count; i++)
			if (!read_entry(&entries) || (i == 0 && entries.kept > 0))
				return false;
	}
	return left == 0;
}

/* The extensions that were read, each of which occurs once. */
struct extensions {
	const unsigned char *names[EXTENSIONS_MAX];
	size_t count;
};

static bool is_first(struct extensions *known, const unsigned char *name)
{
	for (size_t i = 0; i < known->count; i++)
		if (memcmp(known->names[i], name, 4) == 0)
			return false;
	if (known->count == EXTENSIONS_MAX)
		return false;
	known->names[known->count++] = name;
	return true;
}

/* Reads one extension, whose contents w is at. end: the length up to the end of the entries, where
 * git begins with the extensions if "EOIE" says so. Readers may ignore those that begin with an
 * upper-case letter. */
static bool read_extension(struct koda_git_index *index, struct koda_span bytes,
			   const struct walk *w, const unsigned char *name, size_t end)
{
	const size_t len = get32(name + 4);

	if (memcmp(name, "link", 4) == 0)
		return read_link(index, w->at, len);
	if (memcmp(name, "sdir", 4) == 0)
		return len == 0;
	if (memcmp(name, "IEOT", 4) == 0)
		return are_blocks_linear(bytes, w, w->at, len);
	/* EOIE is the last extension. */
	if (memcmp(name, "EOIE", 4) == 0)
		return len == 4 + w->hash_len && w->left == len + w->hash_len &&
		       get32(w->at) == end;
	return name[0] >= 'A' && name[0] <= 'Z';
}

/* Reads the extensions, which fill the file up to its hash. */
static bool read_extensions(struct koda_git_index *index, struct koda_span bytes, struct walk *w)
{
	const size_t end = bytes.len - w->left;
	struct extensions known = { .count = 0 };

	while (w->left > w->hash_len) {
		const unsigned char *name = w->at;

		if (w->left - w->hash_len < EXTENSION_LEN)
			return false;
		skip(w, EXTENSION_LEN);
		if (get32(name + 4) > w->left - w->hash_len || !is_first(&known, name) ||
		    !read_extension(index, bytes, w, name, end))
			return false;
		skip(w, get32(name + 4));
	}
	return w->left == w->hash_len;
}

int koda_git_index_walk(struct koda_git_index *index, struct koda_span bytes,
			koda_git_index_fn *see, void *ctx)
{
	struct walk w = { .at = (const unsigned char *)bytes.ptr,
			  .left = bytes.len,
			  .hash_len = index->hash_len };
	uint32_t count;
	int r = KODA_OK;

	index->shared[0] = '\0';
	index->has_unnamed = false;
	if (bytes.len < HEADER_LEN + w.hash_len || memcmp(bytes.ptr, "DIRC", 4) != 0)
		return KODA_E_INVALID;
	w.version = get32(w.at + 4);
	count = get32(w.at + COUNT_AT);
	if (w.version < 2 || w.version > 4)
		return KODA_E_INVALID;
	skip(&w, HEADER_LEN);
	for (uint32_t i = 0; i < count && r == KODA_OK; i++)
		r = read_entry(&w) ? show(index, &w, see, ctx) : KODA_E_INVALID;
	if (r < 0)
		return r;
	/* Only an entry that is in the shared index too needs no name. */
	return read_extensions(index, bytes, &w) && (!w.unnamed || index->shared[0])
		       ? KODA_OK
		       : KODA_E_INVALID;
}
