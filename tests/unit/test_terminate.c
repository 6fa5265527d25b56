/* SPDX-License-Identifier: MIT */
#include "koda_test.h"

#include "terminate.h"
#include "tls_client.h"
#include "tls_server.h"

#include "../lib/certs.h"
#include "base/fd.h"

#define ROOM   ((size_t)4 << 20)
#define ROUNDS 200000
#define NAME   "api.example.org"

static EVP_PKEY *key;
static X509 *root, *origin_cert, *bad_cert;
static struct koda_tls_server *server;
static struct koda_tls_client *client;

static int set_up(void **state)
{
	static const struct cert_spec ca_spec = { 0 };
	static const struct cert_spec expired = { .name = "server",
						  .basic = "critical,CA:FALSE",
						  .usage = "critical,digitalSignature",
						  .alt = "DNS:" NAME,
						  .from_days = -9,
						  .until_days = -1 };
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(ROOM);
	struct koda_error err = { 0 };
	struct koda_ca *ca = NULL;
	koda_auto_fd int fd = -1;

	(void)state;
	key = EVP_EC_gen("P-256");
	root = certs_make(&ca_spec, key, NULL, NULL);
	origin_cert = certs_server("DNS:" NAME, key, root, key);
	bad_cert = certs_make(&expired, key, root, key);
	certs_add_pem(root, &text);
	KODA_ASSERT_OK(koda_tls_setup(&err), err);
	KODA_ASSERT_OK(koda_fd_sealed("roots", text.ptr, text.len, &fd, &err), err);
	KODA_ASSERT_OK(koda_tls_client_new(fd, &client, &err), err);
	certs_add_key_pem(key, NULL, &text);
	KODA_ASSERT_OK(koda_ca_parse(koda_buf_span(&text), (struct koda_span){ NULL, 0 },
				     time(NULL), &ca, &err),
		       err);
	KODA_ASSERT_OK(koda_tls_server_new(ca, &server, &err), err);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	koda_tls_client_free(client);
	koda_tls_server_free(server);
	X509_free(root);
	X509_free(origin_cert);
	X509_free(bad_cert);
	EVP_PKEY_free(key);
	return 0;
}

/* Both peers of a terminated connection, and what they saw. */
struct rig {
	struct koda_terminate *t;
	struct koda_tls *client;
	struct koda_tls *origin;
	SSL_CTX *origin_ctx;
	struct koda_buf at_client;
	struct koda_buf at_origin;
	struct koda_buf log;                  /* "METHOD path status code\n" */
	const struct egress_refusal *refusal; /* answer to WANT_ORIGIN; NULL: connect */
	unsigned int connects;
	bool closed;
	size_t step; /* bytes carried at a time */
};

static struct rig *rig_new(X509 *cert, size_t step)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	struct koda_host host;
	struct koda_error err = { 0 };

	rig->at_client = (struct koda_buf)KODA_BUF_INIT(ROOM);
	rig->at_origin = (struct koda_buf)KODA_BUF_INIT(ROOM);
	rig->log = (struct koda_buf)KODA_BUF_INIT(ROOM);
	rig->step = step;
	KODA_ASSERT_OK(koda_host_parse(koda_span_of(NAME), &host, &err), err);
	KODA_ASSERT_OK(koda_terminate_new(server, client, &host, 443, time(NULL), &rig->t, &err),
		       err);
	KODA_ASSERT_OK(koda_tls_connect(client, &host, 443, &rig->client, &err), err);
	KODA_ASSERT_OK(koda_tls_handshake(rig->client, &err), err);
	rig->origin_ctx = SSL_CTX_new(TLS_server_method());
	assert_int_equal(SSL_CTX_use_certificate(rig->origin_ctx, cert), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey(rig->origin_ctx, key), 1);
	return rig;
}

static void rig_free(struct rig *rig)
{
	koda_terminate_free(rig->t);
	koda_tls_free(rig->client);
	koda_tls_free(rig->origin);
	SSL_CTX_free(rig->origin_ctx);
	koda_buf_clear(&rig->at_client);
	koda_buf_clear(&rig->at_origin);
	koda_buf_clear(&rig->log);
	free(rig);
}

static void connect_origin(struct rig *rig)
{
	SSL *ssl = SSL_new(rig->origin_ctx);
	struct koda_host host;
	struct koda_error err = { 0 };

	rig->connects++;
	SSL_set_accept_state(ssl);
	KODA_ASSERT_OK(koda_host_parse(koda_span_of(NAME), &host, &err), err);
	KODA_ASSERT_OK(koda_tls_new(ssl, &host, 443, &rig->origin, &err), err);
	KODA_ASSERT_OK(koda_terminate_connected(rig->t, &err), err);
}

