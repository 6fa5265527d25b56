/* SPDX-License-Identifier: MIT */
#include "tenant.h"

#include "base/diag.h"
#include "base/fd.h"
#include "conn.h"
#include "policy/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* A policy and what came with it. */
struct sealed {
	void *text; /* mapped */
	size_t len;
	struct koda_policy *policy; /* owned */
	struct koda_span except;    /* in text */
};

static void clear_sealed(struct sealed *sealed)
{
	if (sealed->text)
		(void)munmap(sealed->text, sealed->len);
	koda_policy_free(sealed->policy);
}
#define koda_auto_sealed __attribute__((cleanup(clear_sealed)))

/* The policy is sealed, so what is checked is what is used. */
static int read_policy(int fd, struct sealed *sealed, struct koda_error *err)
{
	struct stat st;
	const char *end;
	size_t len;
	void *text;

	if (!koda_fd_is_sealed(fd) || fstat(fd, &st) < 0)
		return koda_fail(err, KODA_E_INVALID, 0, "the policy is not sealed");
	if (st.st_size <= 0 || (size_t)st.st_size > KODA_POLICY_TEXT_MAX)
		return koda_fail(err, KODA_E_LIMIT, 0, "the policy has an impossible size");
	text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (text == MAP_FAILED)
		return koda_fail(err, KODA_E_SYS, errno, "cannot read the policy");
	sealed->text = text;
	sealed->len = (size_t)st.st_size;
	end = memchr(text, '\0', sealed->len);
	len = end ? (size_t)(end - (const char *)text) : sealed->len;
	sealed->except = (struct koda_span){ end, sealed->len - len };
	return koda_policy_parse(text, len, &sealed->policy, err);
}

static int compile(const struct koda_policy *policy, struct koda_ruleset **ret_set,
		   struct koda_error *err)
{
	const struct koda_place nowhere = { 0 }; /* paths are not our business */
	struct koda_rules *rules;
	int r = koda_rules_new(policy, &nowhere, &rules, err);

	if (r < 0)
		return r;
	*ret_set = koda_ruleset_new(rules);
	return *ret_set ? KODA_OK : koda_fail_nomem(err);
}

static int check_listener(int fd, struct koda_error *err)
{
	const int on = 1;
	int is = 0;
	socklen_t len = sizeof(is);
	int flags = fcntl(fd, F_GETFL);

	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is, &len) < 0 || is != 1)
		return koda_fail(err, KODA_E_INVALID, 0, "the listener does not listen");
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot use the listener");
	/* Accepted sockets inherit it. A Unix socket has no use for it. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return KODA_OK;
}

static int fill(struct koda_tenant *tenant, struct koda_tenant_order *order, struct koda_error *err)
{
	koda_auto_sealed struct sealed sealed = { 0 };
	int r = read_policy(order->policy, &sealed, err);

	if (r == KODA_OK)
		r = koda_tenant_set_tls(tenant, sealed.policy, sealed.except, order, err);
	if (r == KODA_OK)
		r = compile(sealed.policy, &tenant->ruleset, err);
	if (r == KODA_OK)
		r = check_listener(order->listener, err);
	if (r == KODA_OK)
		r = koda_watch_start(tenant->proxy->loop, &tenant->listener, order->listener,
				     koda_accept_ready, err);
	if (r == KODA_OK)
		order->listener = -1; /* the watch has it */
	return r;
}

