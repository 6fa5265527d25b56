/* SPDX-License-Identifier: MIT */
#include "accept.h"

#include "base/fd.h"
#include "conn/conn.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#define BATCH 64
/* Interval of events about a limit. */
#define REPORT_MS 1000

static void accept_more(struct egress_tenant *tenant);

static void go_on(struct egress_task *task)
{
	accept_more(EGRESS_OUTER(struct egress_tenant, accepting, task));
}

static void report_limit(struct egress_tenant *tenant, const char *what)
{
	struct koda_egress_message event = { .kind = KODA_EGRESS_EVENT,
					     .id = tenant->id,
					     .verdict = KODA_EGRESS_DENY,
					     .reason = KODA_EGRESS_LIMIT };
	uint64_t now = egress_loop_now(tenant->proxy->loop);

	if (tenant->limit_reported != 0 && now - tenant->limit_reported < REPORT_MS)
		return;
	tenant->limit_reported = now;
	EGRESS_REPORT_TEXT(event.text, koda_span_of(what));
	egress_report_event(&tenant->proxy->reports, &event, &tenant->dropped);
}

/* T-83. Returns whether the tenant may have one more connection. The share of a tenant shrinks as
 * the proxy fills up. */
static bool has_room(const struct egress_tenant *tenant)
{
	const struct egress_proxy *proxy = tenant->proxy;

	return tenant->conn_count < egress_budget_share(proxy->limits.conns, proxy->conn_count,
							proxy->limits.tenant_conns);
}

static void stop_full(struct egress_tenant *tenant)
{
	report_limit(tenant, "too many connections at a time; others wait");
	tenant->full = true;
	tenant->proxy->full_count++;
}

static int take(const struct egress_tenant *tenant)
{
	/* cppcheck-suppress nullPointer; the peer address is not needed */
	return accept4(tenant->listener.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

/* Closes the reserved descriptor, which makes room to accept a client and close it. */
static void turn_away(struct egress_tenant *tenant)
{
	struct egress_proxy *proxy = tenant->proxy;
	int fd;

	koda_fd_close(&proxy->reserve);
	fd = take(tenant);
	koda_fd_close(&fd);
	proxy->reserve = fcntl(KODA_EGRESS_CONTROL_FD, F_DUPFD_CLOEXEC, 0);
	report_limit(tenant, "no descriptors are left");
}

/* Returns whether accept4(2) may be called again at once. */
static bool recover(struct egress_tenant *tenant, int error)
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
	egress_deadline_set(tenant->proxy->loop, &tenant->proxy->queues.retry, &tenant->retry);
	return false;
}

static void accept_more(struct egress_tenant *tenant)
{
	struct egress_proxy *proxy = tenant->proxy;

	if (tenant->full) {
		tenant->full = false;
		proxy->full_count--;
	}
	for (int i = 0; i < BATCH; i++) {
		int fd;

		if (!has_room(tenant)) {
			stop_full(tenant);
			return;
		}
		fd = take(tenant);
		if (fd < 0 && !recover(tenant, errno))
			return;
		if (fd >= 0)
			(void)egress_conn_new(tenant, fd);
	}
	egress_task_post(proxy->loop, &tenant->accepting, go_on);
}

void egress_accept_ready(struct egress_watch *watch, uint32_t events)
{
	struct egress_tenant *tenant = EGRESS_OUTER(struct egress_tenant, listener, watch);

	(void)events;
	/* A tenant that stopped is resumed by egress_accept_again or egress_accept_retry. */
	if (!tenant->full && egress_link_alone(&tenant->retry.link))
		accept_more(tenant);
}

void egress_accept_again(struct egress_proxy *proxy)
{
	if (proxy->full_count == 0)
		return;
	for (struct egress_link *l = proxy->tenants.next; l != &proxy->tenants; l = l->next) {
		struct egress_tenant *tenant = EGRESS_OUTER(struct egress_tenant, link, l);

		if (tenant->full && has_room(tenant))
			egress_task_post(proxy->loop, &tenant->accepting, go_on);
	}
}

void egress_accept_retry(struct egress_deadline *deadline)
{
	accept_more(EGRESS_OUTER(struct egress_tenant, retry, deadline));
}
