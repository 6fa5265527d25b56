/* SPDX-License-Identifier: MIT */
/* Bytes from one socket to another, however little the receiver takes at a time. */
#include "koda_test.h"

#include "io/flow.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

struct rig {
	struct egress_relay relay;
	struct egress_flow flow;
	int from[2]; /* test's end, flow's end */
	int to[2];   /* flow's end, test's end */
};

static void rig_open(struct rig *rig)
{
	struct koda_error err = { 0 };

	*rig = (struct rig){ 0 };
	KODA_ASSERT_OK(egress_relay_init(&rig->relay, 4, &err), err);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, rig->from), 0);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, rig->to), 0);
	rig->flow.readable = true;
}

static void rig_close(struct rig *rig)
{
	egress_flow_clear(&rig->relay, &rig->flow);
	egress_relay_clear(&rig->relay);
	for (int i = 0; i < 2; i++) {
		(void)close(rig->from[i]);
		(void)close(rig->to[i]);
	}
}

static enum egress_flow_state run(struct rig *rig)
{
	return egress_flow_run(&rig->relay, &rig->flow, rig->from[1], rig->to[0]);
}

static void test_little(void **state)
{
	struct rig rig;
	char text[16];

	(void)state;
	rig_open(&rig);
	assert_int_equal(send(rig.from[0], "hello", 5, 0), 5);
	assert_int_equal(run(&rig), EGRESS_FLOW_WAITS);
	assert_int_equal(recv(rig.to[1], text, sizeof(text), 0), 5);
	assert_memory_equal(text, "hello", 5);
	assert_int_equal(rig.flow.bytes, 5);
	assert_null(rig.flow.pipe);
	(void)shutdown(rig.from[0], SHUT_WR);
	rig.flow.readable = true;
	assert_int_equal(run(&rig), EGRESS_FLOW_DONE);
	assert_int_equal(recv(rig.to[1], text, sizeof(text), 0), 0);
	rig_close(&rig);
}

/* A long stream against a receiver that takes it in odd pieces: nothing is lost or changed, a pipe
 * is used, and given back. */
static void test_long(void **state)
{
	static uint8_t out[100000];
	static uint8_t in[100000];
	const uint64_t total = (uint64_t)32 << 20;
	struct koda_rng rng = koda_rng_new();
	uint64_t sent = 0;
	uint64_t got = 0;
	bool piped = false;
	struct rig rig;

	(void)state;
	rig_open(&rig);
	for (size_t rounds = 0; got < total && rounds < 10000000; rounds++) {
		size_t want = koda_rng_below(&rng, sizeof(out));
		ssize_t n;

		if (sent + want > total)
			want = (size_t)(total - sent);
		for (size_t i = 0; i < want; i++)
			out[i] = (uint8_t)((sent + i) * 2654435761U >> 13);
		n = want > 0 ? send(rig.from[0], out, want, MSG_NOSIGNAL) : 0;
		if (n > 0)
			sent += (uint64_t)n;
		rig.flow.readable = true;
		assert_true(run(&rig) >= 0);
		piped = piped || rig.flow.piped > 0;
		n = recv(rig.to[1], in, 1 + koda_rng_below(&rng, sizeof(in) - 1), 0);
		for (ssize_t i = 0; i < n; i++)
			if (in[i] != (uint8_t)((got + (uint64_t)i) * 2654435761U >> 13))
				fail_msg("byte %zu differs", (size_t)got + (size_t)i);
		if (n > 0)
			got += (uint64_t)n;
	}
	assert_true(got == total);
	assert_true(rig.flow.bytes == total);
	assert_true(piped);
	rig.flow.readable = true;
	assert_int_equal(run(&rig), EGRESS_FLOW_WAITS);
	assert_null(rig.flow.pipe);
	assert_int_equal(rig.relay.free_count, rig.relay.pipe_count);
	rig_close(&rig);
}

/* Without a pipe to be had it goes the other way. */
static void test_no_pipes(void **state)
{
	static char block[65536];
	uint64_t got = 0;
	struct rig rig;

	(void)state;
	rig_open(&rig);
	rig.relay.pipe_max = 0;
	for (int i = 0; i < 1000; i++) {
		ssize_t n;

		(void)send(rig.from[0], block, sizeof(block), MSG_NOSIGNAL);
		rig.flow.readable = true;
		assert_true(run(&rig) >= 0);
		while ((n = recv(rig.to[1], block, sizeof(block), 0)) > 0)
			got += (uint64_t)n;
	}
	assert_true(got > 0 && rig.flow.bytes == got);
	assert_int_equal(rig.relay.pipe_count, 0);
	rig_close(&rig);
}

/* Bytes of our own go in order, before what comes later. */
static void test_own_bytes(void **state)
{
	static char block[1 << 20];
	struct rig rig;
	size_t got = 0;
	ssize_t n;

	(void)state;
	rig_open(&rig);
	assert_int_equal(egress_flow_send(&rig.flow, rig.to[0], block, sizeof(block)), KODA_OK);
	assert_true(rig.flow.held_len > 0);
	assert_int_equal(egress_flow_send(&rig.flow, rig.to[0], "end", 3), KODA_OK);
	assert_int_equal(egress_flow_flush(&rig.flow, rig.to[0]), EGRESS_FLOW_WAITS);
	for (int i = 0; i < 10000 && got < sizeof(block) + 3; i++) {
		while ((n = recv(rig.to[1], block, sizeof(block), 0)) > 0)
			got += (size_t)n;
		assert_true(egress_flow_flush(&rig.flow, rig.to[0]) >= 0);
	}
	assert_int_equal(got, sizeof(block) + 3);
	assert_int_equal(egress_flow_flush(&rig.flow, rig.to[0]), EGRESS_FLOW_DONE);
	rig_close(&rig);
}

static void test_broken(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig);
	(void)close(rig.to[1]);
	rig.to[1] = -1;
	assert_int_equal(send(rig.from[0], "hello", 5, 0), 5);
	assert_int_equal(run(&rig), EGRESS_FLOW_BROKEN);
	assert_int_equal(egress_flow_send(&rig.flow, rig.to[0], "x", 1), KODA_E_SYS);
	rig_close(&rig);
}

/* Bytes that could not be kept are a gap; the receiver gets nothing that stands behind it. */
static void test_gap(void **state)
{
	static char much[1 << 20];
	struct egress_budget budget = { .most = 1 };
	struct rig rig;

	(void)state;
	rig_open(&rig);
	rig.flow.budget = &budget;
	assert_int_equal(egress_flow_send(&rig.flow, rig.to[0], much, sizeof(much)), KODA_E_NOMEM);
	budget.most = 1 << 30;
	while (recv(rig.to[1], much, sizeof(much), 0) > 0)
		;
	assert_int_equal(egress_flow_send(&rig.flow, rig.to[0], "x", 1), KODA_E_SYS);
	assert_int_equal(egress_flow_hold(&rig.flow, "x", 1), KODA_E_SYS);
	assert_int_equal(egress_flow_flush(&rig.flow, rig.to[0]), EGRESS_FLOW_BROKEN);
	assert_int_equal(send(rig.from[0], "x", 1, 0), 1);
	assert_int_equal(run(&rig), EGRESS_FLOW_BROKEN);
	assert_true(recv(rig.to[1], much, 1, 0) < 0 && errno == EAGAIN);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_little),   cmocka_unit_test(test_long),
		cmocka_unit_test(test_no_pipes), cmocka_unit_test(test_own_bytes),
		cmocka_unit_test(test_broken),   cmocka_unit_test(test_gap),
	};

	return KODA_TEST_RUN(tests);
}
