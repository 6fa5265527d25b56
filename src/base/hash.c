/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <string.h>

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

static inline uint64_t load(const char *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return word;
}

static inline uint64_t byte(const char *p, size_t i)
{
	return (uint64_t)(unsigned char)p[i] << 8 * i;
}

/* Returns the bytes after the last whole word, padded with zeros. Overlapping loads are cheaper
 * than a call of memcpy for so few bytes. */
static inline uint64_t load_last(struct koda_span bytes)
{
	size_t count = bytes.len % sizeof(uint64_t);
	uint32_t low;
	uint32_t high;

	if (count == 0)
		return 0;
	if (bytes.len > sizeof(uint64_t)) /* with some of the word before them */
		return load(bytes.ptr + bytes.len - sizeof(uint64_t)) >>
		       8 * (sizeof(uint64_t) - count);
	if (count < sizeof(low))
		return byte(bytes.ptr, 0) | byte(bytes.ptr, count / 2) | byte(bytes.ptr, count - 1);
	memcpy(&low, bytes.ptr, sizeof(low));
	memcpy(&high, bytes.ptr + count - sizeof(high), sizeof(high));
	return low | (uint64_t)high << 8 * (count - sizeof(high));
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
	for (; left >= sizeof(uint64_t); left -= sizeof(uint64_t), p += sizeof(uint64_t))
		absorb(&s, load(p));
	absorb(&s, last | load_last(bytes));
	s.v2 ^= 0xff;
	mix(&s);
	mix(&s);
	mix(&s);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}
