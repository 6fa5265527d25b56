/* SPDX-License-Identifier: MIT */
/*
 * T-24. The copy-on-write view of a package cache. The name of a copy depends on the cache and on
 * the paths that are protected inside it, so that only runs with equal rules share a copy.
 */
#include "plan/cache.h"

#include "base/error.h"
#include "base/path.h"
#include "policy/rules.h"

#include <inttypes.h>

/* Returns the FNV-1a hash. After a collision a run gets a copy of its own project that was made
 * under other rules. */
static uint64_t hash_of(struct koda_span text)
{
	uint64_t hash = 0xcbf29ce484222325U;

	for (size_t i = 0; i < text.len; i++)
		hash = (hash ^ (unsigned char)text.ptr[i]) * 0x100000001b3U;
	return hash;
}

/* Returns a hash of the protected paths inside the cache, independent of their order; 0 for none.
 */
static uint64_t closed_inside(const struct koda_rules *rules, struct koda_span cache)
{
	const struct koda_strlist *marked = koda_rules_marked(rules);
	uint64_t sum = 0;

	for (size_t i = 0; i < marked->count; i++) {
		struct koda_span path = koda_strlist_get(marked, i);

		if (path.len > cache.len && koda_path_covers(cache, path) &&
		    koda_rules_write(rules, path.ptr, path.len).answer == KODA_DENY)
			sum += hash_of(path);
	}
	return sum;
}

/* Appends ".cargo-git" for "/home/u/.cargo/git" below "/home/u". */
static int add_name(struct koda_buf *out, const char *home, struct koda_span cache)
{
	struct koda_span name = koda_span_skip(cache, strlen(home) + 1);
	int r = KODA_OK;

	for (size_t i = 0; i < name.len && r == KODA_OK; i++)
		r = koda_buf_add(out, name.ptr[i] == '/' ? "-" : &name.ptr[i], 1);
	return r;
}

/* Appends the path of the copy. Fails: LIMIT if there is none, NOMEM. */
static int name_store(const struct koda_plan_request *request, struct koda_span cache,
		      struct koda_buf *out)
{
	uint64_t closed = closed_inside(request->rules, cache);
	const char *home = request->place->home;
	int r;

	if (!request->caches || !home || !koda_path_covers(koda_span_of(home), cache))
		return KODA_E_LIMIT;
	r = koda_buf_addf(out, "%s/", request->caches);
	if (r == KODA_OK)
		r = add_name(out, home, cache);
	if (r == KODA_OK && closed)
		r = koda_buf_addf(out, "-%016" PRIx64, closed);
	return r;
}

int koda_plan_cache(const struct koda_cache_copy *copy, struct koda_span cache,
		    const struct koda_fs_stat *look)
{
	koda_auto_buf struct koda_buf store = KODA_BUF_INIT(KODA_PATH_MAX);
	struct koda_op op = { .kind = KODA_OP_OVERLAY, .text1 = cache };
	int r;

	if (look->type != KODA_FILE_DIR)
		return KODA_OK;
	r = name_store(copy->request, cache, &store);
	if (r == KODA_E_NOMEM || koda_set_add(copy->mounted, cache, NULL) < 0)
		return koda_fail_nomem(copy->err);
	if (r == KODA_OK) {
		op.text2 = koda_buf_span(&store);
		op.n1 = look->dev;
		op.n2 = look->ino;
	} else {
		/* No directory for copies: a tmpfs instead. */
		op.kind = KODA_OP_TMPFS;
		op.n1 = KODA_OP_CACHE_BYTES;
		op.n2 = 0700;
	}
	return koda_plan_add(copy->plan, &op, "cache.copy_on_write", copy->err);
}

static bool is_copied(const struct koda_cache_copy *copy, struct koda_span path)
{
	return koda_rules_write(copy->request->rules, path.ptr, path.len).reason ==
	       KODA_REASON_CACHE;
}

static int look_at(const struct koda_cache_copy *copy, struct koda_span path,
		   struct koda_fs_stat *ret_look)
{
	char text[KODA_PATH_MAX + 1];

	memcpy(text, path.ptr, path.len);
	text[path.len] = '\0';
	return copy->request->fs->look(copy->request->fs->ctx, text, ret_look, copy->err);
}

/* Binds the directories of the copy above path onto themselves, topmost first. Returns 1 if one of
 * them is a symbolic link or a file: the target of a link has a rule of its own. */
/* NOLINTNEXTLINE(misc-no-recursion): bounded by the length of the path */
static int anchor_copy(const struct koda_cache_copy *copy, struct koda_span path, const char *why)
{
	struct koda_op op = { .kind = KODA_OP_WRITABLE, .flags = KODA_OP_LATE };
	struct koda_fs_stat look;
	int r;

	while (path.len > 1 && path.ptr[path.len - 1] != '/')
		path.len--;
	path.len -= path.len > 1;
	if (koda_set_find(copy->mounted, path) != KODA_SET_NONE || !is_copied(copy, path))
		return KODA_OK;
	r = anchor_copy(copy, path, why);
	if (r == KODA_OK)
		r = look_at(copy, path, &look);
	if (r != KODA_OK)
		return r;
	if (look.type == KODA_FILE_LINK || look.type == KODA_FILE_OTHER)
		return 1;
	if (koda_set_add(copy->mounted, path, NULL) < 0)
		return koda_fail_nomem(copy->err);
	op.text1 = path;
	return koda_plan_add(copy->plan, &op, why, copy->err);
}

/* Clones from the copy and not from the host, so that a missing path is created in the copy. */
int koda_plan_cache_close(const struct koda_cache_copy *copy, struct koda_span path,
			  enum koda_op_kind kind, const char *why)
{
	const struct koda_op op = { .kind = kind, .flags = KODA_OP_LATE, .text1 = path };
	int r = anchor_copy(copy, path, why);

	if (r != KODA_OK)
		return r < 0 ? r : KODA_OK;
	if (koda_set_add(copy->mounted, path, NULL) < 0)
		return koda_fail_nomem(copy->err);
	return koda_plan_add(copy->plan, &op, why, copy->err);
}

int koda_plan_cache_mask(const struct koda_cache_copy *copy, struct koda_span path, uint32_t flags,
			 const char *why)
{
	const struct koda_op op = { .kind = KODA_OP_MASK,
				    .flags = flags | KODA_OP_FLEETING,
				    .text1 = path };

	if (koda_set_add(copy->mounted, path, NULL) < 0)
		return koda_fail_nomem(copy->err);
	return koda_plan_add(copy->plan, &op, why, copy->err);
}

bool koda_plan_cache_is_store(const struct koda_plan_request *request, struct koda_span path)
{
	return request->caches && koda_path_covers(path, koda_span_of(request->caches));
}