/* From a peer into the terminated connection. */
static bool carry_in(struct rig *rig, struct koda_tls *from, enum egress_side side)
{
	struct koda_span out = from ? koda_tls_out(from) : (struct koda_span){ NULL, 0 };
	size_t max = rig->step < KODA_TERMINATE_FEED ? rig->step : KODA_TERMINATE_FEED;

	out.len = out.len < max ? out.len : max;
	if (out.len == 0 || !koda_terminate_wants(rig->t, side))
		return false;
	koda_terminate_feed(rig->t, side, out);
	koda_tls_sent(from, out.len);
	return true;
}

/* And out of it to a peer. */
static bool carry_out(struct rig *rig, struct koda_tls *to, enum egress_side side,
		      struct koda_buf *plain)
{
	struct koda_span out = koda_terminate_out(rig->t, side);
	struct koda_error err = { 0 };
	size_t len = out.len < rig->step ? out.len : rig->step;

	if (!to || len == 0)
		return false;
	out.len = len;
	(void)!koda_tls_feed(to, &out, plain, &err);
	koda_terminate_sent(rig->t, side, len);
	return true;
}

static void note_record(struct rig *rig, const struct egress_record *record)
{
	assert_int_equal(koda_buf_addf(&rig->log, "%.*s %.*s %d %s\n", (int)record->method.len,
				       record->method.ptr, (int)record->path.len, record->path.ptr,
				       record->status,
				       record->refusal ? record->refusal->code : "-"),
			 KODA_OK);
}

/* What the owner of the sockets would do. False: nothing was to be done. */
static bool handle(struct rig *rig)
{
	struct koda_terminate_output out;

	switch (koda_terminate_next(rig->t, &out)) {
	case KODA_TERMINATE_WAIT:
		return false;
	case KODA_TERMINATE_WANT_ORIGIN:
		assert_true(out.request.tls);
		if (rig->refusal)
			koda_terminate_refused(rig->t, rig->refusal);
		else
			connect_origin(rig);
		return true;
	case KODA_TERMINATE_DROP_ORIGIN:
		koda_tls_free(rig->origin);
		rig->origin = NULL;
		return true;
	case KODA_TERMINATE_LOG:
		note_record(rig, &out.record);
		return true;
	case KODA_TERMINATE_CLOSE:
		rig->closed = true;
		return false;
	}
	return false;
}

static void run(struct rig *rig)
{
	for (size_t i = 0; i < ROUNDS; i++) {
		bool moved = carry_in(rig, rig->client, EGRESS_CLIENT);

		moved |= carry_in(rig, rig->origin, EGRESS_ORIGIN);
		moved |= handle(rig);
		moved |= carry_out(rig, rig->client, EGRESS_CLIENT, &rig->at_client);
		moved |= carry_out(rig, rig->origin, EGRESS_ORIGIN, &rig->at_origin);
		if (!moved)
			return;
	}
	fail_msg("no end after %d rounds", ROUNDS);
}

static void client_says(struct rig *rig, const char *text)
{
	struct koda_error err = { 0 };

	run(rig);
	KODA_ASSERT_OK(koda_tls_write(rig->client, koda_span_of(text), &err), err);
	run(rig);
}

static void origin_says(struct rig *rig, const char *text)
{
	struct koda_error err = { 0 };

	assert_non_null(rig->origin);
	KODA_ASSERT_OK(koda_tls_write(rig->origin, koda_span_of(text), &err), err);
	run(rig);
}

static bool client_saw(const struct rig *rig, const char *words)
{
	return rig->at_client.len && strstr(rig->at_client.ptr, words);
}

static bool origin_saw(const struct rig *rig, const char *words)
{
	return rig->at_origin.len && strstr(rig->at_origin.ptr, words);
}

static const char get[] = "GET /path?secret=1 HTTP/1.1\r\nHost: " NAME "\r\nX-Mine: 1\r\n\r\n";
static const char ok[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";

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
		koda_tls_end(rig->client);
		run(rig);
		assert_true(rig->closed);
		assert_int_equal(koda_tls_state(rig->client), KODA_TLS_ENDED);
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
			koda_tls_write(rig->origin, (struct koda_span){ piece, PIECE }, &err), err);
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
	koda_tls_end(rig->client);
	run(rig);
	assert_int_equal(koda_tls_state(rig->origin), KODA_TLS_ENDED);
	origin_says(rig, "last");
	assert_true(client_saw(rig, "last"));
	rig_free(rig);
}

