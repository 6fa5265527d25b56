/* SPDX-License-Identifier: MIT */
/*
 * T-24. The copy-on-write view of a package cache. Copies are told apart by the cache and by what
 * is closed inside it, so that every run which uses a copy finds it as a run with the same rules
 * left it.
 */
#include "plan/plan.h"

#include "base/diag.h"
#include "base/path.h"
#include "policy/rules.h"

#include <inttypes.h>

/* FNV-1a. A collision gives a run a copy of its own project's that other rules left. */
static uint64_t hash_of(struct koda_span text)
{
	uint64_t hash = 0xcbf29ce484222325U;

	for (size_t i = 0; i < text.len; i++)
		hash = (hash ^ (unsigned char)text.ptr[i]) * 0x100000001b3U;
	return hash;
}

/* What is closed inside the cache, in any order; 0 for nothing. */
static uint64_t closed_inside(const struct koda_rules *rules, struct koda_span cache)
{
	const struct koda_texts *marked = koda_rules_marked(rules);
	uint64_t sum = 0;

	for (size_t i = 0; i < marked->count; i++) {
		struct koda_span path = koda_texts_get(marked, i);

		if (path.len > cache.len && koda_path_covers(cache, path) &&
		    koda_rules_write(rules, path.ptr, path.len).answer == KODA_DENY)
			sum += hash_of(path);
	}
	return sum;
}

/* "/home/u/.cargo/git" below "/home/u" is ".cargo-git". */
static int add_name(struct koda_buf *out, const char *home, struct koda_span cache)
{
	struct koda_span name = koda_span_skip(cache, strlen(home) + 1);
	int r = KODA_OK;

	for (size_t i = 0; i < name.len && r == KODA_OK; i++)
		r = koda_buf_add(out, name.ptr[i] == '/' ? "-" : &name.ptr[i], 1);
	return r;
}

/* Where the copy is kept; LIMIT if that has no name. */
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

int koda_plan_cache(const struct koda_copy *copy, struct koda_span cache,
		    const struct koda_look *look)
{
	koda_auto_buf struct koda_buf store = KODA_BUF_INIT(KODA_PATH_MAX);
	struct koda_op op = { .kind = KODA_OP_OVERLAY, .text1 = cache };
	int r;

	if (look->thing != KODA_THING_DIR)
		return KODA_OK;
	r = name_store(copy->request, cache, &store);
	if (r == KODA_E_NOMEM || koda_set_add(copy->mounted, cache, NULL) < 0)
		return koda_fail_nomem(copy->err);
	if (r == KODA_OK) {
		op.text2 = koda_buf_span(&store);
		op.n1 = look->dev;
		op.n2 = look->ino;
	} else {
		/* Nowhere to keep a copy: a directory of the sandbox's own. */
		op.kind = KODA_OP_TMPFS;
		op.n1 = KODA_OP_CACHE_BYTES;
		op.n2 = 0700;
	}
	return koda_plan_add(copy->plan, &op, "cache.copy_on_write", copy->err);
}

static bool is_copied(const struct koda_copy *copy, struct koda_span path)
{
	return koda_rules_write(copy->request->rules, path.ptr, path.len).why == KODA_WHY_CACHE;
}

static int look_at(const struct koda_copy *copy, struct koda_span path, struct koda_look *ret_look)
{
	char text[KODA_PATH_MAX + 1];

	memcpy(text, path.ptr, path.len);
	text[path.len] = '\0';
	return copy->request->world->look(copy->request->world->ctx, text, ret_look, copy->err);
}

/* Binds the directories of the copy above path onto themselves, topmost first. 1 if one of them is
 * a link or a file: what a link leads to has a rule of its own. */
/* NOLINTNEXTLINE(misc-no-recursion): bounded by the length of the path */
static int anchor_copy(const struct koda_copy *copy, struct koda_span path, const char *why)
{
	struct koda_op op = { .kind = KODA_OP_WRITABLE, .flags = KODA_OP_LATE };
	struct koda_look look;
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
	if (look.thing == KODA_THING_LINK || look.thing == KODA_THING_OTHER)
		return 1;
	if (koda_set_add(copy->mounted, path, NULL) < 0)
		return koda_fail_nomem(copy->err);
	op.text1 = path;
	return koda_plan_add(copy->plan, &op, why, copy->err);
}

/* Everything in a copy is made from the copy, because the host must not be touched: what is
 * missing is made there. */
int koda_plan_close_copy(const struct koda_copy *copy, struct koda_span path,
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

int koda_plan_mask_loosely(const struct koda_copy *copy, struct koda_span path, uint32_t flags,
			   const char *why)
{
	const struct koda_op op = { .kind = KODA_OP_MASK,
				    .flags = flags | KODA_OP_FLEETING,
				    .text1 = path };

	if (koda_set_add(copy->mounted, path, NULL) < 0)
		return koda_fail_nomem(copy->err);
	return koda_plan_add(copy->plan, &op, why, copy->err);
}

bool koda_plan_is_store(const struct koda_plan_request *request, struct koda_span path)
{
	return request->caches && koda_path_covers(path, koda_span_of(request->caches));
}
