/* SPDX-License-Identifier: MIT */
/*
 * The event loop: one epoll set, with libuv embedded for blocking work in threads.
 *
 * Each socket is added to the set once, edge-triggered for both directions; close(2) removes it. So
 * a tunnel costs two epoll_ctl(2), where libuv's handles would cost a dozen system calls. A
 * callback that is told EPOLLIN has to read until EAGAIN, or post a task to continue later.
 *
 * All deadlines of one kind have the same length. So each kind is a queue in order of expiry, and
 * one coarse timer checks the heads of the queues.
 */
#ifndef KODA_EGRESS_IO_LOOP_H
#define KODA_EGRESS_IO_LOOP_H

#include "base/macros.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

struct egress_loop;

/* An element of a ring. A ring of one element is not linked to others. */
struct egress_link {
	struct egress_link *next;
	struct egress_link *prev;
};

#define EGRESS_OUTER(type, member, ptr) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

static inline void egress_link_init(struct egress_link *link)
{
	link->next = link;
	link->prev = link;
}

static inline bool egress_link_alone(const struct egress_link *link)
{
	return link->next == link;
}

static inline void egress_link_remove(struct egress_link *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
	egress_link_init(link);
}

/* Appends link, which is in no ring, to the ring of head. */
static inline void egress_link_append(struct egress_link *head, struct egress_link *link)
{
	link->prev = head->prev;
	link->next = head;
	head->prev->next = link;
	head->prev = link;
}

/* A watched descriptor, and the callback that gets EPOLL* bits. */
struct egress_watch {
	int fd; /* owned; -1: none */
	void (*ready)(struct egress_watch *watch, uint32_t events);
};

/* A callback that runs after the current batch of events. */
struct egress_task {
	struct egress_link link;
	void (*run)(struct egress_task *task);
};

struct egress_queue;

struct egress_deadline {
	struct egress_link link;
	uint64_t at; /* milliseconds of the loop's clock */
};

/* Deadlines of one kind. */
struct egress_queue {
	struct egress_link link; /* in the loop's list of queues */
	struct egress_link head;
	uint32_t ms;
	/* Called after the deadline was removed from the queue. */
	void (*expired)(struct egress_deadline *deadline);
};

KODA_CHECK int egress_loop_new(struct egress_loop **ret_loop, struct koda_error *err);
/* Handles events until egress_loop_stop. */
void egress_loop_run(struct egress_loop *loop);
void egress_loop_stop(struct egress_loop *loop);
/* Returns CLOCK_MONOTONIC in milliseconds, as of the current batch. */
uint64_t egress_loop_now(const struct egress_loop *loop);
/* Returns the uv_loop_t, for files that include uv.h. */
void *egress_loop_uv(struct egress_loop *loop);

/* Watches fd and owns it; on failure the caller still owns it. Fails: SYS. */
KODA_CHECK int egress_watch_start(struct egress_loop *loop, struct egress_watch *watch, int fd,
				  void (*ready)(struct egress_watch *watch, uint32_t events),
				  struct koda_error *err);
/* Changes the events to watch for; those that are pending are reported at once. */
void egress_watch_change(struct egress_loop *loop, struct egress_watch *watch, uint32_t events);
/* Closes the descriptor. The watch must stay valid until the batch ends, which may hold an event
 * for it. */
void egress_watch_close(struct egress_watch *watch);
/* Stops watching and returns the descriptor. */
int egress_watch_release(struct egress_loop *loop, struct egress_watch *watch);

void egress_task_init(struct egress_task *task);
void egress_task_post(struct egress_loop *loop, struct egress_task *task,
		      void (*run)(struct egress_task *task));
void egress_task_cancel(struct egress_task *task);

void egress_queue_add(struct egress_loop *loop, struct egress_queue *queue, uint32_t ms,
		      void (*expired)(struct egress_deadline *deadline));
void egress_deadline_init(struct egress_deadline *deadline);
/* Starts the deadline in this queue, or restarts it. */
void egress_deadline_set(struct egress_loop *loop, struct egress_queue *queue,
			 struct egress_deadline *deadline);
void egress_deadline_clear(struct egress_deadline *deadline);

#endif
