/* SPDX-License-Identifier: MIT */
/* koda-sandbox proxy: the egress proxy alone, on a port or a socket of the host. */
#include "runner.h"
#include "setup.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/parse.h"
#include "base/strv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <koda/egress.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	OPT_LISTEN = CLI_OPT_OWN,
	OPT_EVENTS,
	OPT_EVENTS_FD
};

#define BACKLOG 1024

struct proxy_request {
	struct cli_policy_options policy;
	struct cli_events events;
	struct koda_strv opaque;
	const char *listen; /* borrowed from argv */
};

static int take_option(const struct cli_call *call, void *ctx, int option, struct koda_error *err)
{
	struct proxy_request *request = ctx;

	switch (option) {
	case OPT_LISTEN:
		if (request->listen)
			return cli_args_fail(call, err, "--listen can be given only once");
		request->listen = optarg;
		return KODA_OK;
	case CLI_OPT_OPAQUE:
		return koda_strv_add(&request->opaque, optarg, err);
	case OPT_EVENTS:
		return cli_events_open_file(&request->events, optarg, err);
	case OPT_EVENTS_FD:
		return cli_events_open_fd(&request->events, optarg, err);
	default:
		return cli_policy_options_take(&request->policy, option, optarg, err);
	}
}

static int read_request(const struct cli_call *call, struct proxy_request *request,
			struct koda_error *err)
{
	static const struct option longs[] = {
		CLI_NETWORK_OPTIONS,
		{ "events", required_argument, NULL, OPT_EVENTS },
		{ "events-fd", required_argument, NULL, OPT_EVENTS_FD },
		{ "listen", required_argument, NULL, OPT_LISTEN },
		{ "opaque", required_argument, NULL, CLI_OPT_OPAQUE },
		CLI_HELP_OPTION,
		{ 0 }
	};
	static const struct cli_syntax syntax = { "+:h", longs };
	int r = cli_args_read(call, &syntax, take_option, request, err);

	if (r <= 0)
		return r;
	r = cli_args_need_operands(call, 0, "", err);
	if (r == KODA_OK)
		r = cli_policy_options_check_source(&request->policy, call, err);
	if (r < 0)
		return r;
	return request->listen ? 1 : cli_args_fail(call, err, "--listen is missing");
}

/* Listens on ADDRESS:PORT of the loopback device. Other addresses would serve the whole network. */
static int listen_port(const char *where, int *ret_fd, struct koda_error *err)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	const char *colon = strrchr(where, ':');
	koda_auto_fd int fd = -1;
	char host[INET_ADDRSTRLEN];
	uint64_t port;
	const int on = 1;

	if (!colon || (size_t)(colon - where) >= sizeof(host) ||
	    koda_parse_u64(colon + 1, UINT16_MAX, &port, NULL) < 0)
		return koda_fail(err, KODA_E_INVALID, 0, "is neither 127.0.0.1:PORT nor unix:PATH");
	memcpy(host, where, (size_t)(colon - where));
	host[colon - where] = '\0';
	if (inet_pton(AF_INET, host, &address.sin_addr) != 1 ||
	    ntohl(address.sin_addr.s_addr) >> 24 != IN_LOOPBACKNET)
		return koda_fail(err, KODA_E_DENIED, 0, "only addresses 127.x.x.x are served");
	address.sin_port = htons((uint16_t)port);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, BACKLOG) < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot be listened on");
	*ret_fd = koda_take_fd(&fd);
	return KODA_OK;
}

