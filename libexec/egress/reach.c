/* SPDX-License-Identifier: MIT */
#include "reach.h"

#include "base/fd.h"
#include "dial.h"
#include "intercept.h"

#include <errno.h>
#include <sys/socket.h>

struct koda_reach {
	struct koda_conn *conn;
	enum koda_reach_mode mode;
	void (*done)(struct koda_conn *conn, enum koda_egress_reason reason);
	uint32_t question; /* 0: none is open */
	struct koda_lookup lookup;
	struct koda_deadline deadline; /* for a person's answer; then for all that follows */
	struct koda_deadline attempt;  /* for one address, if there is another to try */
	struct koda_dial dial;
	struct koda_buf request; /* to the upstream proxy */
	size_t request_sent;
	struct koda_input reply; /* of the upstream proxy */
	struct egress_head_scan scan;
	bool greeting; /* the upstream proxy is being talked to */
	bool local;    /* a proxy of socket_map */
};

/* No upstream proxy has more to say before a tunnel begins, nor is more said to it. */
#define REPLY_MAX 16384

static void free_reach(struct koda_conn *conn)
{
	struct koda_reach *reach = KODA_TAKE(conn->reach);

	koda_lookup_cancel(&reach->lookup);
	koda_deadline_clear(&reach->deadline);
	koda_deadline_clear(&reach->attempt);
	koda_buf_clear(&reach->request);
	koda_input_clear(&reach->reply);
	free(reach);
}

static void finish(struct koda_conn *conn, enum koda_egress_reason reason)
{
	void (*done)(struct koda_conn * conn, enum koda_egress_reason reason) = conn->reach->done;

	free_reach(conn);
	if (reason != KODA_EGRESS_OK)
		koda_conn_drop_origin(conn);
	done(conn, reason);
}

void koda_reach_cancel(struct koda_conn *conn)
{
	if (!conn->reach)
		return;
	free_reach(conn);
	koda_conn_drop_origin(conn);
}

static void fail_dial(struct koda_conn *conn)
{
	if (conn->deal.via)
		finish(conn, KODA_EGRESS_UPSTREAM_FAILED);
	else
		finish(conn, conn->deal.sys_errno == ETIMEDOUT ? KODA_EGRESS_CONNECT_TIMEOUT
							       : KODA_EGRESS_CONNECT_FAILED);
}

/* The next address, until one can at least be tried. */
static void dial(struct koda_conn *conn)
{
	struct koda_reach *reach = conn->reach;
	struct koda_dial *d = &reach->dial;

	koda_conn_drop_origin(conn);
	while (d->next < d->count) {
		int error;
		int fd = koda_dial_next(d, &error);

		conn->deal.addr = d->addrs[d->next - 1];
		if (fd >= 0 && koda_conn_set_origin(conn, fd) == KODA_OK) {
			if (d->next < d->count)
				koda_deadline_set(conn->proxy->loop, &conn->proxy->queues.attempt,
						  &reach->attempt);
			return;
		}
		koda_fd_close(&fd);
		conn->deal.sys_errno = error;
	}
	fail_dial(conn);
}

/* The upstream proxy's answer: any 2xx opens the tunnel (RFC 9110, 9.3.6), everything else is a
 * failure that is told. */
static void read_reply(struct koda_conn *conn)
{
	struct koda_reach *reach = conn->reach;
	struct egress_head *head = &conn->proxy->head;
	enum koda_input_state state = KODA_INPUT_GOT;
	enum egress_parse parse = EGRESS_MORE;
	struct egress_refusal why;
	size_t len = 0;

	while (parse == EGRESS_MORE && state == KODA_INPUT_GOT) {
		state = koda_input_fill(&reach->reply, conn->origin.fd, REPLY_MAX);
		if (state == KODA_INPUT_GOT)
			parse = egress_head_find(&reach->scan, koda_input_span(&reach->reply), &len,
						 &why);
	}
	if (parse == EGRESS_MORE && state == KODA_INPUT_DRY)
		return;
	if (parse != EGRESS_DONE ||
	    !egress_head_response((struct koda_span){ reach->reply.bytes, len }, head, &why) ||
	    head->status < 200 || head->status > 299) {
		finish(conn, KODA_EGRESS_UPSTREAM_FAILED);
		return;
	}
	/* The origin may have spoken already, right behind the proxy's answer. */
	koda_input_take(&reach->reply, len);
	conn->early = reach->reply;
	reach->reply = (struct koda_input){ 0 };
	finish(conn, KODA_EGRESS_OK);
}

static void talk(struct koda_conn *conn)
{
	struct koda_reach *reach = conn->reach;

	while (reach->request_sent < reach->request.len) {
		ssize_t n = send(conn->origin.fd, reach->request.ptr + reach->request_sent,
				 reach->request.len - reach->request_sent, MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			finish(conn, KODA_EGRESS_UPSTREAM_FAILED);
			return;
		}
		reach->request_sent += (size_t)n;
	}
	read_reply(conn);
}

