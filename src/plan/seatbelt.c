/* SPDX-License-Identifier: MIT */
/*
 * T-119. The verdict functions give the state of every marked path, and a rule is written where it
 * differs from the state of the parent directory. Rules are in order of depth, and the last one
 * that matches decides; so the deepest marked directory above a path decides about it, as it does
 * for the verdict.
 *
 *   hidden               neither read nor written, nor executed
 *   readable in hidden   read
 *   readable in writable not written, whether or not it exists: no placeholder is needed
 *   writable             written
 *   a copied cache       not written: there is no copy
 *
 * T-11. Nothing above a path that is not writable can be created, renamed or removed, nor can the
 * top of a writable tree. A directory moved to such a place would bring protected names along, and
 * one moved away would take them.
 *
 * The floor comes last, so that nothing written before can lift it.
 */
#include "plan/seatbelt.h"

#include "base/error.h"
#include "base/path.h"
#include "base/set.h"
#include "plan/path_order.h"
#include "plan/seatbelt_base.h"
#include "policy/floor.h"
#include "policy/policy.h"
#include "policy/rules.h"

#include <stdlib.h>

struct state {
	bool reads;
	bool writes;
	struct koda_verdict read;
	struct koda_verdict write;
};

struct entry {
	struct koda_span path; /* borrowed from the rules */
	size_t depth;
	struct state state;
};

struct renderer {
	struct koda_seatbelt_writer w;
	const struct koda_seatbelt *seatbelt;
	struct entry *entries; /* owned; by depth */
	size_t count;
	struct koda_set anchors; /* directories above a path that is not writable, tops */
	struct koda_set open;    /* directories above a path that is writable */
	struct koda_error *err;
};

static struct state state_of(const struct renderer *r, struct koda_span path)
{
	struct state state;

	koda_rules_both(r->seatbelt->rules, path, &state.read, &state.write);
	state.reads = state.read.answer == KODA_ALLOW;
	state.writes = state.write.answer == KODA_ALLOW && state.write.reason != KODA_REASON_CACHE;
	return state;
}

/* Returns the state of the directory that path is in, before any rule for "/". */
static struct state state_around(const struct renderer *r, struct koda_span path)
{
	if (path.len <= 1)
		return (struct state){ .reads = true };
	return state_of(r, koda_plan_path_parent(path));
}

/* Tells whether path is denied by a rule of the floor about itself. */
static bool is_floor_rule(const struct koda_verdict *verdict, struct koda_span path)
{
	return verdict->answer == KODA_DENY && (1U << verdict->reason & KODA_FLOOR_MARKS) != 0 &&
	       koda_span_eq(verdict->rule, path);
}

/* A denial of the floor holds for everything below, but for modules of a git directory. */
static bool is_closed(const struct renderer *r, const struct entry *entry)
{
	return is_floor_rule(&entry->state.write, entry->path) &&
	       koda_set_find(&r->open, entry->path) == KODA_SET_NONE;
}

static bool is_hidden(const struct entry *entry)
{
	return is_floor_rule(&entry->state.read, entry->path);
}

static int compare(const void *a, const void *b)
{
	const struct entry *x = a;
	const struct entry *y = b;

	return koda_plan_path_compare(x->path, x->depth, y->path, y->depth);
}

/* A longer path cannot exist on macOS, and what the compiler makes of it is unknown. */
static int check_path(struct koda_span path, struct koda_error *err)
{
	if (path.len <= KODA_SEATBELT_PATH_MAX && !memchr(path.ptr, '\0', path.len))
		return KODA_OK;
	return koda_fail_at(err, KODA_E_LIMIT, 0, path.ptr,
			    "a Seatbelt profile cannot name a path of more than %zu bytes",
			    KODA_SEATBELT_PATH_MAX);
}

static int collect(struct renderer *r)
{
	const struct koda_strlist *marked = koda_rules_marked(r->seatbelt->rules);
	int result = KODA_OK;

	r->entries = calloc(marked->count + 1, sizeof(*r->entries));
	if (!r->entries)
		return koda_fail_nomem(r->err);
	for (; r->count < marked->count && result == KODA_OK; r->count++) {
		struct koda_span path = koda_strlist_get(marked, r->count);

		result = check_path(path, r->err);
		r->entries[r->count] = (struct entry){ .path = path,
						       .depth = koda_plan_path_depth(path),
						       .state = state_of(r, path) };
	}
	qsort(r->entries, r->count, sizeof(*r->entries), compare);
	return result;
}

/* Adds the directories above path, up to one that is in the set already. */
static int add_above(struct koda_set *set, struct koda_span path)
{
	int result = KODA_OK;

	while (path.len > 1 && result == KODA_OK) {
		path = koda_plan_path_parent(path);
		if (koda_set_find(set, path) != KODA_SET_NONE)
			break;
		result = koda_set_add(set, path, NULL);
	}
	return result;
}

