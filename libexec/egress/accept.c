/* SPDX-License-Identifier: MIT */
/*
 * T-83. Taking connections. Nothing that accept says ends the service: at a ceiling the rest waits
 * in the kernel until a connection has ended; without descriptors one client is turned away, so
 * that it knows, and the others wait a moment.
 */
#include "base/fd.h"
#include "conn.h"
#include "tenant.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#define BATCH 64
/* One report about a ceiling in this time. */
#define TELL_MS 1000

static void go_on(struct koda_task *task)
{
	koda_accept_more(KODA_OUTER(struct koda_tenant, accepting, task));
}

static void tell_full(struct koda_tenant *tenant, const char *what)
{
	struct koda_egress_message event = { .kind = KODA_EGRESS_EVENT,
					     .id = tenant->id,
					     .verdict = KODA_EGRESS_DENY,
					     .reason = KODA_EGRESS_LIMIT };
	uint64_t now = koda_loop_now(tenant->proxy->loop);

	if (tenant->told_full != 0 && now - tenant->told_full < TELL_MS)
		return;
	tenant->told_full = now;
	KODA_REPORT_TEXT(event.text, koda_span_of(what));
	koda_report_event(&tenant->proxy->reports, &event, &tenant->dropped);
}

static void stop_full(struct koda_tenant *tenant)
{
	tell_full(tenant, "too many connections at a time; others wait");
	tenant->full = true;
	tenant->proxy->full_count++;
}

static int take(const struct koda_tenant *tenant)
{
	/* cppcheck-suppress nullPointer; who it is does not matter */
	return accept4(tenant->listener.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

/* With the reserve gone there is room for one more descriptor, just long enough to close it. */
static void turn_away(struct koda_tenant *tenant)
{
	struct koda_proxy *proxy = tenant->proxy;
	int fd;

	koda_fd_close(&proxy->reserve);
	fd = take(tenant);
	koda_fd_close(&fd);
	proxy->reserve = fcntl(KODA_EGRESS_CONTROL_FD, F_DUPFD_CLOEXEC, 0);
	tell_full(tenant, "no descriptors are left");
}

/* False: not now. */
static bool recover(struct koda_tenant *tenant, int error)
{
	switch (error) {
	case EAGAIN:
		return false;
	case EINTR:
	case ECONNABORTED:
	case EPROTO:
	case EPERM: /* a firewall */
		return true;
	case EMFILE:
	case ENFILE:
		turn_away(tenant);
		break;
	default:
		break;
	}
	koda_deadline_set(tenant->proxy->loop, &tenant->proxy->queues.retry, &tenant->retry);
	return false;
}

void koda_accept_more(struct koda_tenant *tenant)
{
	struct koda_proxy *proxy = tenant->proxy;

	if (tenant->full) {
		tenant->full = false;
		proxy->full_count--;
	}
	for (int i = 0; i < BATCH; i++) {
		int fd;

		if (proxy->conn_count >= proxy->conn_max ||
		    tenant->conn_count >= proxy->tenant_conn_max) {
			stop_full(tenant);
			return;
		}
		fd = take(tenant);
		if (fd < 0 && !recover(tenant, errno))
			return;
		if (fd >= 0)
			(void)koda_conn_new(tenant, fd);
	}
	koda_task_post(proxy->loop, &tenant->accepting, go_on);
}

void koda_accept_ready(struct koda_watch *watch, uint32_t events)
{
	struct koda_tenant *tenant = KODA_OUTER(struct koda_tenant, listener, watch);

	(void)events;
	/* Whoever stopped goes on when there is a reason to. */
	if (!tenant->full && koda_link_alone(&tenant->retry.link))
		koda_accept_more(tenant);
}

void koda_accept_again(struct koda_proxy *proxy)
{
	if (proxy->full_count == 0)
		return;
	for (struct koda_link *l = proxy->tenants.next; l != &proxy->tenants; l = l->next) {
		struct koda_tenant *tenant = KODA_OUTER(struct koda_tenant, link, l);

		if (tenant->full && tenant->conn_count < proxy->tenant_conn_max)
			koda_task_post(proxy->loop, &tenant->accepting, go_on);
	}
}

void koda_accept_retry(struct koda_deadline *deadline)
{
	koda_accept_more(KODA_OUTER(struct koda_tenant, retry, deadline));
}
