/* SPDX-License-Identifier: MIT */
/* T-70. Exchanges event by event: origins that come and go, and an owner that loses patience. */
#include "egress_exchange.h"

#define GET(host, path) "GET http://" host path " HTTP/1.1\r\nHost: " host "\r\n\r\n"
#define GOT(host, path) "GET " path " HTTP/1.1\r\nHost: " host "\r\n\r\n"
#define OK2             "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

/* Origins that close a kept connection under a request. */
static void retries_what_is_safe(void **state)
{
	const struct scene safe = {
		.name = "retry",
		.client = GET("a.example", "/1") GET("a.example", "/2"),
		.origins = (const struct origin[]){ { .sends = OK2 "\v", .closes = true },
						    { .sends = OK2 },
						    { NULL } },
		.to_client = OK2 OK2,
		.log = "GET a.example:80/1 200 - 0/2\nGET a.example:80/2 200 - 0/2\n",
	};
	static const struct egress_route route;
	static const char second[] = "DELETE http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n";
	struct egress_port port[2] = { { .room = 4096 }, { .room = 4096 } };
	struct egress_exchange *x = egress_exchange_new(NULL, 0);
	struct egress_output out;

	(void)state;
	check_scene(&safe);
	/* The connection is there when the request is allowed, and gone when it was sent. */
	assert_non_null(x);
	for (int unsafe = 0; unsafe < 2; unsafe++) {
		struct koda_span text = koda_span_of(unsafe ? second : GET("a.example", "/"));

		port[EGRESS_CLIENT].in = text;
		assert_int_equal(egress_exchange_next(x, port, &out), EGRESS_EV_WANT_ORIGIN);
		egress_exchange_allowed(x, true, &route);
		assert_int_equal(egress_exchange_next(x, port, &out), EGRESS_EV_SEND);
		assert_int_equal(egress_exchange_next(x, port, &out), EGRESS_EV_WAIT);
		port[EGRESS_ORIGIN].eof = true;
		assert_int_equal(egress_exchange_next(x, port, &out), EGRESS_EV_DROP_ORIGIN);
		if (unsafe)
			break;
		assert_int_equal(egress_exchange_next(x, port, &out), EGRESS_EV_WANT_ORIGIN);
		assert_true(out.request.retry);
		egress_exchange_allowed(x, false, &route);
		port[EGRESS_ORIGIN].room = 4096;
		assert_int_equal(egress_exchange_next(x, port, &out), EGRESS_EV_SEND);
		KODA_ASSERT_SPAN(out.bytes, GOT("a.example", "/"));
		port[EGRESS_ORIGIN].in = koda_span_of(OK2);
		while (egress_exchange_next(x, port, &out) != EGRESS_EV_LOG)
			assert_int_equal(egress_exchange_step(x, port), EGRESS_EXCHANGE_RESPONSE);
		assert_int_equal(out.record.status, 200);
		assert_int_equal(egress_exchange_next(x, port, &out), EGRESS_EV_WAIT);
		assert_int_equal(egress_exchange_step(x, port), EGRESS_EXCHANGE_IDLE);
	}
	assert_int_equal(egress_exchange_next(x, port, &out), EGRESS_EV_LOG);
	assert_int_equal(out.record.status, 502);
	egress_exchange_free(x);
}

/* Bytes on a kept connection before a request are not its response. */
static void refuses_answers_to_nothing(void **state)
{
	static const struct egress_route route;
	struct egress_port port[2] = { { .in = koda_span_of(GET("a.example", "/")), .room = 4096 },
				       { .room = 4096 } };
	struct egress_exchange *x = egress_exchange_new(NULL, 0);
	struct egress_output out;

	(void)state;
	assert_non_null(x);
	assert_int_equal(egress_exchange_next(x, port, &out), EGRESS_EV_WANT_ORIGIN);
	port[EGRESS_ORIGIN].in = koda_span_of(OK2);
	egress_exchange_allowed(x, true, &route);
	assert_int_equal(egress_exchange_next(x, port, &out), EGRESS_EV_DROP_ORIGIN);
	assert_int_equal(port[EGRESS_ORIGIN].in.len, 0);
	assert_int_equal(egress_exchange_next(x, port, &out), EGRESS_EV_WANT_ORIGIN);
	assert_true(out.request.retry);
	egress_exchange_free(x);
}

