/* SPDX-License-Identifier: MIT */
/* T-70. Bodies end at the same byte however they are cut into pieces. The first byte chooses the
 * framing, the second the size of the pieces. */
#include "target.h"

#include "http_body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum egress_framing framing;
	struct egress_body whole;
	struct egress_body pieces;
	enum egress_parse parse;
	enum egress_parse other = EGRESS_MORE;
	size_t used = 0;
	size_t total = 0;
	size_t piece;

	if (size < 2)
		return 0;
	framing = (enum egress_framing)(data[0] % 4);
	piece = data[1] % 64 + 1;
	egress_body_init(&whole, framing, data[0]);
	egress_body_init(&pieces, framing, data[0]);
	data += 2;
	size -= 2;
	parse = egress_body_feed(&whole, (struct koda_span){ (const char *)data, size }, &used);
	CHECK(used <= size);
	while (total < size && other == EGRESS_MORE) {
		size_t len = size - total < piece ? size - total : piece;
		size_t n = 0;

		other = egress_body_feed(&pieces,
					 (struct koda_span){ (const char *)data + total, len }, &n);
		CHECK(n <= len && (n == len || other != EGRESS_MORE));
		total += n;
	}
	CHECK(total == used);
	CHECK(size == 0 || parse == other);
	CHECK(egress_body_may_end(&whole) == egress_body_may_end(&pieces));
	CHECK(parse != EGRESS_DONE || egress_body_may_end(&whole));
	return 0;
}
