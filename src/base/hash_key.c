/* SPDX-License-Identifier: MIT */
/* Keys from the kernel's random numbers. */
#include "base/hash.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>

struct koda_hash_key koda_hash_key_draw(const void *table)
{
	struct koda_hash_key key = { 0, 0 };
	const void *seed = (const void *)getauxval(AT_RANDOM);
	uint64_t place = (uint64_t)(uintptr_t)table;

	/* The kernel gives every process 16 random bytes at exec; asking for more for each of a
	 * dozen small tables would cost more than filling them. */
	if (seed)
		memcpy(&key, seed, sizeof(key));
	else if (getrandom(&key, sizeof(key), GRND_NONBLOCK) < 0)
		key.k0 = (uint64_t)(uintptr_t)&key; /* no AT_RANDOM: only address space
						       randomisation is left */
	key.k0 ^= koda_hash(&key, 1, (struct koda_span){ (const char *)&place, sizeof(place) });
	key.k1 ^= koda_hash(&key, 2, (struct koda_span){ (const char *)&place, sizeof(place) });
	return key;
}