/* An origin that says something, or goes, between two requests is let go at once. */
static void drops_restless_origins(void **state)
{
	static const struct egress_route route;

	(void)state;
	for (int gone = 0; gone < 2; gone++) {
		struct egress_port port[2] = { { .in = koda_span_of(GET("a.example", "/")),
						 .room = 4096 },
					       { .room = 4096 } };
		struct egress_exchange *x = egress_exchange_new(NULL, 0);
		struct egress_output out;

		assert_non_null(x);
		assert_int_equal(egress_exchange_next(x, port, &out), EGRESS_EV_WANT_ORIGIN);
		egress_exchange_allowed(x, false, &route);
		port[EGRESS_ORIGIN].in = koda_span_of(OK2);
		while (egress_exchange_next(x, port, &out) != EGRESS_EV_LOG)
			;
		assert_int_equal(egress_exchange_next(x, port, &out), EGRESS_EV_WAIT);
		if (gone)
			port[EGRESS_ORIGIN].eof = true;
		else
			port[EGRESS_ORIGIN].in = koda_span_of("x");
		assert_int_equal(egress_exchange_next(x, port, &out), EGRESS_EV_DROP_ORIGIN);
		assert_int_equal(egress_exchange_next(x, port, &out), EGRESS_EV_WAIT);
		egress_exchange_free(x);
	}
}

/* The owner's deadlines, before and in the middle of an answer. */
static void ends_when_told(void **state)
{
	static const struct egress_route route;
	struct egress_refusal late = { .status = 504, .code = "timeout" };

	(void)state;
	for (int begun = 0; begun < 2; begun++) {
		struct egress_port port[2] = { { .in = koda_span_of(GET("a.example", "/")),
						 .room = 4096 },
					       { .room = 4096 } };
		struct egress_exchange *x = egress_exchange_new(NULL, 0);
		struct egress_output out;

		assert_non_null(x);
		assert_int_equal(egress_exchange_next(x, port, &out), EGRESS_EV_WANT_ORIGIN);
		assert_int_equal(egress_exchange_step(x, port), EGRESS_EXCHANGE_ORIGIN);
		egress_exchange_allowed(x, false, &route);
		if (begun)
			port[EGRESS_ORIGIN].in = koda_span_of("HTTP/1.1 200 OK\r\n\r\nx");
		while (egress_exchange_next(x, port, &out) != EGRESS_EV_WAIT)
			;
		egress_exchange_refused(x, &late);
		assert_int_equal(egress_exchange_next(x, port, &out), EGRESS_EV_DROP_ORIGIN);
		assert_int_equal(egress_exchange_next(x, port, &out), EGRESS_EV_LOG);
		assert_int_equal(out.record.status, begun ? 200 : 504);
		assert_string_equal(out.record.refusal->code, "timeout");
		if (!begun)
			assert_int_equal(egress_exchange_next(x, port, &out), EGRESS_EV_SEND);
		assert_int_equal(egress_exchange_next(x, port, &out), EGRESS_EV_CLOSE);
		assert_int_equal(egress_exchange_next(x, port, &out), EGRESS_EV_CLOSE);
		assert_int_equal(egress_exchange_step(x, port), EGRESS_EXCHANGE_OVER);
		egress_exchange_free(x);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(retries_what_is_safe),
		cmocka_unit_test(refuses_answers_to_nothing),
		cmocka_unit_test(drops_restless_origins),
		cmocka_unit_test(ends_when_told),
	};

	return KODA_TEST_RUN(tests);
}
