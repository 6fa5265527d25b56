/* SPDX-License-Identifier: MIT */
/* T-75. Requests of terminated connections: each is checked, none goes elsewhere. */
#include "koda_test.h"

#include "../lib/terminate_rig.h"

static void keeps_both_connections(void **state)
{
	static const size_t steps[] = { 1, 7, 1000, ROOM };

	(void)state;
	KODA_EACH(step, steps) {
		struct rig *rig = rig_new(origin_cert, *step);

		client_says(rig, get);
		assert_true(origin_saw(rig, "GET /path?secret=1 HTTP/1.1\r\n"));
		assert_true(origin_saw(rig, "X-Mine: 1\r\n"));
		origin_says(rig, ok);
		assert_true(client_saw(rig, "200 OK") && client_saw(rig, "\r\n\r\nhi"));
		koda_buf_clear(&rig->at_client);
		client_says(rig, "HEAD /second HTTP/1.1\r\nHost: " NAME ":443\r\n\r\n");
		assert_true(origin_saw(rig, "HEAD /second"));
		origin_says(rig, "HTTP/1.1 204 No Content\r\n\r\n");
		assert_true(client_saw(rig, "204 No Content"));
		assert_int_equal(rig->connects, 1);
		assert_false(rig->closed);
		/* No query in the log. */
		KODA_ASSERT_SPAN(koda_buf_span(&rig->log), "GET /path 200 -\nHEAD /second 204 -\n");
		egress_tls_end(rig->client);
		run(rig);
		assert_true(rig->closed);
		assert_int_equal(egress_tls_state(rig->client), EGRESS_TLS_ENDED);
		rig_free(rig);
	}
}

static void refuses_other_hosts(void **state)
{
	static const struct {
		const char *name;
		const char *request;
		const char *want;
	} rows[] = {
		{ "same", get, NULL },
		{ "other Host", "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "421" },
		{ "other port", "GET / HTTP/1.1\r\nHost: " NAME ":8443\r\n\r\n", "421" },
		{ "absolute, same", "GET https://" NAME "/ HTTP/1.1\r\nHost: " NAME "\r\n\r\n",
		  NULL },
		{ "absolute, other",
		  "GET https://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", "421" },
		{ "two Hosts", "GET / HTTP/1.1\r\nHost: " NAME "\r\nHost: evil.example\r\n\r\n",
		  "400" },
		{ "bare LF", "GET / HTTP/1.1\nHost: " NAME "\n\n", "400" },
		{ "HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400" },
	};

	(void)state;
	KODA_EACH(row, rows) {
		struct rig *rig = rig_new(origin_cert, ROOM);

		client_says(rig, row->request);
		KODA_EXPECT(row->name, (rig->at_origin.len > 0) == !row->want);
		if (row->want) {
			KODA_EXPECT(row->name, client_saw(rig, row->want));
			KODA_EXPECT(row->name, rig->closed && rig->connects == 0);
		}
		rig_free(rig);
	}
}

/* The second request of a connection is checked like the first. */
static void checks_every_request(void **state)
{
	struct rig *rig = rig_new(origin_cert, ROOM);

	(void)state;
	client_says(rig, get);
	origin_says(rig, ok);
	koda_buf_clear(&rig->at_origin);
	client_says(rig, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n");
	assert_int_equal(rig->at_origin.len, 0);
	assert_true(client_saw(rig, "HTTP/1.1 421"));
	assert_true(rig->closed);
	assert_true(strstr(rig->log.ptr, " 421 ") != NULL);
	rig_free(rig);
}

static void streams_bodies(void **state)
{
	struct rig *rig = rig_new(origin_cert, 13);

	(void)state;
	client_says(rig, "POST /up HTTP/1.1\r\nHost: " NAME "\r\nTransfer-Encoding: chunked\r\n\r\n"
			 "5\r\nhello\r\n");
	assert_true(origin_saw(rig, "hello"));
	client_says(rig, "6\r\n world\r\n0\r\n\r\n");
	assert_true(origin_saw(rig, " world"));
	origin_says(rig, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
	assert_true(client_saw(rig, "abc"));
	origin_says(rig, "0\r\n\r\n");
	assert_false(rig->closed);
	KODA_ASSERT_SPAN(koda_buf_span(&rig->log), "POST /up 200 -\n");
	rig_free(rig);
}

static void carries_large_bodies(void **state)
{
	enum {
		SIZE = 1 << 20,
		PIECE = 16384
	};
	struct rig *rig = rig_new(origin_cert, ROOM);
	struct koda_error err = { 0 };
	char piece[PIECE];

	(void)state;
	client_says(rig, get);
	origin_says(rig, "HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n");
	koda_buf_clear(&rig->at_client);
	for (size_t done = 0; done < SIZE; done += PIECE) {
		memset(piece, 'a' + (int)(done / PIECE) % 26, PIECE);
		KODA_ASSERT_OK(
			egress_tls_write(rig->origin, (struct koda_span){ piece, PIECE }, &err),
			err);
		run(rig);
	}
	assert_int_equal(rig->at_client.len, SIZE);
	assert_int_equal(rig->at_client.ptr[SIZE - 1], 'a' + 63 % 26);
	rig_free(rig);
}

static void upgrades(void **state)
{
	struct rig *rig = rig_new(origin_cert, ROOM);

	(void)state;
	client_says(rig, "GET /ws HTTP/1.1\r\nHost: " NAME "\r\nConnection: Upgrade\r\n"
			 "Upgrade: websocket\r\n\r\n");
	origin_says(rig, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
			 "Upgrade: websocket\r\n\r\nfirst");
	assert_true(client_saw(rig, "101 Switching") && client_saw(rig, "first"));
	client_says(rig, "any bytes at all");
	assert_true(origin_saw(rig, "any bytes at all"));
	egress_tls_end(rig->client);
	run(rig);
	assert_int_equal(egress_tls_state(rig->origin), EGRESS_TLS_ENDED);
	origin_says(rig, "last");
	assert_true(client_saw(rig, "last"));
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_both_connections), cmocka_unit_test(refuses_other_hosts),
		cmocka_unit_test(checks_every_request),   cmocka_unit_test(streams_bodies),
		cmocka_unit_test(carries_large_bodies),   cmocka_unit_test(upgrades),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