static int add(struct koda_proxy *proxy, struct koda_tenant_order *order, struct koda_error *err)
{
	struct koda_tenant *tenant;
	int r;

	if (koda_tenant_find(proxy, order->id))
		return koda_fail(err, KODA_E_INVALID, 0, "there is a sandbox of that number");
	if (proxy->tenant_count >= proxy->tenant_max)
		return koda_fail(err, KODA_E_LIMIT, 0, "too many sandboxes");
	tenant = calloc(1, sizeof(*tenant));
	if (!tenant)
		return koda_fail_nomem(err);
	tenant->proxy = proxy;
	tenant->id = order->id;
	tenant->can_ask = order->can_ask;
	memcpy(tenant->token, order->token, strnlen(order->token, KODA_EGRESS_TOKEN_MAX));
	tenant->budget = (struct koda_budget){ .left = (ptrdiff_t)proxy->tenant_memory_max,
					       .whole = &proxy->budget };
	tenant->listener.fd = -1;
	koda_link_init(&tenant->conns);
	koda_task_init(&tenant->accepting);
	koda_deadline_init(&tenant->retry);
	r = fill(tenant, order, err);
	if (r < 0) {
		koda_ruleset_unref(tenant->ruleset);
		koda_tenant_clear_tls(tenant);
		free(tenant);
		return r;
	}
	koda_link_append(&proxy->tenants, &tenant->link);
	proxy->tenant_count++;
	return KODA_OK;
}

int koda_tenant_add(struct koda_proxy *proxy, struct koda_tenant_order *order,
		    struct koda_error *err)
{
	int r = add(proxy, order, err);

	koda_fd_close(&order->listener);
	koda_fd_close(&order->policy);
	koda_fd_close(&order->ca);
	koda_fd_close(&order->ca_key);
	return r;
}

struct koda_tenant *koda_tenant_find(struct koda_proxy *proxy, uint32_t id)
{
	for (struct koda_link *l = proxy->tenants.next; l != &proxy->tenants; l = l->next) {
		struct koda_tenant *tenant = KODA_OUTER(struct koda_tenant, link, l);

		if (tenant->id == id)
			return tenant;
	}
	return NULL;
}

int koda_tenant_set_rules(struct koda_tenant *tenant, int policy_fd, struct koda_error *err)
{
	koda_auto_fd int fd = policy_fd;
	koda_auto_sealed struct sealed sealed = { 0 };
	struct koda_ruleset *set = NULL;
	struct koda_link *next;
	int r = read_policy(fd, &sealed, err);

	if (r == KODA_OK)
		r = compile(sealed.policy, &set, err);
	if (r == KODA_OK)
		r = koda_tenant_change_tls(tenant, sealed.policy, sealed.except, err);
	if (r < 0) {
		koda_ruleset_unref(set);
		return r;
	}
	koda_ruleset_unref(tenant->ruleset);
	tenant->ruleset = set;
	for (struct koda_link *l = tenant->conns.next; l != &tenant->conns; l = next) {
		struct koda_conn *conn = KODA_OUTER(struct koda_conn, link, l);

		next = l->next;
		if (!koda_conn_fits(conn, set))
			koda_conn_abandon(conn, KODA_EGRESS_RULES_CHANGED);
	}
	return KODA_OK;
}

static void free_tenant(struct koda_task *task)
{
	free(KODA_OUTER(struct koda_tenant, accepting, task));
}

uint32_t koda_tenant_remove(struct koda_tenant *tenant)
{
	struct koda_proxy *proxy = tenant->proxy;
	int listener = koda_watch_release(proxy->loop, &tenant->listener);

	/* The host may hold the same socket, so closing alone would not end the watch. */
	koda_fd_close(&listener);
	while (!koda_link_alone(&tenant->conns))
		koda_conn_abandon(KODA_OUTER(struct koda_conn, link, tenant->conns.next),
				  KODA_EGRESS_REMOVED);
	koda_link_remove(&tenant->link);
	proxy->tenant_count--;
	proxy->full_count -= tenant->full;
	koda_deadline_clear(&tenant->retry);
	koda_ruleset_unref(tenant->ruleset);
	koda_tenant_clear_tls(tenant);
	/* An event for it may still be in the batch. */
	koda_task_cancel(&tenant->accepting);
	koda_task_post(proxy->loop, &tenant->accepting, free_tenant);
	return tenant->dropped;
}
