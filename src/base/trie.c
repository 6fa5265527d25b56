/* SPDX-License-Identifier: MIT */
#include "base/trie.h"

#define NODES_MAX (UINT32_MAX / 8)

static const char *label_of(const struct koda_trie *trie, const struct koda_trie_edge *edge)
{
	return edge->len <= KODA_TRIE_INLINE ? edge->label.bytes : trie->text.ptr + edge->label.at;
}

/* Returns the slot of the edge, or the free slot for it. slot_count must not be 0. */
static struct koda_trie_edge *slot_of(const struct koda_trie *trie, uint32_t parent,
				      struct koda_span label, uint32_t hash)
{
	size_t mask = trie->slot_count - 1;
	size_t i = hash & mask;

	while (trie->slots[i].child) {
		const struct koda_trie_edge *e = &trie->slots[i];

		if (e->hash == hash && e->parent == parent && e->len == label.len &&
		    (label.len == 0 || memcmp(label_of(trie, e), label.ptr, label.len) == 0))
			break;
		i = (i + 1) & mask;
	}
	return &trie->slots[i];
}

/* Moves the edges into a table of want slots. */
static int rebuild(struct koda_trie *trie, size_t want)
{
	struct koda_trie_edge *slots = reallocarray(NULL, want, sizeof(*slots));

	if (!slots)
		return KODA_E_NOMEM;
	/* Not calloc: a page that is read before it is written faults twice. */
	memset(slots, 0, want * sizeof(*slots));
	if (!trie->slots)
		trie->key = koda_hash_key_draw(slots);
	for (size_t i = 0; trie->slots && i < trie->slot_count; i++) {
		size_t at = trie->slots[i].hash & (want - 1);

		if (!trie->slots[i].child)
			continue;
		while (slots[at].child)
			at = (at + 1) & (want - 1);
		slots[at] = trie->slots[i];
	}
	free(trie->slots);
	trie->slots = slots;
	trie->slot_count = want;
	return KODA_OK;
}

/* At least half of the slots stay free. */
int koda_trie_reserve(struct koda_trie *trie, size_t more)
{
	size_t want = trie->slot_count ? trie->slot_count : 16;

	if (more > NODES_MAX - trie->nodes)
		return KODA_E_LIMIT;
	while (want < (trie->nodes + more) * 2)
		want *= 2;
	return want > trie->slot_count ? rebuild(trie, want) : KODA_OK;
}

static int store_label(struct koda_trie *trie, struct koda_trie_edge *edge, struct koda_span label)
{
	size_t at = trie->text.len;

	if (label.len >= UINT32_MAX || at >= UINT32_MAX || trie->nodes >= NODES_MAX)
		return KODA_E_LIMIT;
	edge->len = (uint32_t)label.len;
	if (label.len > KODA_TRIE_INLINE) {
		edge->label.at = (uint32_t)at;
		return koda_buf_add(&trie->text, label.ptr, label.len);
	}
	if (label.len > 0)
		memcpy(edge->label.bytes, label.ptr, label.len);
	return KODA_OK;
}

int koda_trie_add(struct koda_trie *trie, uint32_t parent, struct koda_span label,
		  uint32_t *ret_child)
{
	struct koda_trie_edge *slot;
	uint32_t hash;
	int r;

	if (trie->slot_count < ((size_t)trie->nodes + 1) * 2) {
		r = koda_trie_reserve(trie, 1);
		if (r < 0)
			return r;
	}
	hash = (uint32_t)koda_hash(&trie->key, parent, label);
	slot = slot_of(trie, parent, label, hash);
	if (!slot->child) {
		struct koda_trie_edge edge = { .hash = hash, .parent = parent };

		r = store_label(trie, &edge, label);
		if (r < 0)
			return r;
		edge.child = ++trie->nodes;
		*slot = edge;
	}
	*ret_child = slot->child;
	return KODA_OK;
}

uint32_t koda_trie_find(const struct koda_trie *trie, uint32_t parent, struct koda_span label)
{
	const struct koda_trie_edge *slot;

	if (trie->slot_count == 0)
		return KODA_TRIE_NONE;
	slot = slot_of(trie, parent, label, (uint32_t)koda_hash(&trie->key, parent, label));
	return slot->child ? slot->child : KODA_TRIE_NONE;
}

void koda_trie_clear(struct koda_trie *trie)
{
	size_t max = trie->text.max;

	koda_buf_clear(&trie->text);
	free(trie->slots);
	*trie = (struct koda_trie)KODA_TRIE_INIT(max);
}
