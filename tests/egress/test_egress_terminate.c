/* SPDX-License-Identifier: MIT */
/*
 * T-74, T-76. TLS that ends in the proxy: the client trusts the authority of the policy, the proxy
 * the one of the system, and nobody else is believed.
 */
#include "site.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

static EVP_PKEY *other_key;
static X509 *old_ca, *expired;

static int make_certificates(void **state)
{
	static const struct cert_spec old_spec = { .from_days = -9, .until_days = -1 };
	static const struct cert_spec expired_spec = { .basic = "critical,CA:FALSE",
						       .usage = "critical,digitalSignature",
						       .alt = "DNS:localhost",
						       .from_days = -9,
						       .until_days = -1 };
	int r = make_site(state);

	other_key = EVP_EC_gen("P-256");
	old_ca = certs_make(&old_spec, ca_key, NULL, NULL);
	expired = certs_make(&expired_spec, root_key, root, root_key);
	return r;
}

static _Atomic bool unanswered; /* a request for /silent has come */

/* A server that answers each request on a connection with its path, but not one for /silent; arg is
 * its certificate. */
static void serve_https(int fd, void *arg)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	SSL *ssl;
	char head[512];
	int n;

	(void)SSL_CTX_use_certificate(ctx, arg);
	(void)SSL_CTX_use_PrivateKey(ctx, root_key);
	ssl = SSL_new(ctx);
	(void)SSL_set_fd(ssl, fd);
	SSL_set_accept_state(ssl);
	while ((n = SSL_read(ssl, head, sizeof(head) - 1)) > 0) {
		char answer[1024];
		char *path, *end;

		head[n] = '\0';
		path = strchr(head, ' ');
		end = path ? strchr(path + 1, ' ') : NULL;
		if (!end)
			break;
		*end = '\0';
		if (strcmp(path + 1, "/silent") == 0) {
			unanswered = true;
			continue;
		}
		n = snprintf(answer, sizeof(answer),
			     "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(path + 1),
			     path + 1);
		if (SSL_write(ssl, answer, n) != n)
			break;
	}
	SSL_free(ssl);
	SSL_CTX_free(ctx);
}

/* One request, whose answer must have these words in it. */
static void ask(SSL *ssl, const char *request, const char *words)
{
	char answer[8192] = "";
	int len = (int)strlen(request);
	size_t have = 0;

	assert_int_equal(SSL_write(ssl, request, len), len);
	while (!strstr(answer, words)) {
		int n = SSL_read(ssl, answer + have, (int)(sizeof(answer) - have - 1));

		if (n <= 0)
			fail_msg("no \"%s\" in \"%s\"", words, answer);
		have += (size_t)n;
		answer[have] = '\0';
	}
}

static const char *request_for(const char *path, const char *name, uint16_t port)
{
	static char text[256];

	(void)snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: %s:%u\r\n\r\n", path, name,
		       port);
	return text;
}

static void test_terminated(void **state)
{
	struct koda_egress_message event;
	static struct server server;
	struct host host;
	SSL *ssl;
	int fd;

	(void)state;
	server_start(&server, serve_https, good);
	site_start(&host, net_for(server.port, MITM));
	fd = tunnel_to(host.port, "localhost", server.port);
	ssl = tls_over(fd, ca);
	assert_non_null(ssl);
	ask(ssl, request_for("/one?token=1", "localhost", server.port), "\r\n\r\n/one?token=1");
	event = host_event(&host, KODA_EGRESS_OK);
	assert_string_equal(event.method, "GET");
	assert_string_equal(event.path, "/one");
	assert_string_equal(event.host, "localhost");
	assert_int_equal(event.status, 200);
	ask(ssl, request_for("/two", "localhost", server.port), "/two");
	event = host_event(&host, KODA_EGRESS_OK);
	assert_string_equal(event.path, "/two");
	/* Another host on that connection. */
	ask(ssl, request_for("/three", "evil.example", server.port), "HTTP/1.1 421 ");
	event = host_event(&host, KODA_EGRESS_MISDIRECTED);
	assert_int_equal(event.verdict, KODA_EGRESS_DENY);
	event = host_next(&host);
	assert_string_equal(event.method, "");
	assert_true(event.bytes_up > 0 && event.bytes_down > 0);
	assert_int_equal(server.served, 1);
	SSL_free(ssl);
	(void)close(fd);
	host_stop(&host);
	server_stop(&server);
}

