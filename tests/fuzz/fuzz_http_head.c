/* SPDX-License-Identifier: MIT */
/*
 * T-70. Heads. The end is found at the same place however the bytes come; what a head says lies
 * inside it; and what we write for the next hop is read again as the same request by ourselves,
 * with nothing of the hop before in it.
 */
#include "target.h"

#include "proto/http_head.h"

static void check_inside(struct koda_span all, struct koda_span part)
{
	if (part.len)
		CHECK(part.ptr >= all.ptr && part.ptr + part.len <= all.ptr + all.len);
}

static void check_headers(struct koda_span all, const struct egress_head *head)
{
	CHECK(head->count <= EGRESS_HEADERS_MAX);
	for (size_t i = 0; i < head->count; i++) {
		CHECK(head->headers[i].name.len > 0);
		check_inside(all, head->headers[i].name);
		check_inside(all, head->headers[i].value);
		CHECK(!head->headers[i].value.len ||
		      !memchr(head->headers[i].value.ptr, '\n', head->headers[i].value.len));
	}
}

static void check_written(const struct egress_head *head, bool proxy)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(EGRESS_HEAD_MAX + EGRESS_HEAD_EXTRA);
	struct egress_route route = { proxy, koda_span_of("Basic eDp5") };
	struct egress_head_scan scan = { 0 };
	struct egress_head to = *head;
	struct egress_refusal why;
	struct egress_head again;
	size_t len = 0;

	if (head->form == EGRESS_FORM_AUTHORITY || !head->has_host)
		return;
	if (to.port == 0)
		to.port = 80;
	CHECK(egress_head_write_request(&to, &route, false, &out) == KODA_OK);
	if (out.len > EGRESS_HEAD_MAX || to.count == EGRESS_HEADERS_MAX)
		return; /* a little longer than what we would read ourselves */
	CHECK(egress_head_find(&scan, koda_buf_span(&out), &len, &why) == EGRESS_DONE);
	CHECK(len == out.len);
	CHECK(egress_head_request(koda_buf_span(&out), &again, &why));
	CHECK(koda_span_eq(again.method, head->method) && again.framing == head->framing);
	CHECK(again.length == head->length && again.upgrade == head->upgrade);
	CHECK(egress_http_target_same_host(&again.host, &head->host));
	CHECK(again.port == to.port || (again.port == 0 && to.port == (to.tls ? 443 : 80)));
	for (size_t i = 0; i < again.count; i++) {
		enum egress_name kind = again.headers[i].kind;

		CHECK(kind != EGRESS_NAME_HOP || proxy);
		CHECK(kind != EGRESS_NAME_CONNECTION || again.upgrade);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct koda_span bytes = { (const char *)data, size };
	struct egress_head_scan whole = { 0 };
	struct egress_head_scan pieces = { 0 };
	struct egress_refusal why = { 0 };
	struct egress_refusal other = { 0 };
	enum egress_parse parse = EGRESS_MORE;
	struct egress_head head;
	size_t len = 0;
	size_t other_len = 0;

	for (size_t have = 0; have <= size && parse == EGRESS_MORE; have++)
		parse = egress_head_find(&pieces, (struct koda_span){ bytes.ptr, have }, &other_len,
					 &other);
	CHECK(egress_head_find(&whole, bytes, &len, &why) == parse);
	CHECK(parse != EGRESS_BAD || why.code == other.code);
	CHECK(parse != EGRESS_DONE || (len == other_len && len <= size));
	/* The last answer is the last, whatever follows. */
	if (parse != EGRESS_MORE)
		CHECK(egress_head_find(&pieces, bytes, &other_len, &other) == parse &&
		      (parse != EGRESS_DONE || len == other_len));
	/* Without the search: the parser has to stay inside whatever it gets. */
	if (parse != EGRESS_DONE)
		len = size;
	bytes.len = len;
	if (egress_head_request(bytes, &head, &why)) {
		check_headers(bytes, &head);
		check_inside(bytes, head.target);
		check_written(&head, false);
		check_written(&head, true);
	} else {
		CHECK(why.code && why.text && (why.status == 400 || why.status == 431));
	}
	if (egress_head_response(bytes, &head, &why))
		check_headers(bytes, &head);
	else
		CHECK(why.status == 502);
	return 0;
}
