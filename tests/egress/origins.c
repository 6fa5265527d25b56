/* SPDX-License-Identifier: MIT */
#include "origins.h"

#include "../lib/scratch.h"
#include "base/ascii.h"
#include "base/clock.h"
#include "base/fd.h"

#include <netinet/in.h>
#include <sys/socket.h>

/* Of a path in the folder. */
#define PATH 300

static void *scratch; /* the folder's path */
#define folder ((const char *)scratch)

static const char *const programs[ORIGIN_KINDS][3] = {
	[ORIGIN_GO] = { "/usr/bin/go", "/usr/local/go/bin/go", NULL },
	[ORIGIN_NODE] = { "/usr/bin/node", "/usr/local/bin/node", NULL },
	[ORIGIN_NGINX] = { "/usr/sbin/nginx", "/usr/bin/nginx", NULL },
	[ORIGIN_PYTHON] = { "/usr/bin/python3", "/usr/local/bin/python3", NULL },
};
static const char *const names[ORIGIN_KINDS] = { "go", "node", "nginx", "python" };

static const char *program_of(enum origin_kind kind)
{
	const char *must = getenv("KODA_TEST_MUST_RUN");

	for (const char *const *path = programs[kind]; *path; path++)
		if (access(*path, X_OK) == 0)
			return *path;
	if (must && strcmp(must, "1") == 0)
		fail_msg("%s is not installed", names[kind]);
	return NULL;
}

static const char *in_folder(const char *name, char out[static PATH])
{
	(void)snprintf(out, PATH, "%s/%s", folder, name);
	return out;
}

static const char *source(const char *name, char out[static 512])
{
	const char *from = getenv("KODA_TEST_ORIGINS");

	assert_non_null(from);
	(void)snprintf(out, 512, "%s/%s", from, name);
	return out;
}

