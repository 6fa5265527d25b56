/* SPDX-License-Identifier: MIT */
/* Origins that are refused, go away, or cannot be trusted; clients that never were any. */
#include "koda_test.h"

#include "../lib/terminate_rig.h"

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
	assert_non_null(strstr(egress_terminate_failure(rig->t), "has expired"));
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
	egress_tls_end(rig->origin);
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

/* One that came early and left before it was needed is no answer to the first request. */
static void replaces_an_early_origin(void **state)
{
	struct rig *rig = rig_new(origin_cert, ROOM);

	(void)state;
	connect_origin(rig);
	run(rig);
	egress_tls_end(rig->origin);
	run(rig);
	client_says(rig, get);
	assert_int_equal(rig->connects, 2);
	origin_says(rig, ok);
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
			egress_tls_end(rig->origin);
		run(rig);
		egress_terminate_ended(rig->t, EGRESS_ORIGIN);
		run(rig);
		assert_true(rig->closed && client_saw(rig, "part"));
		assert_int_equal(egress_tls_state(rig->client),
				 *is_clean ? EGRESS_TLS_ENDED : EGRESS_TLS_OPEN);
		rig_free(rig);
	}
}

static void ends_with_a_bad_client(void **state)
{
	struct rig *rig = rig_new(origin_cert, ROOM);

	(void)state;
	egress_terminate_feed(rig->t, EGRESS_CLIENT, koda_span_of("GET / HTTP/1.1\r\n\r\n"));
	assert_false(handle(rig));
	assert_true(rig->closed);
	assert_false(egress_terminate_is_open(rig->t));
	assert_non_null(egress_terminate_failure(rig->t));
	rig_free(rig);
	rig = rig_new(origin_cert, ROOM);
	egress_terminate_ended(rig->t, EGRESS_CLIENT);
	assert_false(handle(rig));
	assert_true(rig->closed);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_of_a_bad_certificate),
		cmocka_unit_test(tells_why_it_was_refused),
		cmocka_unit_test(comes_back_to_an_origin),
		cmocka_unit_test(uses_an_early_origin),
		cmocka_unit_test(replaces_an_early_origin),
		cmocka_unit_test(passes_truncation_on),
		cmocka_unit_test(ends_with_a_bad_client),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
