/* SPDX-License-Identifier: MIT */
/* Messages that carry descriptors, also from a peer that means harm. */
#include "koda_test.h"

#include "../lib/child.h"
#include "base/fd.h"

#include <fcntl.h>
#include <sys/socket.h>

struct pair {
	int a;
	int b;
};

static int open_pair(void **state)
{
	static struct pair pair;

	*state = &pair;
	return koda_fd_socketpair(&pair.a, &pair.b, NULL);
}

static int close_pair(void **state)
{
	struct pair *pair = *state;

	koda_fd_close(&pair->a);
	koda_fd_close(&pair->b);
	return 0;
}

static void a_message_without_descriptors_arrives(void **state)
{
	const struct pair *pair = *state;
	struct koda_error err = { 0 };
	char text[8] = "";
	size_t count = 9;
	size_t len = 0;

	KODA_ASSERT_OK(koda_fd_send(pair->a, "he\0lo", 5, NULL, 0, &err), err);
	KODA_ASSERT_OK(koda_fd_receive(pair->b, text, sizeof(text), &len, NULL, 0, &count, &err),
		       err);
	assert_int_equal(len, 5);
	assert_memory_equal(text, "he\0lo", 5);
	assert_int_equal(count, 0);
}

static void descriptors_arrive_in_order_and_close_on_exec(void **state)
{
	const struct pair *pair = *state;
	struct koda_error err = { 0 };
	int given[KODA_FD_PASS_MAX];
	int got[KODA_FD_PASS_MAX];
	size_t count = 0;
	size_t len = 0;
	char byte;

	for (size_t i = 0; i < KODA_FD_PASS_MAX; i++) {
		byte = (char)('0' + i);
		KODA_ASSERT_OK(koda_fd_sealed("x", &byte, 1, &given[i], &err), err);
	}
	KODA_ASSERT_OK(koda_fd_send(pair->a, "x", 1, given, KODA_FD_PASS_MAX, &err), err);
	KODA_ASSERT_OK(
		koda_fd_receive(pair->b, &byte, 1, &len, got, KODA_FD_PASS_MAX, &count, &err), err);
	assert_int_equal(count, KODA_FD_PASS_MAX);
	for (size_t i = 0; i < KODA_FD_PASS_MAX; i++) {
		assert_int_equal(fcntl(got[i], F_GETFD), FD_CLOEXEC);
		assert_int_equal(pread(got[i], &byte, 1, 0), 1);
		assert_int_equal(byte, '0' + i);
		koda_fd_close(&got[i]);
		koda_fd_close(&given[i]);
	}
}

static void a_peer_that_is_gone_sends_nothing(void **state)
{
	struct pair *pair = *state;
	struct koda_error err = { 0 };
	size_t count = 9;
	size_t len = 9;
	char byte;

	koda_fd_close(&pair->a);
	KODA_ASSERT_OK(koda_fd_receive(pair->b, &byte, 1, &len, NULL, 0, &count, &err), err);
	assert_int_equal(len, 0);
	assert_int_equal(count, 0);
}

static void sending_to_a_peer_that_is_gone_fails_without_a_signal(void **state)
{
	struct pair *pair = *state;
	struct koda_error err = { 0 };

	koda_fd_close(&pair->b);
	KODA_ASSERT_FAILS(KODA_E_SYS, koda_fd_send(pair->a, "x", 1, NULL, 0, &err), err);
	assert_int_equal(err.sys_errno, EPIPE);
}

static void impossible_messages_are_not_sent(void **state)
{
	const struct pair *pair = *state;
	int fds[KODA_FD_PASS_MAX + 1];
	struct koda_error err = { 0 };
	char byte;

	for (size_t i = 0; i <= KODA_FD_PASS_MAX; i++)
		fds[i] = pair->a;
	KODA_ASSERT_FAILS(KODA_E_INVALID, koda_fd_send(pair->a, "", 0, NULL, 0, &err), err);
	KODA_ASSERT_FAILS(KODA_E_INVALID,
			  koda_fd_send(pair->a, "x", 1, fds, KODA_FD_PASS_MAX + 1, &err), err);
	KODA_ASSERT_FAILS(KODA_E_SYS, koda_fd_send(pair->a, "x", 1, (int[]){ -1 }, 1, &err), err);
	KODA_ASSERT_FAILS(KODA_E_SYS, koda_fd_send(-1, "x", 1, NULL, 0, &err), err);
	assert_int_equal(recv(pair->b, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
}

/* What a hostile peer can send, past koda_fd_send: len bytes with count copies of its socket. */
static void send_raw(int socket, size_t len, size_t count)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int) * 64)];
	} control = { 0 };
	struct iovec iov = { .iov_base = (char[64]){ 0 }, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (count > 0) {
		struct cmsghdr *c;

		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * count);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * count);
		for (size_t i = 0; i < count; i++)
			memcpy(CMSG_DATA(c) + i * sizeof(int), &socket, sizeof(int));
	}
	assert_int_equal(sendmsg(socket, &msg, MSG_NOSIGNAL), len);
}

