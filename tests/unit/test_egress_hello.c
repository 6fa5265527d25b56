/* SPDX-License-Identifier: MIT */
/* T-72. ClientHellos, built here piece by piece so that each can be wrong in one way. */
#include "koda_test.h"

#include "base/buf.h"
#include "proto/hello.h"

#define TEXT(literal) (literal), sizeof(literal) - 1
/* server_name "a.example" */
#define SNI_A                                                                                      \
	"\0\0\0\x0e\0\x0c\0\0\x09"                                                                 \
	"a.example"
/* ALPN "h2", "http/1.1" */
#define ALPN "\0\x10\0\x0e\0\x0c\x02h2\x08http/1.1"
/* supported_versions: GREASE, 1.3, 1.2 */
#define VERSIONS "\0\x2b\0\x07\x06\x1a\x1a\x03\x04\x03\x03"
#define ECH      "\xfe\x0d\0\x01\0"

static void put(struct koda_buf *out, const void *bytes, size_t len)
{
	assert_int_equal(koda_buf_add(out, bytes, len), 0);
}

static void put_number(struct koda_buf *out, size_t n, int bytes)
{
	for (int i = bytes - 1; i >= 0; i--) {
		char c = (char)(n >> (8 * i));

		put(out, &c, 1);
	}
}

/* The handshake message with these extensions (NULL: none at all). */
static void message(struct koda_buf *out, const char *extensions, size_t len)
{
	koda_auto_buf struct koda_buf body = KODA_BUF_INIT(1 << 20);
	char random[32] = { 0 };

	put(&body, "\3\3", 2);
	put(&body, random, sizeof(random));
	put(&body, "\0\0\2\x13\1\1\0", 7);
	if (extensions) {
		put_number(&body, len, 2);
		put(&body, extensions, len);
	}
	put(out, "\1", 1);
	put_number(out, body.len, 3);
	put(out, body.ptr, body.len);
}

/* Records of at most size bytes. */
static void records(struct koda_buf *out, const struct koda_buf *in, size_t size)
{
	for (size_t at = 0; at < in->len; at += size) {
		size_t len = in->len - at < size ? in->len - at : size;

		put(out, "\x16\3\1", 3);
		put_number(out, len, 2);
		put(out, in->ptr + at, len);
	}
}

static enum egress_hello_state feed(const struct koda_buf *raw, size_t cut, size_t step,
				    struct egress_hello *hello, const char **ret_code)
{
	struct egress_hello_scan scan = { 0 };
	enum egress_hello_state state;
	size_t have = cut;

	for (;;) {
		state = egress_hello_read(&scan, (struct koda_span){ raw->ptr, have }, hello,
					  ret_code);
		if (state != EGRESS_HELLO_MORE || have == raw->len)
			break;
		have = have + step < raw->len ? have + step : raw->len;
	}
	/* A refusal is final, and a hello is given out once. */
	if (state != EGRESS_HELLO_MORE) {
		struct egress_hello other;
		const char *code;

		assert_int_equal(egress_hello_read(&scan, koda_buf_span(raw), &other, &code),
				 state == EGRESS_HELLO_NOT_TLS ? state : EGRESS_HELLO_BAD);
	}
	return state;
}

static enum egress_hello_state feed_all_ways(const char *name, const struct koda_buf *raw,
					     struct egress_hello *hello, const char **ret_code)
{
	enum egress_hello_state whole = feed(raw, raw->len, 1, hello, ret_code);
	struct egress_hello other;
	const char *code = NULL;

	for (size_t cut = 0; cut <= raw->len; cut++) {
		KODA_EXPECT(name, feed(raw, cut, cut ? raw->len : 1, &other, &code) == whole);
		if (whole == EGRESS_HELLO_DONE)
			KODA_EXPECT(name, memcmp(hello, &other, sizeof(other)) == 0);
		if (whole == EGRESS_HELLO_BAD)
			KODA_EXPECT(name, strcmp(*ret_code, code) == 0);
	}
	return whole;
}

