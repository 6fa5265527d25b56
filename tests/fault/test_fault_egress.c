/* SPDX-License-Identifier: MIT */
/* The proxy's protocol code when memory runs out: an error or a closed connection, nothing leaked,
 * and no request or answer cut short as if it were whole. */
#include "../lib/exhaust.h"

#include "base/buf.h"
#include "proto/exchange.h"
#include "proto/upstream.h"

/* More than any of them makes. */
#define ALLOCATIONS_MAX 100

static void upstream_runs_out(void **state)
{
	char one[] = "HTTP_PROXY=http://u:p@one.example:1";
	char two[] = "HTTPS_PROXY=http://u:p@two.example:2";
	char none[] = "NO_PROXY=a.example,10.0.0.0/8";
	char *envp[] = { one, two, none, NULL };

	(void)state;
	for (size_t n = 1; n < ALLOCATIONS_MAX; n++) {
		struct egress_upstream up = { 0 };
		struct koda_error err = { 0 };
		bool failed;
		int r;

		koda_alloc_arm(n, KODA_ALLOC_DRY);
		r = egress_upstream_read(&up, envp, &err);
		failed = koda_alloc_disarm();
		if (!failed) {
			assert_int_equal(r, KODA_OK);
			assert_true(n > 3);
			egress_upstream_clear(&up);
			return;
		}
		assert_int_equal(r, KODA_E_NOMEM);
		assert_false(up.http.set || up.https.set || up.http.auth || up.bypass);
	}
	fail_msg("there is always one more allocation");
}

#define REQUEST "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n"
#define SENT    "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"
#define ANSWER  "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

struct result {
	size_t sent[2]; /* bytes, by side */
	char last[2];   /* the last of them */
	bool over;
	int status; /* as logged */
};

/* One request and its answer. No assertions inside: they would allocate. */
static void run_exchange(struct koda_span request, struct koda_span answer, struct result *result)
{
	static const struct egress_route route;
	struct egress_port port[2] = { { .in = request, .room = SIZE_MAX }, { .room = 0 } };
	struct egress_exchange *x = egress_exchange_new(NULL, 0);
	struct egress_output out;

	for (int i = 0; x && i < 100; i++) {
		enum egress_event event = egress_exchange_next(x, port, &out);

		if (event == EGRESS_EV_SEND) {
			result->sent[out.side] += out.bytes.len;
			result->last[out.side] = out.bytes.ptr[out.bytes.len - 5];
		}
		if (event == EGRESS_EV_LOG)
			result->status = out.record.status;
		if (event == EGRESS_EV_WANT_ORIGIN) {
			egress_exchange_allowed(x, false, &route);
			port[EGRESS_ORIGIN] =
				(struct egress_port){ .in = answer, .room = SIZE_MAX };
		}
		if (event == EGRESS_EV_CLOSE)
			result->over = true;
		if (event == EGRESS_EV_CLOSE || event == EGRESS_EV_WAIT)
			break;
	}
	egress_exchange_free(x);
}

static void exchange_runs_out(void **state)
{
	static const enum koda_alloc_mode modes[] = { KODA_ALLOC_ONCE, KODA_ALLOC_DRY };

	(void)state;
	KODA_EACH(mode, modes) {
		bool failed = true;

		for (size_t n = 1; failed && n < ALLOCATIONS_MAX; n++) {
			struct result result = { .over = false };

			koda_alloc_arm(n, *mode);
			run_exchange(koda_span_of(REQUEST), koda_span_of(ANSWER), &result);
			failed = koda_alloc_disarm();
			assert_true(result.sent[EGRESS_ORIGIN] == 0 ||
				    result.sent[EGRESS_ORIGIN] == sizeof(SENT) - 1);
			if (!failed) {
				assert_int_equal(result.status, 200);
				assert_int_equal(result.sent[EGRESS_CLIENT], sizeof(ANSWER) - 1);
				assert_false(result.over);
				assert_true(n > 3);
			} else if (n > 1) {
				/* Without memory for an answer there is none. */
				assert_true(result.over);
				assert_int_equal(result.status,
						 result.sent[EGRESS_CLIENT] ? 502 : 0);
			}
		}
		assert_false(failed);
	}
}

/* Large chunked bodies in both directions while allocations fail: no receiver gets an end. */
static void bodies_run_out(void **state)
{
	static const char chunk[] = "2000\r\n";
	static char request[9000] = "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\n"
				    "Transfer-Encoding: chunked\r\n\r\n";
	static char answer[9000] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
	char *const texts[] = { request, answer };
	bool failed = true;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char *at = stpcpy(texts[i] + strlen(texts[i]), chunk);

		memset(at, 'x', 0x2000);
		(void)stpcpy(at + 0x2000, "\r\n0\r\n\r\n");
	}
	for (size_t n = 1; failed && n < ALLOCATIONS_MAX; n++) {
		struct result result = { .over = false };
		bool got[2];

		koda_alloc_arm(n, KODA_ALLOC_ONCE);
		run_exchange(koda_span_of(request), koda_span_of(answer), &result);
		failed = koda_alloc_disarm();
		for (int side = 0; side < 2; side++)
			got[side] = result.sent[side] > 0x2000 && result.last[side] == '0';
		assert_true(got[EGRESS_ORIGIN] || result.sent[EGRESS_ORIGIN] < 0x2000);
		assert_int_equal(got[EGRESS_CLIENT], !failed);
		assert_true(got[EGRESS_ORIGIN] || failed);
		assert_true(n == 1 || result.over == failed);
	}
	assert_false(failed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(upstream_runs_out),
		cmocka_unit_test(exchange_runs_out),
		cmocka_unit_test(bodies_run_out),
	};

	return KODA_TEST_RUN(tests);
}
