/* SPDX-License-Identifier: MIT */
/*
 * T-70. What only some servers take for a request. The server here takes everything for one, so
 * that what reaches it is what could have been answered for another host.
 */
#include "host.h"

#include "base/fd.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

static struct server any; /* on a port that is for anything */
static struct server web; /* on one that is for the web */

static void serve_anything(int fd, void *arg)
{
	static const char ok[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
	char bytes[1024];
	bool half = false;
	ssize_t n;

	(void)arg;
	while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0) {
		half = half || memmem(bytes, (size_t)n, "ANY", 3);
		origin_note(bytes, (size_t)n);
		/* Whichever call comes first hears of a reset. */
		if (send(fd, ok, sizeof(ok) - 1, MSG_NOSIGNAL) < 0) {
			n = -1;
			break;
		}
	}
	if (half)
		origin_note(n == 0 ? "<end>" : "<cut>", 5);
}

static int start_servers(void **state)
{
	(void)state;
	server_start(&any, serve_anything, NULL);
	server_start_web(&web, serve_anything);
	return 0;
}

static int stop_servers(void **state)
{
	(void)state;
	server_stop(&any);
	server_stop(&web);
	return 0;
}

static const char *both(void)
{
	static char net[256];

	(void)snprintf(net, sizeof(net),
		       "\"allowed_domains\":[\"localhost:%u\",\"" WEB_HOST ":%u\"]", any.port,
		       web.port);
	return net;
}

/* Goes into a tunnel, says that and ends; none of it may be read as a request to others. */
static void refused(struct host *host, const char *name, uint16_t port, struct koda_span text)
{
	int fd = tunnel_to(host->port, name, port);
	struct koda_egress_message event;
	char answer[4096];

	origin_forget();
	put(fd, text.ptr, text.len);
	(void)shutdown(fd, SHUT_WR);
	(void)get_all(fd, answer, sizeof(answer), true);
	(void)close(fd);
	event = host_next(host);
	if (event.verdict != KODA_EGRESS_DENY || origin_saw("other.test"))
		fail_msg("went through: %.*s", (int)text.len, text.ptr);
	/* The event says where the request was to go. */
	assert_string_equal(event.host, name);
	assert_int_equal(event.port, port);
}

#define TEXT(literal)                                                                              \
	{                                                                                          \
		(literal), sizeof(literal) - 1                                                     \
	}
#define HOST "Host: other.test\r\n\r\n"

static const struct koda_span requests[] = {
	TEXT("GET\x0b/x HTTP/1.1\r\n" HOST),
	TEXT("GET /x\x0cHTTP/1.1\r\n" HOST),
	TEXT("GET\x1f/x\x1fHTTP/1.1\r\n" HOST),
	TEXT("GET\x85/x\x85HTTP/1.1\r\n" HOST),
	TEXT("GET\xa0/x\xa0HTTP/1.1\r\n" HOST),
	TEXT("\x0bGET /x HTTP/1.1\r\n" HOST),
	TEXT("GET /\x01 HTTP/1.1\r\n" HOST),
	TEXT("GET /\x7f HTTP/1.1\r\n" HOST),
	TEXT("GET x\r\n" HOST),
	TEXT("GET *\r\n" HOST),
	TEXT("POST *\r\n" HOST),
	TEXT("OPTIONS *\r\n" HOST),
	TEXT("GET http://other.test/ HTTP/1.1"),
	/* HTTP/2 without TLS: the proxy cannot parse the hosts of its requests. */
	TEXT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0 other.test"),
	TEXT("PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\nGET / HTTP/1.1\r\n" HOST),
	TEXT("\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c"
	     "abcdefghijklGET / HTTP/1.1\r\n" HOST),
};

static void test_requests(void **state)
{
	struct host host;

	(void)state;
	host_start(&host, both(), NULL);
	for (size_t i = 0; i < KODA_ARRAY_LEN(requests); i++) {
		refused(&host, "localhost", any.port, requests[i]);
		refused(&host, WEB_HOST, web.port, requests[i]);
	}
	host_stop(&host);
}

/* Its first half was passed on before one could know; then it ends with a reset. */
static void test_half(void **state)
{
	struct host host;
	char answer[4096];
	int fd;

	(void)state;
	host_start(&host, both(), NULL);
	origin_forget();
	fd = tunnel_to(host.port, "localhost", any.port);
	puts_to(fd, "ANY http:");
	assert_int_equal(get_head(fd, answer, sizeof(answer)), 200);
	puts_to(fd, "//x HTTP/1.1");
	(void)shutdown(fd, SHUT_WR);
	(void)get_all(fd, answer, sizeof(answer), true);
	(void)close(fd);
	(void)host_event(&host, KODA_EGRESS_BAD_REQUEST);
	host_stop(&host);
	/* A clean end might be taken for that of the request. */
	for (int i = 0; i < WAIT_MS && !origin_saw("<cut>"); i++)
		(void)usleep(1000);
	assert_true(origin_saw("<cut>"));
	assert_false(origin_saw("<end>"));
}

