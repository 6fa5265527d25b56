/* SPDX-License-Identifier: MIT */
/* SHA-256 (FIPS 180-4), as a fingerprint of contents; nothing secret depends on it. */
#ifndef KODA_BASE_SHA256_H
#define KODA_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define KODA_SHA256_BYTES 32

struct koda_sha256 {
	uint32_t state[8];
	uint64_t len;            /* of all bytes so far */
	unsigned char block[64]; /* len % 64 bytes are waiting */
};

void koda_sha256_start(struct koda_sha256 *sha);
void koda_sha256_add(struct koda_sha256 *sha, const void *bytes, size_t len);
/* Writes the hash. The state is used up. */
void koda_sha256_end(struct koda_sha256 *sha, unsigned char ret_hash[KODA_SHA256_BYTES]);

#endif
