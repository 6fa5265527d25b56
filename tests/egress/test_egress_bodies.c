/* SPDX-License-Identifier: MIT */
/*
 * T-70. Bodies, good and odd, through the proxy to servers that other people wrote. What a server
 * says it got is what the proxy decided and told of: as many requests, with these methods, hosts,
 * paths and bodies, and none that hides in another's body. On all ways that requests take: plain,
 * in a tunnel, in TLS that ends in the proxy, and by a proxy that the site prescribes.
 */
#include "origins.h"
#include "site.h"

#include "../lib/bodies.h"
#include "../lib/body_oracle.h"

#include <sys/socket.h>

#define LISTED "listed.test" /* by a proxy after ours, names are not looked up */

enum way {
	WAY_PLAIN,
	WAY_TUNNEL,
	WAY_TLS,
	WAY_UPSTREAM
};

/* What the proxy told, and what the origin has to have noted. */
struct told {
	char method[sizeof(((struct koda_egress_message *)0)->method)];
	char path[sizeof(((struct koda_egress_message *)0)->path)];
	uint64_t sent;
};
#define TOLD_MAX 4096

struct play {
	struct host host;
	struct origin origin;
	enum way way;
	char authority[64];
	struct told told[TOLD_MAX]; /* requests that were allowed, and answered by the origin */
	size_t told_count;
};

static struct play play = { .host.proc = KODA_PROC_INIT, .origin.proc = KODA_PROC_INIT };

/* Also after a test that failed. */
static void play_kill(void)
{
	koda_proc_kill(&play.host.proc);
	origin_stop(&play.origin);
}

static bool play_start(enum origin_kind kind, enum way way)
{
	char variable[64];
	char *env[] = { variable, NULL };
	char net[256];

	play_kill();
	play = (struct play){ .way = way, .host.proc = KODA_PROC_INIT };
	if (!origin_start(&play.origin, kind, way == WAY_TLS))
		return false;
	(void)snprintf(variable, sizeof(variable), "HTTP_PROXY=http://127.0.0.1:%u",
		       play.origin.port);
	(void)snprintf(play.authority, sizeof(play.authority), "localhost:%u", play.origin.port);
	if (way == WAY_UPSTREAM) {
		(void)snprintf(play.authority, sizeof(play.authority), LISTED);
		host_start(&play.host, "\"allowed_domains\":[\"" LISTED "\"]", env);
	} else if (way == WAY_TLS) {
		site_start(&play.host, net_for(play.origin.port, MITM));
	} else {
		(void)snprintf(net, sizeof(net), "\"allowed_domains\":[\"%s\"]", play.authority);
		host_start(&play.host, net, NULL);
	}
	return true;
}

/* Sends text and its end, and reads all that comes. */
static void say(int fd, const char *text, size_t len, char *out, size_t size)
{
	/* The proxy may have closed in the middle of it. */
	for (size_t at = 0; at < len;) {
		ssize_t n = send(fd, text + at, len - at, MSG_NOSIGNAL);

		if (n <= 0)
			break;
		at += (size_t)n;
	}
	(void)shutdown(fd, SHUT_WR);
	out[get_all(fd, out, size - 1, true)] = '\0';
}

static void say_tls(int fd, const char *text, size_t len, char *out, size_t size)
{
	SSL *ssl = tls_over(fd, ca);
	size_t got = 0;
	int n;

	assert_non_null(ssl);
	if (len > 0)
		(void)SSL_write(ssl, text, (int)len);
	(void)SSL_shutdown(ssl);
	(void)shutdown(fd, SHUT_WR);
	while (got < size - 1 && (n = SSL_read(ssl, out + got, (int)(size - 1 - got))) > 0)
		got += (size_t)n;
	out[got] = '\0';
	SSL_free(ssl);
}

/* Those that were allowed, and answered by the origin, are kept. */
static struct koda_egress_message next_event(void)
{
	struct koda_egress_message event = host_expect(&play.host, KODA_EGRESS_EVENT);
	struct told *told = &play.told[play.told_count];

	if (event.verdict != KODA_EGRESS_ALLOW || event.reason != KODA_EGRESS_OK ||
	    event.status != 200)
		return event;
	assert_true(++play.told_count < TOLD_MAX && event.dropped == 0);
	(void)snprintf(told->method, sizeof(told->method), "%s", event.method);
	(void)snprintf(told->path, sizeof(told->path), "%s", event.path);
	told->sent = event.bytes_up;
	return event;
}

/* The next events, up to the first that is about this path. */
static struct koda_egress_message event_for(const char *path)
{
	for (;;) {
		struct koda_egress_message event = next_event();

		if (strcmp(event.path, path) == 0)
			return event;
	}
}

