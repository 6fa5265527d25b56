/* SPDX-License-Identifier: MIT */
#include "tenant.h"

#include "accept.h"
#include "base/error.h"
#include "base/fd.h"
#include "conn/conn.h"
#include "conn/recheck.h"
#include "policy/policy.h"
#include "route/dial.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* A policy, and the hosts whose TLS is not terminated. */
struct sealed {
	void *text; /* mapped file */
	size_t len;
	struct koda_policy *policy; /* owned */
	struct koda_span except;    /* patterns, points into text */
};

static void clear_sealed(struct sealed *sealed)
{
	if (sealed->text)
		(void)munmap(sealed->text, sealed->len);
	koda_policy_free(sealed->policy);
}
#define koda_auto_sealed __attribute__((cleanup(clear_sealed)))

/* Parses a policy from a sealed memory file, so that its text cannot change after the check. */
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

static int compile(const struct koda_policy *policy, struct egress_ruleset **ret_set,
		   struct koda_error *err)
{
	/* The proxy does not use rules about paths. */
	const struct koda_place nowhere = { .size = sizeof(nowhere) };
	struct koda_rules *rules;
	int r = koda_rules_new(policy, &nowhere, &rules, err);

	if (r < 0)
		return r;
	*ret_set = egress_ruleset_new(rules);
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
	/* Accepted sockets inherit the option. It fails harmlessly on a Unix socket. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	egress_dial_keep_alive(fd);
	return KODA_OK;
}

static int fill(struct egress_tenant *tenant, struct egress_tenant_spec *spec,
		struct koda_error *err)
{
	koda_auto_sealed struct sealed sealed = { 0 };
	int r = read_policy(spec->policy, &sealed, err);

	if (r == KODA_OK)
		r = egress_tenant_set_tls(tenant, sealed.policy, sealed.except, spec, err);
	if (r == KODA_OK)
		r = compile(sealed.policy, &tenant->ruleset, err);
	if (r == KODA_OK)
		r = check_listener(spec->listener, err);
	if (r == KODA_OK)
		r = egress_watch_start(tenant->proxy->loop, &tenant->listener, spec->listener,
				       egress_accept_ready, err);
	if (r == KODA_OK)
		spec->listener = -1; /* owned by the watch now */
	return r;
}

static int add(struct egress_proxy *proxy, struct egress_tenant_spec *spec, struct koda_error *err)
{
	struct egress_tenant *tenant;
	int r;

	if (egress_tenant_find(proxy, spec->id))
		return koda_fail(err, KODA_E_INVALID, 0, "there is a sandbox of that number");
	if (proxy->tenant_count >= proxy->limits.tenants)
		return koda_fail(err, KODA_E_LIMIT, 0, "too many sandboxes");
	tenant = calloc(1, sizeof(*tenant));
	if (!tenant)
		return koda_fail_nomem(err);
	tenant->proxy = proxy;
	tenant->id = spec->id;
	tenant->can_ask = spec->can_ask;
	tenant->tls_passthrough = spec->tls_passthrough;
	memcpy(tenant->token, spec->token, strnlen(spec->token, KODA_EGRESS_TOKEN_MAX));
	tenant->budget = (struct egress_budget){ .most = proxy->limits.tenant_memory,
						 .whole = &proxy->budget };
	tenant->listener.fd = -1;
	egress_link_init(&tenant->conns);
	egress_link_init(&tenant->turn);
	egress_link_init(&tenant->waiting);
	egress_task_init(&tenant->accepting);
	egress_deadline_init(&tenant->retry);
	r = fill(tenant, spec, err);
	if (r < 0) {
		egress_ruleset_unref(tenant->ruleset);
		egress_tenant_clear_tls(tenant);
		free(tenant);
		return r;
	}
	egress_link_append(&proxy->tenants, &tenant->link);
	proxy->tenant_count++;
	return KODA_OK;
}

int egress_tenant_add(struct egress_proxy *proxy, struct egress_tenant_spec *spec,
		      struct koda_error *err)
{
	int r = add(proxy, spec, err);

	koda_fd_close(&spec->listener);
	koda_fd_close(&spec->policy);
	koda_fd_close(&spec->ca);
	koda_fd_close(&spec->ca_key);
	return r;
}

struct egress_tenant *egress_tenant_find(struct egress_proxy *proxy, uint32_t id)
{
	for (struct egress_link *l = proxy->tenants.next; l != &proxy->tenants; l = l->next) {
		struct egress_tenant *tenant = EGRESS_OUTER(struct egress_tenant, link, l);

		if (tenant->id == id)
			return tenant;
	}
	return NULL;
}

int egress_tenant_set_rules(struct egress_tenant *tenant, int policy_fd, struct koda_error *err)
{
	koda_auto_fd int fd = policy_fd;
	koda_auto_sealed struct sealed sealed = { 0 };
	struct egress_ruleset *set = NULL;
	struct egress_link *next;
	int r = read_policy(fd, &sealed, err);

	if (r == KODA_OK)
		r = compile(sealed.policy, &set, err);
	if (r == KODA_OK)
		r = egress_tenant_change_tls(tenant, sealed.policy, sealed.except, err);
	if (r < 0) {
		egress_ruleset_unref(set);
		return r;
	}
	egress_ruleset_unref(tenant->ruleset);
	tenant->ruleset = set;
	for (struct egress_link *l = tenant->conns.next; l != &tenant->conns; l = next) {
		struct egress_conn *conn = EGRESS_OUTER(struct egress_conn, link, l);

		next = l->next;
		if (!egress_recheck_conn(conn, set))
			egress_conn_abandon(conn, KODA_EGRESS_RULES_CHANGED);
	}
	return KODA_OK;
}

static void free_tenant(struct egress_task *task)
{
	free(EGRESS_OUTER(struct egress_tenant, accepting, task));
}

uint32_t egress_tenant_remove(struct egress_tenant *tenant)
{
	struct egress_proxy *proxy = tenant->proxy;
	int listener = egress_watch_release(proxy->loop, &tenant->listener);

	/* The host may hold the socket open too, so close(2) alone would not remove it from the
	 * epoll set. */
	koda_fd_close(&listener);
	while (!egress_link_alone(&tenant->conns))
		egress_conn_abandon(EGRESS_OUTER(struct egress_conn, link, tenant->conns.next),
				    KODA_EGRESS_REMOVED);
	egress_link_remove(&tenant->link);
	egress_link_remove(&tenant->turn);
	proxy->tenant_count--;
	proxy->full_count -= tenant->full;
	egress_deadline_clear(&tenant->retry);
	egress_ruleset_unref(tenant->ruleset);
	egress_tenant_clear_tls(tenant);
	/* The current batch of epoll events may hold one for this tenant. */
	egress_task_cancel(&tenant->accepting);
	egress_task_post(proxy->loop, &tenant->accepting, free_tenant);
	return tenant->dropped;
}
