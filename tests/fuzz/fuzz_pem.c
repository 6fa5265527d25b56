/* SPDX-License-Identifier: MIT */
/*
 * T-73. Any bytes as PEM. What comes out is made of certificates only, is a fixed point, and never
 * has a key in it.
 */
#include "target.h"

#include "policy/pem.h"

#define BEGIN "-----BEGIN CERTIFICATE-----\n"

static void check_output(struct koda_span text)
{
	koda_auto_buf struct koda_buf again = KODA_BUF_INIT(KODA_PEM_MAX);
	struct koda_span rest = text;
	struct koda_pem_block block;

	CHECK(text.len >= strlen(BEGIN) && memcmp(text.ptr, BEGIN, strlen(BEGIN)) == 0);
	CHECK(!memmem(text.ptr, text.len, "PRIVATE KEY", 11));
	while (koda_pem_next(&rest, &block, NULL) > 0)
		CHECK(koda_span_is(block.label, "CERTIFICATE"));
	CHECK(rest.len == 0);
	CHECK(koda_pem_certificates(text, &again, NULL) == KODA_OK);
	CHECK(koda_span_eq(text, koda_buf_span(&again)));
}

static void check_blocks(struct koda_span text)
{
	struct koda_pem_block block;
	size_t before = text.len;

	while (koda_pem_next(&text, &block, NULL) > 0) {
		CHECK(text.len < before && block.label.len > 0);
		CHECK(block.body.ptr + block.body.len <= text.ptr);
		CHECK(!memmem(block.body.ptr, block.body.len, "\n-----", 6));
		before = text.len;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct koda_span text = { size ? (const char *)data : "", size };
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(KODA_PEM_MAX);
	struct koda_error err = { 0 };
	int r = koda_pem_certificates(text, &out, &err);

	check_blocks(text);
	if (r < 0)
		CHECK(err.code == r && err.message[0]);
	else
		check_output(koda_buf_span(&out));
	return 0;
}
