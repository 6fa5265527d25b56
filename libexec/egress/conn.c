/* SPDX-License-Identifier: MIT */
#include "conn.h"

#include "base/fd.h"
#include "intercept.h"
#include "reach.h"
#include "reason.h"

#include <string.h>
#include <sys/socket.h>

#define GONE (EPOLLERR | EPOLLHUP)
#define NEWS (EPOLLIN | EPOLLRDHUP | GONE)

static void note(struct koda_flow *from, uint32_t events)
{
	if (events & NEWS)
		from->readable = true;
	if (events & (EPOLLRDHUP | GONE))
		from->hung_up = true;
}

static void on_client(struct koda_watch *watch, uint32_t events)
{
	struct koda_conn *conn = KODA_OUTER(struct koda_conn, client, watch);

	note(&conn->up, events);
	conn->client_gone = conn->client_gone || (events & GONE);
	conn->phase->client(conn);
}

static void on_origin(struct koda_watch *watch, uint32_t events)
{
	struct koda_conn *conn = KODA_OUTER(struct koda_conn, origin, watch);

	note(&conn->down, events);
	if (conn->reach)
		koda_reach_origin(conn);
	else
		conn->phase->origin(conn);
}

bool koda_conn_new(struct koda_tenant *tenant, int fd)
{
	struct koda_proxy *proxy = tenant->proxy;
	struct koda_conn *conn = calloc(1, sizeof(*conn));

	if (!conn || koda_watch_start(proxy->loop, &conn->client, fd, on_client, NULL) < 0) {
		free(conn);
		koda_fd_close(&fd);
		return false;
	}
	conn->proxy = proxy;
	conn->tenant = tenant;
	conn->origin.fd = -1;
	conn->in.budget = &tenant->budget;
	conn->up.budget = &tenant->budget;
	conn->down.budget = &tenant->budget;
	conn->began = koda_loop_now(proxy->loop);
	koda_task_init(&conn->task);
	koda_deadline_init(&conn->deadline);
	koda_link_append(&tenant->conns, &conn->link);
	tenant->conn_count++;
	proxy->conn_count++;
	if (tenant->token[0])
		koda_token_begin(conn);
	else
		koda_greeting_begin(conn);
	return true;
}

static void free_conn(struct koda_task *task)
{
	free(KODA_OUTER(struct koda_conn, task, task));
}

void koda_conn_end(struct koda_conn *conn)
{
	struct koda_tenant *tenant = conn->tenant;

	koda_reach_cancel(conn);
	koda_watch_close(&conn->client);
	koda_watch_close(&conn->origin);
	koda_deadline_clear(&conn->deadline);
	koda_flow_clear(&conn->proxy->relay, &conn->up);
	koda_flow_clear(&conn->proxy->relay, &conn->down);
	koda_input_clear(&conn->in);
	koda_input_clear(&conn->early);
	koda_deal_clear(conn);
	koda_link_remove(&conn->link);
	tenant->conn_count--;
	conn->proxy->conn_count--;
	koda_accept_again(conn->proxy);
	/* An event for it may still be in the batch. */
	koda_task_cancel(&conn->task);
	koda_task_post(conn->proxy->loop, &conn->task, free_conn);
}

void koda_conn_abandon(struct koda_conn *conn, enum koda_egress_reason reason)
{
	conn->phase->abandon(conn, reason);
	/* Half of an answer is not to be taken for all of it. */
	koda_conn_break(conn);
}