/* One connection to the origin, on which text is said, and what was answered. */
static void talk(const char *text, size_t len, char *out, size_t size)
{
	int fd = play.way == WAY_PLAIN || play.way == WAY_UPSTREAM
			 ? dial_local(play.host.port)
			 : tunnel_to(play.host.port, "localhost", play.origin.port);

	if (play.way == WAY_TLS)
		say_tls(fd, text, len, out, size);
	else
		say(fd, text, len, out, size);
	(void)close(fd);
}

/* What begins a request to the origin on this way. */
static int target(char *out, size_t size, const char *method, const char *path)
{
	bool absolute = play.way == WAY_PLAIN || play.way == WAY_UPSTREAM;

	return snprintf(out, size, "%s %s%s%s HTTP/1.1\r\nHost: %s\r\n", method,
			absolute ? "http://" : "", absolute ? play.authority : "", path,
			play.authority);
}

/* The next note, for which it gets some time. */
static bool await_note(long *at, struct origin_request *got)
{
	for (int i = 0; i < 3000; i++) {
		if (origin_next(&play.origin, at, got))
			return true;
		(void)usleep(10000);
	}
	return false;
}

/* The origin's notes are what was told, and nothing else is among them. */
static void compare_notes(void)
{
	struct origin_request got;
	size_t count = 0;
	long at = 0;

	while (count < play.told_count ? await_note(&at, &got)
				       : origin_next(&play.origin, &at, &got)) {
		bool found = false;

		for (size_t i = 0; i < play.told_count && !found; i++) {
			struct told *told = &play.told[i];

			found = strcmp(told->method, got.method) == 0 &&
				strcmp(told->path, got.path) == 0 && told->sent == got.len;
			if (found)
				told->method[0] = '\0';
		}
		if (!found || strcmp(got.host, play.authority) != 0)
			fail_msg("%s got %s %s %s with %zu bytes, which nobody told of",
				 play.origin.name, got.method, got.host, got.path, got.len);
		count++;
	}
	if (count != play.told_count)
		fail_msg("%s got %zu requests, and %zu were told of", play.origin.name, count,
			 play.told_count);
}

static void play_end(void)
{
	host_stop(&play.host);
	play_kill();
}

/* The body that the origin notes for this path; some note it after they have answered. */
static bool has_noted(const char *path, const struct oracle_body *want)
{
	struct origin_request got;
	long at = 0;

	while (await_note(&at, &got))
		if (strcmp(got.path, path) == 0)
			return got.len == want->len &&
			       memcmp(got.body, want->payload, want->len) == 0;
	return false;
}

static void send_body(size_t n, const char *body, size_t len)
{
	static struct oracle_body want;
	char text[1024 + BODY_MAX];
	char out[8192];
	char path[32];
	struct koda_egress_message event;
	size_t at;

	(void)snprintf(path, sizeof(path), "/body-%zu", n);
	oracle_chunked(body, len, &want);
	at = (size_t)target(text, sizeof(text), "POST", path);
	at += (size_t)snprintf(text + at, sizeof(text) - at, "Transfer-Encoding: chunked\r\n\r\n");
	memcpy(text + at, body, len);
	talk(text, at + len, out, sizeof(out));
	event = event_for(path);
	if (want.is == ORACLE_WHOLE) {
		if (event.status != 200 || event.bytes_up != want.len ||
		    strncmp(out, "HTTP/1.1 200 ", 13) != 0 || !has_noted(path, &want))
			fail_msg("%s, body %zu: status %u, %s", play.origin.name, n, event.status,
				 out);
	} else if (event.status != 400 || event.reason != KODA_EGRESS_BAD_REQUEST ||
		   event.verdict != KODA_EGRESS_DENY || strncmp(out, "HTTP/1.1 400 ", 13) != 0) {
		fail_msg("%s, body %zu: status %u, reason %u, %s", play.origin.name, n,
			 event.status, event.reason, out);
	}
}

/* Every stride-th of them. */
static void send_bodies(enum origin_kind kind, enum way way, size_t stride)
{
	char body[BODY_MAX];
	size_t len;

	if (!play_start(kind, way))
		skip();
	for (size_t n = 0; bodies_get(n, body, &len); n++)
		if (n < KODA_ARRAY_LEN(body_table) || n % stride == 0)
			send_body(n, body, len);
	compare_notes();
	play_end();
}

