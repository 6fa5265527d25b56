/* SPDX-License-Identifier: MIT */
#include "policy/hostindex.h"

#include "base/diag.h"

/* The key of a net: family and prefix length, which no name label can start with, then the
 * bytes. */
struct net_key {
	char bytes[2 + 16];
	size_t len;
};

static struct net_key key_of(const struct koda_addr *addr, unsigned int prefix)
{
	struct koda_addr net = koda_addr_mask(addr, prefix);
	struct net_key key = { .len = 2 + koda_addr_bits(addr) / 8 };

	key.bytes[0] = (char)addr->family;
	key.bytes[1] = (char)prefix;
	memcpy(key.bytes + 2, net.bytes, key.len - 2);
	return key;
}

/* Takes the rightmost label off name[0..*len). */
static struct koda_span last_label(const char *name, size_t *len)
{
	size_t end = *len;
	size_t start = end;

	while (start > 0 && name[start - 1] != '.')
		start--;
	*len = start > 0 ? start - 1 : 0;
	return (struct koda_span){ name + start, end - start };
}

static int find_place(struct koda_hostindex *index, const struct koda_hostrule *rule,
		      uint32_t *ret_node)
{
	uint32_t node = KODA_TRIE_ROOT;
	size_t left = rule->host.len;
	int r = KODA_OK;

	if (rule->kind == KODA_HOSTRULE_NET) {
		struct net_key key = key_of(&rule->host.addr, rule->prefix);

		r = koda_trie_add(&index->trie, KODA_TRIE_ROOT,
				  (struct koda_span){ key.bytes, key.len }, &node);
	} else if (rule->kind != KODA_HOSTRULE_ANY) {
		while (left > 0 && r == KODA_OK) {
			struct koda_span label = last_label(rule->host.name, &left);

			r = koda_trie_add(&index->trie, node, label, &node);
		}
	}
	*ret_node = node;
	return r;
}

/* Room for one more mark, and a node record for every trie node. */
static int make_room(struct koda_hostindex *index)
{
	size_t need = (size_t)index->trie.nodes + 1;

	if (need > index->node_cap) {
		size_t cap = index->node_cap * 2 > need ? index->node_cap * 2 : need + 16;
		struct koda_hostnode *nodes = reallocarray(index->nodes, cap, sizeof(*nodes));

		if (!nodes)
			return KODA_E_NOMEM;
		memset(nodes + index->node_cap, 0, (cap - index->node_cap) * sizeof(*nodes));
		index->nodes = nodes;
		index->node_cap = cap;
	}
	if (index->mark_count + 2 > index->mark_cap) {
		size_t cap = index->mark_cap ? index->mark_cap * 2 : 16;
		struct koda_hostmark *marks = reallocarray(index->marks, cap, sizeof(*marks));

		if (!marks)
			return KODA_E_NOMEM;
		index->marks = marks;
		index->mark_cap = cap;
	}
	return KODA_OK;
}

int koda_hostindex_add(struct koda_hostindex *index, const struct koda_hostrule *rule, uint32_t tag,
		       struct koda_error *err)
{
	uint32_t node;
	uint32_t *head;
	uint32_t mark;
	int r = find_place(index, rule, &node);

	if (r == KODA_OK)
		r = make_room(index);
	if (r < 0)
		return koda_fail_room(err, r, "the list of host rules");
	if (rule->kind == KODA_HOSTRULE_BELOW || rule->kind == KODA_HOSTRULE_ANY)
		head = &index->nodes[node].below;
	else
		head = &index->nodes[node].exact;
	mark = (uint32_t)++index->mark_count;
	index->marks[mark] = (struct koda_hostmark){ .tag = tag,
						     .next = *head,
						     .port = rule->port,
						     .kind = (uint8_t)rule->kind,
						     .prefix = rule->prefix,
						     .public_only = rule->public_only };
	*head = mark;
	if (rule->kind == KODA_HOSTRULE_NET)
		index->prefixes[rule->host.addr.family == 6][rule->prefix / 64] |=
			1ULL << (rule->prefix % 64);
	return KODA_OK;
}

void koda_hostindex_clear(struct koda_hostindex *index)
{
	koda_trie_clear(&index->trie);
	free(index->nodes);
	free(index->marks);
	*index = (struct koda_hostindex)KODA_HOSTINDEX_INIT;
}

static bool see_chain(const struct koda_hostindex *index, uint32_t mark, koda_hostindex_see *see,
		      void *ctx)
{
	for (; mark; mark = index->marks[mark].next)
		if (see(ctx, &index->marks[mark]))
			return true;
	return false;
}

static bool see_nets(const struct koda_hostindex *index, const struct koda_addr *addr,
		     unsigned int bits, koda_hostindex_see *see, void *ctx)
{
	const uint64_t *prefixes = index->prefixes[addr->family == 6];

	for (unsigned int word = 0; word < 3; word++) {
		for (uint64_t left = prefixes[word]; left; left &= left - 1) {
			unsigned int prefix = word * 64 + (unsigned int)__builtin_ctzll(left);
			struct net_key key;
			uint32_t node;

			if (prefix > bits)
				return false;
			key = key_of(addr, prefix);
			node = koda_trie_find(&index->trie, KODA_TRIE_ROOT,
					      (struct koda_span){ key.bytes, key.len });
			if (node != KODA_TRIE_NONE &&
			    see_chain(index, index->nodes[node].exact, see, ctx))
				return true;
		}
	}
	return false;
}

bool koda_hostindex_covering(const struct koda_hostindex *index, enum koda_hostrule_kind kind,
			     const struct koda_host *host, unsigned int prefix,
			     koda_hostindex_see *see, void *ctx)
{
	uint32_t node = KODA_TRIE_ROOT;
	size_t left = host->len;

	if (index->mark_count == 0)
		return false;
	/* The root's "below" holds the rules for every host. */
	if (see_chain(index, index->nodes[node].below, see, ctx))
		return true;
	if (kind == KODA_HOSTRULE_NET)
		return see_nets(index, &host->addr, prefix, see, ctx);
	while (left > 0) {
		struct koda_span label = last_label(host->name, &left);

		node = koda_trie_find(&index->trie, node, label);
		if (node == KODA_TRIE_NONE)
			return false;
		/* "*.a.b" covers what is below a.b, and another "*.a.b". */
		if ((left > 0 || kind == KODA_HOSTRULE_BELOW) &&
		    see_chain(index, index->nodes[node].below, see, ctx))
			return true;
	}
	return kind == KODA_HOSTRULE_NAME && see_chain(index, index->nodes[node].exact, see, ctx);
}
