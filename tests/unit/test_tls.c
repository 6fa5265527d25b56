/* SPDX-License-Identifier: MIT */
#include "koda_test.h"

#include "tls_client.h"
#include "tls_server.h"

#include "../lib/certs.h"
#include "base/fd.h"

#include <openssl/err.h>

#define ROOM   ((size_t)512 << 10)
#define ROUNDS 100000

static struct koda_error ignored;

static struct koda_host host_of(const char *text)
{
	struct koda_host host;

	KODA_ASSERT_OK(koda_host_parse(koda_span_of(text), &host, &ignored), ignored);
	return host;
}

struct world {
	EVP_PKEY *key; /* of the root and of all servers */
	X509 *root;
	struct koda_tls_server *server; /* ours, signing with root */
	struct koda_tls_client *client; /* ours, trusting root */
};

static int make_world(void **state)
{
	static struct world w;
	static const struct cert_spec spec = { 0 };
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(ROOM);
	struct koda_error err = { 0 };
	struct koda_ca *ca = NULL;
	koda_auto_fd int fd = -1;

	w.key = EVP_EC_gen("P-256");
	w.root = certs_make(&spec, w.key, NULL, NULL);
	certs_add_pem(w.root, &text);
	KODA_ASSERT_OK(koda_tls_setup(&err), err);
	KODA_ASSERT_OK(koda_fd_sealed("roots", text.ptr, text.len, &fd, &err), err);
	KODA_ASSERT_OK(koda_tls_client_new(fd, &w.client, &err), err);
	certs_add_key_pem(w.key, NULL, &text);
	KODA_ASSERT_OK(koda_ca_parse(koda_buf_span(&text), (struct koda_span){ NULL, 0 },
				     time(NULL), &ca, &err),
		       err);
	KODA_ASSERT_OK(koda_tls_server_new(ca, &w.server, &err), err);
	*state = &w;
	return 0;
}

static int free_world(void **state)
{
	struct world *w = *state;

	koda_tls_client_free(w->client);
	koda_tls_server_free(w->server);
	X509_free(w->root);
	EVP_PKEY_free(w->key);
	return 0;
}

static struct koda_tls *accept_for(struct world *w, const char *name)
{
	struct koda_host host = host_of(name);
	struct koda_error err = { 0 };
	struct koda_tls *tls = NULL;

	KODA_ASSERT_OK(koda_tls_accept(w->server, &host, time(NULL), &tls, &err), err);
	return tls;
}

static struct koda_tls *connect_to(struct world *w, const char *name)
{
	struct koda_host host = host_of(name);
	struct koda_error err = { 0 };
	struct koda_tls *tls = NULL;

	KODA_ASSERT_OK(koda_tls_connect(w->client, &host, 443, &tls, &err), err);
	return tls;
}

/* Carries at most step bytes from one to the other; false if there was nothing. */
static bool carry(struct koda_tls *from, struct koda_tls *to, size_t step, struct koda_buf *plain,
		  struct koda_error *err)
{
	struct koda_span out = koda_tls_out(from);
	struct koda_span in = { out.ptr, out.len < step ? out.len : step };
	size_t len = in.len;

	if (len == 0 || koda_tls_state(to) == KODA_TLS_FAILED)
		return false;
	(void)!koda_tls_feed(to, &in, plain, err);
	koda_tls_sent(from, len - in.len);
	return len != in.len;
}

struct talk {
	struct koda_tls *a, *b;     /* client, server */
	struct koda_buf at_a, at_b; /* plaintext that arrived */
	struct koda_error err_a, err_b;
};

static void run(struct talk *t, size_t step)
{
	(void)!koda_tls_handshake(t->a, &t->err_a);
	for (size_t i = 0; i < ROUNDS; i++) {
		bool moved = carry(t->a, t->b, step, &t->at_b, &t->err_b);

		if (!carry(t->b, t->a, step, &t->at_a, &t->err_a) && !moved)
			return;
	}
	fail_msg("no end after %d rounds", ROUNDS);
}

static struct talk talk_of(struct koda_tls *a, struct koda_tls *b)
{
	return (struct talk){
		.a = a, .b = b, .at_a = KODA_BUF_INIT(ROOM), .at_b = KODA_BUF_INIT(ROOM)
	};
}

static void end(struct talk *t)
{
	koda_tls_free(t->a);
	koda_tls_free(t->b);
	koda_buf_clear(&t->at_a);
	koda_buf_clear(&t->at_b);
}

