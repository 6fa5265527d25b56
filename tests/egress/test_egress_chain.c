/* SPDX-License-Identifier: MIT */
/*
 * T-80. Attempts at the way through a site's own proxy: by what that proxy answers, by where a
 * client wants to go, and at the password that is for it alone.
 */
#include "mitm.h"

#include <poll.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECRET "c2VjcmV0LXVzZXI6c2VjcmV0LXdvcmQ=" /* secret-user:secret-word */

static const char *answer; /* of the upstream proxy; NULL: it closes */

/* What the upstream proxy was sent is noted. */
static void serve_upstream(int fd, void *arg)
{
	const char *now = answer;
	char head[8192];
	ssize_t n;

	(void)arg;
	(void)get_head(fd, head, sizeof(head));
	origin_note(head, strlen(head));
	if (now)
		(void)send(fd, now, strlen(now), MSG_NOSIGNAL);
	if (!now || !strstr(now, " 200 "))
		return;
	while ((n = recv(fd, head, sizeof(head), 0)) > 0) {
		origin_note(head, (size_t)n);
		(void)send(fd, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 38, MSG_NOSIGNAL);
	}
}

static struct server upstream;

static int start_servers(void **state)
{
	server_start(&upstream, serve_upstream, NULL);
	return start_echo(state);
}

static int stop_servers(void **state)
{
	server_stop(&upstream);
	return stop_echo(state);
}

static char *const *env(const char *no_proxy)
{
	static char https[128];
	static char http[128];
	static char none[128];
	static char *const env[] = { https, http, none, NULL };

	(void)snprintf(https, sizeof(https),
		       "HTTPS_PROXY=http://secret-user:secret-word@127.0.0.1:%u", upstream.port);
	(void)snprintf(http, sizeof(http), "HTTP_PROXY=http://secret-user:secret-word@127.0.0.1:%u",
		       upstream.port);
	(void)snprintf(none, sizeof(none), "NO_PROXY=%s", no_proxy);
	return env;
}

static bool has_secret(const void *bytes, size_t len)
{
	return memmem(bytes, len, "secret-", 7) || memmem(bytes, len, SECRET, 20);
}

/* The next event, in which there must be no secret. */
static struct koda_egress_message event_of(struct host *host)
{
	struct koda_egress_message event = host_expect(host, KODA_EGRESS_EVENT);

	assert_false(has_secret(&event, sizeof(event)));
	return event;
}

/* A tunnel or a request to that, which must be refused with status and reason; no secret in what
 * the client gets. */
static void refused(struct host *host, uint16_t port, const char *request, int status,
		    enum koda_egress_reason reason)
{
	struct koda_egress_message event;
	char text[8192];
	int fd = dial_local(port);
	int got;

	puts_to(fd, request);
	got = get_head(fd, text, sizeof(text));
	if (got != status)
		fail_msg("status %d for %s", got, request);
	(void)get_all(fd, text + strlen(text), sizeof(text) - strlen(text), true);
	assert_false(has_secret(text, strlen(text)));
	(void)close(fd);
	event = event_of(host);
	if (event.reason != reason)
		fail_msg("reason %u (%s) for %s", event.reason, event.text, request);
}

#define CONNECT(target) "CONNECT " target " HTTP/1.1\r\nHost: " target "\r\n\r\n"

