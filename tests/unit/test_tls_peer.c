/* SPDX-License-Identifier: MIT */
/* T-74. Peers that are not ours: whom the filter believes, and what it speaks with them. */
#include "koda_test.h"

#include "../lib/tls_talk.h"

static void refuses_another_server_name(void **state)
{
	struct talk t = talk_of(connect_to(*state, "b.example"), accept_for(*state, "a.example"));

	run(&t, ROOM);
	assert_int_equal(egress_tls_state(t.b), EGRESS_TLS_FAILED);
	assert_int_equal(egress_tls_state(t.a), EGRESS_TLS_FAILED);
	assert_non_null(strstr(t.err_a.message, "b.example"));
	end(&t);
}

/* A client that believes everything, so that only the server can refuse. */
static void checks_the_server_name(void **state)
{
	static const struct {
		const char *name; /* NULL: none is sent */
		bool open;
	} rows[] = {
		{ "a.example", true },  { "A.Example", true },    { NULL, true },
		{ "b.example", false }, { "x.a.example", false },
	};

	KODA_EACH(row, rows) {
		SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
		struct koda_host host = host_of("a.example");
		SSL *ssl = SSL_new(ctx);
		struct koda_error err = { 0 };
		struct egress_tls *client = NULL;
		struct talk t;

		if (row->name)
			assert_true(SSL_set_tlsext_host_name(ssl, (char *)(uintptr_t)row->name) ==
				    1);
		SSL_set_connect_state(ssl);
		KODA_ASSERT_OK(egress_tls_new(ssl, &host, 443, &client, &err), err);
		t = talk_of(client, accept_for(*state, "a.example"));
		run(&t, ROOM);
		KODA_EXPECT(row->name ? row->name : "none",
			    (egress_tls_state(t.b) == EGRESS_TLS_OPEN) == row->open);
		end(&t);
		SSL_CTX_free(ctx);
	}
}

/* What our client says to a server that is not ours and shows this certificate. */
static void meet(struct world *w, struct talk *t, const char *name, X509 *cert,
		 void (*change)(SSL_CTX *ctx))
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	struct koda_host host = host_of(name);
	struct koda_error err = { 0 };
	struct egress_tls *server = NULL;
	SSL *ssl;

	assert_true(SSL_CTX_use_certificate(ctx, cert) == 1);
	assert_true(SSL_CTX_use_PrivateKey(ctx, w->key) == 1);
	if (change)
		change(ctx);
	ssl = SSL_new(ctx);
	SSL_set_accept_state(ssl);
	KODA_ASSERT_OK(egress_tls_new(ssl, &host, 443, &server, &err), err);
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
			KODA_EXPECT(row->what, egress_tls_state(t.a) == EGRESS_TLS_FAILED);
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
		KODA_EXPECT(row->what, (egress_tls_state(t.a) == EGRESS_TLS_OPEN) == row->open);
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
		struct egress_tls *client = NULL;
		struct talk t;
		SSL *ssl;

		row->change(ctx);
		ssl = SSL_new(ctx);
		SSL_set_connect_state(ssl);
		KODA_ASSERT_OK(egress_tls_new(ssl, &host, 443, &client, &err), err);
		t = talk_of(client, accept_for(*state, "a.example"));
		run(&t, ROOM);
		KODA_EXPECT(row->what, (egress_tls_state(t.b) == EGRESS_TLS_OPEN) == row->open);
		end(&t);
		SSL_CTX_free(ctx);
	}
}

static void refuses_what_is_not_tls(void **state)
{
	struct egress_tls *tls = accept_for(*state, "a.example");
	koda_auto_buf struct koda_buf plain = KODA_BUF_INIT(ROOM);
	struct koda_span in = koda_span_of("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n");
	struct koda_error err = { 0 };

	KODA_ASSERT_FAILS(KODA_E_DENIED, egress_tls_feed(tls, &in, &plain, &err), err);
	assert_int_equal(egress_tls_state(tls), EGRESS_TLS_FAILED);
	egress_tls_free(tls);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_another_server_name),
		cmocka_unit_test(checks_the_server_name),
		cmocka_unit_test(checks_the_origin),
		cmocka_unit_test(checks_version_and_protocol_of_the_origin),
		cmocka_unit_test(checks_version_and_protocol_of_the_client),
		cmocka_unit_test(refuses_what_is_not_tls),
	};

	return cmocka_run_group_tests(tests, make_world, free_world);
}
