/* SPDX-License-Identifier: MIT */
/* A SOCKS5 client's bytes: it all ends, at the same place for one piece and for many, with a
 * canonical host or with a refusal. */
#include "target.h"

#include "proto/socks5.h"

#include <string.h>

/* The last event; *ret_taken is how many bytes it took to get there. */
static enum egress_socks_event talk(const uint8_t *data, size_t size, size_t step,
				    struct egress_socks_output *out, size_t *ret_taken)
{
	enum egress_socks_event event = EGRESS_SOCKS_MORE;
	struct egress_socks socks = { 0 };
	size_t taken = 0;
	size_t have = step < size ? step : size;

	for (;;) {
		struct koda_span in = { (const char *)data + taken, have - taken };

		do
			event = egress_socks5_next(&socks, &in, out);
		while (event == EGRESS_SOCKS_SEND);
		CHECK(in.len <= have - taken);
		taken = have - in.len;
		/* No message is longer, so a bounded buffer always gets on. */
		CHECK(event != EGRESS_SOCKS_MORE || in.len < 262);
		if (event != EGRESS_SOCKS_MORE || have == size)
			break;
		have = have + step < size ? have + step : size;
	}
	*ret_taken = taken;
	if (event != EGRESS_SOCKS_MORE) {
		struct koda_span in = { (const char *)data + taken, size - taken };
		struct egress_socks_output again;

		/* Nothing is read behind the last answer. */
		CHECK(egress_socks5_next(&socks, &in, &again) == EGRESS_SOCKS_CLOSE);
		CHECK(in.len == size - taken && again.bytes.len == 0);
	}
	return event;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct egress_socks_output whole = { 0 };
	struct egress_socks_output bytes = { 0 };
	size_t taken = 0;
	size_t other = 0;
	enum egress_socks_event event = talk(data, size, size ? size : 1, &whole, &taken);

	CHECK(talk(data, size, 1, &bytes, &other) == event && taken == other);
	if (event == EGRESS_SOCKS_CONNECT) {
		CHECK(whole.port != 0 && whole.port == bytes.port);
		CHECK(whole.host.is_addr == bytes.host.is_addr);
		CHECK(strcmp(whole.host.name, bytes.host.name) == 0);
		CHECK(whole.host.is_addr || strlen(whole.host.name) == whole.host.len);
	}
	if (event == EGRESS_SOCKS_CLOSE)
		CHECK(whole.code && whole.code == bytes.code);
	return 0;
}