static bool both_open(const struct talk *t)
{
	return koda_tls_state(t->a) == KODA_TLS_OPEN && koda_tls_state(t->b) == KODA_TLS_OPEN;
}

static void say(struct koda_tls *tls, const char *text)
{
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_tls_write(tls, koda_span_of(text), &err), err);
}

static void talks_in_pieces_of_any_size(void **state)
{
	static const size_t steps[] = { 1, 2, 3, 5, 7, 64, 1000, ROOM };

	KODA_EACH(step, steps) {
		struct talk t =
			talk_of(connect_to(*state, "a.example"), accept_for(*state, "a.example"));

		run(&t, *step);
		assert_true(both_open(&t));
		say(t.a, "question");
		say(t.b, "answer");
		run(&t, *step);
		KODA_ASSERT_SPAN(koda_buf_span(&t.at_b), "question");
		KODA_ASSERT_SPAN(koda_buf_span(&t.at_a), "answer");
		koda_tls_end(t.a);
		run(&t, *step);
		assert_int_equal(koda_tls_state(t.b), KODA_TLS_ENDED);
		/* One half is closed, the other still speaks. */
		say(t.b, "!");
		koda_tls_end(t.b);
		run(&t, *step);
		KODA_ASSERT_SPAN(koda_buf_span(&t.at_a), "answer!");
		assert_int_equal(koda_tls_state(t.a), KODA_TLS_ENDED);
		end(&t);
	}
}

static void carries_much(void **state)
{
	struct talk t = talk_of(connect_to(*state, "192.0.2.1"), accept_for(*state, "192.0.2.1"));
	koda_auto_free char *bytes = calloc(1, KODA_TLS_OUT_HIGH);
	struct koda_error err = { 0 };

	run(&t, ROOM);
	assert_true(both_open(&t));
	for (size_t i = 0; i < KODA_TLS_OUT_HIGH; i++)
		bytes[i] = (char)(i * 7 % 251);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(koda_tls_room(t.a), KODA_TLS_OUT_HIGH);
		KODA_ASSERT_OK(
			koda_tls_write(t.a, (struct koda_span){ bytes, KODA_TLS_OUT_HIGH }, &err),
			err);
		assert_int_equal(koda_tls_room(t.a), 0);
		run(&t, 4096);
	}
	assert_int_equal(t.at_b.len, 4 * KODA_TLS_OUT_HIGH);
	assert_memory_equal(t.at_b.ptr + 3 * KODA_TLS_OUT_HIGH, bytes, KODA_TLS_OUT_HIGH);
	end(&t);
}

static void stops_at_the_ceiling(void **state)
{
	struct talk t = talk_of(connect_to(*state, "a.example"), accept_for(*state, "a.example"));
	char bytes[3 * 16384] = { 1 };
	struct koda_error err = { 0 };
	struct koda_span in;

	run(&t, ROOM);
	KODA_ASSERT_OK(koda_tls_write(t.a, (struct koda_span){ bytes, sizeof(bytes) }, &err), err);
	t.at_b.max = 20000;
	in = koda_tls_out(t.a);
	KODA_ASSERT_OK(koda_tls_feed(t.b, &in, &t.at_b, &err), err);
	assert_int_equal(t.at_b.len, 16384);
	assert_true(in.len > 0);
	t.at_b.max = ROOM;
	KODA_ASSERT_OK(koda_tls_feed(t.b, &in, &t.at_b, &err), err);
	assert_int_equal(t.at_b.len, sizeof(bytes));
	assert_int_equal(in.len, 0);
	end(&t);
}

static void notices_changed_bytes(void **state)
{
	struct talk t = talk_of(connect_to(*state, "a.example"), accept_for(*state, "a.example"));
	koda_auto_buf struct koda_buf copy = KODA_BUF_INIT(ROOM);
	struct koda_error err = { 0 };
	struct koda_span out, in;

	run(&t, ROOM);
	say(t.a, "question");
	out = koda_tls_out(t.a);
	assert_int_equal(koda_buf_add(&copy, out.ptr, out.len), KODA_OK);
	copy.ptr[copy.len - 1] ^= 1;
	in = koda_buf_span(&copy);
	KODA_ASSERT_FAILS(KODA_E_DENIED, koda_tls_feed(t.b, &in, &t.at_b, &err), err);
	assert_int_equal(koda_tls_state(t.b), KODA_TLS_FAILED);
	assert_int_equal(t.at_b.len, 0);
	assert_true(koda_tls_out(t.b).len > 0);
	assert_int_equal(koda_tls_room(t.b), 0);
	end(&t);
}

