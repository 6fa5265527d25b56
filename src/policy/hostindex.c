/* SPDX-License-Identifier: MIT */
#include "policy/hostindex.h"

#include "base/error.h"

/* Lists up to this length are simply walked. */
#define LONG_LIST 8

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

/* Reserves room for one more mark, and a record for every trie node. */
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

/* Returns the label under which a long list keeps its rules with this port. */
struct port_key {
	char bytes[3];
};

static struct port_key port_key_of(bool below, uint16_t port)
{
	/* No name label starts with these bytes. */
	return (struct port_key){ { below ? 2 : 1, (char)(port >> 8), (char)(port & 0xff) } };
}

static struct koda_hostlist *list_of(struct koda_hostindex *index, uint32_t node, bool below)
{
	return below ? &index->nodes[node].below : &index->nodes[node].exact;
}

/* Adds a mark of a long list under its port. */
static int file_by_port(struct koda_hostindex *index, uint32_t node, bool below, uint32_t mark)
{
	struct port_key key = port_key_of(below, index->marks[mark].port);
	uint32_t at;
	int r = koda_trie_add(&index->trie, node,
			      (struct koda_span){ key.bytes, sizeof(key.bytes) }, &at);

	if (r == KODA_OK)
		r = make_room(index);
	if (r < 0)
		return r;
	index->marks[mark].same = index->nodes[at].exact.first;
	index->nodes[at].exact.first = mark;
	return KODA_OK;
}

/* Puts a mark at the head of its list; a list that becomes long is filed by port as a whole. */
static int put(struct koda_hostindex *index, uint32_t node, bool below, uint32_t mark)
{
	struct koda_hostlist *list = list_of(index, node, below);
	uint32_t count = ++list->count;
	int r = KODA_OK;

	index->marks[mark].next = list->first;
	list->first = mark;
	if (count > LONG_LIST + 1)
		return file_by_port(index, node, below, mark);
	for (uint32_t m = mark; count == LONG_LIST + 1 && m && r == KODA_OK;
	     m = index->marks[m].next)
		r = file_by_port(index, node, below, m);
	return r;
}

int koda_hostindex_add(struct koda_hostindex *index, const struct koda_hostrule *rule, uint32_t tag,
		       struct koda_error *err)
{
	bool below = rule->kind == KODA_HOSTRULE_BELOW || rule->kind == KODA_HOSTRULE_ANY;
	uint32_t node;
	uint32_t mark;
	int r = find_place(index, rule, &node);

	if (r == KODA_OK)
		r = make_room(index);
	if (r < 0)
		return koda_fail_room(err, r, "the list of host rules");
	mark = (uint32_t)++index->mark_count;
	index->marks[mark] = (struct koda_hostmark){ .tag = tag,
						     .port = rule->port,
						     .kind = (uint8_t)rule->kind,
						     .prefix = rule->prefix,
						     .public_only = rule->public_only };
	r = put(index, node, below, mark);
	if (r < 0)
		return koda_fail_room(err, r, "the list of host rules");
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

/* The state of a query. */
struct asking {
	const struct koda_hostindex *index;
	uint16_t port;
	koda_hostindex_see *see;
	void *ctx;
};

static bool see_filed(const struct asking *a, uint32_t node, bool below, uint16_t port)
{
	struct port_key key = port_key_of(below, port);
	uint32_t at = koda_trie_find(&a->index->trie, node,
				     (struct koda_span){ key.bytes, sizeof(key.bytes) });
	uint32_t mark = at == KODA_TRIE_NONE ? 0 : a->index->nodes[at].exact.first;

	for (; mark; mark = a->index->marks[mark].same)
		if (a->see(a->ctx, &a->index->marks[mark]))
			return true;
	return false;
}

static bool see_list(const struct asking *a, uint32_t node, bool below)
{
	const struct koda_hostnode *n = &a->index->nodes[node];
	const struct koda_hostlist *list = below ? &n->below : &n->exact;

	if (list->count > LONG_LIST && a->port != 0)
		return see_filed(a, node, below, 0) || see_filed(a, node, below, a->port);
	for (uint32_t m = list->first; m; m = a->index->marks[m].next) {
		const struct koda_hostmark *mark = &a->index->marks[m];

		if (a->port != 0 && mark->port != 0 && mark->port != a->port)
			continue;
		if (a->see(a->ctx, mark))
			return true;
	}
	return false;
}

static bool see_nets(const struct asking *a, const struct koda_addr *addr, unsigned int bits)
{
	const uint64_t *prefixes = a->index->prefixes[addr->family == 6];

	for (unsigned int word = 0; word < 3; word++) {
		for (uint64_t left = prefixes[word]; left; left &= left - 1) {
			unsigned int prefix = word * 64 + (unsigned int)__builtin_ctzll(left);
			struct net_key key;
			uint32_t node;

			if (prefix > bits)
				return false;
			key = key_of(addr, prefix);
			node = koda_trie_find(&a->index->trie, KODA_TRIE_ROOT,
					      (struct koda_span){ key.bytes, key.len });
			if (node != KODA_TRIE_NONE && see_list(a, node, false))
				return true;
		}
	}
	return false;
}

bool koda_hostindex_covering(const struct koda_hostindex *index, const struct koda_hostquery *query,
			     koda_hostindex_see *see, void *ctx)
{
	const struct asking a = { .index = index, .port = query->port, .see = see, .ctx = ctx };
	size_t left = query->host->len;
	uint32_t node = KODA_TRIE_ROOT;

	if (index->mark_count == 0)
		return false;
	/* The list "below" of the root has the rules for every host. */
	if (see_list(&a, node, true))
		return true;
	if (query->kind == KODA_HOSTRULE_NET)
		return see_nets(&a, &query->host->addr, query->prefix);
	while (left > 0) {
		struct koda_span label = last_label(query->host->name, &left);

		node = koda_trie_find(&index->trie, node, label);
		if (node == KODA_TRIE_NONE)
			return false;
		/* "*.a.b" covers what is below a.b, and another "*.a.b". */
		if ((left > 0 || query->kind == KODA_HOSTRULE_BELOW) && see_list(&a, node, true))
			return true;
	}
	return query->kind == KODA_HOSTRULE_NAME && see_list(&a, node, false);
}
