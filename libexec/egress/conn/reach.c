/* SPDX-License-Identifier: MIT */
#include "conn/reach.h"

#include "base/fd.h"
#include "conn/question.h"
#include "conn/upstream_connect.h"
#include "route/dial.h"
#include "tls/intercept.h"

#include <errno.h>
#include <sys/socket.h>

struct egress_reach {
	struct egress_conn *conn;
	enum egress_reach_mode mode;
	void (*done)(struct egress_conn *conn, enum koda_egress_reason reason);
	struct egress_lookup lookup;
	struct egress_deadline deadline; /* for the answer to a question, then for the rest */
	struct egress_deadline attempt;  /* for one address, if there are others to try */
	struct egress_dial dial;
	struct egress_upstream_connect upstream;
	bool local; /* the upstream proxy is a Unix socket of socket_map */
};

static void free_reach(struct egress_conn *conn)
{
	struct egress_reach *reach = KODA_TAKE(conn->reach);

	conn->question = 0;
	egress_resolver_cancel(&reach->lookup);
	egress_deadline_clear(&reach->deadline);
	egress_deadline_clear(&reach->attempt);
	egress_upstream_connect_clear(&reach->upstream);
	free(reach);
}

static void finish(struct egress_conn *conn, enum koda_egress_reason reason)
{
	void (*done)(struct egress_conn * conn, enum koda_egress_reason reason) = conn->reach->done;

	free_reach(conn);
	if (reason != KODA_EGRESS_OK)
		egress_conn_drop_origin(conn);
	done(conn, reason);
}

static void cancel(struct egress_conn *conn)
{
	free_reach(conn);
	egress_conn_drop_origin(conn);
}

static void fail_dial(struct egress_conn *conn)
{
	if (conn->route.upstream)
		finish(conn, KODA_EGRESS_UPSTREAM_FAILED);
	else
		finish(conn, conn->route.sys_errno == ETIMEDOUT ? KODA_EGRESS_CONNECT_TIMEOUT
								: KODA_EGRESS_CONNECT_FAILED);
}

static void on_connecting(struct egress_conn *conn);

static void on_origin(struct egress_watch *watch, uint32_t events)
{
	struct egress_conn *conn = EGRESS_OUTER(struct egress_conn, origin, watch);

	egress_conn_note_events(&conn->down, events);
	if (conn->reach)
		on_connecting(conn);
	else
		conn->phase->origin(conn);
}

/* Makes fd the origin's socket, whose events go to the phase once it is reached. */
static int set_origin(struct egress_conn *conn, int fd)
{
	return egress_watch_start(conn->proxy->loop, &conn->origin, fd, on_origin, NULL);
}

/* Starts connect(2) to the next address, and to further ones while it fails at once. */
static void dial(struct egress_conn *conn)
{
	struct egress_reach *reach = conn->reach;
	struct egress_dial *d = &reach->dial;

	egress_conn_drop_origin(conn);
	while (d->next < d->count) {
		int error;
		int fd = egress_dial_next(d, &error);

		conn->route.addr = d->addrs[d->next - 1];
		if (fd >= 0 && set_origin(conn, fd) == KODA_OK) {
			if (d->next < d->count)
				egress_deadline_set(conn->proxy->loop, &conn->proxy->queues.attempt,
						    &reach->attempt);
			return;
		}
		koda_fd_close(&fd);
		conn->route.sys_errno = error;
	}
	fail_dial(conn);
}

/* Continues the CONNECT request to the upstream proxy. */
static void talk(struct egress_conn *conn)
{
	struct egress_upstream_connect *upstream = &conn->reach->upstream;

	switch (egress_upstream_connect_run(upstream, conn->origin.fd, &conn->proxy->head)) {
	case EGRESS_MORE:
		break;
	case EGRESS_BAD:
		finish(conn, KODA_EGRESS_UPSTREAM_FAILED);
		break;
	case EGRESS_DONE:
		conn->early = upstream->reply;
		upstream->reply = (struct egress_input){ 0 };
		finish(conn, KODA_EGRESS_OK);
		break;
	}
}

static void connected(struct egress_conn *conn)
{
	struct egress_reach *reach = conn->reach;
	struct egress_route_record *route = &conn->route;

	egress_deadline_clear(&reach->attempt);
	if (!route->upstream || reach->mode == EGRESS_REACH_PLAIN) {
		finish(conn, KODA_EGRESS_OK);
		return;
	}
	if (egress_upstream_connect_start(&reach->upstream, route->upstream, &route->target) < 0)
		finish(conn, KODA_EGRESS_NO_MEMORY);
	else
		talk(conn);
}