/* A request whose client does not wait for the answer is told of, by its path. */
static void test_client_gone(void **state)
{
	const struct linger at_once = { .l_onoff = 1, .l_linger = 0 };
	struct koda_egress_message event;
	static struct server server;
	struct host host;
	const char *text;
	SSL *ssl;
	int fd;

	(void)state;
	server_start(&server, serve_https, good);
	site_start(&host, net_for(server.port, MITM));
	fd = tunnel_to(host.port, "localhost", server.port);
	ssl = tls_over(fd, ca);
	assert_non_null(ssl);
	ask(ssl, request_for("/one", "localhost", server.port), "/one");
	assert_string_equal(host_event(&host, KODA_EGRESS_OK).path, "/one");
	text = request_for("/silent", "localhost", server.port);
	assert_int_equal(SSL_write(ssl, text, (int)strlen(text)), strlen(text));
	for (int i = 0; i < WAIT_MS && !unanswered; i++)
		(void)usleep(1000);
	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	(void)close(fd);
	event = host_event(&host, KODA_EGRESS_RESET);
	assert_string_equal(event.method, "GET");
	assert_string_equal(event.path, "/silent");
	assert_string_equal(host_event(&host, KODA_EGRESS_RESET).method, "");
	SSL_free(ssl);
	host_stop(&host);
	server_stop(&server);
}

/* A client that does not trust the CA refuses the proxy's certificate. */
static void test_only_for_those_who_trust(void **state)
{
	static struct server server;
	struct host host;
	int fd;

	(void)state;
	server_start(&server, serve_https, good);
	site_start(&host, net_for(server.port, MITM));
	fd = tunnel_to(host.port, "localhost", server.port);
	assert_null(tls_over(fd, root));
	(void)host_event(&host, KODA_EGRESS_TLS_FAILED);
	(void)close(fd);
	host_stop(&host);
	server_stop(&server);
}

/* Without "mitm" the tunnel passes TLS: the client sees the server's certificate. */
static void test_opaque_without_mitm(void **state)
{
	static struct server server;
	struct host host;
	SSL *ssl;
	int fd;

	(void)state;
	server_start(&server, serve_https, good);
	host_start(&host, net_for(server.port, "\"mitm\":null"), proxy_env);
	fd = tunnel_to(host.port, "localhost", server.port);
	ssl = tls_over(fd, root);
	assert_non_null(ssl);
	ask(ssl, request_for("/x", "localhost", server.port), "/x");
	SSL_free(ssl);
	(void)close(fd);
	host_stop(&host);
	server_stop(&server);
}

/* A bundle without a key is for clients to trust, if the host says so by the flag: then the tunnel
 * is opaque, also under new rules. */
static void test_opaque_bundle(void **state)
{
	static struct server server;
	struct host host;
	uint16_t port;
	SSL *ssl;
	int fd;

	(void)state;
	server_start(&server, serve_https, good);
	host_start_bare(&host, proxy_env);
	(void)host_send_add(&host, 1, KODA_EGRESS_TLS_PASSTHROUGH, "\"mitm\":null");
	assert_string_equal(host_expect(&host, KODA_EGRESS_REFUSED).text,
			    "the policy has no CA bundle");
	(void)host_send_add(&host, 1, 0, net_for(server.port, MITM));
	(void)host_expect(&host, KODA_EGRESS_REFUSED);
	port = host_add(&host, 1, KODA_EGRESS_TLS_PASSTHROUGH, net_for(server.port, MITM));
	for (int i = 0; i < 2; i++) {
		fd = tunnel_to(port, "localhost", server.port);
		ssl = tls_over(fd, root);
		assert_non_null(ssl);
		ask(ssl, request_for("/x", "localhost", server.port), "/x");
		SSL_free(ssl);
		(void)close(fd);
		(void)host_event(&host, KODA_EGRESS_OK);
		host_rules(&host, 1, net_for(server.port, MITM));
		(void)host_expect(&host, KODA_EGRESS_RULED);
	}
	host_rules(&host, 1, net_for(server.port, "\"mitm\":null"));
	(void)host_expect(&host, KODA_EGRESS_REFUSED);
	host_stop(&host);
	server_stop(&server);
}

static void test_bad_origin(void **state)
{
	struct koda_egress_message event;
	static struct server server;
	struct host host;
	SSL *ssl;
	int fd;

	(void)state;
	server_start(&server, serve_https, expired);
	site_start(&host, net_for(server.port, MITM));
	fd = tunnel_to(host.port, "localhost", server.port);
	ssl = tls_over(fd, ca);
	assert_non_null(ssl);
	ask(ssl, request_for("/x", "localhost", server.port), "HTTP/1.1 502 ");
	event = host_event(&host, KODA_EGRESS_TLS_FAILED);
	assert_non_null(strstr(event.text, "expired"));
	SSL_free(ssl);
	(void)close(fd);
	host_stop(&host);
	server_stop(&server);
}

