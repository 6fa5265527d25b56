/* SPDX-License-Identifier: MIT */
#include "policy/pathindex.h"

#include "base/error.h"

static int grow(struct koda_pathindex *index, size_t cap)
{
	struct koda_pathnode *nodes = reallocarray(index->nodes, cap, sizeof(*nodes));

	if (!nodes)
		return KODA_E_NOMEM;
	memset(nodes + index->node_cap, 0, (cap - index->node_cap) * sizeof(*nodes));
	index->nodes = nodes;
	index->node_cap = cap;
	return KODA_OK;
}

static int make_room(struct koda_pathindex *index)
{
	size_t need = (size_t)index->trie.nodes + 1;

	if (need <= index->node_cap)
		return KODA_OK;
	return grow(index, index->node_cap * 2 > need ? index->node_cap * 2 : need + 16);
}

/* Reserves one node per path; the number of directories above them is unknown. */
int koda_pathindex_reserve(struct koda_pathindex *index, size_t more, size_t bytes)
{
	int r = koda_trie_reserve(&index->trie, more);

	if (r == KODA_OK)
		r = koda_strlist_reserve(&index->texts, more, bytes);
	if (r == KODA_OK && index->trie.nodes + 1 + more > index->node_cap)
		r = grow(index, index->trie.nodes + 1 + more);
	return r;
}

/* Finds or adds the child of a node. */
static int step_down(struct koda_pathindex *index, uint32_t *node, struct koda_span name)
{
	uint32_t above = *node;
	int r = koda_trie_add(&index->trie, above, name, node);

	if (r == KODA_OK)
		r = make_room(index);
	if (r == KODA_OK)
		index->nodes[*node].above = above;
	return r;
}

/* Cuts the trail to the directories that it shares with path. */
static void follow_trail(struct koda_pathindex *index, struct koda_span path)
{
	struct koda_span last = koda_strlist_get(&index->texts, index->last);
	size_t from = 0;
	size_t i;

	for (i = 0; i < index->trail_len; i++) {
		size_t to = index->trail[i].len;

		if (path.len < to || memcmp(path.ptr + from, last.ptr + from, to - from) != 0 ||
		    (path.len > to && path.ptr[to] != '/'))
			break;
		from = to;
	}
	index->trail_len = i;
}

/* Finds or adds the node of path. */
static int reach(struct koda_pathindex *index, struct koda_span path, uint32_t *ret_node)
{
	struct koda_span rest = path;
	struct koda_span name;
	uint32_t node = KODA_TRIE_ROOT;
	int r = make_room(index); /* for "/" */

	follow_trail(index, path);
	if (index->trail_len > 0) {
		node = index->trail[index->trail_len - 1].node;
		rest = koda_span_skip(path, index->trail[index->trail_len - 1].len);
	}
	while (r == KODA_OK && koda_path_next(&rest, &name) == KODA_STEP_NAME) {
		r = step_down(index, &node, name);
		if (r == KODA_OK && index->trail_len < KODA_PATHINDEX_TRAIL)
			index->trail[index->trail_len++] =
				(struct koda_pathstep){ .node = node,
							.len = (uint32_t)(rest.ptr - path.ptr) };
	}
	*ret_node = node;
	return r;
}

int koda_pathindex_add(struct koda_pathindex *index, struct koda_span path, uint32_t marks,
		       struct koda_error *err)
{
	uint32_t node = KODA_TRIE_ROOT;
	int r = path.len < UINT32_MAX ? reach(index, path, &node) : KODA_E_LIMIT;

	if (r == KODA_OK && !index->nodes[node].marks) {
		r = koda_strlist_add(&index->texts, path);
		index->nodes[node].text = (uint32_t)index->texts.count - 1;
		index->last = index->nodes[node].text;
	} else {
		index->trail_len = 0; /* texts may spell that path differently */
	}
	if (r < 0) {
		index->trail_len = 0;
		return koda_fail_room(err, r, "the list of path rules");
	}
	index->nodes[node].marks |= marks;
	index->marks |= marks;
	return KODA_OK;
}

void koda_pathindex_clear(struct koda_pathindex *index)
{
	koda_trie_clear(&index->trie);
	koda_strlist_clear(&index->texts);
	free(index->nodes);
	*index = (struct koda_pathindex)KODA_PATHINDEX_INIT;
}

struct koda_pathwalk koda_pathwalk_start(const struct koda_pathindex *index, struct koda_span path)
{
	return (struct koda_pathwalk){ .index = index, .rest = path, .node = KODA_TRIE_ROOT };
}

/* Walks one component; the first step is "/" itself. */
static bool step(struct koda_pathwalk *walk)
{
	struct koda_span name;

	if (!walk->begun) {
		walk->begun = true;
		return walk->index->node_cap > 0;
	}
	if (walk->node == KODA_TRIE_NONE || koda_path_next(&walk->rest, &name) != KODA_STEP_NAME)
		return false;
	walk->node = koda_trie_find(&walk->index->trie, walk->node, name);
	return walk->node != KODA_TRIE_NONE;
}

bool koda_pathwalk_next(struct koda_pathwalk *walk)
{
	while (step(walk)) {
		const struct koda_pathnode *node = &walk->index->nodes[walk->node];

		if (node->marks) {
			walk->marks = node->marks;
			walk->rule = koda_strlist_get(&walk->index->texts, node->text);
			return true;
		}
	}
	return false;
}

bool koda_pathindex_leads_to(const struct koda_pathindex *index, struct koda_span path)
{
	uint32_t node = KODA_TRIE_ROOT;
	struct koda_span name;

	/* Nodes are only made on the way to a marked one. */
	while (node != KODA_TRIE_NONE && koda_path_next(&path, &name) == KODA_STEP_NAME)
		node = koda_trie_find(&index->trie, node, name);
	return node != KODA_TRIE_NONE && index->texts.count > 0;
}

bool koda_pathwalk_is_sound(struct koda_span path)
{
	struct koda_span name;
	enum koda_step last;

	if (path.len == 0 || path.len > KODA_PATH_MAX || path.ptr[0] != '/')
		return false;
	do {
		last = koda_path_next(&path, &name);
	} while (last == KODA_STEP_NAME);
	return last == KODA_STEP_END;
}