static void refuses_another_server_name(void **state)
{
	struct talk t = talk_of(connect_to(*state, "b.example"), accept_for(*state, "a.example"));

	run(&t, ROOM);
	assert_int_equal(koda_tls_state(t.b), KODA_TLS_FAILED);
	assert_int_equal(koda_tls_state(t.a), KODA_TLS_FAILED);
	assert_non_null(strstr(t.err_a.message, "b.example"));
	end(&t);
}

/* What our client says to a server that is not ours and shows this certificate. */
static void meet(struct world *w, struct talk *t, const char *name, X509 *cert,
		 void (*change)(SSL_CTX *ctx))
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	struct koda_host host = host_of(name);
	struct koda_error err = { 0 };
	struct koda_tls *server = NULL;
	SSL *ssl;

	assert_true(SSL_CTX_use_certificate(ctx, cert) == 1);
	assert_true(SSL_CTX_use_PrivateKey(ctx, w->key) == 1);
	if (change)
		change(ctx);
	ssl = SSL_new(ctx);
	SSL_set_accept_state(ssl);
	KODA_ASSERT_OK(koda_tls_new(ssl, &host, 443, &server, &err), err);
	*t = talk_of(connect_to(w, name), server);
	run(t, ROOM);
	SSL_CTX_free(ctx);
}

static void checks_the_origin(void **state)
{
	struct world *w = *state;
	static const struct {
		const char *what;
		const char *name;
		struct cert_spec spec;
		bool self_signed;
		const char *want; /* NULL: trusted */
	} rows[] = {
		{ "good", "a.example", { .alt = "DNS:a.example" }, false, NULL },
		{ "wildcard", "x.a.example", { .alt = "DNS:*.a.example" }, false, NULL },
		{ "wildcard too deep",
		  "x.y.a.example",
		  { .alt = "DNS:*.a.example" },
		  false,
		  "mismatch" },
		{ "wrong name", "b.example", { .alt = "DNS:a.example" }, false, "mismatch" },
		{ "name in the subject only",
		  "c.example",
		  { .name = "c.example" },
		  false,
		  "mismatch" },
		{ "address", "192.0.2.9", { .alt = "IP:192.0.2.9" }, false, NULL },
		{ "other address", "192.0.2.9", { .alt = "IP:192.0.2.8" }, false, "mismatch" },
		{ "address as a name", "192.0.2.9", { .alt = "DNS:192.0.2.9" }, false, "mismatch" },
		{ "expired",
		  "d.example",
		  { .alt = "DNS:d.example", .from_days = -9, .until_days = -1 },
		  false,
		  "expired" },
		{ "not yet",
		  "e.example",
		  { .alt = "DNS:e.example", .from_days = 1 },
		  false,
		  "not yet valid" },
		{ "signed by itself",
		  "f.example",
		  { .alt = "DNS:f.example" },
		  true,
		  "self-signed" },
		{ "not for servers",
		  "g.example",
		  { .alt = "DNS:g.example", .extended = "clientAuth" },
		  false,
		  "purpose" },
	};

	KODA_EACH(row, rows) {
		struct cert_spec spec = row->spec;
		struct talk t;
		X509 *cert;

		spec.name = spec.name ? spec.name : "server";
		spec.basic = "critical,CA:FALSE";
		spec.usage = "critical,digitalSignature";
		cert = certs_make(&spec, w->key, row->self_signed ? NULL : w->root,
				  row->self_signed ? NULL : w->key);
		meet(w, &t, row->name, cert, NULL);
		KODA_EXPECT(row->what, both_open(&t) == !row->want);
		if (row->want && !strstr(t.err_a.message, row->want))
			fail_msg("%s: \"%s\"", row->what, t.err_a.message);
		if (row->want)
			KODA_EXPECT(row->what, koda_tls_state(t.a) == KODA_TLS_FAILED);
		end(&t);
		X509_free(cert);
	}
}

