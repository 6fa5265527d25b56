/* SPDX-License-Identifier: MIT */
/*
 * Small HTTPS requests a second, over 16 connections that are kept: directly to a server (nginx),
 * through nginx that terminates and encrypts again, and through koda-egress that does the same and
 * checks each request. All verify the server. Rounds are interleaved. Arguments: the proxy, nginx.
 */
#include "bench.h"

#include "tls/tls_client.h"

#include "../lib/certs.h"
#include "base/fd.h"
#include "wire/egress.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLIENTS  16
#define ROUNDS   5
#define ROUND_NS UINT64_C(1500000000)
#define ROOM     ((size_t)1 << 20)

static const char request[] = "GET /v1/things?page=2 HTTP/1.1\r\nHost: localhost:%u\r\n"
			      "User-Agent: bench\r\nAccept: */*\r\n\r\n";
static char folder[] = "/tmp/koda-bench-XXXXXX";
static pid_t children[4];
static size_t child_count;

static void stop_all(void)
{
	for (size_t i = 0; i < child_count; i++) {
		(void)kill(children[i], SIGTERM);
		(void)waitpid(children[i], NULL, 0);
	}
	child_count = 0;
}

static void need(bool condition, const char *what)
{
	if (condition)
		return;
	(void)fprintf(stderr, "bench_terminate: %s: %m\n", what);
	stop_all();
	abort();
}

static void write_file(const char *name, struct koda_span text)
{
	char path[128];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	need(fd >= 0 && koda_fd_write_all(fd, text.ptr, text.len, NULL) == KODA_OK, path);
	(void)close(fd);
}

/* One authority for everything: it signs the servers and what the proxy mints. */
static void make_files(void)
{
	static const struct cert_spec spec = { 0 };
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(ROOM);
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *root = certs_make(&spec, key, NULL, NULL);
	X509 *cert = certs_server("DNS:localhost", key, root, key);

	certs_add_pem(root, &text);
	write_file("root.pem", koda_buf_span(&text));
	koda_buf_clear(&text);
	certs_add_pem(cert, &text);
	write_file("server.pem", koda_buf_span(&text));
	koda_buf_clear(&text);
	certs_add_key_pem(key, NULL, &text);
	write_file("root.key", koda_buf_span(&text));
	X509_free(cert);
	X509_free(root);
	EVP_PKEY_free(key);
}

static int listen_local(uint16_t *ret_port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001) };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	need(fd >= 0 && bind(fd, (struct sockaddr *)&at, len) == 0 && listen(fd, 512) == 0 &&
		     getsockname(fd, (struct sockaddr *)&at, &len) == 0,
	     "listen");
	*ret_port = ntohs(at.sin_port);
	return fd;
}

/* A port that was free a moment ago. */
static uint16_t free_port(void)
{
	uint16_t port;
	int fd = listen_local(&port);

	(void)close(fd);
	return port;
}

static void start(const char *const *argv, const char *const *envp, int control)
{
	pid_t pid = fork();

	need(pid >= 0, "fork");
	if (pid == 0) {
		if (control >= 0)
			(void)dup2(control, KODA_EGRESS_CONTROL_FD);
		(void)execve(argv[0], (char **)(uintptr_t)argv, (char **)(uintptr_t)envp);
		_exit(127);
	}
	children[child_count++] = pid;
}

static void start_nginx(const char *nginx, const char *name, const char *server)
{
	koda_auto_buf struct koda_buf conf = KODA_BUF_INIT(ROOM);
	char path[128];
	const char *argv[] = { nginx, "-c", path, "-p", folder, NULL };
	const char *envp[] = { NULL };

	need(koda_buf_addf(&conf,
			   "daemon off; master_process off; worker_processes 1; pid %s/%s.pid;\n"
			   "error_log %s/%s.log crit; events { worker_connections 512; }\n"
			   "http { access_log off; keepalive_requests 100000000;\n"
			   "client_body_temp_path %s/b; proxy_temp_path %s/p;"
			   "fastcgi_temp_path %s/f; uwsgi_temp_path %s/u; scgi_temp_path %s/s;\n"
			   "ssl_certificate %s/server.pem; ssl_certificate_key %s/root.key;\n"
			   "%s }\n",
			   folder, name, folder, name, folder, folder, folder, folder, folder,
			   folder, folder, server) == KODA_OK,
	     "configuration");
	(void)snprintf(path, sizeof(path), "%s.conf", name);
	write_file(path, koda_buf_span(&conf));
	(void)snprintf(path, sizeof(path), "%s/%s.conf", folder, name);
	start(argv, envp, -1);
}

