/* SPDX-License-Identifier: MIT */
/*
 * T-83. Sandboxes take turns: one with many handshakes to do, or many connections whose bytes have
 * come, does not delay another that has one, or none. What is tested is the order in which they are
 * served, told by their events. The proxy is stopped meanwhile, so that it finds everything at
 * once.
 */
#include "site.h"

#include <sys/socket.h>

#define MANY 100
/* Of the one sandbox, before the other one's turn comes: what a first look may find, and no more.
 */
#define FEW 10

static const char *net(void)
{
	static char text[256];

	(void)snprintf(text, sizeof(text), "\"allowed_domains\":[\"localhost:%u\"]," MITM,
		       echo.port);
	return text;
}

/* Sends a whole ClientHello, so that the proxy mints a certificate and begins the handshake. */
static void greet(int fd)
{
	uint8_t hello[512];

	put(fd, hello, make_hello("localhost", false, hello, sizeof(hello)));
	(void)shutdown(fd, SHUT_WR);
}

static void test_handshakes(void **state)
{
	struct host host;
	uint16_t other;
	int fds[MANY];
	int plain;
	int late;
	int before[2] = { 0 }; /* of the many, the other one's events */
	size_t seen = 0;
	int many = 0;

	(void)state;
	site_start(&host, net());
	(void)add_with(&host, 2, net(), sealed(ca, NULL), sealed(NULL, ca_key), &other);
	for (size_t i = 0; i < MANY; i++)
		fds[i] = tunnel_to(host.port, "localhost", echo.port);
	late = tunnel_to(other, "localhost", echo.port);
	plain = dial_local(other);
	host_pause(&host);
	for (size_t i = 0; i < MANY; i++)
		greet(fds[i]);
	greet(late);
	puts_to(plain, "GET http://nowhere.test/ HTTP/1.1\r\nHost: nowhere.test\r\n\r\n");
	host_resume(&host);
	while (many < MANY || seen < 2) {
		struct koda_egress_message event = host_expect(&host, KODA_EGRESS_EVENT);

		if (event.id == 1)
			many++;
		else if (seen < 2)
			before[seen++] = many;
	}
	assert_true(before[0] <= FEW);
	assert_true(before[1] <= FEW);
	for (size_t i = 0; i < MANY; i++)
		(void)close(fds[i]);
	(void)close(late);
	(void)close(plain);
	host_stop(&host);
}

/* The same of tunnels, whose TLS does not end in the proxy. What is sent is refused when it is
 * looked at. */
static void test_bytes(void **state)
{
	static const char bad[] = { 0x16, 0x03, 0x01, 0x00, 0x01, 0x02 };
	struct host host;
	uint16_t other;
	int fds[MANY + 1];
	int before = -1;
	int many = 0;

	(void)state;
	host_start(&host, allow_one("127.0.0.1", echo.port), NULL);
	other = host_add(&host, 2, 0, allow_one("127.0.0.1", echo.port));
	for (size_t i = 0; i <= MANY; i++)
		fds[i] = tunnel_to(i < MANY ? host.port : other, "127.0.0.1", echo.port);
	host_pause(&host);
	for (size_t i = 0; i <= MANY; i++)
		put(fds[i], bad, sizeof(bad));
	host_resume(&host);
	while (many < MANY || before < 0) {
		struct koda_egress_message event = host_event(&host, KODA_EGRESS_BAD_HELLO);

		if (event.id == 1)
			many++;
		else
			before = many;
	}
	assert_true(before <= FEW);
	for (size_t i = 0; i <= MANY; i++)
		(void)close(fds[i]);
	host_stop(&host);
}

static int set_up(void **state)
{
	return make_site(state) || start_echo(state);
}

static int tear_down(void **state)
{
	/* No server of this test has a certificate. */
	X509_free(good);
	X509_free(root);
	X509_free(ca);
	EVP_PKEY_free(root_key);
	EVP_PKEY_free(ca_key);
	return remove_site(state) || stop_echo(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_handshakes),
		cmocka_unit_test(test_bytes),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