static int collect_dirs(struct renderer *r)
{
	int result = KODA_OK;

	for (size_t i = 0; i < r->count && result == KODA_OK; i++) {
		const struct entry *entry = &r->entries[i];

		result = add_above(entry->state.writes ? &r->open : &r->anchors, entry->path);
	}
	if (result == KODA_OK && r->seatbelt->tmpdir)
		result = add_above(&r->anchors, koda_span_of(r->seatbelt->tmpdir));
	return result < 0 ? koda_fail_room(r->err, result, "the list of directories") : KODA_OK;
}

static void put_entry(struct renderer *r, const struct entry *entry)
{
	struct state around = state_around(r, entry->path);
	bool hides = around.reads && !entry->state.reads;

	if (hides)
		koda_seatbelt_rule(&r->w, false, KODA_SEATBELT_READ " " KODA_SEATBELT_WRITE,
				   "subpath", entry->path,
				   koda_reason_name(entry->state.read.reason));
	else if (entry->state.reads && !around.reads)
		koda_seatbelt_rule(&r->w, true, KODA_SEATBELT_READ, "subpath", entry->path,
				   koda_reason_name(entry->state.read.reason));
	if (!hides && entry->state.writes != around.writes && !is_closed(r, entry))
		koda_seatbelt_rule(&r->w, entry->state.writes, KODA_SEATBELT_WRITE, "subpath",
				   entry->path, koda_reason_name(entry->state.write.reason));
}

/* The state of a path by the rules of the floor about itself alone. */
static void put_floor(struct renderer *r, const struct entry *entry)
{
	if (is_hidden(entry))
		koda_seatbelt_rule(&r->w, false, KODA_SEATBELT_READ " " KODA_SEATBELT_WRITE,
				   "subpath", entry->path,
				   koda_reason_name(entry->state.read.reason));
	else if (is_closed(r, entry))
		koda_seatbelt_rule(&r->w, false, KODA_SEATBELT_WRITE, "subpath", entry->path,
				   koda_reason_name(entry->state.write.reason));
}

/* T-11. */
static void put_anchors(struct renderer *r)
{
	static const char operations[] = "file-write-create file-write-unlink";

	koda_seatbelt_put(&r->w, "\n; stay where they are, with all below\n");
	for (size_t i = 0; i < r->anchors.count; i++) {
		struct koda_span dir = koda_set_get(&r->anchors, i);

		if (state_of(r, dir).writes)
			koda_seatbelt_rule(&r->w, false, operations, "literal", dir, NULL);
	}
	for (size_t i = 0; i < r->count; i++) {
		const struct entry *entry = &r->entries[i];

		if (entry->state.writes && !state_around(r, entry->path).writes &&
		    koda_set_find(&r->anchors, entry->path) == KODA_SET_NONE)
			koda_seatbelt_rule(&r->w, false, operations, "literal", entry->path, NULL);
	}
	if (r->seatbelt->tmpdir)
		koda_seatbelt_rule(&r->w, false, operations, "literal",
				   koda_span_of(r->seatbelt->tmpdir), NULL);
}

static void put_files(struct renderer *r)
{
	koda_seatbelt_put(&r->w, "\n; files, by depth\n");
	for (size_t i = 0; i < r->count; i++)
		if (!is_hidden(&r->entries[i]))
			put_entry(r, &r->entries[i]);
	if (r->seatbelt->tmpdir)
		koda_seatbelt_rule(&r->w, true, KODA_SEATBELT_WRITE, "subpath",
				   koda_span_of(r->seatbelt->tmpdir), "TMPDIR");
	put_anchors(r);
	koda_seatbelt_put(&r->w, "\n; the floor\n");
	for (size_t i = 0; i < r->count; i++)
		put_floor(r, &r->entries[i]);
	koda_seatbelt_go_betweens(&r->w);
}

/* Refuses a temporary directory that other processes use: naming it makes it writable. */
static int check_tmpdir(const struct koda_seatbelt *seatbelt, struct koda_error *err)
{
	struct koda_span dir = koda_span_of(seatbelt->tmpdir ? seatbelt->tmpdir : "/");
	koda_auto_buf struct koda_buf normal = KODA_BUF_INIT(2 * KODA_PATH_MAX);
	struct koda_verdict write;
	int r;

	if (!seatbelt->tmpdir)
		return KODA_OK;
	r = koda_path_normalise(dir, &normal, err);
	if (r == KODA_OK)
		r = check_path(dir, err);
	if (r < 0)
		return r;
	if (!koda_span_eq(koda_buf_span(&normal), dir))
		return koda_fail_at(err, KODA_E_INVALID, 0, dir.ptr, "not in normal form");
	write = koda_rules_write(seatbelt->rules, dir.ptr, dir.len);
	if (koda_rules_lead_to(seatbelt->rules, dir) ||
	    koda_rules_read(seatbelt->rules, dir.ptr, dir.len).answer == KODA_DENY ||
	    (write.answer == KODA_DENY && write.reason != KODA_REASON_DEFAULT))
		return koda_fail_at(err, KODA_E_DENIED, 0, dir.ptr,
				    "cannot be the temporary directory: a rule is about it");
	return KODA_OK;
}

