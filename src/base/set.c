/* SPDX-License-Identifier: MIT */
#include "base/set.h"

/* Returns the slot of entry, or the free slot for it. slot_count must not be 0. */
static uint32_t *slot_of(const struct koda_set *set, struct koda_span entry, uint32_t hash)
{
	size_t mask = set->slot_count - 1;
	size_t i = hash & mask;

	while (set->slots[i]) {
		const struct koda_set_item *item = &set->items[set->slots[i] - 1];

		if (item->hash == hash && item->len == entry.len &&
		    (entry.len == 0 || memcmp(set->text.ptr + item->at, entry.ptr, entry.len) == 0))
			break;
		i = (i + 1) & mask;
	}
	return &set->slots[i];
}

/* Keeps at least half of the slots free. */
static int grow_slots(struct koda_set *set)
{
	size_t want = set->slot_count ? set->slot_count * 2 : 16;
	uint32_t *slots;

	if (set->slot_count >= (set->count + 1) * 2)
		return KODA_OK;
	slots = calloc(want, sizeof(*slots));
	if (!slots)
		return KODA_E_NOMEM;
	if (!set->slots)
		set->key = koda_hash_key_draw(slots);
	free(set->slots);
	set->slots = slots;
	set->slot_count = want;
	for (size_t i = 0; i < set->count; i++) {
		size_t at = set->items[i].hash & (want - 1);

		while (slots[at])
			at = (at + 1) & (want - 1);
		slots[at] = (uint32_t)(i + 1);
	}
	return KODA_OK;
}

static int grow_items(struct koda_set *set)
{
	struct koda_set_item *items;
	size_t cap = set->cap ? set->cap * 2 : 8;

	if (set->count < set->cap)
		return KODA_OK;
	items = reallocarray(set->items, cap, sizeof(*items));
	if (!items)
		return KODA_E_NOMEM;
	set->items = items;
	set->cap = cap;
	return KODA_OK;
}

int koda_set_add(struct koda_set *set, struct koda_span entry, size_t *ret_index)
{
	struct koda_set_item item = { .at = set->text.len, .len = (uint32_t)entry.len };
	uint32_t *slot;
	char *room;
	int r;

	if (entry.len >= UINT32_MAX || set->count >= UINT32_MAX / 4)
		return KODA_E_LIMIT;
	r = grow_slots(set);
	if (r == KODA_OK)
		r = grow_items(set);
	if (r < 0)
		return r;
	item.hash = (uint32_t)koda_hash(&set->key, 0, entry);
	slot = slot_of(set, entry, item.hash);
	if (!*slot) {
		r = koda_buf_room(&set->text, entry.len + 1, &room);
		if (r < 0)
			return r;
		if (entry.len > 0)
			memcpy(room, entry.ptr, entry.len);
		room[entry.len] = '\0';
		koda_buf_grew(&set->text, entry.len + 1);
		set->items[set->count++] = item;
		*slot = (uint32_t)set->count;
	}
	if (ret_index)
		*ret_index = *slot - 1;
	return KODA_OK;
}

size_t koda_set_find(const struct koda_set *set, struct koda_span entry)
{
	uint32_t *slot;

	if (set->slot_count == 0)
		return KODA_SET_NONE;
	slot = slot_of(set, entry, (uint32_t)koda_hash(&set->key, 0, entry));
	return *slot ? *slot - 1 : KODA_SET_NONE;
}

struct koda_span koda_set_get(const struct koda_set *set, size_t i)
{
	if (i >= set->count)
		return (struct koda_span){ NULL, 0 };
	return (struct koda_span){ set->text.ptr + set->items[i].at, set->items[i].len };
}

/* Copies the key too, so that nothing is hashed again. */
int koda_set_copy(struct koda_set *dst, const struct koda_set *src)
{
	int r;

	if (src->count == 0)
		return KODA_OK;
	r = koda_buf_add(&dst->text, src->text.ptr, src->text.len);
	if (r < 0)
		return r;
	dst->items = reallocarray(NULL, src->count, sizeof(*dst->items));
	dst->slots = reallocarray(NULL, src->slot_count, sizeof(*dst->slots));
	if (!dst->items || !dst->slots) {
		koda_set_clear(dst);
		return KODA_E_NOMEM;
	}
	memcpy(dst->items, src->items, src->count * sizeof(*dst->items));
	memcpy(dst->slots, src->slots, src->slot_count * sizeof(*dst->slots));
	dst->count = src->count;
	dst->cap = src->count;
	dst->slot_count = src->slot_count;
	dst->key = src->key;
	return KODA_OK;
}

bool koda_set_equal(const struct koda_set *a, const struct koda_set *b)
{
	if (a->count != b->count || a->text.len != b->text.len)
		return false;
	if (a->text.len > 0 && memcmp(a->text.ptr, b->text.ptr, a->text.len) != 0)
		return false;
	/* An entry may contain a NUL, so the bytes do not tell where the entries end. */
	for (size_t i = 0; i < a->count; i++)
		if (a->items[i].len != b->items[i].len)
			return false;
	return true;
}

void koda_set_clear(struct koda_set *set)
{
	size_t max = set->text.max;

	koda_buf_clear(&set->text);
	free(set->items);
	free(set->slots);
	*set = (struct koda_set)KODA_SET_INIT(max);
}
