/* SPDX-License-Identifier: MIT */
/*
 * T-81. A proxy that was taken over and talks without end: whoever listens gets away, and keeps no
 * more than an honest one would have to say.
 */
#include "koda_test.h"

#include "base/clock.h"
#include "base/fd.h"
#include "run/proxy/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

struct talk {
	struct koda_proxy *proxy;
	struct koda_listener *listener;
	struct koda_policy *policy;
	int theirs;
	enum koda_egress_kind kind;
	unsigned int told;
	pthread_t thread;
};

static void count(void *ctx, const struct koda_egress_message *message)
{
	struct talk *talk = ctx;

	(void)message;
	talk->told++;
}

static void begin(struct talk *talk)
{
	static const char *const none[] = { NULL };
	struct koda_error err = { 0 };

	*talk = (struct talk){ .theirs = -1 };
	KODA_ASSERT_OK(koda_policy_parse("{}", 2, &talk->policy, &err), err);
	KODA_ASSERT_OK(koda_proxy_open(none, &talk->proxy, &err), err);
	KODA_ASSERT_OK(koda_listener_add(talk->proxy,
					 &(struct koda_policy_blob){ .policy = talk->policy }, -1,
					 count, talk, &talk->listener, &err),
		       err);
	KODA_ASSERT_OK(koda_fd_socketpair(&talk->proxy->control, &talk->theirs, &err), err);
	assert_int_equal(fcntl(talk->proxy->control, F_SETFL, O_NONBLOCK), 0);
	talk->listener->is_served = true;
}

static void end(struct talk *talk)
{
	koda_fd_close(&talk->proxy->control);
	talk->listener->is_served = false;
	koda_listener_remove(talk->listener, 0);
	koda_proxy_close(talk->proxy);
	koda_policy_free(talk->policy);
	koda_fd_close(&talk->theirs);
}

static bool say(const struct talk *talk, enum koda_egress_kind kind)
{
	const struct koda_egress_message message = { .magic = KODA_EGRESS_MAGIC,
						     .kind = kind,
						     .id = talk->listener->id };

	return send(talk->theirs, &message, sizeof(message), MSG_NOSIGNAL) > 0;
}

/* Until the reader has closed. */
static void *say_much(void *arg)
{
	const struct talk *talk = arg;

	while (say(talk, talk->kind))
		;
	return NULL;
}

/* Waits for a moment if there is nothing yet. */
static void heard(struct talk *talk)
{
	struct pollfd polled = { .fd = talk->proxy->control, .events = POLLIN };

	(void)poll(&polled, 1, 10);
	(void)pthread_mutex_lock(&talk->proxy->lock);
	koda_proxy_receive(talk->proxy);
	(void)pthread_mutex_unlock(&talk->proxy->lock);
}

static void listens_for_a_while(void **state)
{
	static const enum koda_egress_kind kinds[] = { KODA_EGRESS_EVENT, KODA_EGRESS_ASK,
						       KODA_EGRESS_RULED };
	struct talk talk;

	(void)state;
	KODA_EACH(kind, kinds) {
		begin(&talk);
		talk.kind = *kind;
		assert_int_equal(pthread_create(&talk.thread, NULL, say_much, &talk), 0);
		for (int i = 0; i < 20; i++) {
			heard(&talk);
			assert_true(talk.listener->queued <= 512);
		}
		/* It may go on. */
		assert_true(talk.proxy->control >= 0);
		koda_fd_close(&talk.proxy->control);
		(void)pthread_join(talk.thread, NULL);
		end(&talk);
	}
}

/* What only follows orders, and no order was given. */
static void gives_up(void **state)
{
	static const enum koda_egress_kind kinds[] = { KODA_EGRESS_ADDED, KODA_EGRESS_GONE,
						       KODA_EGRESS_READY };
	struct talk talk;
	uint64_t until;

	(void)state;
	KODA_EACH(kind, kinds) {
		begin(&talk);
		talk.kind = *kind;
		assert_int_equal(pthread_create(&talk.thread, NULL, say_much, &talk), 0);
		until = koda_clock_now() + 20000000000ULL;
		while (talk.proxy->control >= 0 && koda_clock_now() < until)
			heard(&talk);
		assert_int_equal(talk.proxy->control, -1);
		assert_true(talk.listener->queued <= 1025);
		(void)pthread_join(talk.thread, NULL);
		end(&talk);
	}
}

/* The twin: an honest one is heard, message by message. */
static void hears(void **state)
{
	struct talk talk;

	(void)state;
	begin(&talk);
	assert_true(say(&talk, KODA_EGRESS_ADDED));
	for (int i = 0; i < 3; i++)
		assert_true(say(&talk, KODA_EGRESS_EVENT) && say(&talk, KODA_EGRESS_RULED));
	koda_listener_step(talk.listener);
	assert_int_equal(talk.told, 4);
	assert_int_equal(talk.listener->rules_confirmed, 3);
	assert_true(talk.proxy->control >= 0);
	end(&talk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hears),
		cmocka_unit_test(listens_for_a_while),
		cmocka_unit_test(gives_up),
	};

	return KODA_TEST_RUN(tests);
}