static void start_servers(const char *nginx, uint16_t origin, uint16_t peer)
{
	char text[1024];

	(void)snprintf(
		text, sizeof(text),
		"server { listen 127.0.0.1:%u ssl; location / { return 200 \"hello\\n\"; } }",
		origin);
	start_nginx(nginx, "origin", text);
	(void)snprintf(text, sizeof(text),
		       "upstream o { server 127.0.0.1:%u; keepalive 32; keepalive_requests "
		       "100000000; }\n"
		       "server { listen 127.0.0.1:%u ssl; location / { proxy_pass https://o; "
		       "proxy_http_version 1.1; proxy_set_header Connection \"\"; "
		       "proxy_ssl_verify on; proxy_ssl_name localhost; "
		       "proxy_ssl_trusted_certificate %s/root.pem; } }",
		       origin, peer, folder);
	start_nginx(nginx, "peer", text);
}

/* Starts koda-egress with one sandbox; its port. */
static uint16_t start_egress(const char *program, int *ret_control)
{
	static const char policy[] = "{\"net\":{\"allowed_domains\":[\"localhost\"],"
				     "\"mitm\":{\"ca_bundle\":\"/ca.pem\"}}}";
	struct koda_egress_message message = { .magic = KODA_EGRESS_MAGIC,
					       .kind = KODA_EGRESS_ADD,
					       .id = 1 };
	char trust[160], path[128];
	const char *argv[] = { program, NULL };
	const char *envp[] = { trust, NULL };
	size_t len = 0, count = 0;
	int theirs = -1, fds[4];
	uint16_t port;

	(void)snprintf(trust, sizeof(trust), "SSL_CERT_FILE=%s/root.pem", folder);
	need(koda_fd_socketpair(ret_control, &theirs, NULL) == KODA_OK, "socketpair");
	start(argv, envp, theirs);
	(void)close(theirs);
	fds[0] = listen_local(&port);
	need(koda_fd_sealed("policy", policy, sizeof(policy) - 1, &fds[1], NULL) == KODA_OK,
	     "policy");
	(void)snprintf(path, sizeof(path), "%s/root.pem", folder);
	fds[2] = open(path, O_RDONLY | O_CLOEXEC);
	(void)snprintf(path, sizeof(path), "%s/root.key", folder);
	fds[3] = open(path, O_RDONLY | O_CLOEXEC);
	need(koda_fd_send(*ret_control, &message, sizeof(message), fds, 4, NULL) == KODA_OK, "add");
	for (size_t i = 0; i < 2; i++) {
		need(koda_fd_receive(*ret_control, &message, sizeof(message), &len, NULL, 0, &count,
				     NULL) == KODA_OK &&
			     len == sizeof(message),
		     "answer of koda-egress");
		need(message.kind == KODA_EGRESS_READY || message.kind == KODA_EGRESS_ADDED,
		     message.text);
	}
	for (size_t i = 0; i < 4; i++)
		(void)close(fds[i]);
	return port;
}

struct client {
	int fd;
	struct egress_tls *tls;
	struct koda_buf plain;
};

static int dial(uint16_t port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(0x7f000001) };
	const int on = 1;

	for (int i = 0; i < 200; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		need(fd >= 0, "socket");
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		if (connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
			return fd;
		(void)close(fd);
		(void)usleep(20000);
	}
	need(false, "connect");
	return -1;
}

/* Asks for a tunnel and reads the answer. */
static void ask_tunnel(int fd, uint16_t target)
{
	char text[256];
	size_t len = (size_t)snprintf(text, sizeof(text),
				      "CONNECT localhost:%u HTTP/1.1\r\nHost: localhost:%u\r\n\r\n",
				      target, target);

	need(write(fd, text, len) == (ssize_t)len, "CONNECT");
	for (len = 0; len < sizeof(text) && !(len > 3 && !memcmp(text + len - 4, "\r\n\r\n", 4));
	     len++)
		need(read(fd, text + len, 1) == 1, "answer to CONNECT");
	need(memcmp(text + 9, "200", 3) == 0, text);
}

static void flush(struct client *c)
{
	struct koda_span out = egress_tls_out(c->tls);

	while (out.len > 0) {
		ssize_t n = send(c->fd, out.ptr, out.len, MSG_NOSIGNAL);

		need(n > 0, "send");
		egress_tls_sent(c->tls, (size_t)n);
		out = egress_tls_out(c->tls);
	}
}

