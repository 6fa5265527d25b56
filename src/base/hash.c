/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>

struct state {
	uint64_t v0, v1, v2, v3;
};

static inline uint64_t rotate(uint64_t x, unsigned int bits)
{
	return (x << bits) | (x >> (64 - bits));
}

static inline void mix(struct state *s)
{
	s->v0 += s->v1;
	s->v1 = rotate(s->v1, 13) ^ s->v0;
	s->v0 = rotate(s->v0, 32);
	s->v2 += s->v3;
	s->v3 = rotate(s->v3, 16) ^ s->v2;
	s->v0 += s->v3;
	s->v3 = rotate(s->v3, 21) ^ s->v0;
	s->v2 += s->v1;
	s->v1 = rotate(s->v1, 17) ^ s->v2;
	s->v2 = rotate(s->v2, 32);
}

static inline void absorb(struct state *s, uint64_t word)
{
	s->v3 ^= word;
	mix(s);
	s->v0 ^= word;
}

uint64_t koda_hash(const struct koda_hash_key *key, uint32_t salt, struct koda_span bytes)
{
	struct state s = {
		.v0 = key->k0 ^ 0x736f6d6570736575U,
		.v1 = key->k1 ^ 0x646f72616e646f6dU,
		.v2 = key->k0 ^ 0x6c7967656e657261U,
		.v3 = key->k1 ^ 0x7465646279746573U,
	};
	uint64_t last = (uint64_t)bytes.len << 56;
	const char *p = bytes.ptr;
	size_t left = bytes.len;

	absorb(&s, salt);
	for (; left >= 8; left -= 8, p += 8) {
		uint64_t word;

		memcpy(&word, p, sizeof(word));
		absorb(&s, word);
	}
	if (left > 0)
		memcpy(&last, p, left);
	absorb(&s, last);
	s.v2 ^= 0xff;
	mix(&s);
	mix(&s);
	mix(&s);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

struct koda_hash_key koda_hash_key_draw(void)
{
	struct koda_hash_key key = { 0, 0 };
	const void *seed;

	if (getrandom(&key, sizeof(key), GRND_NONBLOCK) == (ssize_t)sizeof(key))
		return key;
	/* Before the pool is ready, or behind a filter without getrandom: the kernel's 16 bytes
	 * that every process is given at exec. */
	seed = (const void *)getauxval(AT_RANDOM);
	if (seed)
		memcpy(&key, seed, sizeof(key));
	return key;
}
