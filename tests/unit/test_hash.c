/* SPDX-License-Identifier: MIT */
#include "koda_test.h"

#include "../lib/child.h"
#include "base/hash.h"

static const struct koda_hash_key counting_key = { 0x0706050403020100, 0x0f0e0d0c0b0a0908 };

/* SipHash-1-3 of the bytes 0, 1, 2 ... under the key 0, 1 ... 15, with the salt as a first word;
 * worked out by an implementation that also gives the published values without salt. */
static const struct {
	uint32_t salt;
	size_t len;
	uint64_t hash;
} answers[] = {
	{ 0, 0, 0x79291c7a4c691902 },           { 0, 1, 0x4312116799ed4548 },
	{ 0, 7, 0xd689672bfe3c78c5 },           { 0, 8, 0xb43daf0b61e16471 },
	{ 0, 9, 0xd8dc7e0d0ab738b3 },           { 0, 15, 0x9b7a1212edb2b543 },
	{ 0, 16, 0x6130deabb0dbf299 },          { 0, 63, 0xe3b51ea29e528962 },
	{ 1, 0, 0x8fc998841fe5953b },           { 1, 8, 0x46bbf03df81e1b52 },
	{ UINT32_MAX, 63, 0x955286d4d9daf217 },
};

static void fill_counting(char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)i;
}

static void hash_gives_the_known_answers(void **state)
{
	char bytes[64];

	(void)state;
	fill_counting(bytes, sizeof(bytes));
	KODA_EACH(row, answers)
		assert_true(koda_hash(&counting_key, row->salt,
				      (struct koda_span){ bytes, row->len }) == row->hash);
}

static void no_bytes_need_no_address(void **state)
{
	(void)state;
	assert_true(koda_hash(&counting_key, 0, (struct koda_span){ NULL, 0 }) == answers[0].hash);
}

static void alignment_does_not_matter(void **state)
{
	char bytes[80];

	(void)state;
	for (size_t shift = 0; shift < 16; shift++) {
		fill_counting(bytes + shift, 63);
		assert_true(koda_hash(&counting_key, 0, (struct koda_span){ bytes + shift, 63 }) ==
			    answers[7].hash);
	}
}

static void every_bit_of_the_input_counts(void **state)
{
	char bytes[40];

	(void)state;
	fill_counting(bytes, sizeof(bytes));
	for (size_t len = 1; len <= sizeof(bytes); len++) {
		struct koda_span span = { bytes, len };
		uint64_t before = koda_hash(&counting_key, 0, span);

		for (size_t bit = 0; bit < len * 8; bit++) {
			bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << (bit % 8)));
			assert_true(koda_hash(&counting_key, 0, span) != before);
			bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << (bit % 8)));
		}
	}
}

static void zeros_of_different_length_differ(void **state)
{
	static const char zeros[40];
	uint64_t seen[40];

	(void)state;
	for (size_t len = 0; len < 40; len++) {
		seen[len] = koda_hash(&counting_key, 0, (struct koda_span){ zeros, len });
		for (size_t i = 0; i < len; i++)
			assert_true(seen[i] != seen[len]);
	}
}

static void key_and_salt_count(void **state)
{
	struct koda_hash_key other_k0 = { counting_key.k0 ^ 1, counting_key.k1 };
	struct koda_hash_key other_k1 = { counting_key.k0, counting_key.k1 ^ (1ULL << 63) };
	struct koda_span text = { "text", 4 };
	uint64_t hash = koda_hash(&counting_key, 5, text);

	(void)state;
	assert_true(koda_hash(&counting_key, 5, text) == hash);
	assert_true(koda_hash(&counting_key, 6, text) != hash);
	assert_true(koda_hash(&other_k0, 5, text) != hash);
	assert_true(koda_hash(&other_k1, 5, text) != hash);
}

static void every_draw_is_a_new_key(void **state)
{
	static const int here = 1;
	static const int there = 2;
	struct koda_hash_key a = koda_hash_key_draw(&here);
	struct koda_hash_key b = koda_hash_key_draw(&there);

	(void)state;
	assert_true(a.k0 != b.k0 || a.k1 != b.k1);
	assert_true(a.k0 != 0 || a.k1 != 0);
}

static int draw_without_getrandom(void *arg)
{
	struct koda_hash_key key;

	(void)arg;
	KODA_CHILD_CHECK(koda_child_block(SYS_getrandom, EPERM));
	key = koda_hash_key_draw(arg);
	KODA_CHILD_CHECK(key.k0 != 0 || key.k1 != 0);
	return 0;
}

static void a_key_needs_no_system_call(void **state)
{
	(void)state;
	assert_int_equal(koda_child_run(draw_without_getrandom, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hash_gives_the_known_answers),
		cmocka_unit_test(no_bytes_need_no_address),
		cmocka_unit_test(alignment_does_not_matter),
		cmocka_unit_test(every_bit_of_the_input_counts),
		cmocka_unit_test(zeros_of_different_length_differ),
		cmocka_unit_test(key_and_salt_count),
		cmocka_unit_test(every_draw_is_a_new_key),
		cmocka_unit_test(a_key_needs_no_system_call),
	};

	return KODA_TEST_RUN(tests);
}