static void connected(struct koda_conn *conn)
{
	struct koda_reach *reach = conn->reach;
	struct koda_deal *deal = &conn->deal;

	koda_deadline_clear(&reach->attempt);
	if (!deal->via || reach->mode == KODA_REACH_PLAIN) {
		finish(conn, KODA_EGRESS_OK);
		return;
	}
	reach->greeting = true;
	if (egress_upstream_connect(deal->via, &deal->target.host, deal->target.port,
				    &reach->request) < 0)
		finish(conn, KODA_EGRESS_NO_MEMORY);
	else
		talk(conn);
}

void koda_reach_origin(struct koda_conn *conn)
{
	struct koda_reach *reach = conn->reach;
	int r;

	if (reach->greeting) {
		talk(conn);
		return;
	}
	if (reach->local) {
		connected(conn);
		return;
	}
	r = koda_dial_check(conn->origin.fd, &conn->deal.addr, reach->dial.port);
	if (r > 0) {
		connected(conn);
	} else if (r < 0) {
		conn->deal.sys_errno = -r;
		koda_deadline_clear(&reach->attempt);
		dial(conn);
	}
}

/* The upstream proxy's own address is the host's business; no rule speaks of it. */
static void use_any(struct koda_conn *conn, const struct koda_answers *answers)
{
	for (size_t i = 0; i < answers->count; i++)
		koda_dial_add(&conn->reach->dial, &answers->addrs[i]);
	if (conn->reach->dial.count == 0)
		finish(conn, KODA_EGRESS_UPSTREAM_FAILED);
	else
		dial(conn);
}

/* T-07 each answer on its own; what does not pass is never connected to. */
static void use_judged(struct koda_conn *conn, const struct koda_answers *answers)
{
	struct koda_deal *deal = &conn->deal;
	struct koda_decision refused = { .reason = KODA_EGRESS_RESOLVE_FAILED };

	for (size_t i = 0; i < answers->count; i++) {
		struct koda_decision now =
			koda_decide_address(deal->ruleset->rules, &conn->proxy->own, &deal->target,
					    deal->asked, &answers->addrs[i]);

		if (now.reason != KODA_EGRESS_OK) {
			refused = now;
			if (conn->reach->dial.count == 0)
				deal->addr = answers->addrs[i];
			continue;
		}
		deal->decision = now;
		koda_dial_add(&conn->reach->dial, &answers->addrs[i]);
	}
	if (conn->reach->dial.count > 0) {
		dial(conn);
		return;
	}
	deal->decision = refused;
	finish(conn, refused.reason);
}

/* T-80. */
void koda_reach_judge_again(struct koda_conn *conn)
{
	struct koda_dial *d = conn->reach && !conn->deal.via ? &conn->reach->dial : NULL;
	size_t kept = d ? d->next : 0;

	for (size_t i = kept; d && i < d->count; i++)
		if (koda_decide_address(conn->deal.ruleset->rules, &conn->proxy->own,
					&conn->deal.target, conn->deal.asked, &d->addrs[i])
			    .reason == KODA_EGRESS_OK)
			d->addrs[kept++] = d->addrs[i];
	if (d)
		d->count = (uint8_t)kept;
}

static void on_answers(struct koda_lookup *lookup, const struct koda_answers *answers)
{
	struct koda_conn *conn = KODA_OUTER(struct koda_reach, lookup, lookup)->conn;

	if (conn->deal.via)
		use_any(conn, answers);
	else
		use_judged(conn, answers);
}

/* The proxy that socket_map names. A connection is made at once or not at all. */
static void dial_socket(struct koda_conn *conn, const char *path)
{
	koda_auto_fd int fd = koda_dial_socket(path, &conn->deal.sys_errno);

	conn->reach->local = true;
	if (fd < 0 || koda_conn_set_origin(conn, fd) < 0) {
		finish(conn, KODA_EGRESS_UPSTREAM_FAILED);
		return;
	}
	(void)koda_take_fd(&fd);
}

