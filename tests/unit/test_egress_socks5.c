/* SPDX-License-Identifier: MIT */
/* SOCKS5 conversations, cut into pieces in every way. */
#include "koda_test.h"

#include "base/buf.h"
#include "proto/socks5.h"

#include <errno.h>

#define TEXT(literal) (literal), sizeof(literal) - 1
#define HELLO         "\5\1\0"

struct talk {
	enum egress_socks_event end; /* CLOSE, MORE or CONNECT */
	size_t sent;                 /* bytes the client gets */
	unsigned char bytes[32];
	char host[KODA_HOST_NAME_MAX + 1];
	uint16_t port;
	size_t early; /* bytes behind the request */
};

static void note(struct talk *talk, struct koda_span bytes)
{
	assert_true(talk->sent + bytes.len <= sizeof(talk->bytes));
	if (bytes.len)
		memcpy(talk->bytes + talk->sent, bytes.ptr, bytes.len);
	talk->sent += bytes.len;
}

static struct talk hold(const char *text, size_t len, size_t cut, size_t step)
{
	struct talk talk = { .end = EGRESS_SOCKS_MORE };
	struct egress_socks socks = { 0 };
	struct egress_socks_output out = { 0 };
	size_t taken = 0;
	size_t end = cut;

	for (;;) {
		struct koda_span in = { text + taken, end - taken };

		do {
			talk.end = egress_socks5_next(&socks, &in, &out);
			if (talk.end == EGRESS_SOCKS_SEND || talk.end == EGRESS_SOCKS_CLOSE)
				note(&talk, out.bytes);
		} while (talk.end == EGRESS_SOCKS_SEND);
		taken = end - in.len;
		if (talk.end != EGRESS_SOCKS_MORE || end == len)
			break;
		end = end + step < len ? end + step : len;
	}
	if (talk.end == EGRESS_SOCKS_CONNECT) {
		if (out.host.is_addr)
			koda_addr_format(&out.host.addr, talk.host);
		else
			memcpy(talk.host, out.host.name, out.host.len + 1);
		talk.port = out.port;
		talk.early = len - taken;
	}
	/* Nothing is read behind the last answer. */
	if (talk.end != EGRESS_SOCKS_MORE) {
		struct koda_span in = koda_span_of(HELLO "\5\1");

		assert_int_equal(egress_socks5_next(&socks, &in, &out), EGRESS_SOCKS_CLOSE);
		assert_true(in.len > 0 && out.bytes.len == 0);
	}
	return talk;
}

static bool same(const struct talk *a, const struct talk *b)
{
	return a->end == b->end && a->sent == b->sent && memcmp(a->bytes, b->bytes, a->sent) == 0 &&
	       strcmp(a->host, b->host) == 0 && a->port == b->port && a->early == b->early;
}