static void on_connecting(struct egress_conn *conn)
{
	struct egress_reach *reach = conn->reach;
	int r;

	if (reach->upstream.started) {
		talk(conn);
		return;
	}
	if (reach->local) {
		connected(conn);
		return;
	}
	r = egress_dial_check(conn->origin.fd, &conn->route.addr, reach->dial.port);
	if (r > 0) {
		connected(conn);
	} else if (r < 0) {
		conn->route.sys_errno = -r;
		egress_deadline_clear(&reach->attempt);
		dial(conn);
	}
}

/* Uses all addresses of an upstream proxy. Rules are not about the host's proxy. */
static void use_any(struct egress_conn *conn, const struct egress_answers *answers)
{
	for (size_t i = 0; i < answers->count; i++)
		egress_dial_add(&conn->reach->dial, &answers->addrs[i]);
	if (conn->reach->dial.count == 0)
		finish(conn, KODA_EGRESS_UPSTREAM_FAILED);
	else
		dial(conn);
}

/* T-07. Uses the addresses that the rules allow; the proxy never connects to others. */
static void use_judged(struct egress_conn *conn, const struct egress_answers *answers)
{
	struct egress_route_record *route = &conn->route;
	struct egress_decision refused = { .reason = KODA_EGRESS_RESOLVE_FAILED };

	for (size_t i = 0; i < answers->count; i++) {
		struct egress_decision now = egress_decide_address(
			route->ruleset->rules, &conn->proxy->host_addrs, &route->target,
			route->user_allowed, &answers->addrs[i]);

		if (now.reason != KODA_EGRESS_OK) {
			refused = now;
			if (conn->reach->dial.count == 0)
				route->addr = answers->addrs[i];
			continue;
		}
		route->decision = now;
		egress_dial_add(&conn->reach->dial, &answers->addrs[i]);
	}
	if (conn->reach->dial.count > 0) {
		dial(conn);
		return;
	}
	route->decision = refused;
	finish(conn, refused.reason);
}

void egress_reach_judge_again(struct egress_conn *conn)
{
	struct egress_dial *d = conn->reach && !conn->route.upstream ? &conn->reach->dial : NULL;
	size_t kept = d ? d->next : 0;

	for (size_t i = kept; d && i < d->count; i++)
		if (egress_decide_address(conn->route.ruleset->rules, &conn->proxy->host_addrs,
					  &conn->route.target, conn->route.user_allowed,
					  &d->addrs[i])
			    .reason == KODA_EGRESS_OK)
			d->addrs[kept++] = d->addrs[i];
	if (d)
		d->count = (uint8_t)kept;
}

static void on_answers(struct egress_lookup *lookup, const struct egress_answers *answers)
{
	struct egress_conn *conn = EGRESS_OUTER(struct egress_reach, lookup, lookup)->conn;

	if (conn->route.upstream)
		use_any(conn, answers);
	else
		use_judged(conn, answers);
}

/* Connects to a proxy of socket_map; on a Unix socket connect(2) succeeds or fails at once. */
static void dial_socket(struct egress_conn *conn, const char *path)
{
	koda_auto_fd int fd = egress_dial_socket(path, &conn->route.sys_errno);

	conn->reach->local = true;
	if (fd < 0 || set_origin(conn, fd) < 0) {
		finish(conn, KODA_EGRESS_UPSTREAM_FAILED);
		return;
	}
	(void)koda_take_fd(&fd);
}