/* On other ports these pass. */
static void test_other_protocols(void **state)
{
	static const struct koda_span texts[] = {
		TEXT("SSH-1.5-other.test\r\n"),
		TEXT("EHLO other.test\r\nSTARTTLS\r\n"),
		TEXT("\0\0\0\10\4\322\26\57 other.test"), /* PostgreSQL: SSLRequest */
		TEXT("\3\0\0\23\16\340 other.test"),      /* RDP */
		TEXT("AMQP\0\0\11\1 other.test"),
		TEXT("0032git-upload-pack /p.git\0host=other.test\0"),
		TEXT("\0\0\0\1binary other.test"),
		TEXT("hello other.test"),
	};
	struct host host;
	char back[256];

	(void)state;
	host_start(&host, both(), NULL);
	for (size_t i = 0; i < KODA_ARRAY_LEN(texts); i++) {
		int fd = tunnel_to(host.port, "localhost", any.port);

		origin_forget();
		put(fd, texts[i].ptr, texts[i].len);
		assert_int_equal(get_head(fd, back, sizeof(back)), 200);
		assert_true(origin_saw("other.test"));
		(void)close(fd);
		(void)host_event(&host, KODA_EGRESS_OK);
		refused(&host, WEB_HOST, web.port, texts[i]);
	}
	host_stop(&host);
}

/* What a web port is for. */
static void test_web_port(void **state)
{
	struct host host;
	uint8_t hello[1024];
	char text[256];
	size_t len = make_hello(NULL, false, hello, sizeof(hello));
	int fd;

	(void)state;
	host_start(&host, both(), NULL);
	fd = tunnel_to(host.port, WEB_HOST, web.port);
	put(fd, hello, len);
	assert_int_equal(get_head(fd, text, sizeof(text)), 200);
	(void)close(fd);
	(void)host_event(&host, KODA_EGRESS_OK);
	origin_forget();
	fd = tunnel_to(host.port, WEB_HOST, web.port);
	(void)snprintf(text, sizeof(text), "GET /mine HTTP/1.1\r\nHost: " WEB_HOST ":%u\r\n\r\n",
		       web.port);
	puts_to(fd, text);
	assert_int_equal(get_head(fd, text, sizeof(text)), 200);
	assert_true(origin_saw("GET /mine HTTP/1.1\r\n"));
	(void)close(fd);
	host_stop(&host);
}

/* A server that speaks before it is spoken to, as one that wants to answer a request it has not got
 * yet. */
static void serve_hasty(int fd, void *arg)
{
	static const char early[] = "HTTP/1.1 200 Early\r\nContent-Length: 0\r\n\r\n";

	(void)send(fd, early, sizeof(early) - 1, MSG_NOSIGNAL);
	serve_anything(fd, arg);
}

static bool says_nothing(int fd)
{
	struct pollfd polled = { .fd = fd, .events = POLLIN };

	return poll(&polled, 1, 300) == 0;
}

/* On a web port that waits for the client, and is then no answer to its request. On others servers
 * do speak first. */
static void test_hasty_server(void **state)
{
	struct host host;
	uint8_t hello[1024];
	char text[256];
	size_t len = make_hello(NULL, false, hello, sizeof(hello));
	int fd;

	(void)state;
	web.serve = serve_hasty;
	any.serve = serve_hasty;
	host_start(&host, both(), NULL);
	fd = tunnel_to(host.port, "localhost", any.port);
	assert_int_equal(get_head(fd, text, sizeof(text)), 200);
	assert_non_null(strstr(text, "Early"));
	(void)close(fd);
	(void)host_event(&host, KODA_EGRESS_OK);
	fd = tunnel_to(host.port, WEB_HOST, web.port);
	assert_true(says_nothing(fd));
	(void)snprintf(text, sizeof(text),
		       "POST /x HTTP/1.1\r\nHost: " WEB_HOST ":%u\r\n"
		       "Content-Length: 0\r\n\r\n",
		       web.port);
	puts_to(fd, text);
	assert_int_equal(get_head(fd, text, sizeof(text)), 502);
	(void)close(fd);
	assert_int_equal(host_next(&host).status, 502);
	/* In a tunnel that is opaque from then on, it is the client's business. */
	fd = tunnel_to(host.port, WEB_HOST, web.port);
	assert_true(says_nothing(fd));
	put(fd, hello, len);
	assert_int_equal(get_head(fd, text, sizeof(text)), 200);
	assert_non_null(strstr(text, "Early"));
	(void)close(fd);
	host_stop(&host);
	web.serve = serve_anything;
	any.serve = serve_anything;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),        cmocka_unit_test(test_half),
		cmocka_unit_test(test_other_protocols), cmocka_unit_test(test_web_port),
		cmocka_unit_test(test_hasty_server),
	};

	return cmocka_run_group_tests(tests, start_servers, stop_servers);
}