static void pull(struct client *c)
{
	static char bytes[65536];
	ssize_t n = recv(c->fd, bytes, sizeof(bytes), 0);
	struct koda_span in = { bytes, (size_t)n };
	struct koda_error err = { 0 };

	need(n > 0, "recv");
	need(egress_tls_feed(c->tls, &in, &c->plain, &err) == KODA_OK, err.message);
}

static void ask(struct client *c, uint16_t target)
{
	char text[256];
	size_t len = (size_t)snprintf(text, sizeof(text), request, target);

	c->plain.len = 0;
	need(egress_tls_write(c->tls, (struct koda_span){ text, len }, NULL) == KODA_OK, "write");
	flush(c);
}

static bool answered(const struct client *c)
{
	return c->plain.len > 6 && memcmp(c->plain.ptr + c->plain.len - 6, "hello\n", 6) == 0;
}

/* Requests a second. tunnel: CONNECT first. */
static double run_round(struct egress_tls_client *tls, uint16_t port, bool tunnel, uint16_t target)
{
	struct client clients[CLIENTS];
	struct pollfd polls[CLIENTS];
	struct koda_host host;
	uint64_t start, count = 0;

	need(koda_host_parse(koda_span_of("localhost"), &host, NULL) == KODA_OK, "host");
	for (size_t i = 0; i < CLIENTS; i++) {
		struct client *c = &clients[i];

		*c = (struct client){ .fd = dial(port), .plain = KODA_BUF_INIT(ROOM) };
		if (tunnel)
			ask_tunnel(c->fd, target);
		need(egress_tls_connect(tls, &host, port, &c->tls, NULL) == KODA_OK, "TLS");
		need(egress_tls_handshake(c->tls, NULL) == KODA_OK, "handshake");
		flush(c);
		while (egress_tls_state(c->tls) == EGRESS_TLS_HANDSHAKE) {
			pull(c);
			flush(c);
		}
		polls[i] = (struct pollfd){ .fd = c->fd, .events = POLLIN };
		ask(c, target);
	}
	start = bench_now();
	while (bench_now() - start < ROUND_NS) {
		need(poll(polls, CLIENTS, 5000) > 0, "no answer");
		for (size_t i = 0; i < CLIENTS; i++) {
			if (!polls[i].revents)
				continue;
			pull(&clients[i]);
			if (!answered(&clients[i]))
				continue;
			count++;
			ask(&clients[i], target);
		}
	}
	start = bench_now() - start;
	for (size_t i = 0; i < CLIENTS; i++) {
		egress_tls_free(clients[i].tls);
		koda_buf_clear(&clients[i].plain);
		(void)close(clients[i].fd);
	}
	return (double)count * 1e9 / (double)start;
}

/* Nobody reads the events; they must not fill the socket's buffer. */
static void drain(int control)
{
	char bytes[2048];

	while (recv(control, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "direct", "nginx", "koda-egress" };
	double rates[3][ROUNDS];
	struct egress_tls_client *tls = NULL;
	struct koda_error err = { 0 };
	uint16_t origin, peer, ports[3];
	char path[128];
	int control = -1, fd = -1;

	if (argc != 3 || !*argv[2]) {
		puts("bench_terminate: nginx is not installed, nothing to compare with");
		return 0;
	}
	need(mkdtemp(folder) != NULL, "folder");
	need(egress_tls_setup(&err) == KODA_OK, err.message);
	make_files();
	(void)snprintf(path, sizeof(path), "%s/root.pem", folder);
	need(koda_fd_open_regular(path, &fd, NULL) == KODA_OK, path);
	need(egress_tls_client_new(fd, &tls, &err) == KODA_OK, err.message);
	origin = free_port();
	peer = free_port();
	start_servers(argv[2], origin, peer);
	ports[0] = origin;
	ports[1] = peer;
	ports[2] = start_egress(argv[1], &control);
	for (size_t round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < 3; i++) {
			rates[i][round] = run_round(tls, ports[i], i == 2, origin);
			drain(control);
		}
	for (size_t i = 0; i < 3; i++) {
		struct bench_result r = bench_percentiles(rates[i], ROUNDS);

		printf("%-44s %10.0f requests/s   %.2f of nginx\n", names[i], r.p50,
		       r.p50 / bench_percentiles(rates[1], ROUNDS).p50);
	}
	egress_tls_client_free(tls);
	(void)close(control);
	stop_all();
	(void)snprintf(path, sizeof(path), "rm -r %s", folder);
	return system(path) != 0;
}
