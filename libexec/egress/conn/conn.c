/* SPDX-License-Identifier: MIT */
#include "conn/conn.h"

#include "base/fd.h"
#include "conn/conn_report.h"

#include <sys/socket.h>

#define GONE (EPOLLERR | EPOLLHUP)
#define NEWS (EPOLLIN | EPOLLRDHUP | GONE)

void egress_conn_note_events(struct egress_flow *from, uint32_t events)
{
	if (events & NEWS)
		from->readable = true;
	if (events & (EPOLLRDHUP | GONE))
		from->hung_up = true;
}

static void on_client(struct egress_watch *watch, uint32_t events)
{
	struct egress_conn *conn = EGRESS_OUTER(struct egress_conn, client, watch);

	egress_conn_note_events(&conn->up, events);
	conn->client_gone = conn->client_gone || (events & GONE);
	conn->phase->client(conn);
}

bool egress_conn_new(struct egress_tenant *tenant, int fd)
{
	struct egress_proxy *proxy = tenant->proxy;
	struct egress_conn *conn = calloc(1, sizeof(*conn));

	if (!conn || egress_watch_start(proxy->loop, &conn->client, fd, on_client, NULL) < 0) {
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
	conn->began = egress_loop_now(proxy->loop);
	egress_task_init(&conn->task);
	egress_link_init(&conn->turn);
	egress_deadline_init(&conn->deadline);
	egress_link_append(&tenant->conns, &conn->link);
	tenant->conn_count++;
	proxy->conn_count++;
	egress_conn_enter(conn, tenant->token[0] ? EGRESS_PHASE_TOKEN : EGRESS_PHASE_GREETING);
	return true;
}

void egress_conn_enter(struct egress_conn *conn, enum egress_phase next)
{
	conn->phase = conn->proxy->phases[next];
	conn->phase->begin(conn);
}

static void free_conn(struct egress_task *task)
{
	free(EGRESS_OUTER(struct egress_conn, task, task));
}

void egress_conn_end(struct egress_conn *conn)
{
	struct egress_tenant *tenant = conn->tenant;

	if (conn->reach)
		conn->cancel_reach(conn);
	egress_watch_close(&conn->client);
	egress_watch_close(&conn->origin);
	egress_deadline_clear(&conn->deadline);
	egress_flow_clear(&conn->proxy->relay, &conn->up);
	egress_flow_clear(&conn->proxy->relay, &conn->down);
	egress_input_clear(&conn->in);
	egress_input_clear(&conn->early);
	egress_route_record_clear(&conn->route);
	egress_link_remove(&conn->link);
	egress_link_remove(&conn->turn);
	tenant->conn_count--;
	conn->proxy->conn_count--;
	conn->proxy->on_conn_ended(conn->proxy);
	/* The current batch of epoll events may hold one for this connection. */
	egress_task_cancel(&conn->task);
	egress_task_post(conn->proxy->loop, &conn->task, free_conn);
}

void egress_conn_abandon(struct egress_conn *conn, enum koda_egress_reason reason)
{
	conn->phase->abandon(conn, reason);
	/* A response cut short must not look complete. */
	egress_conn_break(conn);
}

static void reset(const struct egress_watch *watch)
{
	const struct linger at_once = { .l_onoff = 1, .l_linger = 0 };

	if (watch->fd >= 0)
		(void)setsockopt(watch->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

void egress_conn_break(struct egress_conn *conn)
{
	/* A client that has closed its socket needs no RST. */
	if (!conn->client_gone)
		reset(&conn->client);
	reset(&conn->origin);
	egress_conn_end(conn);
}

void egress_conn_finish(struct egress_conn *conn, enum koda_egress_reason reason)
{
	egress_conn_report(conn, reason);
	if (reason == KODA_EGRESS_RESET)
		egress_conn_break(conn);
	else
		egress_conn_end(conn);
}

void egress_conn_drop_origin(struct egress_conn *conn)
{
	egress_watch_close(&conn->origin);
	egress_flow_drop(&conn->up);
	egress_input_clear(&conn->early);
	conn->up.broken = false;
	conn->up.bounded = false;
	conn->down.readable = false;
	conn->down.hung_up = false;
}

void egress_conn_break_origin(struct egress_conn *conn)
{
	reset(&conn->origin);
	egress_conn_drop_origin(conn);
}
