/* SPDX-License-Identifier: MIT */
#include "koda_test.h"

#include "tls/lru.h"

#include "base/buf.h"

static unsigned int released;

static void release(void *value)
{
	released++;
	free(value);
}

static void put(struct egress_lru *lru, const char *key, const char *value)
{
	assert_int_equal(egress_lru_put(lru, koda_span_of(key), strdup(value)), KODA_OK);
}

static const char *get(struct egress_lru *lru, const char *key)
{
	const char *value = egress_lru_get(lru, koda_span_of(key));

	return value ? value : "-";
}

static void keeps_what_is_asked_for(void **state)
{
	struct egress_lru lru;

	(void)state;
	released = 0;
	egress_lru_init(&lru, 3, release);
	assert_string_equal(get(&lru, "a"), "-");
	put(&lru, "a", "1");
	put(&lru, "b", "2");
	put(&lru, "c", "3");
	assert_string_equal(get(&lru, "a"), "1");
	put(&lru, "d", "4");
	assert_string_equal(get(&lru, "b"), "-");
	assert_string_equal(get(&lru, "a"), "1");
	assert_string_equal(get(&lru, "c"), "3");
	put(&lru, "c", "5");
	assert_string_equal(get(&lru, "c"), "5");
	assert_int_equal(released, 2);
	egress_lru_clear(&lru);
	assert_int_equal(released, 5);
	assert_string_equal(get(&lru, "a"), "-");
}

static void keys_are_bytes(void **state)
{
	static const struct koda_span keys[] = { { "a\0b", 3 }, { "a\0c", 3 }, { "a", 1 } };
	struct egress_lru lru;

	(void)state;
	egress_lru_init(&lru, 3, release);
	KODA_EACH(key, keys)
		assert_int_equal(egress_lru_put(&lru, *key, strdup("x")), KODA_OK);
	assert_int_equal(lru.count, 3);
	KODA_EACH(key, keys)
		assert_non_null(egress_lru_get(&lru, *key));
	egress_lru_clear(&lru);
}

/* Against a model: the last MAX distinct keys that were touched are there, others are not. */
static void agrees_with_a_model(void **state)
{
	enum {
		MAX = 16,
		KEYS = 40,
		STEPS = 20000
	};
	struct koda_rng rng = koda_rng_new();
	size_t touched[KEYS] = { 0 };
	struct egress_lru lru;

	(void)state;
	egress_lru_init(&lru, MAX, release);
	for (size_t step = 1; step <= STEPS; step++) {
		size_t key = koda_rng_below(&rng, KEYS);
		size_t newer = 0;
		char text[8];

		(void)snprintf(text, sizeof(text), "k%zu", key);
		for (size_t i = 0; i < KEYS; i++)
			newer += touched[i] > touched[key];
		assert_int_equal(egress_lru_get(&lru, koda_span_of(text)) != NULL,
				 touched[key] && newer < MAX);
		if (!egress_lru_get(&lru, koda_span_of(text)))
			put(&lru, text, text);
		assert_string_equal(get(&lru, text), text);
		touched[key] = step;
	}
	egress_lru_clear(&lru);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_what_is_asked_for),
		cmocka_unit_test(keys_are_bytes),
		cmocka_unit_test(agrees_with_a_model),
	};

	return KODA_TEST_RUN(tests);
}