static const struct {
	const char *name;
	const char *extensions;
	size_t len;
	const char *code; /* NULL: accepted */
} rows[] = {
	{ "everything", TEXT(SNI_A ALPN VERSIONS), NULL },
	{ "no name", TEXT(VERSIONS), NULL },
	{ "ECH", TEXT(SNI_A ECH), NULL },
	{ "two server_name extensions", TEXT(SNI_A SNI_A), "bad_sni" },
	{ "two names in one", TEXT("\0\0\0\x0a\0\x08\0\0\1a\0\0\1b"), "bad_sni" },
	{ "a name of another type", TEXT("\0\0\0\6\0\4\1\0\1a"), "bad_sni" },
	{ "a name of the right type", TEXT("\0\0\0\6\0\4\0\0\1a"), NULL },
	{ "empty name", TEXT("\0\0\0\5\0\3\0\0\0"), "bad_sni" },
	{ "empty list", TEXT("\0\0\0\2\0\0"), "bad_sni" },
	{ "empty extension", TEXT("\0\0\0\0"), "bad_sni" },
	{ "NUL in the name", TEXT("\0\0\0\x08\0\6\0\0\3a\0b"), "bad_sni" },
	{ "name longer than its list", TEXT("\0\0\0\6\0\4\0\0\2a"), "bad_sni" },
	{ "bytes behind the list", TEXT("\0\0\0\7\0\4\0\0\1ab"), "bad_sni" },
	{ "ALPN twice", TEXT(ALPN ALPN), "bad_alpn" },
	{ "ALPN with an empty name", TEXT("\0\x10\0\3\0\1\0"), "bad_alpn" },
	{ "ALPN that is cut", TEXT("\0\x10\0\4\0\2\2h"), "bad_alpn" },
	{ "versions twice", TEXT(VERSIONS VERSIONS), "bad_client_hello" },
	{ "no version of ours", TEXT("\0\x2b\0\3\2\x1a\x1a"), "bad_client_hello" },
	{ "extension that is cut", TEXT(SNI_A "\0\x17\0\1"), "bad_client_hello" },
	{ "half a header", TEXT(SNI_A "\0\x17\0"), "bad_client_hello" },
};

static void judges_extensions(void **state)
{
	(void)state;
	KODA_EACH(row, rows) {
		koda_auto_buf struct koda_buf raw = KODA_BUF_INIT(1 << 20);
		koda_auto_buf struct koda_buf text = KODA_BUF_INIT(1 << 20);
		struct egress_hello hello;
		const char *code = NULL;
		enum egress_hello_state got;

		message(&text, row->extensions, row->len);
		records(&raw, &text, 16384);
		got = feed_all_ways(row->name, &raw, &hello, &code);
		if (row->code) {
			KODA_EXPECT(row->name, got == EGRESS_HELLO_BAD);
			KODA_EXPECT(row->name, strcmp(code, row->code) == 0);
		} else {
			KODA_EXPECT(row->name, got == EGRESS_HELLO_DONE);
		}
	}
}

static void reads_through_records(void **state)
{
	(void)state;
	for (size_t size = 2; size < 150; size++) {
		koda_auto_buf struct koda_buf raw = KODA_BUF_INIT(1 << 20);
		koda_auto_buf struct koda_buf text = KODA_BUF_INIT(1 << 20);
		struct egress_hello hello;
		const char *code = NULL;

		message(&text, TEXT(SNI_A ALPN VERSIONS ECH));
		records(&raw, &text, size);
		assert_int_equal(feed_all_ways("records", &raw, &hello, &code), EGRESS_HELLO_DONE);
		assert_string_equal(hello.name, "a.example");
		assert_int_equal(hello.name_len, 9);
		assert_true(hello.has_name && hello.ech);
		assert_int_equal(hello.version, 0x0304);
		assert_true(egress_hello_offers(&hello, "h2"));
		assert_true(egress_hello_offers(&hello, "http/1.1"));
		assert_false(egress_hello_offers(&hello, "http/1.0"));
		assert_false(egress_hello_offers(&hello, "h"));
	}
}

static const struct {
	const char *name;
	const char *raw;
	size_t len;
	enum egress_hello_state want;
} raws[] = {
	{ "HTTP", TEXT("GET / HTTP/1.1\r\n"), EGRESS_HELLO_NOT_TLS },
	{ "SSL 2", TEXT("\x80\x2e\x01\x03\x01"), EGRESS_HELLO_BAD },
	{ "another major version", TEXT("\x16\x02\x01\0\5"), EGRESS_HELLO_BAD },
	{ "an alert first", TEXT("\x15\3\1\0\2\1\x5a"), EGRESS_HELLO_BAD },
	{ "data first", TEXT("\x17\3"), EGRESS_HELLO_BAD },
	{ "an alert, perhaps", TEXT("\x15"), EGRESS_HELLO_BAD },
	{ "an alert of no version", TEXT("\x15\2\0\0\2\1\x5a"), EGRESS_HELLO_BAD },
	{ "no version", TEXT("\x16\0\0\0\5"), EGRESS_HELLO_BAD },
	{ "a later major version", TEXT("\x16\x0f\1\0\5"), EGRESS_HELLO_BAD },
	{ "below the kinds of records", TEXT("\x13\3\1"), EGRESS_HELLO_NOT_TLS },
	{ "above them", TEXT("\x19\3\1"), EGRESS_HELLO_NOT_TLS },
	{ "record header only", TEXT("\x16\3\1\0\5"), EGRESS_HELLO_MORE },
	{ "empty record", TEXT("\x16\3\1\0\0"), EGRESS_HELLO_BAD },
	{ "over-long record", TEXT("\x16\3\1\x40\1"), EGRESS_HELLO_BAD },
	{ "ServerHello", TEXT("\x16\3\1\0\5\2"), EGRESS_HELLO_BAD },
	{ "another record in between", TEXT("\x16\3\1\0\1\1\x14\3\1\0\1\1"), EGRESS_HELLO_BAD },
	{ "message longer than allowed", TEXT("\x16\3\1\0\4\1\0\x40\0"), EGRESS_HELLO_BAD },
	{ "message as long as allowed", TEXT("\x16\3\1\0\4\1\0\x3f\xfc"), EGRESS_HELLO_MORE },
	{ "message too short", TEXT("\x16\3\1\0\5\1\0\0\1\3"), EGRESS_HELLO_BAD },
	{ "something behind the message", TEXT("\x16\3\1\0\6\1\0\0\1\3\1"), EGRESS_HELLO_BAD },
	{ "nothing", TEXT(""), EGRESS_HELLO_MORE },
};