static void tells_of_a_bad_certificate(void **state)
{
	struct rig *rig = rig_new(bad_cert, ROOM);

	(void)state;
	client_says(rig, get);
	assert_int_equal(rig->at_origin.len, 0);
	assert_true(client_saw(rig, "HTTP/1.1 502"));
	assert_true(client_saw(rig, "has expired"));
	assert_true(client_saw(rig, "tls_failed"));
	assert_true(rig->closed);
	assert_non_null(strstr(koda_terminate_failure(rig->t), "has expired"));
	rig_free(rig);
}

static void tells_why_it_was_refused(void **state)
{
	static const struct egress_refusal no = { .status = 403,
						  .code = "not_listed",
						  .text = "no rule allows it" };
	struct rig *rig = rig_new(origin_cert, ROOM);

	(void)state;
	rig->refusal = &no;
	client_says(rig, get);
	assert_true(client_saw(rig, "HTTP/1.1 403") && client_saw(rig, "not_listed"));
	assert_int_equal(rig->connects, 0);
	assert_true(rig->closed);
	rig_free(rig);
}

/* An origin that closed between two requests is connected to again. */
static void comes_back_to_an_origin(void **state)
{
	struct rig *rig = rig_new(origin_cert, ROOM);

	(void)state;
	client_says(rig, get);
	origin_says(rig, ok);
	koda_tls_end(rig->origin);
	run(rig);
	koda_buf_clear(&rig->at_client);
	client_says(rig, get);
	assert_int_equal(rig->connects, 2);
	origin_says(rig, ok);
	assert_true(client_saw(rig, "200 OK"));
	rig_free(rig);
}

/* The origin's connection may be there before the first request. */
static void uses_an_early_origin(void **state)
{
	struct rig *rig = rig_new(origin_cert, 100);

	(void)state;
	connect_origin(rig);
	client_says(rig, get);
	assert_true(origin_saw(rig, "GET /path"));
	origin_says(rig, ok);
	assert_int_equal(rig->connects, 1);
	assert_true(client_saw(rig, "200 OK"));
	rig_free(rig);
}

/* Without the origin's word that this was all, the client does not get ours. */
static void passes_truncation_on(void **state)
{
	static const bool clean[] = { true, false };

	(void)state;
	KODA_EACH(is_clean, clean) {
		struct rig *rig = rig_new(origin_cert, ROOM);

		client_says(rig, get);
		origin_says(rig, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\npart");
		if (*is_clean)
			koda_tls_end(rig->origin);
		run(rig);
		koda_terminate_ended(rig->t, EGRESS_ORIGIN);
		run(rig);
		assert_true(rig->closed && client_saw(rig, "part"));
		assert_int_equal(koda_tls_state(rig->client),
				 *is_clean ? KODA_TLS_ENDED : KODA_TLS_OPEN);
		rig_free(rig);
	}
}

static void ends_with_a_bad_client(void **state)
{
	struct rig *rig = rig_new(origin_cert, ROOM);

	(void)state;
	koda_terminate_feed(rig->t, EGRESS_CLIENT, koda_span_of("GET / HTTP/1.1\r\n\r\n"));
	assert_false(handle(rig));
	assert_true(rig->closed);
	assert_false(koda_terminate_is_open(rig->t));
	assert_non_null(koda_terminate_failure(rig->t));
	rig_free(rig);
	rig = rig_new(origin_cert, ROOM);
	koda_terminate_ended(rig->t, EGRESS_CLIENT);
	assert_false(handle(rig));
	assert_true(rig->closed);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_both_connections),
		cmocka_unit_test(refuses_other_hosts),
		cmocka_unit_test(checks_every_request),
		cmocka_unit_test(streams_bodies),
		cmocka_unit_test(carries_large_bodies),
		cmocka_unit_test(upgrades),
		cmocka_unit_test(tells_of_a_bad_certificate),
		cmocka_unit_test(tells_why_it_was_refused),
		cmocka_unit_test(comes_back_to_an_origin),
		cmocka_unit_test(uses_an_early_origin),
		cmocka_unit_test(passes_truncation_on),
		cmocka_unit_test(ends_with_a_bad_client),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
