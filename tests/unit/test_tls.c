/* SPDX-License-Identifier: MIT */
#include "koda_test.h"

#include "../lib/tls_talk.h"

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
		egress_tls_end(t.a);
		run(&t, *step);
		assert_int_equal(egress_tls_state(t.b), EGRESS_TLS_ENDED);
		/* One half is closed, the other still speaks. */
		say(t.b, "!");
		egress_tls_end(t.b);
		run(&t, *step);
		KODA_ASSERT_SPAN(koda_buf_span(&t.at_a), "answer!");
		assert_int_equal(egress_tls_state(t.a), EGRESS_TLS_ENDED);
		end(&t);
	}
}

static void carries_much(void **state)
{
	struct talk t = talk_of(connect_to(*state, "192.0.2.1"), accept_for(*state, "192.0.2.1"));
	koda_auto_free char *bytes = calloc(1, EGRESS_TLS_OUT_HIGH);
	struct koda_error err = { 0 };

	run(&t, ROOM);
	assert_true(both_open(&t));
	for (size_t i = 0; i < EGRESS_TLS_OUT_HIGH; i++)
		bytes[i] = (char)(i * 7 % 251);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(egress_tls_room(t.a), EGRESS_TLS_OUT_HIGH);
		KODA_ASSERT_OK(egress_tls_write(
				       t.a, (struct koda_span){ bytes, EGRESS_TLS_OUT_HIGH }, &err),
			       err);
		assert_int_equal(egress_tls_room(t.a), 0);
		run(&t, 4096);
	}
	assert_int_equal(t.at_b.len, 4 * EGRESS_TLS_OUT_HIGH);
	assert_memory_equal(t.at_b.ptr + 3 * EGRESS_TLS_OUT_HIGH, bytes, EGRESS_TLS_OUT_HIGH);
	end(&t);
}

static void stops_at_the_ceiling(void **state)
{
	struct talk t = talk_of(connect_to(*state, "a.example"), accept_for(*state, "a.example"));
	char bytes[3 * 16384] = { 1 };
	struct koda_error err = { 0 };
	struct koda_span in;

	run(&t, ROOM);
	KODA_ASSERT_OK(egress_tls_write(t.a, (struct koda_span){ bytes, sizeof(bytes) }, &err),
		       err);
	t.at_b.max = 20000;
	in = egress_tls_out(t.a);
	KODA_ASSERT_OK(egress_tls_feed(t.b, &in, &t.at_b, &err), err);
	assert_int_equal(t.at_b.len, 16384);
	assert_true(in.len > 0);
	t.at_b.max = ROOM;
	KODA_ASSERT_OK(egress_tls_feed(t.b, &in, &t.at_b, &err), err);
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
	out = egress_tls_out(t.a);
	assert_int_equal(koda_buf_add(&copy, out.ptr, out.len), KODA_OK);
	copy.ptr[copy.len - 1] ^= 1;
	in = koda_buf_span(&copy);
	KODA_ASSERT_FAILS(KODA_E_DENIED, egress_tls_feed(t.b, &in, &t.at_b, &err), err);
	assert_int_equal(egress_tls_state(t.b), EGRESS_TLS_FAILED);
	assert_int_equal(t.at_b.len, 0);
	assert_true(egress_tls_out(t.b).len > 0);
	assert_int_equal(egress_tls_room(t.b), 0);
	end(&t);
}

static void resumes_sessions(void **state)
{
	for (int i = 0; i < 3; i++) {
		struct talk t = talk_of(connect_to(*state, "resumed.example"),
					accept_for(*state, "resumed.example"));

		run(&t, ROOM);
		assert_true(both_open(&t));
		assert_int_equal(egress_tls_is_resumed(t.a), i > 0);
		assert_int_equal(egress_tls_is_resumed(t.b), i > 0);
		say(t.a, "question");
		run(&t, ROOM);
		KODA_ASSERT_SPAN(koda_buf_span(&t.at_b), "question");
		end(&t);
	}
}

/* A client that offers the session of one host to another starts from the beginning. */
static void keeps_sessions_of_hosts_apart(void **state)
{
	static const char *const names[] = { "one.example", "two.example", "one.example" };
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	SSL_SESSION *session = NULL;

	KODA_EACH(name, names) {
		struct koda_host host = host_of("one.example");
		SSL *ssl = SSL_new(ctx);
		struct koda_error err = { 0 };
		struct egress_tls *client = NULL;
		struct talk t;

		if (session)
			assert_int_equal(SSL_set_session(ssl, session), 1);
		SSL_set_connect_state(ssl);
		KODA_ASSERT_OK(egress_tls_new(ssl, &host, 443, &client, &err), err);
		t = talk_of(client, accept_for(*state, *name));
		run(&t, ROOM);
		assert_true(both_open(&t));
		assert_int_equal(egress_tls_is_resumed(t.b), name == &names[2]);
		if (!session)
			session = SSL_get1_session(ssl);
		end(&t);
	}
	SSL_SESSION_free(session);
	SSL_CTX_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(talks_in_pieces_of_any_size),
		cmocka_unit_test(carries_much),
		cmocka_unit_test(stops_at_the_ceiling),
		cmocka_unit_test(notices_changed_bytes),
		cmocka_unit_test(resumes_sessions),
		cmocka_unit_test(keeps_sessions_of_hosts_apart),
	};

	return cmocka_run_group_tests(tests, make_world, free_world);
}
