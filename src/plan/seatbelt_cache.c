/* SPDX-License-Identifier: MIT */
#include "plan/seatbelt_cache.h"

#include "base/error.h"
#include "policy/policy.h"

#include <stdlib.h>

/* Bytes that the facts of a place may take. Much more than rules are made for. */
#define FACTS_MAX ((size_t)256 << 20)

/* Walks over the bytes of facts: writes them, or compares them with bytes written before. */
struct walk {
	struct koda_buf *out;   /* NULL: compares */
	struct koda_span known; /* what is left of the bytes to compare with */
	int failed;
	bool differs;
};

static void see(struct walk *walk, const void *bytes, size_t len)
{
	if (walk->out) {
		if (walk->failed == KODA_OK)
			walk->failed = koda_buf_add(walk->out, bytes, len);
		return;
	}
	if (walk->differs || walk->known.len < len || memcmp(walk->known.ptr, bytes, len) != 0)
		walk->differs = true;
	else
		walk->known = koda_span_skip(walk->known, len);
}

/* The byte before tells a text that is missing from every other. */
static void see_text(struct walk *walk, const char *text)
{
	see(walk, text ? "\2" : "\1", 1);
	if (text)
		see(walk, text, strlen(text) + 1);
}

static void see_list(struct walk *walk, const char *const *list)
{
	for (; list && *list; list++)
		see_text(walk, *list);
	see_text(walk, NULL);
}

/* A place that gets a member needs another see_text() or see_list() below. */
_Static_assert(sizeof(struct koda_place) == 13 * sizeof(void *) + sizeof(size_t),
	       "every fact of a place is part of the key");

/* Every member of both structs but rules, which are made of policy and place, and the tag. */
static void see_facts(struct walk *walk, const struct koda_seatbelt *request,
		      const struct koda_place *place)
{
	const unsigned char flags[] = { (unsigned char)request->net, request->tag != NULL };

	see(walk, flags, sizeof(flags));
	see(walk, &request->port, sizeof(request->port));
	see_text(walk, request->tmpdir);
	see_text(walk, place->root);
	see_text(walk, place->home);
	see_text(walk, place->config_home);
	see_text(walk, place->state_home);
	see_text(walk, place->runtime_dir);
	see_list(walk, place->exec_dirs);
	see_list(walk, place->git_dirs);
	see_list(walk, place->git_files);
	see_list(walk, place->missing_dirs);
	see_list(walk, place->readonly_aliases);
	see_list(walk, place->hidden);
	see_list(walk, place->own_git_dirs);
	see_list(walk, place->caches);
}

static bool is_about(const struct koda_seatbelt_entry *entry, const struct koda_seatbelt *request,
		     const struct koda_place *place)
{
	struct walk walk = { .known = koda_buf_span(&entry->facts) };

	see_facts(&walk, request, place);
	return !walk.differs && walk.known.len == 0 &&
	       koda_policy_equal(entry->policy, request->policy);
}

static void free_entry(struct koda_seatbelt_entry *entry)
{
	koda_rules_free(entry->rules);
	koda_policy_free(entry->policy);
	koda_buf_clear(&entry->facts);
	koda_buf_clear(&entry->text);
	free(entry);
}

static int fill(struct koda_seatbelt_entry *entry, const struct koda_seatbelt *request,
		const struct koda_place *place, struct koda_error *err)
{
	struct koda_seatbelt seatbelt = *request;
	struct walk walk = { .out = &entry->facts };
	int r = koda_policy_copy(request->policy, &entry->policy, err);

	see_facts(&walk, request, place);
	if (r == KODA_OK && walk.failed < 0)
		r = koda_fail_room(err, walk.failed, "the facts of a place");
	if (r == KODA_OK)
		r = koda_rules_new_for_paths(entry->policy, place, &entry->rules, err);
	seatbelt.rules = entry->rules;
	return r < 0 ? r : koda_seatbelt_render(&seatbelt, &entry->text, err);
}

/* Returns NULL on failure, with its code in *ret_code. */
static struct koda_seatbelt_entry *make_entry(const struct koda_seatbelt *request,
					      const struct koda_place *place, int *ret_code,
					      struct koda_error *err)
{
	struct koda_seatbelt_entry *entry = calloc(1, sizeof(*entry));

	if (!entry) {
		*ret_code = koda_fail_nomem(err);
		return NULL;
	}
	entry->facts = (struct koda_buf)KODA_BUF_INIT(FACTS_MAX);
	entry->text = (struct koda_buf)KODA_BUF_INIT(KODA_SEATBELT_MAX);
	*ret_code = fill(entry, request, place, err);
	if (*ret_code == KODA_OK)
		return entry;
	free_entry(entry);
	return NULL;
}

static void drop_last(struct koda_seatbelt_cache *cache)
{
	struct koda_seatbelt_entry *last = cache->entries[--cache->count];

	cache->bytes -= last->text.len;
	free_entry(last);
}

/* Puts an entry before the first i, which make room for it. */
static void put_first(struct koda_seatbelt_cache *cache, struct koda_seatbelt_entry *entry,
		      size_t i)
{
	for (; i > 0; i--)
		cache->entries[i] = cache->entries[i - 1];
	cache->entries[0] = entry;
}

int koda_seatbelt_cache_get(struct koda_seatbelt_cache *cache, const struct koda_seatbelt *request,
			    const struct koda_place *place,
			    const struct koda_seatbelt_entry **ret_entry, struct koda_error *err)
{
	struct koda_seatbelt_entry *entry;
	int r;

	for (size_t i = 0; i < cache->count; i++) {
		entry = cache->entries[i];
		if (is_about(entry, request, place)) {
			put_first(cache, entry, i);
			*ret_entry = entry;
			return KODA_OK;
		}
	}
	entry = make_entry(request, place, &r, err);
	if (!entry)
		return r;
	while (cache->count == KODA_SEATBELT_CACHE_MAX ||
	       (cache->count > 0 && cache->bytes + entry->text.len > KODA_SEATBELT_CACHE_BYTES))
		drop_last(cache);
	put_first(cache, entry, cache->count++);
	cache->bytes += entry->text.len;
	cache->misses++;
	*ret_entry = entry;
	return KODA_OK;
}

int koda_seatbelt_entry_print(const struct koda_seatbelt_entry *entry, const char *tag,
			      struct koda_buf *out, struct koda_error *err)
{
	return koda_seatbelt_put_tag(koda_buf_span(&entry->text), tag, out, err);
}

void koda_seatbelt_cache_clear(struct koda_seatbelt_cache *cache)
{
	while (cache->count > 0)
		drop_last(cache);
}
