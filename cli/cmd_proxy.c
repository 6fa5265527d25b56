/* SPDX-License-Identifier: MIT */
/* koda-sandbox proxy: the egress proxy alone, on a port or a socket of the host. */
#include "options.h"
#include "runner.h"

#include "base/diag.h"
#include "base/fd.h"
#include "base/proc.h"
#include "base/str.h"
#include "run/egress.h"

#include <arpa/inet.h>
#include <errno.h>
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

#define BACKLOG    1024
#define REMOVAL_NS 500000000ULL

struct request {
	struct cli_shape shape;
	struct cli_events events;
	struct koda_strv opaque;
	const char *listen; /* borrowed from argv */
	char *refused;      /* owned; why the proxy would not serve */
	bool added;         /* it does */
};

static int take_option(const struct cli_call *call, struct request *request, int option,
		       struct koda_error *err)
{
	switch (option) {
	case OPT_LISTEN:
		if (request->listen)
			return koda_cli_usage(call, err, "--listen can be given only once");
		request->listen = optarg;
		return KODA_OK;
	case CLI_OPT_OPAQUE:
		return koda_strv_add(&request->opaque, optarg, err);
	case OPT_EVENTS:
		return koda_cli_events_file(&request->events, optarg, err);
	case OPT_EVENTS_FD:
		return koda_cli_events_fd(&request->events, optarg, err);
	default:
		return koda_cli_shape_take(&request->shape, option, optarg, err);
	}
}

static int read_request(const struct cli_call *call, struct request *request,
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
	int option;
	int r;

	koda_cli_start_options();
	while ((r = koda_cli_next_option(call, &syntax, &option, err)) > 0) {
		if (option == 'h')
			return koda_cli_help(call->name, err);
		r = take_option(call, request, option, err);
		if (r < 0)
			return r;
	}
	if (r == KODA_OK)
		r = koda_cli_need_operands(call, 0, "", err);
	if (r == KODA_OK)
		r = koda_cli_shape_one_source(&request->shape, call, err);
	if (r < 0)
		return r;
	return request->listen ? 1 : koda_cli_usage(call, err, "--listen is missing");
}

/* ADDRESS:PORT of the loopback device; anything else would serve the whole network. */
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

/* Only the user may connect. */
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

/* One line for whoever waits for it; a port of 0 has become a real one. */
static int describe(const char *where, int fd, struct koda_buf *line, struct koda_error *err)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t len = sizeof(address);
	char host[INET_ADDRSTRLEN];
	int r = koda_buf_addf(line, "listening on ");

	if (r == KODA_OK && unix_path(where))
		r = koda_cli_add_escaped(line, koda_span_of(where));
	else if (r == KODA_OK && getsockname(fd, (struct sockaddr *)&address, &len) == 0 &&
		 inet_ntop(AF_INET, &address.sin_addr, host, sizeof(host)))
		r = koda_buf_addf(line, "%s:%u", host, ntohs(address.sin_port));
	if (r == KODA_OK)
		r = koda_buf_add(line, "\n", 1);
	return r < 0 ? koda_fail_nomem(err) : KODA_OK;
}

static void told(void *ctx, const struct koda_egress_message *message)
{
	struct request *request = ctx;
	struct koda_event event;

	if (message->kind == KODA_EGRESS_REFUSED && !request->refused)
		request->refused = strdup(message->text);
	request->added |= message->kind == KODA_EGRESS_ADDED;
	if (koda_egress_event(message, &event))
		koda_cli_write_event(&request->events, &event);
}

/* Is it still as it should be? A proxy that died is started again by the next connection, unless it
 * has never served at all. */
static int check(const struct koda_member *member, const struct request *request, bool announced,
		 struct koda_error *err)
{
	enum koda_member_state state = koda_member_state(member);

	if (request->refused)
		return koda_fail(err, KODA_E_POLICY, 0, "the proxy cannot serve: %s",
				 request->refused);
	if (state == KODA_MEMBER_CLOSED || (state == KODA_MEMBER_WAITING && !announced))
		return koda_fail(err, KODA_E_CHILD, 0, "the proxy does not start");
	return KODA_OK;
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

/* Until a signal says that it is enough. What listens is said once it is served. */
static int serve(struct koda_member *member, const struct request *request,
		 const struct koda_buf *line, int signals, struct koda_error *err)
{
	bool announced = false;
	int r = KODA_OK;

	koda_member_start(member);
	while (r == KODA_OK) {
		struct pollfd polled[1 + KODA_MEMBER_POLLED] = { { .fd = signals,
								   .events = POLLIN } };
		size_t count = 1 + koda_member_wants(member, polled + 1);

		if (poll(polled, count, -1) < 0 && errno != EINTR)
			return koda_fail(err, KODA_E_SYS, errno, "cannot wait");
		if (polled[0].revents)
			return CLI_EXIT_OK;
		koda_member_step(member);
		r = check(member, request, announced, err);
		if (r == KODA_OK && request->added && !announced) {
			announced = true;
			r = koda_cli_print(line->ptr, line->len, err);
		}
	}
	return r;
}

static int act(const struct cli_call *call, struct request *request, struct koda_error *err)
{
	koda_auto_setup struct cli_setup setup = CLI_SETUP_INIT;
	const char *path = unix_path(request->listen);
	struct koda_egress *egress = NULL;
	struct koda_member *member = NULL;
	koda_auto_buf struct koda_buf line = KODA_BUF_INIT(8192);
	koda_auto_fd int signals = -1;
	int fd = -1;
	int r = koda_cli_shape_apply(&request->shape, call->env, &setup, err);

	if (r == KODA_OK) {
		r = koda_terms_check(&request->opaque, err);
		/* Whoever gives it believes that everything else is looked into. */
		if (r == KODA_OK && request->opaque.len > 0 &&
		    !koda_policy_ca_bundle(setup.policy).ptr)
			r = koda_fail(err, KODA_E_INVALID, 0,
				      "the policy has no net.mitm, so TLS is opaque anyway");
		if (r < 0)
			koda_cli_blame(err, "--opaque");
	}
	/* From now on the socket's name is taken away again. */
	if (r == KODA_OK)
		r = open_signals(&signals, err);
	if (r < 0)
		return r;
	r = path ? listen_path(path, &fd, err) : listen_port(request->listen, &fd, err);
	if (r < 0) {
		koda_cli_blame(err, "--listen %.200s", request->listen);
		return r;
	}
	r = describe(request->listen, fd, &line, err);
	if (r == KODA_OK)
		r = koda_egress_open(call->env, &egress, err);
	if (r == KODA_OK)
		r = koda_member_add(egress, &(struct koda_terms){ setup.policy, &request->opaque },
				    koda_take_fd(&fd), told, request, &member, err);
	if (r == KODA_OK)
		r = serve(member, request, &line, signals, err);
	koda_fd_close(&fd);
	koda_member_remove(member, koda_clock_now() + REMOVAL_NS);
	koda_egress_close(egress);
	if (path)
		(void)unlink(path);
	return r;
}

int koda_cli_proxy(const struct cli_call *call, struct koda_error *err)
{
	struct request request = { .shape = CLI_SHAPE_INIT, .events = CLI_EVENTS_INIT };
	int r = read_request(call, &request, err);

	if (r > 0 && request.listen)
		r = act(call, &request, err);
	free(request.refused);
	koda_strv_clear(&request.opaque);
	koda_cli_events_clear(&request.events);
	koda_cli_shape_clear(&request.shape);
	return r;
}
