/* SPDX-License-Identifier: MIT */
#include "conn/turn.h"

#include "conn/conn.h"

#include <time.h>

/* Microseconds of turns before other events are handled. */
#define TURNS_US 2000

static uint64_t clock_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* Gives a turn to the first connection of the first tenant, which moves to the end of the queue. */
static void take_turn(struct egress_turns *turns)
{
	struct egress_tenant *tenant =
		EGRESS_OUTER(struct egress_tenant, turn, turns->tenants.next);
	struct egress_conn *conn;

	egress_link_remove(&tenant->turn);
	/* Its connections may have ended. */
	if (egress_link_alone(&tenant->waiting))
		return;
	conn = EGRESS_OUTER(struct egress_conn, turn, tenant->waiting.next);
	egress_link_remove(&conn->turn);
	if (!egress_link_alone(&tenant->waiting))
		egress_link_append(&turns->tenants, &tenant->turn);
	if (conn->phase->turn)
		conn->phase->turn(conn);
}

static void take_turns(struct egress_task *task)
{
	struct egress_turns *turns = EGRESS_OUTER(struct egress_turns, task, task);
	struct egress_loop *loop = EGRESS_OUTER(struct egress_proxy, turns, turns)->loop;
	uint64_t end = clock_us() + TURNS_US;

	while (!egress_link_alone(&turns->tenants) && clock_us() < end)
		take_turn(turns);
	if (!egress_link_alone(&turns->tenants))
		egress_task_post(loop, &turns->task, take_turns);
}

void egress_turns_init(struct egress_turns *turns)
{
	egress_link_init(&turns->tenants);
	egress_task_init(&turns->task);
}

void egress_turn_wait(struct egress_conn *conn)
{
	struct egress_tenant *tenant = conn->tenant;
	struct egress_turns *turns = &conn->proxy->turns;

	if (egress_link_alone(&conn->turn))
		egress_link_append(&tenant->waiting, &conn->turn);
	if (egress_link_alone(&tenant->turn))
		egress_link_append(&turns->tenants, &tenant->turn);
	egress_task_post(conn->proxy->loop, &turns->task, take_turns);
}
