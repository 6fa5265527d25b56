/* SPDX-License-Identifier: MIT */
/* Which address is tried when, and that a socket leads where it should. */
#include "koda_test.h"

#include "route/dial.h"

#include "policy/addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

static struct koda_addr addr(const char *text)
{
	struct koda_addr parsed;

	if (!koda_addr_parse4(koda_span_of(text), &parsed))
		assert_true(koda_addr_parse6(koda_span_of(text), &parsed));
	return parsed;
}

static void add(struct egress_dial *dial, const char *text)
{
	struct koda_addr a = addr(text);

	egress_dial_add(dial, &a);
}

static void expect(const struct egress_dial *dial, size_t i, const char *text)
{
	char is[KODA_ADDR_TEXT];

	koda_addr_format(&dial->addrs[i], is);
	assert_string_equal(is, text);
}

/* The other family comes second, all else stays in the resolver's order. */
static void test_order(void **state)
{
	struct egress_dial dial = { 0 };

	(void)state;
	add(&dial, "2001:db8::1");
	add(&dial, "2001:db8::2");
	add(&dial, "2001:db8::3");
	add(&dial, "192.0.2.1");
	add(&dial, "192.0.2.2");
	expect(&dial, 0, "2001:db8::1");
	expect(&dial, 1, "192.0.2.1");
	assert_int_equal(dial.count, 5);
	for (int i = 0; i < 20; i++)
		add(&dial, "192.0.2.9");
	assert_int_equal(dial.count, EGRESS_DIAL_MAX);
}

static int listen_on(uint16_t *ret_port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*ret_port = ntohs(at.sin_port);
	return fd;
}

static void test_connect(void **state)
{
	struct egress_dial dial = { 0 };
	struct koda_addr here = addr("127.0.0.1");
	struct koda_addr other = addr("127.0.0.2");
	struct pollfd polled = { .events = POLLOUT };
	int listener = listen_on(&dial.port);
	int error;

	(void)state;
	add(&dial, "127.0.0.1");
	polled.fd = egress_dial_next(&dial, &error);
	assert_true(polled.fd >= 0);
	assert_int_equal(poll(&polled, 1, 10000), 1);
	assert_int_equal(egress_dial_check(polled.fd, &here, dial.port), 1);
	/* It leads somewhere else than was judged: never used. */
	assert_int_equal(egress_dial_check(polled.fd, &other, dial.port), -EADDRNOTAVAIL);
	assert_int_equal(egress_dial_check(polled.fd, &here, (uint16_t)(dial.port + 1)),
			 -EADDRNOTAVAIL);
	(void)close(polled.fd);
	assert_int_equal(egress_dial_next(&dial, &error), -1);
	assert_int_equal(error, 0);
	(void)close(listener);
}

static void test_refused(void **state)
{
	struct egress_dial dial = { 0 };
	struct koda_addr here = addr("127.0.0.1");
	struct pollfd polled = { .events = POLLOUT };
	int listener = listen_on(&dial.port);
	int error;

	(void)state;
	(void)close(listener);
	add(&dial, "127.0.0.1");
	polled.fd = egress_dial_next(&dial, &error);
	if (polled.fd >= 0) {
		assert_int_equal(poll(&polled, 1, 10000), 1);
		assert_int_equal(egress_dial_check(polled.fd, &here, dial.port), -ECONNREFUSED);
		(void)close(polled.fd);
	} else {
		assert_int_equal(error, ECONNREFUSED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_connect),
		cmocka_unit_test(test_refused),
	};

	return KODA_TEST_RUN(tests);
}