static const struct {
	const char *name;
	size_t len;   /* sent, and received into 8 bytes */
	size_t count; /* sent */
	size_t max;   /* accepted */
	int code;
} hostile[] = {
	{ "just right", 8, 2, 2, KODA_OK },
	{ "one descriptor too many", 8, 3, 2, KODA_E_LIMIT },
	{ "a descriptor where none is expected", 8, 1, 0, KODA_E_LIMIT },
	{ "as many as can be passed, fewer accepted", 8, 8, 7, KODA_E_LIMIT },
	{ "more than can be passed", 8, 9, 8, KODA_E_LIMIT },
	{ "far more than can be passed", 8, 64, 8, KODA_E_LIMIT },
	{ "far more, none accepted", 8, 64, 0, KODA_E_LIMIT },
	{ "too many bytes", 9, 0, 0, KODA_E_LIMIT },
	{ "too many bytes with good descriptors", 9, 2, 2, KODA_E_LIMIT },
	{ "too many of both", 64, 64, 2, KODA_E_LIMIT },
};

static void a_message_larger_than_agreed_leaks_nothing(void **state)
{
	const struct pair *pair = *state;

	KODA_EACH(row, hostile) {
		struct koda_error err = { 0 };
		int before = koda_count_fds();
		int fds[8] = { -1, -1, -1, -1, -1, -1, -1, -1 };
		size_t count = 99;
		size_t len = 99;
		char text[8];
		int r;

		send_raw(pair->a, row->len, row->count);
		r = koda_fd_receive(pair->b, text, sizeof(text), &len, fds, row->max, &count, &err);
		KODA_EXPECT(row->name, r == row->code && err.code == row->code);
		if (r == KODA_OK) {
			KODA_EXPECT(row->name, len == row->len && count == row->count);
			for (size_t i = 0; i < count; i++)
				koda_fd_close(&fds[i]);
		} else {
			KODA_EXPECT(row->name, len == 99 && count == 99);
		}
		KODA_EXPECT(row->name, koda_count_fds() == before);
	}
}

/* An empty message looks like a peer that is gone, so whoever receives it looks no further. */
static void an_empty_message_brings_no_descriptors(void **state)
{
	const struct pair *pair = *state;
	struct koda_error err = { 0 };
	int before = koda_count_fds();
	int fds[8] = { -1, -1, -1, -1, -1, -1, -1, -1 };
	size_t count = 0;
	size_t len = 0;
	char byte;
	int r;

	send_raw(pair->a, 0, 3);
	r = koda_fd_receive(pair->b, &byte, 1, &len, fds, 8, &count, &err);
	assert_true(r == KODA_E_LIMIT || (r == KODA_OK && len == 0 && count == 0));
	assert_int_equal(koda_count_fds(), before);
}

/* The kernel adds the sender's credentials where a socket asks for them. */
static void other_control_messages_are_passed_over(void **state)
{
	const struct pair *pair = *state;
	struct koda_error err = { 0 };
	size_t count = 9;
	size_t len = 0;
	char byte;

	assert_int_equal(setsockopt(pair->b, SOL_SOCKET, SO_PASSCRED, &(int){ 1 }, sizeof(int)), 0);
	KODA_ASSERT_OK(koda_fd_send(pair->a, "x", 1, NULL, 0, &err), err);
	KODA_ASSERT_OK(koda_fd_receive(pair->b, &byte, 1, &len, NULL, 0, &count, &err), err);
	assert_int_equal(len, 1);
	assert_int_equal(count, 0);
}

static void receiving_from_no_socket_fails(void **state)
{
	koda_auto_fd int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct koda_error err = { 0 };
	size_t count = 9;
	size_t len = 9;
	char byte;

	(void)state;
	KODA_ASSERT_FAILS(KODA_E_SYS, koda_fd_receive(null, &byte, 1, &len, NULL, 0, &count, &err),
			  err);
	assert_int_equal(err.sys_errno, ENOTSOCK);
	assert_int_equal(len, 9);
	assert_int_equal(count, 9);
}

#define PAIR_TEST(f) cmocka_unit_test_setup_teardown(f, open_pair, close_pair)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(a_message_without_descriptors_arrives),
		PAIR_TEST(descriptors_arrive_in_order_and_close_on_exec),
		PAIR_TEST(a_peer_that_is_gone_sends_nothing),
		PAIR_TEST(sending_to_a_peer_that_is_gone_fails_without_a_signal),
		PAIR_TEST(impossible_messages_are_not_sent),
		PAIR_TEST(a_message_larger_than_agreed_leaks_nothing),
		PAIR_TEST(an_empty_message_brings_no_descriptors),
		PAIR_TEST(other_control_messages_are_passed_over),
		cmocka_unit_test(receiving_from_no_socket_fails),
	};

	return KODA_TEST_RUN(tests);
}