static void judges_records(void **state)
{
	(void)state;
	KODA_EACH(row, raws) {
		koda_auto_buf struct koda_buf raw = KODA_BUF_INIT(1 << 20);
		struct egress_hello hello;
		const char *code = NULL;

		put(&raw, row->raw, row->len);
		KODA_EXPECT(row->name, feed_all_ways(row->name, &raw, &hello, &code) == row->want);
	}
}

/* One byte in each record: more records than the limit. */
static void bounds_records(void **state)
{
	koda_auto_buf struct koda_buf raw = KODA_BUF_INIT(1 << 20);
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(1 << 20);
	struct egress_hello hello;
	const char *code = NULL;

	(void)state;
	message(&text, TEXT(SNI_A ALPN));
	assert_true(text.len > EGRESS_HELLO_RECORDS_MAX);
	records(&raw, &text, 1);
	assert_int_equal(feed(&raw, raw.len, 1, &hello, &code), EGRESS_HELLO_BAD);
	assert_string_equal(code, "bad_tls_record");
}

/* A ClientHello and one more byte in its record. */
static void refuses_company(void **state)
{
	koda_auto_buf struct koda_buf raw = KODA_BUF_INIT(1 << 20);
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(1 << 20);
	struct egress_hello hello;
	const char *code = NULL;

	(void)state;
	message(&text, TEXT(SNI_A));
	put(&text, "\0", 1);
	records(&raw, &text, 16384);
	assert_int_equal(feed_all_ways("company", &raw, &hello, &code), EGRESS_HELLO_BAD);
	assert_string_equal(code, "bad_client_hello");
}

static void accepts_old_hellos(void **state)
{
	koda_auto_buf struct koda_buf raw = KODA_BUF_INIT(1 << 20);
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(1 << 20);
	struct egress_hello hello;
	const char *code = NULL;

	(void)state;
	message(&text, NULL, 0);
	records(&raw, &text, 16384);
	assert_int_equal(feed(&raw, raw.len, 1, &hello, &code), EGRESS_HELLO_DONE);
	assert_false(hello.has_name);
	assert_int_equal(hello.version, 0x0303);
}

/* What hides a name, or lets a server ask for another hello, in drafts as well. */
static void knows_drafts(void **state)
{
	static const struct {
		const char *name;
		const char *extensions;
		size_t len;
		bool ech;
		bool retriable;
	} drafts[] = {
		{ "TLS 1.2", TEXT("\0\x2b\0\3\2\3\3"), false, false },
		{ "nothing", TEXT(SNI_A), false, false },
		{ "TLS 1.3", TEXT(VERSIONS), false, true },
		{ "TLS 1.3 before it was one", TEXT("\0\x2b\0\5\4\x7f\x1c\3\3"), false, true },
		{ "a version of somebody's own", TEXT("\0\x2b\0\5\4\3\3\xfb\x1a"), false, true },
		{ "ECH", TEXT(ECH), true, false },
		{ "ECH of draft 8", TEXT("\xfe\x08\0\0"), true, false },
		{ "ECH of draft 10", TEXT("\xfe\x0a\0\0"), true, false },
		{ "ECH of draft 7", TEXT("\xff\x02\0\0"), true, false },
		{ "its predecessor", TEXT("\xff\xce\0\0"), true, false },
		{ "something else", TEXT("\xfe\x0e\0\0\xfe\x07\0\0"), false, false },
	};

	(void)state;
	KODA_EACH(row, drafts) {
		koda_auto_buf struct koda_buf raw = KODA_BUF_INIT(1 << 20);
		koda_auto_buf struct koda_buf text = KODA_BUF_INIT(1 << 20);
		struct egress_hello hello;
		const char *code = NULL;

		message(&text, row->extensions, row->len);
		records(&raw, &text, 16384);
		KODA_EXPECT(row->name, feed(&raw, raw.len, 1, &hello, &code) == EGRESS_HELLO_DONE);
		KODA_EXPECT(row->name, hello.ech == row->ech);
		KODA_EXPECT(row->name, hello.retriable == row->retriable);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_drafts),          cmocka_unit_test(judges_extensions),
		cmocka_unit_test(reads_through_records), cmocka_unit_test(judges_records),
		cmocka_unit_test(bounds_records),        cmocka_unit_test(accepts_old_hellos),
		cmocka_unit_test(refuses_company),
	};

	return KODA_TEST_RUN(tests);
}