static const struct {
	const char *name;
	const char *text;
	size_t len;
	enum egress_socks_event end;
	int reply;        /* in the last answer; -1: none, -2: no acceptable method */
	const char *host; /* CONNECT */
	size_t early;
} rows[] = {
	{ "name",
	  TEXT(HELLO "\5\1\0\3\x09"
		     "A.example\x01\xbb"
		     "early"),
	  EGRESS_SOCKS_CONNECT, -1, "a.example", 5 },
	{ "several methods",
	  TEXT("\5\3\2\1\0"
	       "\5\1\0\3\x09"
	       "a.example\x01\xbb"),
	  EGRESS_SOCKS_CONNECT, -1, "a.example", 0 },
	{ "IPv4", TEXT(HELLO "\5\1\0\1\x7f\0\0\1\x01\xbb"), EGRESS_SOCKS_CONNECT, -1, "127.0.0.1",
	  0 },
	{ "IPv6", TEXT(HELLO "\5\1\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\x01\xbb"),
	  EGRESS_SOCKS_CONNECT, -1, "::1", 0 },
	{ "mapped IPv6", TEXT(HELLO "\5\1\0\4\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\1\x01\xbb"),
	  EGRESS_SOCKS_CONNECT, -1, "127.0.0.1", 0 },
	{ "address as a name",
	  TEXT(HELLO "\5\1\0\3\x0a"
		     "0x7f000001\x01\xbb"),
	  EGRESS_SOCKS_CONNECT, -1, "127.0.0.1", 0 },
	{ "password wanted only", TEXT("\5\1\2"), EGRESS_SOCKS_CLOSE, -2, NULL, 0 },
	{ "no methods", TEXT("\5\0"), EGRESS_SOCKS_CLOSE, -2, NULL, 0 },
	{ "SOCKS4", TEXT("\4\1\0\x50\x7f\0\0\1\0"), EGRESS_SOCKS_CLOSE, -1, NULL, 0 },
	{ "wrong version in the request", TEXT(HELLO "\4\1\0\1\x7f\0\0\1\x01\xbb"),
	  EGRESS_SOCKS_CLOSE, -1, NULL, 0 },
	{ "BIND", TEXT(HELLO "\5\2\0\1\x7f\0\0\1\x01\xbb"), EGRESS_SOCKS_CLOSE, 7, NULL, 0 },
	{ "UDP", TEXT(HELLO "\5\3\0\1\0\0\0\0\0\0"), EGRESS_SOCKS_CLOSE, 7, NULL, 0 },
	{ "unknown command", TEXT(HELLO "\5\4\0\1"), EGRESS_SOCKS_CLOSE, 7, NULL, 0 },
	{ "reserved byte", TEXT(HELLO "\5\1\1\1\x7f\0\0\1\x01\xbb"), EGRESS_SOCKS_CLOSE, 1, NULL,
	  0 },
	{ "unknown address type", TEXT(HELLO "\5\1\0\2\x7f"), EGRESS_SOCKS_CLOSE, 8, NULL, 0 },
	{ "empty name", TEXT(HELLO "\5\1\0\3\0\x01\xbb"), EGRESS_SOCKS_CLOSE, 1, NULL, 0 },
	{ "NUL in the name",
	  TEXT(HELLO "\5\1\0\3\x0e"
		     "evil\0a.example\x01\xbb"),
	  EGRESS_SOCKS_CLOSE, 1, NULL, 0 },
	{ "line end in the name",
	  TEXT(HELLO "\5\1\0\3\x0b"
		     "a\r\n.example\x01\xbb"),
	  EGRESS_SOCKS_CLOSE, 1, NULL, 0 },
	{ "port 0",
	  TEXT(HELLO "\5\1\0\3\x09"
		     "a.example\0\0"),
	  EGRESS_SOCKS_CLOSE, 1, NULL, 0 },
	{ "not complete",
	  TEXT(HELLO "\5\1\0\3\x09"
		     "a.example\x01"),
	  EGRESS_SOCKS_MORE, -1, NULL, 0 },
};

static void holds_conversations(void **state)
{
	(void)state;
	KODA_EACH(row, rows) {
		struct talk whole = hold(row->text, row->len, row->len, 1);
		struct talk bytes = hold(row->text, row->len, 0, 1);

		KODA_EXPECT(row->name, same(&whole, &bytes));
		for (size_t cut = 0; cut <= row->len; cut++) {
			struct talk two = hold(row->text, row->len, cut, row->len);

			KODA_EXPECT(row->name, same(&whole, &two));
		}
		KODA_EXPECT(row->name, whole.end == row->end);
		if (row->host) {
			KODA_EXPECT(row->name, strcmp(whole.host, row->host) == 0);
			KODA_EXPECT(row->name, whole.port == 443 && whole.early == row->early);
			KODA_EXPECT(row->name,
				    whole.sent == 2 && memcmp(whole.bytes, "\5\0", 2) == 0);
		}
		if (row->reply == -2)
			KODA_EXPECT(row->name,
				    whole.sent == 2 && memcmp(whole.bytes, "\5\xff", 2) == 0);
		if (row->reply >= 0)
			KODA_EXPECT(row->name, whole.sent == 12 && whole.bytes[2] == 5 &&
						       whole.bytes[3] == row->reply);
	}
}

static void maps_errors(void **state)
{
	static const struct {
		int error;
		enum egress_socks_reply reply;
	} errors[] = {
		{ ECONNREFUSED, EGRESS_SOCKS_REFUSED },
		{ ENETUNREACH, EGRESS_SOCKS_NET_UNREACHABLE },
		{ EHOSTUNREACH, EGRESS_SOCKS_HOST_UNREACHABLE },
		{ ETIMEDOUT, EGRESS_SOCKS_TTL_EXPIRED },
		{ EACCES, EGRESS_SOCKS_NOT_ALLOWED },
		{ EIO, EGRESS_SOCKS_FAILURE },
	};

	(void)state;
	KODA_EACH(row, errors)
		assert_int_equal(egress_socks5_reply_for(row->error), row->reply);
	for (int i = 0; i <= 8; i++) {
		struct koda_span answer = egress_socks5_answer((enum egress_socks_reply)i);

		assert_int_equal(answer.len, 10);
		assert_int_equal(answer.ptr[0], 5);
		assert_int_equal(answer.ptr[1], i);
		assert_int_equal(answer.ptr[3], 1);
	}
	assert_int_equal(egress_socks5_answer((enum egress_socks_reply)99).ptr[1], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holds_conversations),
		cmocka_unit_test(maps_errors),
	};

	return KODA_TEST_RUN(tests);
}
