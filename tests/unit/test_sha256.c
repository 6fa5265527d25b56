/* SPDX-License-Identifier: MIT */
/* SHA-256: the examples of FIPS 180, and every cut of the input gives one hash. */
#include "koda_test.h"

#include "base/sha256.h"

static void hash_of(const char *bytes, size_t len, size_t cut, char *ret_text)
{
	struct koda_sha256 sha;
	unsigned char hash[KODA_SHA256_BYTES];

	koda_sha256_start(&sha);
	koda_sha256_add(&sha, bytes, cut);
	koda_sha256_add(&sha, bytes + cut, len - cut);
	koda_sha256_end(&sha, hash);
	for (size_t i = 0; i < sizeof(hash); i++)
		(void)snprintf(ret_text + 2 * i, 3, "%02x", hash[i]);
}

static void known_texts_have_known_hashes(void **state)
{
	static const struct {
		const char *name, *text, *hash;
	} rows[] = {
		{ "empty", "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "abc",
		  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "two blocks", "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	};
	char text[2 * KODA_SHA256_BYTES + 1];

	(void)state;
	KODA_EACH(row, rows) {
		hash_of(row->text, strlen(row->text), 0, text);
		KODA_EXPECT(row->name, strcmp(text, row->hash) == 0);
	}
}

static void cuts_do_not_count(void **state)
{
	char bytes[200];
	char whole[2 * KODA_SHA256_BYTES + 1], cut[sizeof(whole)];

	(void)state;
	memset(bytes, 'a', sizeof(bytes));
	for (size_t len = 0; len <= sizeof(bytes); len++) {
		hash_of(bytes, len, 0, whole);
		for (size_t at = 1; at <= len; at++) {
			hash_of(bytes, len, at, cut);
			assert_string_equal(cut, whole);
		}
	}
}

static void a_million_bytes(void **state)
{
	char *bytes = malloc(1000000);
	char text[2 * KODA_SHA256_BYTES + 1];

	(void)state;
	assert_non_null(bytes);
	memset(bytes, 'a', 1000000);
	hash_of(bytes, 1000000, 77, text);
	assert_string_equal(text,
			    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_texts_have_known_hashes),
		cmocka_unit_test(cuts_do_not_count),
		cmocka_unit_test(a_million_bytes),
	};

	return KODA_TEST_RUN(tests);
}
