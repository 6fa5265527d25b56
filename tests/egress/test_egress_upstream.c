/* SPDX-License-Identifier: MIT */
/*
 * T-80. A site's own proxy: used for everything that NO_PROXY does not name, under the same rules,
 * and when it fails nothing goes around it.
 */
#include "host.h"

#include <sys/socket.h>
#include <unistd.h>

/* The upstream proxy: what it saw, and what it answers. */
struct upstream {
	char head[4096];
	const char *answer;
};

static void serve_upstream(int fd, void *arg)
{
	struct upstream *upstream = arg;
	const char *answer = upstream->answer;

	(void)get_head(fd, upstream->head, sizeof(upstream->head));
	/* With the answer the test may be over, and what arg points to gone. */
	(void)send(fd, answer, strlen(answer), MSG_NOSIGNAL);
	if (strstr(answer, " 200 "))
		serve_echo(fd, NULL);
}

/* An environment that names this port as the proxy. */
static char *const *env_for(uint16_t port, const char *no_proxy)
{
	static char https[128];
	static char http[128];
	static char none[128];
	static char *const env[] = { https, http, none, NULL };

	(void)snprintf(https, sizeof(https), "HTTPS_PROXY=http://us%%65r:pass@127.0.0.1:%u", port);
	(void)snprintf(http, sizeof(http), "HTTP_PROXY=http://127.0.0.1:%u", port);
	(void)snprintf(none, sizeof(none), "NO_PROXY=%s", no_proxy);
	return env;
}

static void test_tunnel(void **state)
{
	struct upstream upstream = { .answer = "HTTP/1.1 200 Fine\r\nX: y\r\n\r\nfirst" };
	struct koda_egress_message event;
	struct server server;
	struct host host;
	char text[64];
	int status;
	int fd;

	(void)state;
	server_start(&server, serve_upstream, &upstream);
	host_start(&host, "\"allowed_domains\":[\"far.example\"]", env_for(server.port, ""));
	fd = tunnel_to(host.port, "far.example", 222); /* of no protocol */
	get(fd, text, 5);
	assert_memory_equal(text, "first", 5); /* came right behind the proxy's answer */
	puts_to(fd, "hello");
	get(fd, text, 5);
	assert_memory_equal(text, "hello", 5);
	(void)shutdown(fd, SHUT_WR);
	get_end(fd);
	(void)close(fd);
	event = host_event(&host, KODA_EGRESS_OK);
	assert_int_equal(event.bytes_down, 10);
	assert_true(strncmp(upstream.head, "CONNECT far.example:222 HTTP/1.1\r\n", 34) == 0);
	assert_non_null(strstr(upstream.head, "Proxy-Authorization: Basic dXNlcjpwYXNz\r\n"));
	/* The rules come first; the upstream proxy never hears of it. */
	fd = connect_through(host.port, "other.example:443", &status);
	assert_int_equal(status, 403);
	(void)close(fd);
	(void)host_event(&host, KODA_EGRESS_NOT_LISTED);
	assert_int_equal(server.served, 1);
	host_stop(&host);
	server_stop(&server);
}

static void test_refused(void **state)
{
	struct upstream upstream = { .answer = "HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n" };
	struct server server;
	struct host host;
	int status;
	int fd;

	(void)state;
	server_start(&server, serve_upstream, &upstream);
	host_start(&host, "\"allowed_domains\":[\"far.example\"]", env_for(server.port, ""));
	fd = connect_through(host.port, "far.example:443", &status);
	assert_int_equal(status, 502);
	(void)close(fd);
	(void)host_event(&host, KODA_EGRESS_UPSTREAM_FAILED);
	upstream.answer = "nonsense\r\n\r\n";
	fd = connect_through(host.port, "far.example:443", &status);
	assert_int_equal(status, 502);
	(void)close(fd);
	(void)host_event(&host, KODA_EGRESS_UPSTREAM_FAILED);
	host_stop(&host);
	server_stop(&server);
}

/* The origin could be reached directly, and is not. */
static void test_never_direct(void **state)
{
	unsigned int before = echo.served;
	struct host host;
	uint16_t port;
	char target[64];
	int status;
	int fd = listen_local(&port);

	(void)state;
	(void)close(fd);
	host_start(&host, allow_one("127.0.0.1", echo.port), env_for(port, ""));
	(void)snprintf(target, sizeof(target), "127.0.0.1:%u", echo.port);
	fd = connect_through(host.port, target, &status);
	assert_int_equal(status, 502);
	(void)close(fd);
	(void)host_event(&host, KODA_EGRESS_UPSTREAM_FAILED);
	assert_int_equal(echo.served, before);
	host_stop(&host);
	/* The twin: NO_PROXY names it. */
	host_start(&host, allow_one("127.0.0.1", echo.port), env_for(port, "127.0.0.0/8"));
	fd = tunnel_to(host.port, "127.0.0.1", echo.port);
	(void)close(fd);
	(void)host_event(&host, KODA_EGRESS_OK);
	host_stop(&host);
}