static void reset(const struct koda_watch *watch)
{
	const struct linger at_once = { .l_onoff = 1, .l_linger = 0 };

	if (watch->fd >= 0)
		(void)setsockopt(watch->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

void koda_conn_break(struct koda_conn *conn)
{
	/* Whoever is gone has no use for it. */
	if (!conn->client_gone)
		reset(&conn->client);
	reset(&conn->origin);
	koda_conn_end(conn);
}

static void run_task(struct koda_task *task)
{
	struct koda_conn *conn = KODA_OUTER(struct koda_conn, task, task);

	conn->phase->go_on(conn);
}

void koda_conn_go_on(struct koda_conn *conn)
{
	koda_task_post(conn->proxy->loop, &conn->task, run_task);
}

int koda_conn_set_origin(struct koda_conn *conn, int fd)
{
	return koda_watch_start(conn->proxy->loop, &conn->origin, fd, on_origin, NULL);
}

void koda_conn_drop_origin(struct koda_conn *conn)
{
	koda_watch_close(&conn->origin);
	koda_flow_drop(&conn->up);
	koda_input_clear(&conn->early);
	conn->up.bounded = false;
	conn->down.readable = false;
	conn->down.hung_up = false;
}

void koda_conn_break_origin(struct koda_conn *conn)
{
	reset(&conn->origin);
	koda_conn_drop_origin(conn);
}

int koda_deal_set(struct koda_conn *conn, const struct koda_host *host, uint16_t port)
{
	koda_deal_clear(conn);
	return koda_target_of(&conn->deal.target, host, port);
}

void koda_deal_clear(struct koda_conn *conn)
{
	koda_ruleset_unref(conn->deal.ruleset);
	free(conn->deal.named);
	memset(&conn->deal, 0, sizeof(conn->deal));
}

/* Refused by us, or allowed and then ended one way or the other? */
static bool is_refusal(enum koda_egress_reason reason)
{
	switch (reason) {
	case KODA_EGRESS_RULE_DENIED:
	case KODA_EGRESS_NOT_LISTED:
	case KODA_EGRESS_ASK_DENIED:
	case KODA_EGRESS_ADDRESS_GUARD:
	case KODA_EGRESS_BAD_REQUEST:
	case KODA_EGRESS_BAD_METHOD:
	case KODA_EGRESS_HEAD_TOO_LARGE:
	case KODA_EGRESS_MISDIRECTED:
	case KODA_EGRESS_SNI_MISMATCH:
	case KODA_EGRESS_BAD_HELLO:
	case KODA_EGRESS_ECH:
	case KODA_EGRESS_CLIENT_TIMEOUT:
	case KODA_EGRESS_NO_TOKEN:
	case KODA_EGRESS_LIMIT:
	case KODA_EGRESS_RULES_CHANGED:
		return true;
	case KODA_EGRESS_OK:
	case KODA_EGRESS_RESOLVE_FAILED:
	case KODA_EGRESS_CONNECT_FAILED:
	case KODA_EGRESS_CONNECT_TIMEOUT:
	case KODA_EGRESS_UPSTREAM_FAILED:
	case KODA_EGRESS_BAD_RESPONSE:
	case KODA_EGRESS_TLS_FAILED:
	case KODA_EGRESS_IDLE:
	case KODA_EGRESS_REMOVED:
	case KODA_EGRESS_RESET:
	case KODA_EGRESS_NO_MEMORY:
	case KODA_EGRESS_PROXY_FAILED:
	case KODA_EGRESS_EVENTS_LOST:
	case KODA_EGRESS_REASON_COUNT:
		break;
	}
	return false;
}

void koda_conn_report_as(struct koda_conn *conn, enum koda_egress_reason reason,
			 struct koda_egress_message *event)
{
	event->kind = KODA_EGRESS_EVENT;
	event->id = conn->tenant->id;
	event->verdict = is_refusal(reason) ? KODA_EGRESS_DENY : KODA_EGRESS_ALLOW;
	event->reason = reason;
	event->ms = (uint32_t)(koda_loop_now(conn->proxy->loop) - conn->began);
	if (!event->host[0])
		KODA_REPORT_TEXT(event->host, koda_span_of(conn->deal.target.text));
	if (event->port == 0)
		event->port = conn->deal.target.port;
	if (!event->rule[0])
		KODA_REPORT_TEXT(event->rule, conn->deal.decision.rule);
	if (conn->deal.addr.family != 0)
		koda_addr_format(&conn->deal.addr, event->address);
	if (!event->text[0])
		KODA_REPORT_TEXT(event->text, koda_span_of(koda_reason_text(reason)));
	koda_report_event(&conn->proxy->reports, event, &conn->tenant->dropped);
}

void koda_conn_report(struct koda_conn *conn, enum koda_egress_reason reason)
{
	struct koda_egress_message event = { .bytes_up = conn->up.bytes,
					     .bytes_down = conn->down.bytes };

	koda_conn_report_as(conn, reason, &event);
}

bool koda_conn_name_fits(struct koda_conn *conn, const struct koda_rules *rules,
			 const struct koda_target *named)
{
	return koda_decide_host(rules, named).reason == KODA_EGRESS_OK &&
	       (conn->deal.via ||
		koda_decide_address(rules, &conn->proxy->own, named, false, &conn->deal.addr)
				.reason == KODA_EGRESS_OK);
}

/* A proxy of socket_map has no port of its own. */
static bool goes_by_socket(const struct koda_deal *deal)
{
	return deal->via && deal->via->port == 0;
}

/* Would it be sent the way that it went, by a proxy of socket_map or not? */
static bool goes_same_way(const struct koda_conn *conn)
{
	const struct koda_intercept *now = conn->tenant->intercept;
	const struct koda_target *target = &conn->deal.target;
	const struct koda_target *named = conn->deal.named;
	const char *path;

	if (named &&
	    koda_intercept_host(now, &named->host, named->port, &path) == KODA_INTERCEPT_SOCKET)
		return false;
	return goes_by_socket(&conn->deal) == (koda_intercept_host(now, &target->host, target->port,
								   &path) == KODA_INTERCEPT_SOCKET);
}

bool koda_conn_fits(struct koda_conn *conn, struct koda_ruleset *ruleset)
{
	struct koda_deal *deal = &conn->deal;
	struct koda_decision now;

	if (!conn->phase->has_target || !conn->phase->has_target(conn))
		return true;
	if (!goes_same_way(conn))
		return false;
	now = koda_decide_host(ruleset->rules, &deal->target);
	/* What a person allowed stays allowed, unless a rule speaks of it now. */
	if (now.reason == KODA_EGRESS_NOT_LISTED && deal->asked)
		now = deal->decision = (struct koda_decision){ .rule = koda_span_of("asked") };
	if (now.reason == KODA_EGRESS_OK && !deal->via && deal->addr.family != 0)
		now = koda_decide_address(ruleset->rules, &conn->proxy->own, &deal->target,
					  deal->asked, &deal->addr);
	/* That is not asked when a proxy of socket_map is connected to. */
	else if (now.reason == KODA_EGRESS_OK && deal->via && !goes_by_socket(deal))
		(void)koda_decide_unresolved(ruleset->rules, &conn->proxy->own, &deal->target,
					     deal->asked, &now);
	if (deal->named && !koda_conn_name_fits(conn, ruleset->rules, deal->named))
		return false;
	if (now.reason == KODA_EGRESS_OK) {
		koda_ruleset_unref(deal->ruleset);
		deal->ruleset = koda_ruleset_ref(ruleset);
		deal->decision = now;
		koda_reach_judge_again(conn);
	}
	return now.reason == KODA_EGRESS_OK;
}