/* None of these opens a tunnel, and none leads around the proxy. */
static void test_answers(void **state)
{
	static char huge[40000];
	static char many[20000];
	const char *answers[] = {
		NULL, /* closes */
		"",
		"\r\n\r\n",
		"HTTP/1.1 200",
		"HTTP/1.1 200 OK\r\n",
		"HTTP/1.1 200 OK\n\n",
		"HTTP/1.1 200 OK\r\nX: y\n\r\n",
		"HTTP/2.0 200 OK\r\n\r\n",
		"HTTP/1.1 20 OK\r\n\r\n",
		"HTTP/1.1 2000 OK\r\n\r\n",
		"HTTP/1.1  200 OK\r\n\r\n",
		"ICY 200 OK\r\n\r\n",
		" HTTP/1.1 200 OK\r\n\r\n",
		"HTTP/1.1 100 Go on\r\n\r\n",
		"HTTP/1.1 101 Other\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
		"HTTP/1.1 302 Away\r\nLocation: http://elsewhere/\r\n\r\n",
		"HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic "
		"realm=\"secret-user\"\r\n\r\nsecret-word",
		"HTTP/1.1 403 No\r\nContent-Length: 11\r\n\r\nsecret-word",
		"HTTP/1.1 502 Bad\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX: \x01\r\n\r\n",
		"HTTP/1.1 200 OK\r\n X: folded\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX : y\r\n\r\n",
		"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
		huge,
		many,
	};
	unsigned int before = echo.served;
	struct host host;
	char request[256];
	size_t len;

	(void)state;
	len = (size_t)snprintf(huge, sizeof(huge), "HTTP/1.1 200 OK\r\nX: ");
	memset(huge + len, 'x', sizeof(huge) - len - 5);
	memcpy(huge + sizeof(huge) - 5, "\r\n\r\n", 5);
	len = (size_t)snprintf(many, sizeof(many), "HTTP/1.1 200 OK\r\n");
	while (len < sizeof(many) - 16)
		len += (size_t)snprintf(many + len, sizeof(many) - len, "X: y\r\n");
	(void)snprintf(many + len, sizeof(many) - len, "\r\n");
	/* A host that can be reached without the proxy. */
	(void)snprintf(request, sizeof(request),
		       "CONNECT localhost:%u HTTP/1.1\r\nHost: localhost:%u\r\n\r\n", echo.port,
		       echo.port);
	host_start(&host, allow_one("localhost", echo.port), env(""));
	for (size_t i = 0; i < KODA_ARRAY_LEN(answers); i++) {
		answer = answers[i];
		refused(&host, host.port, request, 502, KODA_EGRESS_UPSTREAM_FAILED);
	}
	assert_int_equal(echo.served, before);
	host_stop(&host);
}

/* These do. */
static void test_good_answers(void **state)
{
	static const char *const answers[] = {
		"HTTP/1.1 200 OK\r\n\r\n",
		"HTTP/1.0 200 Connection established\r\nProxy-Agent: x\r\n\r\n",
		/* Lengths mean nothing here (RFC 9110, 9.3.6). */
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
	};
	struct host host;

	(void)state;
	host_start(&host, "\"allowed_domains\":[\"far.example\"]", env(""));
	for (size_t i = 0; i < KODA_ARRAY_LEN(answers); i++) {
		char text[64];
		int fd;

		answer = answers[i];
		fd = tunnel_to(host.port, "far.example", 222);
		puts_to(fd, "\1");
		get(fd, text, 38);
		(void)close(fd);
		assert_int_equal(event_of(&host).reason, KODA_EGRESS_OK);
	}
	host_stop(&host);
}