/* The name passed; now its addresses. */
static void resolve(struct koda_conn *conn)
{
	/* A proxy without a name: what counts is that there is one. */
	static const struct egress_proxy local = { .set = true };
	struct koda_reach *reach = conn->reach;
	struct koda_deal *deal = &conn->deal;
	const struct koda_host *host;
	const char *socket_path;
	struct koda_answers one = { .count = 1 };
	int r;

	koda_deadline_set(conn->proxy->loop, &conn->proxy->queues.connect, &reach->deadline);
	if (koda_intercept_host(conn->tenant->intercept, &deal->target.host, deal->target.port,
				&socket_path) == KODA_INTERCEPT_SOCKET) {
		deal->via = &local;
		dial_socket(conn, socket_path);
		return;
	}
	deal->via = egress_upstream_for(&conn->proxy->upstream, &deal->target.host,
					deal->target.port, reach->mode == KODA_REACH_TUNNEL);
	/* T-07 names are the upstream proxy's to look up. */
	if (deal->via && !koda_decide_unresolved(deal->ruleset->rules, &conn->proxy->own,
						 &deal->target, deal->asked, &deal->decision)) {
		finish(conn, deal->decision.reason);
		return;
	}
	host = deal->via ? &deal->via->host : &deal->target.host;
	reach->dial.port = deal->via ? deal->via->port : deal->target.port;
	if (host->is_addr) {
		one.addrs[0] = host->addr;
		on_answers(&reach->lookup, &one);
		return;
	}
	r = koda_lookup_start(&conn->proxy->resolver, &reach->lookup, conn->tenant->id, host->name,
			      on_answers);
	if (r < 0)
		finish(conn, r == KODA_E_LIMIT ? KODA_EGRESS_LIMIT : KODA_EGRESS_NO_MEMORY);
}

static void ask(struct koda_conn *conn)
{
	conn->reach->question = koda_question_for(conn);
	if (conn->reach->question == 0) {
		finish(conn, KODA_EGRESS_ASK_DENIED);
		return;
	}
	koda_deadline_set(conn->proxy->loop, &conn->proxy->queues.ask, &conn->reach->deadline);
}

/* By the rules that are in force now. */
static void decide(struct koda_conn *conn, bool asked)
{
	struct koda_deal *deal = &conn->deal;

	koda_ruleset_unref(deal->ruleset);
	deal->ruleset = koda_ruleset_ref(conn->tenant->ruleset);
	deal->decision = koda_decide_host(deal->ruleset->rules, &deal->target);
	deal->asked = asked && deal->decision.reason == KODA_EGRESS_NOT_LISTED;
	if (deal->asked || deal->decision.reason == KODA_EGRESS_OK)
		resolve(conn);
	else if (deal->decision.reason == KODA_EGRESS_NOT_LISTED && conn->tenant->can_ask)
		ask(conn);
	else
		finish(conn, deal->decision.reason);
}

void koda_reach_start(struct koda_conn *conn, enum koda_reach_mode mode,
		      void (*done)(struct koda_conn *conn, enum koda_egress_reason reason))
{
	struct koda_reach *reach = calloc(1, sizeof(*reach));

	if (!reach) {
		done(conn, KODA_EGRESS_NO_MEMORY);
		return;
	}
	reach->conn = conn;
	reach->mode = mode;
	reach->done = done;
	reach->request = (struct koda_buf)KODA_BUF_INIT(REPLY_MAX);
	reach->reply.budget = &conn->tenant->budget;
	koda_lookup_init(&reach->lookup);
	koda_deadline_init(&reach->deadline);
	koda_deadline_init(&reach->attempt);
	conn->reach = reach;
	decide(conn, false);
}

uint32_t koda_reach_question(const struct koda_conn *conn)
{
	return conn->reach ? conn->reach->question : 0;
}

bool koda_reach_is_asking(const struct koda_conn *conn)
{
	return koda_reach_question(conn) != 0;
}

void koda_reach_answer(struct koda_tenant *tenant, uint32_t question, bool allow)
{
	struct koda_link *next;

	for (struct koda_link *l = tenant->conns.next; l != &tenant->conns; l = next) {
		struct koda_conn *conn = KODA_OUTER(struct koda_conn, link, l);

		next = l->next;
		if (question == 0 || !conn->reach || conn->reach->question != question)
			continue;
		conn->reach->question = 0;
		koda_deadline_clear(&conn->reach->deadline);
		/* The rules may have changed while a person was thinking. */
		if (allow)
			decide(conn, true);
		else
			finish(conn, KODA_EGRESS_ASK_DENIED);
	}
}

void koda_reach_late(struct koda_deadline *deadline)
{
	struct koda_reach *reach = KODA_OUTER(struct koda_reach, deadline, deadline);

	if (reach->question != 0)
		finish(reach->conn, KODA_EGRESS_ASK_DENIED);
	else if (reach->conn->deal.via)
		finish(reach->conn, KODA_EGRESS_UPSTREAM_FAILED);
	else
		finish(reach->conn, KODA_EGRESS_CONNECT_TIMEOUT);
}

void koda_reach_attempt_late(struct koda_deadline *deadline)
{
	struct koda_conn *conn = KODA_OUTER(struct koda_reach, attempt, deadline)->conn;

	conn->deal.sys_errno = ETIMEDOUT;
	dial(conn);
}