/* Looks up the addresses, once the name is allowed. */
static void resolve(struct egress_conn *conn)
{
	/* Stands for a proxy of socket_map, which has no host name. */
	static const struct egress_upstream_proxy local = { .set = true };
	struct egress_reach *reach = conn->reach;
	struct egress_route_record *route = &conn->route;
	const struct koda_host *host;
	const char *socket_path;
	struct egress_answers one = { .count = 1 };
	int r;

	egress_deadline_set(conn->proxy->loop, &conn->proxy->queues.connect, &reach->deadline);
	if (egress_intercept_host(conn->tenant->intercept, &route->target.host, route->target.port,
				  &socket_path) == EGRESS_INTERCEPT_SOCKET) {
		route->upstream = &local;
		dial_socket(conn, socket_path);
		return;
	}
	route->upstream =
		egress_upstream_for(&conn->proxy->upstream, &route->target.host, route->target.port,
				    reach->mode == EGRESS_REACH_TUNNEL);
	/* T-07. The upstream proxy looks the name up itself. */
	if (route->upstream &&
	    !egress_decide_unresolved(route->ruleset->rules, &conn->proxy->host_addrs,
				      &route->target, route->user_allowed, &route->decision)) {
		finish(conn, route->decision.reason);
		return;
	}
	host = route->upstream ? &route->upstream->host : &route->target.host;
	reach->dial.port = route->upstream ? route->upstream->port : route->target.port;
	if (host->is_addr) {
		one.addrs[0] = host->addr;
		on_answers(&reach->lookup, &one);
		return;
	}
	reach->lookup.relative = route->upstream != NULL;
	r = egress_resolver_lookup(&conn->proxy->resolver, &reach->lookup, conn->tenant->id,
				   host->name, on_answers);
	if (r < 0)
		finish(conn, r == KODA_E_LIMIT ? KODA_EGRESS_LIMIT : KODA_EGRESS_NO_MEMORY);
}

static void ask(struct egress_conn *conn)
{
	if (egress_question_is_moot(conn)) {
		finish(conn, conn->route.decision.reason);
		return;
	}
	conn->question = egress_question_for(conn);
	if (conn->question == 0) {
		finish(conn, KODA_EGRESS_ASK_DENIED);
		return;
	}
	egress_deadline_set(conn->proxy->loop, &conn->proxy->queues.ask, &conn->reach->deadline);
}

/* Decides by the rules in force now. */
static void decide(struct egress_conn *conn, bool user_allowed)
{
	struct egress_route_record *route = &conn->route;

	egress_ruleset_unref(route->ruleset);
	route->ruleset = egress_ruleset_ref(conn->tenant->ruleset);
	route->decision = egress_decide_host(route->ruleset->rules, &route->target);
	route->user_allowed = user_allowed && route->decision.reason == KODA_EGRESS_NOT_LISTED;
	if (route->user_allowed || route->decision.reason == KODA_EGRESS_OK)
		resolve(conn);
	else if (route->decision.reason == KODA_EGRESS_NOT_LISTED && conn->tenant->can_ask)
		ask(conn);
	else
		finish(conn, route->decision.reason);
}

void egress_reach_start(struct egress_conn *conn, enum egress_reach_mode mode,
			void (*done)(struct egress_conn *conn, enum koda_egress_reason reason))
{
	struct egress_reach *reach = calloc(1, sizeof(*reach));

	if (!reach) {
		done(conn, KODA_EGRESS_NO_MEMORY);
		return;
	}
	reach->conn = conn;
	reach->mode = mode;
	reach->done = done;
	egress_upstream_connect_init(&reach->upstream, &conn->tenant->budget);
	egress_resolver_lookup_init(&reach->lookup);
	egress_deadline_init(&reach->deadline);
	egress_deadline_init(&reach->attempt);
	conn->reach = reach;
	conn->cancel_reach = cancel;
	decide(conn, false);
}

void egress_reach_answer(struct egress_tenant *tenant, uint32_t question, bool allow)
{
	struct egress_link *next;

	for (struct egress_link *l = tenant->conns.next; l != &tenant->conns; l = next) {
		struct egress_conn *conn = EGRESS_OUTER(struct egress_conn, link, l);

		next = l->next;
		if (question == 0 || conn->question != question)
			continue;
		conn->question = 0;
		egress_deadline_clear(&conn->reach->deadline);
		/* The rules may have changed since the question was sent. */
		if (allow)
			decide(conn, true);
		else
			finish(conn, KODA_EGRESS_ASK_DENIED);
	}
}

void egress_reach_late(struct egress_deadline *deadline)
{
	struct egress_reach *reach = EGRESS_OUTER(struct egress_reach, deadline, deadline);

	if (reach->conn->question != 0)
		finish(reach->conn, KODA_EGRESS_ASK_DENIED);
	else if (reach->conn->route.upstream)
		finish(reach->conn, KODA_EGRESS_UPSTREAM_FAILED);
	else
		finish(reach->conn, KODA_EGRESS_CONNECT_TIMEOUT);
}

void egress_reach_attempt_late(struct egress_deadline *deadline)
{
	struct egress_conn *conn = EGRESS_OUTER(struct egress_reach, attempt, deadline)->conn;

	conn->route.sys_errno = ETIMEDOUT;
	dial(conn);
}
