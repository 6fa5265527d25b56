/* SPDX-License-Identifier: MIT */
/* T-82. */
#include "control.h"

#include "base/diag.h"
#include "base/fd.h"
#include "conn.h"
#include "reach.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

static struct control {
	struct koda_watch watch;
	struct koda_proxy *proxy;
} control;

/* A message with its descriptors; those nobody took are closed. */
struct order {
	struct koda_egress_message message;
	int fds[KODA_EGRESS_FDS];
	size_t count;
};

bool koda_control_is_there(void)
{
	int domain = 0;
	int type = 0;
	socklen_t len = sizeof(domain);

	return getsockopt(KODA_EGRESS_CONTROL_FD, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 &&
	       domain == AF_UNIX &&
	       getsockopt(KODA_EGRESS_CONTROL_FD, SOL_SOCKET, SO_TYPE, &type, &len) == 0 &&
	       type == SOCK_SEQPACKET;
}

static void reply(struct koda_proxy *proxy, enum koda_egress_kind kind, uint32_t id,
		  const char *text)
{
	struct koda_egress_message message = { .kind = kind, .id = id };

	KODA_REPORT_TEXT(message.text, koda_span_of(text));
	(void)koda_report(&proxy->reports, &message);
}

static void reply_gone(struct koda_proxy *proxy, uint32_t id, uint32_t dropped)
{
	struct koda_egress_message message = { .kind = KODA_EGRESS_GONE,
					       .id = id,
					       .dropped = dropped };

	(void)koda_report(&proxy->reports, &message);
}

static int take_fd(struct order *order, size_t i)
{
	return i < order->count ? koda_take_fd(&order->fds[i]) : -1;
}

static int follow_add(struct koda_proxy *proxy, struct order *order, struct koda_error *err)
{
	struct koda_tenant_order add = {
		.id = order->message.id,
		.can_ask = (order->message.flags & KODA_EGRESS_CAN_ASK) != 0,
		.token = (order->message.flags & KODA_EGRESS_TOKEN) ? order->message.text : "",
	};
	const unsigned int known = KODA_EGRESS_CAN_ASK | KODA_EGRESS_TOKEN;

	if (order->count < 2 || (order->message.flags & ~known))
		return koda_fail(err, KODA_E_INVALID, 0, "ADD needs a listener and a policy");
	order->message.text[KODA_EGRESS_TOKEN_MAX] = '\0';
	/* No token at all would let everybody in. */
	if ((order->message.flags & KODA_EGRESS_TOKEN) && !add.token[0])
		return koda_fail(err, KODA_E_INVALID, 0, "the token is empty");
	add.listener = take_fd(order, KODA_EGRESS_FD_LISTENER);
	add.policy = take_fd(order, KODA_EGRESS_FD_POLICY);
	add.ca = take_fd(order, KODA_EGRESS_FD_CA);
	add.ca_key = take_fd(order, KODA_EGRESS_FD_CA_KEY);
	return koda_tenant_add(proxy, &add, err);
}

static int follow(struct koda_proxy *proxy, struct order *order, struct koda_error *err)
{
	const struct koda_egress_message *message = &order->message;
	struct koda_tenant *tenant = koda_tenant_find(proxy, message->id);
	int r;

	if (message->kind == KODA_EGRESS_ADD) {
		r = follow_add(proxy, order, err);
		if (r == KODA_OK)
			reply(proxy, KODA_EGRESS_ADDED, message->id, "");
		return r;
	}
	if (order->count != (message->kind == KODA_EGRESS_RULES ? 1U : 0U))
		return koda_fail(err, KODA_E_INVALID, 0, "wrong number of descriptors");
	/* The sandbox may have ended while the order was on its way. */
	if (!tenant)
		return koda_fail(err, KODA_E_INVALID, 0, "there is no such sandbox");
	switch (message->kind) {
	case KODA_EGRESS_RULES:
		r = koda_tenant_set_rules(tenant, take_fd(order, 0), err);
		if (r == KODA_OK)
			reply(proxy, KODA_EGRESS_RULED, message->id, "");
		return r;
	case KODA_EGRESS_REMOVE:
		reply_gone(proxy, message->id, koda_tenant_remove(tenant));
		return KODA_OK;
	case KODA_EGRESS_ANSWER:
		koda_reach_answer(tenant, message->question, message->verdict == KODA_EGRESS_ALLOW);
		return KODA_OK;
	default:
		return koda_fail(err, KODA_E_INVALID, 0, "there is no such order");
	}
}

/* One message. False: nothing is there, or the host is gone. */
static bool receive(struct koda_proxy *proxy)
{
	struct order order = { .fds = { -1, -1, -1, -1 } };
	struct koda_error err = { 0 };
	size_t len = 0;
	int r = koda_fd_receive(KODA_EGRESS_CONTROL_FD, &order.message, sizeof(order.message), &len,
				order.fds, KODA_EGRESS_FDS, &order.count, &err);

	if (r == KODA_E_SYS && err.sys_errno == EAGAIN)
		return false;
	if (r == KODA_E_SYS || (r == KODA_OK && len == 0)) {
		koda_loop_stop(proxy->loop);
		return false;
	}
	if (r == KODA_OK &&
	    (len != sizeof(order.message) || order.message.magic != KODA_EGRESS_MAGIC))
		r = koda_fail(&err, KODA_E_INVALID, 0, "not a message of this version");
	if (r == KODA_OK)
		r = follow(proxy, &order, &err);
	if (r < 0)
		reply(proxy, KODA_EGRESS_REFUSED, order.message.id, err.message);
	for (size_t i = 0; i < KODA_EGRESS_FDS; i++)
		koda_fd_close(&order.fds[i]);
	return true;
}

static void on_control(struct koda_watch *watch, uint32_t events)
{
	struct koda_proxy *proxy = KODA_OUTER(struct control, watch, watch)->proxy;

	koda_reports_flush(&proxy->reports);
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP))
		while (receive(proxy))
			;
}

/* Room is of interest only while something waits for it; otherwise the host would wake us with
 * every message that it reads. */
static void on_block(struct koda_reports *reports, bool waits)
{
	(void)reports;
	koda_watch_change(control.proxy->loop, &control.watch,
			  EPOLLIN | EPOLLRDHUP | (waits ? (uint32_t)EPOLLOUT : 0));
}

int koda_control_start(struct koda_proxy *proxy, struct koda_error *err)
{
	int flags = fcntl(KODA_EGRESS_CONTROL_FD, F_GETFL);

	if (flags < 0 || fcntl(KODA_EGRESS_CONTROL_FD, F_SETFL, flags | O_NONBLOCK) < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot use the control socket");
	control.proxy = proxy;
	proxy->reports.fd = KODA_EGRESS_CONTROL_FD;
	proxy->reports.block = on_block;
	if (koda_watch_start(proxy->loop, &control.watch, KODA_EGRESS_CONTROL_FD, on_control, err) <
	    0)
		return KODA_E_SYS;
	on_block(&proxy->reports, false);
	return KODA_OK;
}