bool koda_seatbelt_is_tag(struct koda_span text)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-";

	for (size_t i = 0; i < text.len; i++)
		if (!memchr(letters, text.ptr[i], sizeof(letters) - 1))
			return false;
	return text.len > 0 && text.len <= KODA_SEATBELT_TAG_MAX;
}

static int check_tag(const char *tag, struct koda_error *err)
{
	if (!tag || koda_seatbelt_is_tag(koda_span_of(tag)))
		return KODA_OK;
	return koda_fail_at(err, KODA_E_INVALID, 0, "tag",
			    "must be letters, digits and \"-\", at most %zu",
			    KODA_SEATBELT_TAG_MAX);
}

static int check(const struct koda_seatbelt *seatbelt, struct koda_error *err)
{
	if (koda_rules_write(seatbelt->rules, "/", 1).answer == KODA_ALLOW)
		return koda_fail_at(err, KODA_E_DENIED, 0, "fs.allow_write",
				    "/ cannot be writable as a whole; name what has to be");
	if (koda_rules_read(seatbelt->rules, "/", 1).answer == KODA_DENY)
		return koda_fail_at(err, KODA_E_DENIED, 0, "fs.deny_read",
				    "/ cannot be hidden as a whole; name what has to be");
	if (seatbelt->net == KODA_SEATBELT_PROXIED && seatbelt->port == 0)
		return koda_fail_at(err, KODA_E_INVALID, 0, "proxy port", "must not be 0");
	if (seatbelt->net != KODA_SEATBELT_CLOSED && !koda_policy_has_network(seatbelt->policy))
		return koda_fail_at(err, KODA_E_DENIED, 0, "net.denied_domains",
				    "this policy has no network");
	return check_tmpdir(seatbelt, err);
}

static int fail_written(int failed, struct koda_error *err)
{
	if (failed == KODA_E_LIMIT)
		return koda_fail(err, failed, 0,
				 "the Seatbelt profile is longer than 1 MiB: the policy, or the "
				 "project, has too many paths");
	return failed < 0 ? koda_fail_nomem(err) : KODA_OK;
}

int koda_seatbelt_render(const struct koda_seatbelt *seatbelt, struct koda_buf *out,
			 struct koda_error *err)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(KODA_SEATBELT_MAX);
	struct renderer r = { .w = { .out = &text, .tagged = seatbelt->tag != NULL },
			      .seatbelt = seatbelt,
			      .anchors = KODA_SET_INIT(KODA_LIST_BYTES_MAX),
			      .open = KODA_SET_INIT(KODA_LIST_BYTES_MAX),
			      .err = err };
	const struct koda_policy *policy = seatbelt->policy;
	int result = check(seatbelt, err);

	if (result == KODA_OK)
		result = collect(&r);
	if (result == KODA_OK)
		result = collect_dirs(&r);
	if (result == KODA_OK) {
		koda_seatbelt_base(&r.w);
		koda_seatbelt_services(&r.w,
				       koda_policy_flag(policy, KODA_FLAG_WEAKER_MACOS_ISOLATION));
		koda_seatbelt_network(&r.w, seatbelt,
				      koda_policy_flag(policy, KODA_FLAG_ALLOW_LOCAL_BINDING));
		put_files(&r);
		if (r.w.failed == KODA_OK)
			r.w.failed = koda_buf_add(out, text.ptr, text.len);
		result = fail_written(r.w.failed, err);
	}
	free(r.entries);
	koda_set_clear(&r.anchors);
	koda_set_clear(&r.open);
	return result;
}

int koda_seatbelt_put_tag(struct koda_span text, const char *tag, struct koda_buf *out,
			  struct koda_error *err)
{
	koda_auto_buf struct koda_buf whole = KODA_BUF_INIT(KODA_SEATBELT_MAX);
	int failed = KODA_OK;
	int r = check_tag(tag, err);

	if (r < 0)
		return r;
	if (!tag)
		return fail_written(koda_buf_add(out, text.ptr, text.len), err);
	while (text.len > 0 && failed == KODA_OK) {
		const char *mark = memchr(text.ptr, *KODA_SEATBELT_MARK, text.len);
		size_t len = mark ? (size_t)(mark - text.ptr) : text.len;

		failed = koda_buf_add(&whole, text.ptr, len);
		if (mark && failed == KODA_OK)
			failed = koda_buf_add(&whole, tag, strlen(tag));
		text = koda_span_skip(text, len + (mark != NULL));
	}
	if (failed == KODA_OK)
		failed = koda_buf_add(out, whole.ptr, whole.len);
	return fail_written(failed, err);
}

int koda_seatbelt_print(const struct koda_seatbelt *seatbelt, struct koda_buf *out,
			struct koda_error *err)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(KODA_SEATBELT_MAX);
	int r = koda_seatbelt_render(seatbelt, &text, err);

	return r < 0 ? r : koda_seatbelt_put_tag(koda_buf_span(&text), seatbelt->tag, out, err);
}
