/* SPDX-License-Identifier: MIT */
#include "koda_test.h"

#include "base/trie.h"

#define LOOSE ((size_t)1 << 20)
/* The longest label kept in the table, and the shortest kept beside it. */
#define SHORT "0123456789abcdef"
#define LONG  "0123456789abcdefg"

_Static_assert(sizeof(SHORT) - 1 == KODA_TRIE_INLINE, "SHORT is the longest short label");

static uint32_t add(struct koda_trie *trie, uint32_t parent, const char *label)
{
	uint32_t child = KODA_TRIE_NONE;

	assert_int_equal(koda_trie_add(trie, parent, koda_span_of(label), &child), KODA_OK);
	return child;
}

static uint32_t find(const struct koda_trie *trie, uint32_t parent, const char *label)
{
	return koda_trie_find(trie, parent, koda_span_of(label));
}

static void an_empty_trie_finds_nothing(void **state)
{
	koda_auto_trie struct koda_trie trie = KODA_TRIE_INIT(LOOSE);

	(void)state;
	assert_true(find(&trie, KODA_TRIE_ROOT, "a") == KODA_TRIE_NONE);
	assert_int_equal(trie.nodes, 0);
}

static void nodes_are_numbered_from_one_in_order(void **state)
{
	koda_auto_trie struct koda_trie trie = KODA_TRIE_INIT(LOOSE);

	(void)state;
	assert_int_equal(add(&trie, KODA_TRIE_ROOT, "a"), 1);
	assert_int_equal(add(&trie, 1, "b"), 2);
	assert_int_equal(add(&trie, KODA_TRIE_ROOT, "c"), 3);
	assert_int_equal(trie.nodes, 3);
}

static void an_edge_that_is_there_is_not_made_again(void **state)
{
	static const char *const labels[] = { "a", SHORT, LONG };
	koda_auto_trie struct koda_trie trie = KODA_TRIE_INIT(LOOSE);

	(void)state;
	KODA_EACH(label, labels) {
		uint32_t child = add(&trie, KODA_TRIE_ROOT, *label);

		assert_int_equal(add(&trie, KODA_TRIE_ROOT, *label), child);
	}
	assert_int_equal(trie.nodes, 3);
	assert_int_equal(trie.text.len, strlen(LONG));
}

static void the_same_label_below_another_parent_is_another_node(void **state)
{
	koda_auto_trie struct koda_trie trie = KODA_TRIE_INIT(LOOSE);
	uint32_t a = add(&trie, KODA_TRIE_ROOT, "a");
	uint32_t aa = add(&trie, a, "a");

	(void)state;
	assert_int_not_equal(aa, a);
	assert_int_equal(find(&trie, KODA_TRIE_ROOT, "a"), a);
	assert_int_equal(find(&trie, a, "a"), aa);
	assert_true(find(&trie, aa, "a") == KODA_TRIE_NONE);
}

static void labels_match_whole(void **state)
{
	koda_auto_trie struct koda_trie trie = KODA_TRIE_INIT(LOOSE);
	uint32_t middle = add(&trie, KODA_TRIE_ROOT, SHORT);

	(void)state;
	assert_true(find(&trie, KODA_TRIE_ROOT, "0123456789abcde") == KODA_TRIE_NONE);
	assert_true(find(&trie, KODA_TRIE_ROOT, LONG) == KODA_TRIE_NONE);
	assert_true(find(&trie, KODA_TRIE_ROOT, "") == KODA_TRIE_NONE);
	assert_int_equal(add(&trie, KODA_TRIE_ROOT, LONG), 2);
	assert_true(find(&trie, KODA_TRIE_ROOT, LONG "h") == KODA_TRIE_NONE);
	assert_int_equal(find(&trie, KODA_TRIE_ROOT, SHORT), middle);
	assert_int_equal(find(&trie, KODA_TRIE_ROOT, LONG), 2);
}

static void labels_are_copied(void **state)
{
	koda_auto_trie struct koda_trie trie = KODA_TRIE_INIT(LOOSE);
	char text[] = LONG;

	(void)state;
	assert_int_equal(add(&trie, KODA_TRIE_ROOT, text), 1);
	text[16] = '\0';
	assert_int_equal(add(&trie, KODA_TRIE_ROOT, text), 2);
	memset(text, 'x', sizeof(text) - 1);
	assert_int_equal(find(&trie, KODA_TRIE_ROOT, LONG), 1);
	assert_int_equal(find(&trie, KODA_TRIE_ROOT, SHORT), 2);
}

static void nul_bytes_tell_labels_apart(void **state)
{
	koda_auto_trie struct koda_trie trie = KODA_TRIE_INIT(LOOSE);
	struct koda_span with_nul = { "a\0b", 3 };
	uint32_t child = 0;

	(void)state;
	assert_int_equal(add(&trie, KODA_TRIE_ROOT, "a"), 1);
	assert_int_equal(koda_trie_add(&trie, KODA_TRIE_ROOT, with_nul, &child), KODA_OK);
	assert_int_equal(child, 2);
	assert_int_equal(koda_trie_find(&trie, KODA_TRIE_ROOT, with_nul), 2);
}