/* A known address is judged, even if the upstream proxy connects to it. */
static void test_guard(void **state)
{
	static const char *const targets[] = {
		CONNECT("127.0.0.1:80"),
		CONNECT("[::1]:80"),
		CONNECT("[::ffff:127.0.0.1]:80"),
		CONNECT("0x7f000001:80"),
		CONNECT("2130706433:80"),
		CONNECT("0177.0.0.1:80"),
		CONNECT("127.1:80"),
		CONNECT("169.254.169.254:80"),
		CONNECT("10.0.0.1:443"),
		CONNECT("192.168.1.1:443"),
		CONNECT("[fd00::1]:443"),
		CONNECT("[fe80::1]:443"),
		CONNECT("0.0.0.0:443"),
		CONNECT("[64:ff9b::a9fe:a9fe]:80"),
		CONNECT("localhost:80"),
		CONNECT("LOCALHOST.:80"),
		CONNECT("a.localhost:80"),
		CONNECT("localhost.localdomain:80"),
		CONNECT("ip6-localhost:80"),
		"GET http://169.254.169.254/latest/ HTTP/1.1\r\nHost: 169.254.169.254\r\n\r\n",
		"GET http://[::1]/ HTTP/1.1\r\nHost: [::1]\r\n\r\n",
	};
	unsigned int before = upstream.served;
	struct host host;
	int fd;

	(void)state;
	answer = "HTTP/1.1 200 OK\r\n\r\n";
	host_start(&host, "\"denied_domains\":[\"b.example\"]", env(""));
	for (size_t i = 0; i < KODA_ARRAY_LEN(targets); i++) {
		struct koda_egress_message event;
		char text[1024];
		int status;

		fd = dial_local(host.port);
		puts_to(fd, targets[i]);
		status = get_head(fd, text, sizeof(text));
		(void)close(fd);
		event = event_of(&host);
		if ((status != 403 && status != 400) || event.verdict != KODA_EGRESS_DENY ||
		    upstream.served != before)
			fail_msg("status %d, reason %u for %s", status, event.reason, targets[i]);
	}
	/* The twin: a public address, and a name that only the upstream proxy can look up. */
	fd = tunnel_to(host.port, "198.41.0.4", 443);
	(void)close(fd);
	(void)event_of(&host);
	fd = tunnel_to(host.port, "far.example", 443);
	(void)close(fd);
	(void)event_of(&host);
	assert_int_equal(upstream.served, before + 2);
	host_stop(&host);
}

/* Nor does a person's yes lift the guard. */
static void test_asked(void **state)
{
	static const char *const targets[] = { CONNECT("192.0.2.1:443"), CONNECT("127.0.0.1:443"),
					       CONNECT("10.1.2.3:443"), CONNECT("localhost:443"),
					       CONNECT("x.localhost:443") };
	struct koda_egress_message yes = { .kind = KODA_EGRESS_ANSWER,
					   .id = 1,
					   .verdict = KODA_EGRESS_ALLOW };
	unsigned int before = upstream.served;
	struct host host;
	uint16_t port;
	char text[1024];

	(void)state;
	answer = "HTTP/1.1 200 OK\r\n\r\n";
	host_start_bare(&host, env(""));
	port = host_add(&host, 1, KODA_EGRESS_CAN_ASK, "\"allowed_domains\":[\"a.example\"]");
	for (size_t i = 0; i < KODA_ARRAY_LEN(targets); i++) {
		int fd = dial_local(port);
		struct koda_egress_message next;

		puts_to(fd, targets[i]);
		next = host_next(&host);
		if (next.kind == KODA_EGRESS_ASK) {
			yes.question = next.question;
			host_send(&host, &yes, NULL, 0);
			next = host_next(&host);
		}
		assert_int_equal(get_head(fd, text, sizeof(text)), 403);
		assert_int_equal(next.reason, KODA_EGRESS_ADDRESS_GUARD);
		(void)close(fd);
	}
	assert_int_equal(upstream.served, before);
	host_stop(&host);
}

