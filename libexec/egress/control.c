/* SPDX-License-Identifier: MIT */
/* T-82. Reads the host's messages from descriptor 3 and carries them out. */
#include "control.h"

#include "base/error.h"
#include "base/fd.h"
#include "conn/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

static struct control {
	struct egress_watch watch;
	struct egress_proxy *proxy;
} control;

/* A message with its descriptors. Those that no handler took are closed. */
struct command {
	struct koda_egress_message message;
	int fds[KODA_EGRESS_FDS];
	size_t count;
};

bool egress_control_is_open(void)
{
	int domain = 0;
	int type = 0;
	socklen_t len = sizeof(domain);

	return getsockopt(KODA_EGRESS_CONTROL_FD, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 &&
	       domain == AF_UNIX &&
	       getsockopt(KODA_EGRESS_CONTROL_FD, SOL_SOCKET, SO_TYPE, &type, &len) == 0 &&
	       type == SOCK_SEQPACKET;
}

static void reply(struct egress_proxy *proxy, enum koda_egress_kind kind, uint32_t id,
		  const char *text)
{
	struct koda_egress_message message = { .kind = kind, .id = id };

	EGRESS_REPORT_TEXT(message.text, koda_span_of(text));
	(void)egress_report(&proxy->reports, &message);
}

static void reply_gone(struct egress_proxy *proxy, uint32_t id, uint32_t dropped)
{
	struct koda_egress_message message = { .kind = KODA_EGRESS_GONE,
					       .id = id,
					       .dropped = dropped };

	(void)egress_report(&proxy->reports, &message);
}

static int take_fd(struct command *command, size_t i)
{
	return i < command->count ? koda_take_fd(&command->fds[i]) : -1;
}

static int handle_add(struct egress_proxy *proxy, struct command *command, struct koda_error *err)
{
	struct egress_tenant_spec add = {
		.id = command->message.id,
		.can_ask = (command->message.flags & KODA_EGRESS_CAN_ASK) != 0,
		.tls_passthrough = (command->message.flags & KODA_EGRESS_TLS_PASSTHROUGH) != 0,
		.token = (command->message.flags & KODA_EGRESS_TOKEN) ? command->message.text : "",
	};
	const unsigned int known =
		KODA_EGRESS_CAN_ASK | KODA_EGRESS_TOKEN | KODA_EGRESS_TLS_PASSTHROUGH;

	if (command->count < 2 || (command->message.flags & ~known))
		return koda_fail(err, KODA_E_INVALID, 0, "ADD needs a listener and a policy");
	command->message.text[KODA_EGRESS_TOKEN_MAX] = '\0';
	/* An empty token would match every connection. */
	if ((command->message.flags & KODA_EGRESS_TOKEN) && !add.token[0])
		return koda_fail(err, KODA_E_INVALID, 0, "the token is empty");
	add.listener = take_fd(command, KODA_EGRESS_FD_LISTENER);
	add.policy = take_fd(command, KODA_EGRESS_FD_POLICY);
	add.ca = take_fd(command, KODA_EGRESS_FD_CA);
	add.ca_key = take_fd(command, KODA_EGRESS_FD_CA_KEY);
	return egress_tenant_add(proxy, &add, err);
}

static int handle(struct egress_proxy *proxy, struct command *command, struct koda_error *err)
{
	const struct koda_egress_message *message = &command->message;
	struct egress_tenant *tenant = egress_tenant_find(proxy, message->id);
	int r;

	if (message->kind == KODA_EGRESS_ADD) {
		r = handle_add(proxy, command, err);
		if (r == KODA_OK)
			reply(proxy, KODA_EGRESS_ADDED, message->id, "");
		return r;
	}
	if (command->count != (message->kind == KODA_EGRESS_RULES ? 1U : 0U))
		return koda_fail(err, KODA_E_INVALID, 0, "wrong number of descriptors");
	/* The sandbox may have ended before its message was read. */
	if (!tenant)
		return koda_fail(err, KODA_E_INVALID, 0, "there is no such sandbox");
	switch (message->kind) {
	case KODA_EGRESS_RULES:
		r = egress_tenant_set_rules(tenant, take_fd(command, 0), err);
		if (r == KODA_OK)
			reply(proxy, KODA_EGRESS_RULED, message->id, "");
		return r;
	case KODA_EGRESS_REMOVE:
		reply_gone(proxy, message->id, egress_tenant_remove(tenant));
		return KODA_OK;
	case KODA_EGRESS_ANSWER:
		egress_reach_answer(tenant, message->question,
				    message->verdict == KODA_EGRESS_ALLOW);
		return KODA_OK;
	default:
		return koda_fail(err, KODA_E_INVALID, 0, "there is no such command");
	}
}

/* Receives and handles one message. Returns false on EAGAIN, or if the host has closed its end. */
static bool receive(struct egress_proxy *proxy)
{
	struct command command = { .fds = { -1, -1, -1, -1 } };
	struct koda_error err = { 0 };
	size_t len = 0;
	int r = koda_fd_receive(KODA_EGRESS_CONTROL_FD, &command.message, sizeof(command.message),
				&len, command.fds, KODA_EGRESS_FDS, &command.count, &err);

	if (r == KODA_E_SYS && err.sys_errno == EAGAIN)
		return false;
	if (r == KODA_E_SYS || (r == KODA_OK && len == 0)) {
		egress_loop_stop(proxy->loop);
		return false;
	}
	if (r == KODA_OK &&
	    (len != sizeof(command.message) || command.message.magic != KODA_EGRESS_MAGIC))
		r = koda_fail(&err, KODA_E_INVALID, 0, "not a message of this version");
	if (r == KODA_OK)
		r = handle(proxy, &command, &err);
	if (r < 0)
		reply(proxy, KODA_EGRESS_REFUSED, command.message.id, err.message);
	for (size_t i = 0; i < KODA_EGRESS_FDS; i++)
		koda_fd_close(&command.fds[i]);
	return true;
}

static void on_control(struct egress_watch *watch, uint32_t events)
{
	struct egress_proxy *proxy = EGRESS_OUTER(struct control, watch, watch)->proxy;

	egress_reports_flush(&proxy->reports);
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP))
		while (receive(proxy))
			;
}

/* Watches for EPOLLOUT only while messages wait. Otherwise every message that the host reads would
 * wake the proxy. */
static void on_block(struct egress_reports *reports, bool waits)
{
	(void)reports;
	egress_watch_change(control.proxy->loop, &control.watch,
			    EPOLLIN | EPOLLRDHUP | (waits ? (uint32_t)EPOLLOUT : 0));
}

int egress_control_start(struct egress_proxy *proxy, struct koda_error *err)
{
	int flags = fcntl(KODA_EGRESS_CONTROL_FD, F_GETFL);

	if (flags < 0 || fcntl(KODA_EGRESS_CONTROL_FD, F_SETFL, flags | O_NONBLOCK) < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot use the control socket");
	control.proxy = proxy;
	proxy->reports.fd = KODA_EGRESS_CONTROL_FD;
	proxy->reports.block = on_block;
	if (egress_watch_start(proxy->loop, &control.watch, KODA_EGRESS_CONTROL_FD, on_control,
			       err) < 0)
		return KODA_E_SYS;
	on_block(&proxy->reports, false);
	return KODA_OK;
}
