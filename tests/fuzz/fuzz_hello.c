/* SPDX-License-Identifier: MIT */
/* T-72. A TLS client's first bytes, whole and byte by byte; and the same bytes as the inside of a
 * well-formed record, so that inputs get past its header. */
#include "target.h"

#include "proto/hello.h"

#include <string.h>

static void check_hello(const struct egress_hello *hello)
{
	size_t at = 0;

	CHECK(hello->name_len <= EGRESS_HELLO_NAME_MAX);
	CHECK(strlen(hello->name) == hello->name_len);
	CHECK(hello->has_name == (hello->name_len > 0));
	while (at < hello->alpn_len)
		at += 1 + (size_t)(unsigned char)hello->alpn[at];
	CHECK(at == hello->alpn_len);
	(void)egress_hello_offers(hello, "http/1.1");
}

static void check_raw(const uint8_t *data, size_t size)
{
	struct egress_hello_scan whole = { 0 };
	struct egress_hello_scan pieces = { 0 };
	enum egress_hello_state state;
	enum egress_hello_state other = EGRESS_HELLO_MORE;
	struct egress_hello hello;
	struct egress_hello again;
	const char *code = NULL;
	const char *other_code = NULL;
	size_t have = 0;

	state = egress_hello_read(&whole, (struct koda_span){ (const char *)data, size }, &hello,
				  &code);
	for (; have <= size && other == EGRESS_HELLO_MORE; have++)
		other = egress_hello_read(&pieces, (struct koda_span){ (const char *)data, have },
					  &again, &other_code);
	CHECK(state == other);
	CHECK(state != EGRESS_HELLO_MORE || size < EGRESS_HELLO_RAW_MAX);
	CHECK(state != EGRESS_HELLO_BAD || (code && code == other_code));
	/* A refusal is final, and a hello is given out once. */
	if (state != EGRESS_HELLO_MORE)
		CHECK(egress_hello_read(&pieces, (struct koda_span){ (const char *)data, size },
					&(struct egress_hello){ 0 }, &other_code) ==
		      (state == EGRESS_HELLO_NOT_TLS ? state : EGRESS_HELLO_BAD));
	if (state == EGRESS_HELLO_DONE) {
		CHECK(memcmp(&hello, &again, sizeof(hello)) == 0);
		check_hello(&hello);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t raw[9 + 4096] = { 22, 3, 1 };
	size_t len = size < 4096 ? size : 4096;

	check_raw(data, size);
	raw[3] = (uint8_t)((len + 4) >> 8);
	raw[4] = (uint8_t)(len + 4);
	raw[5] = 1;
	raw[7] = (uint8_t)(len >> 8);
	raw[8] = (uint8_t)len;
	if (len)
		memcpy(raw + 9, data, len);
	check_raw(raw, 9 + len);
	return 0;
}