/* T-86. The password goes to the proxy, and nowhere else. */
static void test_secret(void **state)
{
	static const char theirs[] = "GET http://far.example/ HTTP/1.1\r\nHost: far.example\r\n"
				     "Proxy-Authorization: Basic bWluZTptaW5l\r\n\r\n";
	struct host host;
	char text[4096];
	int fd;

	(void)state;
	origin_forget();
	answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
	host_start(&host, "\"allowed_domains\":[\"far.example\"]", env(""));
	fd = dial_local(host.port);
	puts_to(fd, theirs);
	assert_int_equal(get_head(fd, text, sizeof(text)), 200);
	assert_false(has_secret(text, strlen(text)));
	(void)close(fd);
	assert_int_equal(event_of(&host).reason, KODA_EGRESS_OK);
	assert_true(origin_saw("Proxy-Authorization: Basic " SECRET "\r\n"));
	assert_false(origin_saw("bWluZTptaW5l")); /* what a client says about itself */
	/* Inside a tunnel it would reach the origin. */
	origin_forget();
	answer = "HTTP/1.1 200 OK\r\n\r\n";
	fd = tunnel_to(host.port, "far.example", 80);
	puts_to(fd, "GET / HTTP/1.1\r\nHost: far.example\r\n"
		    "Proxy-Authorization: Basic bWluZTptaW5l\r\n\r\n");
	assert_int_equal(get_head(fd, text, sizeof(text)), 200);
	(void)close(fd);
	(void)event_of(&host);
	assert_true(origin_saw("CONNECT far.example:80 "));
	assert_true(origin_saw("GET / HTTP/1.1\r\n"));
	assert_false(origin_saw("bWluZTptaW5l"));
	host_stop(&host);
}

static atomic_uint leaks; /* of the password, or of what is said about proxies */

static void serve_counting(int fd, void *arg)
{
	char head[8192];

	(void)arg;
	(void)get_head(fd, head, sizeof(head));
	if (has_secret(head, strlen(head)) || strstr(head, "Proxy-"))
		leaks++;
	puts_to(fd, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
}

/* Hosts of NO_PROXY are reached directly, and do not get the password. */
static void test_direct(void **state)
{
	struct server direct;
	struct host host;
	unsigned int before = upstream.served;
	char text[1024];
	int fd;

	(void)state;
	server_start(&direct, serve_counting, NULL);
	host_start(&host, allow_one("localhost", direct.port), env("LOCALHOST."));
	fd = dial_local(host.port);
	(void)snprintf(text, sizeof(text),
		       "GET http://localhost:%u/ HTTP/1.1\r\nHost: localhost:%u\r\n"
		       "Proxy-Authorization: Basic bWluZTptaW5l\r\nProxy-Connection: x\r\n\r\n",
		       direct.port, direct.port);
	puts_to(fd, text);
	assert_int_equal(get_head(fd, text, sizeof(text)), 200);
	(void)close(fd);
	assert_int_equal(event_of(&host).reason, KODA_EGRESS_OK);
	assert_int_equal(leaks, 0);
	assert_int_equal(upstream.served, before);
	host_stop(&host);
	server_stop(&direct);
}

/* What comes behind the answer is the origin's: no part of TLS that ends here, and no answer to a
 * request that was not sent yet. */
static void test_early(void **state)
{
	struct host host;
	uint8_t hello[512];
	uint16_t port;
	char text[1024];
	size_t len = make_hello("far.example", false, hello, sizeof(hello));
	int fd;

	(void)state;
	answer = "HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 Early\r\nContent-Length: 0\r\n\r\n";
	host_start_bare(&host, env(""));
	port = add_mitm(&host, 1, "\"allowed_domains\":[\"far.example\"]");
	fd = tunnel_to(port, "far.example", 443);
	put(fd, hello, len);
	assert_int_equal(get_all(fd, text, sizeof(text), true), 7); /* an alert */
	(void)close(fd);
	assert_int_equal(event_of(&host).reason, KODA_EGRESS_TLS_FAILED);
	fd = tunnel_to(port, "far.example", 80);
	puts_to(fd, "GET / HTTP/1.1\r\nHost: far.example\r\n\r\n");
	assert_int_equal(get_head(fd, text, sizeof(text)), 502);
	(void)close(fd);
	assert_int_equal(event_of(&host).reason, KODA_EGRESS_UPSTREAM_FAILED);
	host_stop(&host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers), cmocka_unit_test(test_good_answers),
		cmocka_unit_test(test_guard),   cmocka_unit_test(test_asked),
		cmocka_unit_test(test_secret),  cmocka_unit_test(test_direct),
		cmocka_unit_test(test_early),
	};

	return cmocka_run_group_tests(tests, start_servers, stop_servers);
}