static void test_plain(void **state)
{
	struct upstream upstream = { .answer = "HTTP/1.1 204 Fine\r\n\r\n" };
	struct server server;
	struct host host;
	char text[512];
	int fd;

	(void)state;
	server_start(&server, serve_upstream, &upstream);
	host_start(&host, "\"allowed_domains\":[\"far.example\"]", env_for(server.port, ""));
	fd = dial_local(host.port);
	puts_to(fd, "GET http://far.example/x HTTP/1.1\r\nHost: far.example\r\n\r\n");
	assert_int_equal(get_head(fd, text, sizeof(text)), 204);
	(void)close(fd);
	(void)host_event(&host, KODA_EGRESS_OK);
	assert_true(strncmp(upstream.head, "GET http://far.example/x HTTP/1.1\r\n", 35) == 0);
	host_stop(&host);
	server_stop(&server);
}

/* The status of a request by this method. */
static int ask(struct host *host, const char *method)
{
	int fd = dial_local(host->port);
	char text[512];
	int status;

	(void)snprintf(text, sizeof(text),
		       "%s http://far.example/ HTTP/1.1\r\nHost: far.example\r\n"
		       "Max-Forwards: 0\r\n\r\n",
		       method);
	puts_to(fd, text);
	status = get_head(fd, text, sizeof(text));
	(void)close(fd);
	return status;
}

/* T-86. A request that comes back as it arrived there would bring the password. */
static void test_trace(void **state)
{
	static const char *const methods[] = { "TRACE", "trace", "TRACK" };
	struct upstream upstream = { .answer = "HTTP/1.1 204 Fine\r\n\r\n" };
	static char http[128];
	static char *const secret[] = { http, NULL };
	struct server server;
	struct host host;

	(void)state;
	server_start(&server, serve_upstream, &upstream);
	(void)snprintf(http, sizeof(http), "HTTP_PROXY=http://user:pass@127.0.0.1:%u", server.port);
	host_start(&host, "\"allowed_domains\":[\"far.example\"]", secret);
	assert_int_equal(ask(&host, "OPTIONS"), 204);
	(void)host_event(&host, KODA_EGRESS_OK);
	assert_non_null(strstr(upstream.head, "Proxy-Authorization: Basic "));
	for (size_t i = 0; i < KODA_ARRAY_LEN(methods); i++) {
		assert_int_equal(ask(&host, methods[i]), 405);
		(void)host_event(&host, KODA_EGRESS_BAD_METHOD);
		assert_null(strcasestr(upstream.head, "tra"));
	}
	host_stop(&host);
	/* The twin: there is no password. */
	host_start(&host, "\"allowed_domains\":[\"far.example\"]", env_for(server.port, ""));
	assert_int_equal(ask(&host, "TRACE"), 204);
	(void)host_event(&host, KODA_EGRESS_OK);
	assert_null(strstr(upstream.head, "Proxy-Authorization"));
	host_stop(&host);
	server_stop(&server);
}

/* Where the address is known without looking it up, new rules judge that as well. */
static void test_rules(void **state)
{
	struct upstream upstream = { .answer = "HTTP/1.1 200 Fine\r\n\r\n" };
	struct server server;
	struct host host;
	int fd;

	(void)state;
	server_start(&server, serve_upstream, &upstream);
	host_start(&host, "\"allowed_domains\":[\"localhost\"]", env_for(server.port, ""));
	fd = tunnel_to(host.port, "localhost", 4443);
	host_rules(&host, 1,
		   "\"allowed_domains\":[\"localhost\"],\"denied_domains\":[\"10.0.0.0/8\"]");
	(void)host_expect(&host, KODA_EGRESS_RULED);
	host_rules(&host, 1,
		   "\"allowed_domains\":[\"localhost\"],\"denied_domains\":[\"127.0.0.0/8\"]");
	(void)host_event(&host, KODA_EGRESS_RULES_CHANGED);
	(void)host_expect(&host, KODA_EGRESS_RULED);
	get_end(fd);
	(void)close(fd);
	host_stop(&host);
	server_stop(&server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tunnel),       cmocka_unit_test(test_refused),
		cmocka_unit_test(test_never_direct), cmocka_unit_test(test_plain),
		cmocka_unit_test(test_rules),        cmocka_unit_test(test_trace),
	};

	return cmocka_run_group_tests(tests, start_echo, stop_echo);
}