static void the_empty_label_is_one_label_wherever_it_points(void **state)
{
	koda_auto_trie struct koda_trie trie = KODA_TRIE_INIT(0);
	struct koda_span nowhere = { NULL, 0 };
	uint32_t child = 0;

	(void)state;
	assert_int_equal(koda_trie_add(&trie, KODA_TRIE_ROOT, nowhere, &child), KODA_OK);
	assert_int_equal(child, 1);
	assert_int_equal(add(&trie, KODA_TRIE_ROOT, ""), 1);
	assert_int_equal(koda_trie_find(&trie, KODA_TRIE_ROOT, nowhere), 1);
}

static void the_ceiling_counts_the_bytes_of_long_labels(void **state)
{
	koda_auto_trie struct koda_trie trie = KODA_TRIE_INIT(2 * sizeof(LONG));
	uint32_t child = 55;

	(void)state;
	assert_int_equal(add(&trie, KODA_TRIE_ROOT, LONG), 1);
	assert_int_equal(koda_trie_add(&trie, 1, koda_span_of(LONG "123"), &child), KODA_E_LIMIT);
	assert_int_equal(child, 55);
	assert_int_equal(trie.nodes, 1);
	assert_true(find(&trie, 1, LONG "123") == KODA_TRIE_NONE);
	assert_int_equal(add(&trie, 1, LONG "12"), 2);
	assert_int_equal(add(&trie, KODA_TRIE_ROOT, LONG), 1);
	assert_int_equal(add(&trie, 2, SHORT), 3);
}

/* The offset field has 32 bits; the length is forged, since nobody wants to fill 4 GiB here. */
static void labels_past_what_an_offset_can_reach_are_refused(void **state)
{
	koda_auto_trie struct koda_trie trie = KODA_TRIE_INIT(SIZE_MAX / 2);
	uint32_t child = 55;

	(void)state;
	assert_int_equal(add(&trie, KODA_TRIE_ROOT, LONG), 1);
	trie.text.len = UINT32_MAX;
	assert_int_equal(koda_trie_add(&trie, 1, koda_span_of(LONG), &child), KODA_E_LIMIT);
	trie.text.len = strlen(LONG);
	assert_int_equal(child, 55);
	assert_int_equal(trie.nodes, 1);
}

static void a_cleared_trie_keeps_its_ceiling(void **state)
{
	koda_auto_trie struct koda_trie trie = KODA_TRIE_INIT(strlen(LONG));
	uint32_t child = 0;

	(void)state;
	assert_int_equal(add(&trie, KODA_TRIE_ROOT, LONG), 1);
	koda_trie_clear(&trie);
	koda_trie_clear(&trie);
	assert_true(find(&trie, KODA_TRIE_ROOT, LONG) == KODA_TRIE_NONE);
	assert_int_equal(koda_trie_add(&trie, KODA_TRIE_ROOT, koda_span_of(LONG "h"), &child),
			 KODA_E_LIMIT);
	assert_int_equal(add(&trie, KODA_TRIE_ROOT, LONG), 1);
}

struct numbered_hash {
	uint32_t hash;
	uint32_t parent;
	uint32_t number;
};