void origins_write(const char *name, struct koda_span text)
{
	char path[PATH];
	int fd = open(in_folder(name, path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(koda_fd_write_all(fd, text.ptr, text.len, NULL), 0);
	(void)close(fd);
}

int origins_setup(void **state)
{
	(void)state;
	return koda_scratch_setup(&scratch);
}

int origins_remove(void **state)
{
	(void)state;
	return koda_scratch_teardown(&scratch);
}

/* Starts a program whose standard output is *ret_out. */
static void spawn(struct koda_proc *proc, const char *const *argv, int *ret_out)
{
	char cache[PATH + 16];
	char home[PATH + 16];
	char *env[] = { cache, home, (char *)(uintptr_t) "GO111MODULE=off",
			(char *)(uintptr_t) "PATH=/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin",
			NULL };
	struct koda_error err = { 0 };
	int ends[2];

	(void)snprintf(cache, sizeof(cache), "GOCACHE=%s/cache", folder);
	(void)snprintf(home, sizeof(home), "HOME=%s", folder);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	const struct koda_fdmap give[] = { { ends[1], 1 }, { 2, 2 } };

	*proc = (struct koda_proc)KODA_PROC_INIT;
	KODA_ASSERT_OK(
		koda_proc_spawn(proc, argv[0], (char *const *)(uintptr_t)argv, env, give, 2, &err),
		err);
	(void)close(ends[1]);
	*ret_out = ends[0];
}

/* Go's is made first. */
static const char *build_go(const char *go, char out[static PATH])
{
	char from[512];
	const char *argv[] = { go,  "build", "-o", in_folder("go", out), source("origin.go", from),
			       NULL };
	struct koda_exit ended;
	struct koda_error err = { 0 };
	struct koda_proc proc;
	int pipe_end;

	if (access(out, X_OK) == 0)
		return out;
	spawn(&proc, argv, &pipe_end);
	(void)close(pipe_end);
	KODA_ASSERT_OK(
		koda_proc_wait(&proc, koda_clock_now() + 240 * UINT64_C(1000000000), &ended, &err),
		err);
	assert_int_equal(ended.code, 0);
	return out;
}

static uint16_t read_port(int fd)
{
	char text[16] = "";
	size_t len = 0;

	while (len < sizeof(text) - 1 && !strchr(text, '\n')) {
		ssize_t n = read(fd, text + len, 1);

		assert_true(n == 1);
		text[++len] = '\0';
	}
	return (uint16_t)strtoul(text, NULL, 10);
}

static void await_port(uint16_t port)
{
	const struct sockaddr_in at = { .sin_family = AF_INET,
					.sin_port = htons(port),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	bool there = false;

	for (int i = 0; i < 3000 && !there; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		there = connect(fd, (const struct sockaddr *)&at, sizeof(at)) == 0;
		(void)close(fd);
		if (!there)
			(void)usleep(10000);
	}
	assert_true(there);
}

/* A front that reads bodies, and a server behind it that answers. */
static void start_nginx(struct origin *origin, const char *nginx)
{
	char conf[PATH];
	char text[8192];
	uint16_t behind;
	int first = listen_local(&origin->port);
	int second = listen_local(&behind);
	const char *argv[] = { nginx, "-c", in_folder("nginx.conf", conf), "-p", folder, NULL };
	int out;

	(void)snprintf(text, sizeof(text),
		       "daemon off; master_process off; worker_processes 1; pid %s/nginx.pid;\n"
		       "error_log %s/error.log crit; events { worker_connections 64; }\n"
		       "http { client_body_temp_path %s/b; proxy_temp_path %s/p;\n"
		       "fastcgi_temp_path %s/f; uwsgi_temp_path %s/u; scgi_temp_path %s/s;\n"
		       "client_body_buffer_size 64k; client_body_in_single_buffer on;\n"
		       "map $status $good { 200 1; default 0; }\n"
		       "log_format note '$request_method $http_host $uri $request_body';\n"
		       "access_log off;\n"
		       "server { listen 127.0.0.1:%u; access_log %s note if=$good;\n"
		       "location / { proxy_pass http://127.0.0.1:%u; } }\n"
		       "server { listen 127.0.0.1:%u; location / { return 200 ok; } } }\n",
		       folder, folder, folder, folder, folder, folder, folder, origin->port,
		       origin->log, behind, behind);
	origins_write("nginx.conf", koda_span_of(text));
	(void)close(first);
	(void)close(second);
	spawn(&origin->proc, argv, &out);
	(void)close(out);
	await_port(origin->port);
}

bool origin_start(struct origin *origin, enum origin_kind kind, bool tls)
{
	const char *program = program_of(kind);
	char cert[PATH];
	char key[PATH];
	char path[PATH];
	char script[512];
	const char *argv[6] = { NULL };
	size_t argc = 0;
	int out;

	*origin = (struct origin){ .name = names[kind], .proc = KODA_PROC_INIT };
	if (!program)
		return false;
	(void)snprintf(origin->log, sizeof(origin->log), "%s/%s%s.log", folder, names[kind],
		       tls ? "-tls" : "");
	(void)unlink(origin->log);
	if (kind == ORIGIN_NGINX) {
		start_nginx(origin, program);
		return true;
	}
	argv[argc++] = kind == ORIGIN_GO ? build_go(program, path) : program;
	if (kind == ORIGIN_NODE)
		argv[argc++] = source("origin.js", script);
	if (kind == ORIGIN_PYTHON)
		argv[argc++] = source("origin.py", script);
	argv[argc++] = origin->log;
	if (tls) {
		argv[argc++] = in_folder("cert.pem", cert);
		argv[argc] = in_folder("key.pem", key);
	}
	spawn(&origin->proc, argv, &out);
	origin->port = read_port(out);
	(void)close(out);
	return true;
}

void origin_stop(struct origin *origin)
{
	koda_proc_kill(&origin->proc);
}

/* \xHH, as nginx writes odd bytes. */
static size_t read_escaped(const char *text, size_t len, char *out)
{
	size_t n = 0;

	if (len == 1 && text[0] == '-')
		return 0;
	for (size_t i = 0; i < len; i++) {
		bool escaped = text[i] == '\\' && i + 3 < len && text[i + 1] == 'x';

		out[n++] = text[i];
		if (escaped)
			out[n - 1] = (char)(unsigned char)(koda_ascii_hex(text[i + 2]) << 4 |
							   koda_ascii_hex(text[i + 3]));
		i += escaped ? 3 : 0;
	}
	return n;
}

static size_t read_hex(const char *text, size_t len, char *out)
{
	for (size_t i = 0; i + 1 < len; i += 2)
		out[i / 2] = (char)(koda_ascii_hex(text[i]) << 4 | koda_ascii_hex(text[i + 1]));
	return len / 2;
}

bool origin_next(const struct origin *origin, long *at, struct origin_request *ret_request)
{
	static char line[8192];
	FILE *file = fopen(origin->log, "re");
	int body = 0;
	bool found;

	if (!file)
		return false;
	assert_int_equal(fseek(file, *at, SEEK_SET), 0);
	found = fgets(line, sizeof(line), file) && strchr(line, '\n');
	*at = found ? ftell(file) : *at;
	(void)fclose(file);
	if (!found)
		return false;
	*ret_request = (struct origin_request){ .len = 0 };
	if (sscanf(line, "%15s %63s %63s%n", ret_request->method, ret_request->host,
		   ret_request->path, &body) < 3)
		fail_msg("%s notes %s", origin->name, line);
	body++; /* one blank; those behind it are the body's */
	ret_request->len = (strcmp(origin->name, "nginx") == 0 ? read_escaped : read_hex)(
		line + body, strcspn(line + body, "\n"), ret_request->body);
	return true;
}