static void test_bad_authority(void **state)
{
	const struct {
		const char *name;
		X509 *cert;
		EVP_PKEY *key;
		const char *net;
		const char *want;
	} rows[] = {
		{ "no CA", NULL, NULL, MITM, "no CA" },
		{ "no key", ca, NULL, MITM, "key of the CA is missing" },
		{ "another key", ca, other_key, MITM, "does not belong" },
		{ "expired", old_ca, ca_key, MITM, "expired" },
		{ "not a CA", good, root_key, MITM, "not a CA" },
		{ "CA for nothing", ca, ca_key, "\"mitm\":null", "does not terminate" },
	};
	struct koda_egress_message answer;
	struct host host;
	uint16_t port;

	(void)state;
	host_start_bare(&host, proxy_env);
	KODA_EACH(row, rows) {
		answer = add_with(&host, 1, row->net, row->cert ? sealed(row->cert, NULL) : -1,
				  row->key ? sealed(NULL, row->key) : -1, &port);
		KODA_EXPECT(row->name, answer.kind == KODA_EGRESS_REFUSED);
		if (!strstr(answer.text, row->want))
			fail_msg("%s: %s", row->name, answer.text);
	}
	/* And its twin; certificate and key may be one file. */
	answer = add_with(&host, 1, MITM, sealed(ca, ca_key), -1, &port);
	assert_int_equal(answer.kind, KODA_EGRESS_ADDED);
	/* New rules cannot switch it off. */
	host_rules(&host, 1, "\"mitm\":null");
	(void)host_expect(&host, KODA_EGRESS_REFUSED);
	host_stop(&host);
}

/* A proxy on a Unix socket: answers CONNECT, then whatever is said first. */
static void *serve_socket(void *arg)
{
	int fd = accept4(*(int *)arg, NULL, NULL, SOCK_CLOEXEC);
	char head[512];

	if (fd >= 0 && get_head(fd, head, sizeof(head)) == 0 &&
	    strncmp(head, "CONNECT mapped.example:443 ", 27) == 0) {
		puts_to(fd, "HTTP/1.1 200 OK\r\n\r\n");
		(void)recv(fd, head, sizeof(head), 0);
		puts_to(fd, "hello from the socket");
	}
	(void)close(fd);
	return NULL;
}

static void test_socket_map(void **state)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct host host;
	pthread_t thread;
	char net[512], text[64];
	uint8_t hello[512];
	int fd, status;

	(void)state;
	(void)snprintf(at.sun_path, sizeof(at.sun_path), "/tmp/koda-map-%d", (int)getpid());
	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(listener, 4), 0);
	(void)snprintf(net, sizeof(net),
		       "\"allowed_domains\":[\"mapped.example\"],\"mitm\":{\"ca_bundle\":\"/ca\","
		       "\"socket_map\":[[\"mapped.example\",\"%s\"]]}",
		       at.sun_path);
	site_start(&host, net);
	assert_int_equal(pthread_create(&thread, NULL, serve_socket, &listener), 0);
	fd = tunnel_to(host.port, "mapped.example", 443);
	put(fd, hello, make_hello("mapped.example", false, hello, sizeof(hello)));
	get(fd, text, 21);
	assert_memory_equal(text, "hello from the socket", 21);
	(void)close(fd);
	(void)pthread_join(thread, NULL);
	(void)host_next(&host);
	/* Without a listener the connection fails; it is not made directly. */
	(void)close(listener);
	(void)unlink(at.sun_path);
	fd = connect_through(host.port, "mapped.example:443", &status);
	assert_int_equal(status, 502);
	(void)host_event(&host, KODA_EGRESS_UPSTREAM_FAILED);
	(void)close(fd);
	host_stop(&host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_terminated),
		cmocka_unit_test(test_client_gone),
		cmocka_unit_test(test_only_for_those_who_trust),
		cmocka_unit_test(test_opaque_without_mitm),
		cmocka_unit_test(test_opaque_bundle),
		cmocka_unit_test(test_bad_origin),
		cmocka_unit_test(test_bad_authority),
		cmocka_unit_test(test_socket_map),
	};

	/* OpenSSL writes to sockets that the other side has closed. */
	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, make_certificates, remove_site);
}
