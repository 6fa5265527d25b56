/* SPDX-License-Identifier: MIT */
/*
 * T-72. A connection to an address that goes by a name. The name counts: the rules are those for
 * it, also later, and it goes no other way than it would have gone by name.
 */
#include "mitm.h"

#include <sys/socket.h>
#include <unistd.h>

static const char *both(void)
{
	static char net[256];

	(void)snprintf(net, sizeof(net), "\"allowed_domains\":[\"localhost:%u\",\"127.0.0.1:%u\"]",
		       echo.port, echo.port);
	return net;
}

/* A tunnel to the address, and a greeting that asks for the name. */
static int greet(uint16_t port, uint8_t *hello, size_t *ret_len)
{
	int fd = tunnel_to(port, "127.0.0.1", echo.port);

	*ret_len = make_hello("localhost", false, hello, 1024);
	put(fd, hello, *ret_len);
	return fd;
}

/* Did the server get the greeting as it was? */
static bool goes_through(uint16_t port)
{
	uint8_t hello[1024];
	uint8_t back[1024];
	size_t len, have = 0;
	int fd = greet(port, hello, &len);
	ssize_t n = 1;

	while (have < len && n > 0) {
		n = recv(fd, back + have, len - have, 0);
		have += n > 0 ? (size_t)n : 0;
	}
	(void)close(fd);
	return have == len && memcmp(hello, back, len) == 0;
}

/* Events of a connection to an address tell the name, too: of one that went through, and of one
 * that was refused for it. */
static void test_events(void **state)
{
	struct koda_egress_message event;
	struct host host;

	(void)state;
	host_start(&host, both(), NULL);
	assert_true(goes_through(host.port));
	event = host_event(&host, KODA_EGRESS_OK);
	assert_string_equal(event.host, "127.0.0.1");
	assert_string_equal(event.tls_name, "localhost");
	host_rules(&host, 1, allow_one("127.0.0.1", echo.port));
	(void)host_expect(&host, KODA_EGRESS_RULED);
	assert_false(goes_through(host.port));
	event = host_event(&host, KODA_EGRESS_SNI_MISMATCH);
	assert_string_equal(event.host, "127.0.0.1");
	assert_string_equal(event.tls_name, "localhost");
	host_stop(&host);
}

/* New rules that speak of the name alone. */
static void test_rules(void **state)
{
	uint8_t hello[1024];
	uint8_t back[1024];
	struct host host;
	size_t len;
	int fd;

	(void)state;
	host_start(&host, both(), NULL);
	fd = greet(host.port, hello, &len);
	get(fd, back, len);
	/* These change nothing for it. */
	host_rules(&host, 1, both());
	(void)host_expect(&host, KODA_EGRESS_RULED);
	put(fd, "x", 1);
	get(fd, back, 1);
	host_rules(&host, 1, allow_one("127.0.0.1", echo.port));
	(void)get_all(fd, (char *)back, sizeof(back), true);
	assert_string_equal(host_event(&host, KODA_EGRESS_RULES_CHANGED).host, "127.0.0.1");
	(void)close(fd);
	host_stop(&host);
}

/* A name that a proxy of its own is for is not to be had past that. */
static void test_socket_map(void **state)
{
	struct host host;
	uint16_t port;

	(void)state;
	host_start_bare(&host, NULL);
	port = add_mitm_with(&host, 1, both(), ",\"socket_map\":[[\"localhost\",\"/nowhere\"]]",
			     "127.0.0.1");
	assert_false(goes_through(port));
	(void)host_event(&host, KODA_EGRESS_SNI_MISMATCH);
	host_stop(&host);
}

/* A proxy that new rules bring is for connections that there are, too: by name, and by address. */
static void test_socket_map_later(void **state)
{
	static const char *const names[] = { "localhost", "127.0.0.1" };
	struct host host;
	char net[512];

	(void)state;
	for (size_t i = 0; i < KODA_ARRAY_LEN(names); i++) {
		uint8_t hello[1024];
		uint8_t back[1024];
		size_t len = make_hello("localhost", false, hello, sizeof(hello));
		int fd;

		host_start_bare(&host, NULL);
		fd = tunnel_to(add_mitm_with(&host, 1, both(), "", "*"), names[i], echo.port);
		put(fd, hello, len);
		get(fd, back, len);
		/* That of another host changes nothing. */
		(void)snprintf(net, sizeof(net),
			       "%s,\"mitm\":{\"ca_bundle\":\"/ca.pem\",\"socket_map\":[[\"other."
			       "test\",\"/nowhere\"]]}",
			       both());
		host_rules(&host, 1, net);
		(void)host_expect(&host, KODA_EGRESS_RULED);
		echo_once(fd);
		(void)snprintf(net, sizeof(net),
			       "%s,\"mitm\":{\"ca_bundle\":\"/ca.pem\",\"socket_map\":[["
			       "\"localhost\",\"/nowhere\"]]}",
			       both());
		host_rules(&host, 1, net);
		(void)host_event(&host, KODA_EGRESS_RULES_CHANGED);
		(void)host_expect(&host, KODA_EGRESS_RULED);
		(void)close(fd);
		host_stop(&host);
	}
}

/* An address that is not to be terminated opens no way around it. */
static void test_opaque(void **state)
{
	struct host host;
	uint16_t port;

	(void)state;
	host_start_bare(&host, NULL);
	port = add_mitm_with(&host, 1, both(), "", "127.0.0.1");
	assert_false(goes_through(port));
	(void)host_event(&host, KODA_EGRESS_TLS_FAILED);
	port = add_mitm_with(&host, 2, both(), "", "*");
	assert_true(goes_through(port));
	host_stop(&host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events),     cmocka_unit_test(test_rules),
		cmocka_unit_test(test_socket_map), cmocka_unit_test(test_socket_map_later),
		cmocka_unit_test(test_opaque),
	};

	return cmocka_run_group_tests(tests, start_echo, stop_echo);
}