static void send_odd_requests(enum origin_kind kind, enum way way)
{
	char text[4096];
	char out[16384];
	char path[32];

	if (!play_start(kind, way))
		skip();
	for (size_t n = 0; n < KODA_ARRAY_LEN(body_heads) * 2; n++) {
		size_t len;

		(void)snprintf(path, sizeof(path), "/odd-%zu", n);
		len = (size_t)target(text, sizeof(text), "POST", path);
		/* The second time as HTTP/1.0, that keeps the connection. */
		if (n >= KODA_ARRAY_LEN(body_heads)) {
			strstr(text, "HTTP/1.1\r\n")[7] = '0';
			len += (size_t)snprintf(text + len, sizeof(text) - len,
						"Connection: keep-alive\r\n");
		}
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s",
					body_heads[n % KODA_ARRAY_LEN(body_heads)]);
		/* Another that is good follows, and is decided by itself. */
		len += (size_t)target(text + len, sizeof(text) - len, "GET", "/after");
		len += (size_t)snprintf(text + len, sizeof(text) - len, "\r\n");
		talk(text, len, out, sizeof(out));
		while (host_has_message(&play.host, 0))
			(void)next_event();
	}
	(void)target(text, sizeof(text), "GET", "/last");
	strcat(text, "\r\n");
	talk(text, strlen(text), out, sizeof(out));
	(void)event_for("/last");
	compare_notes();
	play_end();
}

/* An origin that reads no bodies takes one for its next request. */
static void hide_request(enum way way)
{
	static const char hidden[] = "GET /secret HTTP/1.1\r\nHost: evil.test\r\n\r\n";
	struct origin_request got;
	char text[1024];
	char out[4096];
	long at = 0;
	int len;

	if (!play_start(ORIGIN_PYTHON, way))
		skip();
	len = target(text, sizeof(text), "POST", "/first");
	len += snprintf(text + len, sizeof(text) - (size_t)len, "Content-Length: %zu\r\n\r\n%s",
			strlen(hidden), hidden);
	len += target(text + len, sizeof(text) - (size_t)len, "GET", "/second");
	talk(strcat(text, "\r\n"), (size_t)len + 2, out, sizeof(out));
	assert_non_null(strstr(out, "answer to /first"));
	assert_non_null(strstr(out, "answer to /second"));
	(void)event_for("/second");
	while (origin_next(&play.origin, &at, &got))
		assert_string_not_equal(got.path, "/secret");
	play_end();
}

static void hidden_requests(void **state)
{
	(void)state;
	for (enum way way = WAY_PLAIN; way <= WAY_UPSTREAM; way++)
		hide_request(way);
}

/* All of them where it costs least, and some of them on the other ways. */
#define TESTS(name, kind)                                                                          \
	static void name##_plain(void **state)                                                     \
	{                                                                                          \
		(void)state;                                                                       \
		send_bodies(kind, WAY_PLAIN, 1);                                                   \
	}                                                                                          \
	static void name##_tunnel(void **state)                                                    \
	{                                                                                          \
		(void)state;                                                                       \
		send_bodies(kind, WAY_TUNNEL, 7);                                                  \
	}                                                                                          \
	static void name##_odd(void **state)                                                       \
	{                                                                                          \
		(void)state;                                                                       \
		send_odd_requests(kind, WAY_PLAIN);                                                \
		send_odd_requests(kind, WAY_TUNNEL);                                               \
	}
#define MORE_TESTS(name, kind)                                                                     \
	static void name##_tls(void **state)                                                       \
	{                                                                                          \
		(void)state;                                                                       \
		send_bodies(kind, WAY_TLS, 11);                                                    \
		send_odd_requests(kind, WAY_TLS);                                                  \
	}                                                                                          \
	static void name##_upstream(void **state)                                                  \
	{                                                                                          \
		(void)state;                                                                       \
		send_bodies(kind, WAY_UPSTREAM, 7);                                                \
		send_odd_requests(kind, WAY_UPSTREAM);                                             \
	}

TESTS(go, ORIGIN_GO)
TESTS(node, ORIGIN_NODE)
TESTS(nginx, ORIGIN_NGINX)
MORE_TESTS(go, ORIGIN_GO)
MORE_TESTS(node, ORIGIN_NODE)

static int setup(void **state)
{
	koda_auto_buf struct koda_buf cert = KODA_BUF_INIT(ROOM);
	koda_auto_buf struct koda_buf key = KODA_BUF_INIT(ROOM);

	if (make_site(state) || origins_setup(state))
		return -1;
	certs_add_pem(good, &cert);
	certs_add_key_pem(root_key, NULL, &key);
	origins_write("cert.pem", koda_buf_span(&cert));
	origins_write("key.pem", koda_buf_span(&key));
	return 0;
}

static int teardown(void **state)
{
	play_kill();
	return remove_site(state) || origins_remove(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(go_plain),    cmocka_unit_test(go_tunnel),
		cmocka_unit_test(go_odd),      cmocka_unit_test(go_tls),
		cmocka_unit_test(go_upstream), cmocka_unit_test(node_plain),
		cmocka_unit_test(node_tunnel), cmocka_unit_test(node_odd),
		cmocka_unit_test(node_tls),    cmocka_unit_test(node_upstream),
		cmocka_unit_test(nginx_plain), cmocka_unit_test(nginx_tunnel),
		cmocka_unit_test(nginx_odd),   cmocka_unit_test(hidden_requests),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