static void only_old(SSL_CTX *ctx)
{
	/* Level 0, or OpenSSL itself would refuse to speak it. */
	SSL_CTX_set_security_level(ctx, 0);
	assert_true(SSL_CTX_set_min_proto_version(ctx, TLS1_VERSION) == 1);
	assert_true(SSL_CTX_set_max_proto_version(ctx, TLS1_1_VERSION) == 1);
}

static void only_12(SSL_CTX *ctx)
{
	assert_true(SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION) == 1);
}

static void offers_h2(SSL_CTX *ctx)
{
	assert_int_equal(SSL_CTX_set_alpn_protos(ctx, (const unsigned char *)"\x02h2", 3), 0);
}

static void offers_both(SSL_CTX *ctx)
{
	assert_int_equal(
		SSL_CTX_set_alpn_protos(ctx, (const unsigned char *)"\x02h2\x08http/1.1", 12), 0);
}

static int choose_h2(SSL *ssl, const unsigned char **ret_name, unsigned char *ret_len,
		     const unsigned char *list, unsigned int len, void *arg)
{
	(void)ssl;
	(void)list;
	(void)len;
	(void)arg;
	*ret_name = (const unsigned char *)"h2";
	*ret_len = 2;
	return SSL_TLSEXT_ERR_OK;
}

static void answers_h2(SSL_CTX *ctx)
{
	SSL_CTX_set_alpn_select_cb(ctx, choose_h2, NULL);
}

static void checks_version_and_protocol_of_the_origin(void **state)
{
	struct world *w = *state;
	static const struct {
		const char *what;
		void (*change)(SSL_CTX *ctx);
		bool open;
	} rows[] = {
		{ "TLS 1.1", only_old, false },
		{ "TLS 1.2", only_12, true },
		{ "HTTP/2", answers_h2, false },
	};
	X509 *cert = certs_server("DNS:v.example", w->key, w->root, w->key);

	KODA_EACH(row, rows) {
		struct talk t;

		meet(w, &t, "v.example", cert, row->change);
		KODA_EXPECT(row->what, (koda_tls_state(t.a) == KODA_TLS_OPEN) == row->open);
		end(&t);
	}
	X509_free(cert);
}

/* A foreign client to our server. */
static void checks_version_and_protocol_of_the_client(void **state)
{
	static const struct {
		const char *what;
		void (*change)(SSL_CTX *ctx);
		bool open;
	} rows[] = {
		{ "TLS 1.1", only_old, false },
		{ "TLS 1.2", only_12, true },
		{ "only HTTP/2", offers_h2, false },
		{ "HTTP/2 and HTTP/1.1", offers_both, true },
	};

	KODA_EACH(row, rows) {
		SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
		struct koda_host host = host_of("a.example");
		struct koda_error err = { 0 };
		struct koda_tls *client = NULL;
		struct talk t;
		SSL *ssl;

		row->change(ctx);
		ssl = SSL_new(ctx);
		SSL_set_connect_state(ssl);
		KODA_ASSERT_OK(koda_tls_new(ssl, &host, 443, &client, &err), err);
		t = talk_of(client, accept_for(*state, "a.example"));
		run(&t, ROOM);
		KODA_EXPECT(row->what, (koda_tls_state(t.b) == KODA_TLS_OPEN) == row->open);
		end(&t);
		SSL_CTX_free(ctx);
	}
}

static void refuses_what_is_not_tls(void **state)
{
	struct koda_tls *tls = accept_for(*state, "a.example");
	koda_auto_buf struct koda_buf plain = KODA_BUF_INIT(ROOM);
	struct koda_span in = koda_span_of("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n");
	struct koda_error err = { 0 };

	KODA_ASSERT_FAILS(KODA_E_DENIED, koda_tls_feed(tls, &in, &plain, &err), err);
	assert_int_equal(koda_tls_state(tls), KODA_TLS_FAILED);
	koda_tls_free(tls);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(talks_in_pieces_of_any_size),
		cmocka_unit_test(carries_much),
		cmocka_unit_test(stops_at_the_ceiling),
		cmocka_unit_test(notices_changed_bytes),
		cmocka_unit_test(refuses_another_server_name),
		cmocka_unit_test(checks_the_origin),
		cmocka_unit_test(checks_version_and_protocol_of_the_origin),
		cmocka_unit_test(checks_version_and_protocol_of_the_client),
		cmocka_unit_test(refuses_what_is_not_tls),
	};

	return cmocka_run_group_tests(tests, make_world, free_world);
}