static int by_hash(const void *a, const void *b)
{
	const struct numbered_hash *x = a;
	const struct numbered_hash *y = b;

	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

/* The key is drawn at the first add; after it, equal hashes can be looked for. Half of these edges
 * differ in their label, half in their parent (any number will do for one), and among so many some
 * forty pairs have the same 32 bits. */
static void edges_whose_hashes_collide_are_told_apart(void **state)
{
	const uint32_t count = 600000;
	koda_auto_trie struct koda_trie trie = KODA_TRIE_INIT(LOOSE);
	struct numbered_hash *hashes = calloc(count, sizeof(*hashes));
	uint32_t pairs = 0;

	(void)state;
	assert_non_null(hashes);
	assert_int_equal(add(&trie, KODA_TRIE_ROOT, "first"), 1);
	for (uint32_t i = 0; i < count; i++) {
		struct numbered_hash *h = &hashes[i];

		h->parent = i % 2 ? i : KODA_TRIE_ROOT;
		h->number = i % 2 ? 0 : i;
		h->hash = (uint32_t)koda_hash(
			&trie.key, h->parent,
			(struct koda_span){ (const char *)&h->number, sizeof(h->number) });
	}
	qsort(hashes, count, sizeof(*hashes), by_hash);
	for (uint32_t i = 1; i < count; i++) {
		const struct numbered_hash *x = &hashes[i - 1];
		const struct numbered_hash *y = &hashes[i];
		struct koda_span a = { (const char *)&x->number, sizeof(x->number) };
		struct koda_span b = { (const char *)&y->number, sizeof(y->number) };
		uint32_t node_a = 0;
		uint32_t node_b = 0;

		if (x->hash != y->hash || koda_trie_find(&trie, x->parent, a) != KODA_TRIE_NONE)
			continue;
		pairs++;
		assert_int_equal(koda_trie_add(&trie, x->parent, a, &node_a), KODA_OK);
		assert_true(koda_trie_find(&trie, y->parent, b) == KODA_TRIE_NONE);
		assert_int_equal(koda_trie_add(&trie, y->parent, b, &node_b), KODA_OK);
		assert_int_equal(node_b, node_a + 1);
		assert_int_equal(koda_trie_find(&trie, x->parent, a), node_a);
	}
	assert_true(pairs > 0);
	free(hashes);
}

/* The dull way: a list of edges searched from the front. */
struct model {
	struct {
		uint32_t parent;
		char label[20];
		size_t len;
	} edges[4000];
	uint32_t count;
};

static uint32_t model_find(const struct model *model, uint32_t parent, struct koda_span label)
{
	for (uint32_t i = 0; i < model->count; i++)
		if (model->edges[i].parent == parent &&
		    koda_span_eq((struct koda_span){ model->edges[i].label, model->edges[i].len },
				 label))
			return i + 1;
	return KODA_TRIE_NONE;
}

/* Short ones, so that they repeat, and both sides of the length up to which they stay inline. */
static size_t random_length(struct koda_rng *rng)
{
	return koda_rng_below(rng, 4) + (koda_rng_one_in(rng, 2) ? KODA_TRIE_INLINE - 1 : 0);
}

static void random_adds_and_finds_agree_with_a_list(void **state)
{
	static const size_t alphabets[] = { 1, 2, 256 };
	struct koda_rng rng = koda_rng_new();
	static struct model model;

	(void)state;
	KODA_EACH(alphabet, alphabets) {
		koda_auto_trie struct koda_trie trie = KODA_TRIE_INIT(LOOSE);

		model.count = 0;
		for (int step = 0; step < 4000; step++) {
			uint32_t parent = (uint32_t)koda_rng_below(&rng, model.count + 1);
			char text[20];
			struct koda_span label = { text, random_length(&rng) };
			uint32_t known;
			uint32_t child = 0;

			for (size_t i = 0; i < label.len; i++)
				text[i] = (char)koda_rng_below(&rng, *alphabet);
			known = model_find(&model, parent, label);
			assert_true(koda_trie_find(&trie, parent, label) == known);
			if (koda_rng_one_in(&rng, 3))
				continue;
			if (known == KODA_TRIE_NONE) {
				known = ++model.count;
				model.edges[known - 1].parent = parent;
				memcpy(model.edges[known - 1].label, text, label.len);
				model.edges[known - 1].len = label.len;
			}
			assert_int_equal(koda_trie_add(&trie, parent, label, &child), KODA_OK);
			assert_int_equal(child, known);
		}
		assert_int_equal(trie.nodes, model.count);
	}
}

static void reserved_room_is_enough(void **state)
{
	koda_auto_trie struct koda_trie trie = KODA_TRIE_INIT(LOOSE);
	uint32_t a = add(&trie, KODA_TRIE_ROOT, "a");
	const struct koda_trie_edge *slots;
	char label[8];

	(void)state;
	assert_int_equal(koda_trie_reserve(&trie, SIZE_MAX), KODA_E_LIMIT);
	assert_int_equal(koda_trie_reserve(&trie, 200), KODA_OK);
	slots = trie.slots;
	for (int i = 0; i < 200; i++) {
		(void)snprintf(label, sizeof(label), "%d", i);
		(void)add(&trie, a, label);
	}
	assert_ptr_equal(trie.slots, slots);
	assert_int_equal(koda_trie_reserve(&trie, 0), KODA_OK);
	assert_ptr_equal(trie.slots, slots);
	assert_int_equal(find(&trie, KODA_TRIE_ROOT, "a"), a);
	assert_int_equal(find(&trie, a, "199"), 201);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_trie_finds_nothing),
		cmocka_unit_test(nodes_are_numbered_from_one_in_order),
		cmocka_unit_test(an_edge_that_is_there_is_not_made_again),
		cmocka_unit_test(the_same_label_below_another_parent_is_another_node),
		cmocka_unit_test(labels_match_whole),
		cmocka_unit_test(labels_are_copied),
		cmocka_unit_test(nul_bytes_tell_labels_apart),
		cmocka_unit_test(the_empty_label_is_one_label_wherever_it_points),
		cmocka_unit_test(the_ceiling_counts_the_bytes_of_long_labels),
		cmocka_unit_test(labels_past_what_an_offset_can_reach_are_refused),
		cmocka_unit_test(a_cleared_trie_keeps_its_ceiling),
		cmocka_unit_test(edges_whose_hashes_collide_are_told_apart),
		cmocka_unit_test(random_adds_and_finds_agree_with_a_list),
		cmocka_unit_test(reserved_room_is_enough),
	};

	return KODA_TEST_RUN(tests);
}