/* Listens on a Unix socket that only the user may connect to (mode 0600). */
static int listen_path(const char *path, int *ret_fd, struct koda_error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	koda_auto_fd int fd = -1;
	mode_t mask;
	int r;

	if (!path[0] || strlen(path) >= sizeof(address.sun_path))
		return koda_fail(err, KODA_E_INVALID, 0, "the path is empty or too long");
	memcpy(address.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mask = umask(0177);
	r = fd < 0 ? -1 : bind(fd, (struct sockaddr *)&address, sizeof(address));
	(void)umask(mask);
	if (r < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot be listened on");
	if (listen(fd, BACKLOG) < 0) {
		r = koda_fail(err, KODA_E_SYS, errno, "cannot be listened on");
		(void)unlink(path);
		return r;
	}
	*ret_fd = koda_take_fd(&fd);
	return KODA_OK;
}

static const char *unix_path(const char *where)
{
	return strncmp(where, "unix:", 5) == 0 ? where + 5 : NULL;
}

/* Makes the line that is printed once connections are accepted. For port 0 it has the real port. */
static int describe(const char *where, int fd, struct koda_buf *line, struct koda_error *err)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t len = sizeof(address);
	char host[INET_ADDRSTRLEN];
	int r = koda_buf_addf(line, "listening on ");

	if (r == KODA_OK && unix_path(where))
		r = cli_output_escape(line, koda_span_of(where));
	else if (r == KODA_OK && getsockname(fd, (struct sockaddr *)&address, &len) == 0 &&
		 inet_ntop(AF_INET, &address.sin_addr, host, sizeof(host)))
		r = koda_buf_addf(line, "%s:%u", host, ntohs(address.sin_port));
	if (r == KODA_OK)
		r = koda_buf_add(line, "\n", 1);
	return r < 0 ? koda_fail_nomem(err) : KODA_OK;
}

static int open_signals(int *ret_fd, struct koda_error *err)
{
	sigset_t ends;

	(void)sigemptyset(&ends);
	(void)sigaddset(&ends, SIGINT);
	(void)sigaddset(&ends, SIGTERM);
	(void)sigaddset(&ends, SIGHUP);
	(void)pthread_sigmask(SIG_BLOCK, &ends, NULL);
	*ret_fd = signalfd(-1, &ends, SFD_CLOEXEC);
	return *ret_fd < 0 ? koda_fail(err, KODA_E_SYS, errno, "cannot wait for signals") : KODA_OK;
}

/* Serves until a signal comes. Prints line once connections are accepted. */
static int serve(struct koda_egress *egress, const struct koda_buf *line, int signals,
		 struct koda_error *err)
{
	int r = koda_egress_serve(egress, signals, err);

	if (r <= 0)
		return r;
	r = cli_output_print(line->ptr, line->len, err);
	return r < 0 ? r : koda_egress_serve(egress, signals, err);
}

static int open_listener(const char *where, int *ret_fd, struct koda_error *err)
{
	const char *path = unix_path(where);
	int r = path ? listen_path(path, ret_fd, err) : listen_port(where, ret_fd, err);

	if (r < 0)
		cli_error_place(err, "--listen %.200s", where);
	return r;
}

static int open_egress(const struct cli_call *call, struct proxy_request *request,
		       const struct koda_policy *policy, struct koda_egress **ret_egress,
		       struct koda_error *err)
{
	const struct koda_egress_options options = {
		.size = sizeof(options),
		.policy = policy,
		.host_env = call->env,
		.tls_passthrough = (const char *const *)request->opaque.items,
		.on_event = cli_events_write,
		.event_ctx = &request->events,
	};
	int r = koda_egress_open(&options, ret_egress, err);

	if (r == KODA_E_POLICY || r == KODA_E_INVALID)
		cli_error_place(err, "--opaque");
	return r;
}

/* Serves what connects to listener, which it takes over. */
static int serve_listener(struct koda_egress *egress, const struct proxy_request *request,
			  int listener, int signals, struct koda_error *err)
{
	koda_auto_buf struct koda_buf line = KODA_BUF_INIT(8192);
	koda_auto_fd int fd = listener;
	int r = describe(request->listen, fd, &line, err);

	if (r == KODA_OK)
		r = koda_egress_listen(egress, koda_take_fd(&fd), err);
	return r < 0 ? r : serve(egress, &line, signals, err);
}

static int act(const struct cli_call *call, struct proxy_request *request, struct koda_error *err)
{
	cli_auto_setup struct cli_setup setup = CLI_SETUP_INIT;
	const char *path = unix_path(request->listen);
	struct koda_egress *egress = NULL;
	koda_auto_fd int signals = -1;
	int listener = -1;
	int r = cli_setup_make(&request->policy, call->env, &setup, err);

	if (r == KODA_OK)
		r = open_egress(call, request, koda_project_policy(setup.project), &egress, err);
	/* Blocked before the socket has a name: a signal must not keep unlink() from it. */
	if (r == KODA_OK)
		r = open_signals(&signals, err);
	if (r == KODA_OK)
		r = open_listener(request->listen, &listener, err);
	if (listener >= 0)
		r = serve_listener(egress, request, listener, signals, err);
	koda_egress_close(egress);
	if (listener >= 0 && path)
		(void)unlink(path);
	return r;
}

int cli_cmd_proxy(const struct cli_call *call, struct koda_error *err)
{
	struct proxy_request request = { .policy = CLI_POLICY_OPTIONS_INIT,
					 .events = CLI_EVENTS_INIT };
	int r = read_request(call, &request, err);

	if (r > 0 && request.listen)
		r = act(call, &request, err);
	koda_strv_clear(&request.opaque);
	cli_events_clear(&request.events);
	cli_policy_options_clear(&request.policy);
	return r;
}
