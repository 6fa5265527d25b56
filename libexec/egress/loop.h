/* SPDX-License-Identifier: MIT */
/*
 * The event loop: one epoll set, with libuv and its threads embedded for what blocks.
 *
 * Each socket is added to the set once, edge-triggered for both directions, and never touched
 * again; closing it removes it. So a tunnel costs two system calls of bookkeeping, where libuv's
 * handles would cost a dozen. Who is told "readable" has to go on until the kernel says EAGAIN, or
 * post a task to go on later.
 *
 * Deadlines of one kind all last equally long, so each kind is a queue in order of expiry, and one
 * slow timer looks at the heads.
 */
#ifndef KODA_EGRESS_LOOP_H
#define KODA_EGRESS_LOOP_H

#include "base/macros.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

struct koda_loop;

/* An element of a ring; a ring of one is not linked. */
struct koda_link {
	struct koda_link *next;
	struct koda_link *prev;
};

#define KODA_OUTER(type, member, ptr) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

static inline void koda_link_init(struct koda_link *link)
{
	link->next = link;
	link->prev = link;
}

static inline bool koda_link_alone(const struct koda_link *link)
{
	return link->next == link;
}

static inline void koda_link_remove(struct koda_link *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
	koda_link_init(link);
}

/* Puts link, which is in no ring, at the end of the ring that head is the head of. */
static inline void koda_link_append(struct koda_link *head, struct koda_link *link)
{
	link->prev = head->prev;
	link->next = head;
	head->prev->next = link;
	head->prev = link;
}

/* A descriptor that is watched, and what is called with EPOLL* bits. */
struct koda_watch {
	int fd; /* owned; -1: none */
	void (*ready)(struct koda_watch *watch, uint32_t events);
};

/* Something to do once the present batch of events is done. */
struct koda_task {
	struct koda_link link;
	void (*run)(struct koda_task *task);
};

struct koda_queue;

struct koda_deadline {
	struct koda_link link;
	uint64_t at; /* milliseconds of the loop's clock */
};

/* Deadlines of one kind. */
struct koda_queue {
	struct koda_link link; /* among the loop's queues */
	struct koda_link head;
	uint32_t ms;
	/* The deadline is out of the queue when this is called. */
	void (*expired)(struct koda_deadline *deadline);
};

KODA_CHECK int koda_loop_new(struct koda_loop **ret_loop, struct koda_error *err);
/* Until koda_loop_stop. */
void koda_loop_run(struct koda_loop *loop);
void koda_loop_stop(struct koda_loop *loop);
/* Milliseconds, as of the present batch. */
uint64_t koda_loop_now(const struct koda_loop *loop);
/* The libuv loop, for those who include its header. */
void *koda_loop_uv(struct koda_loop *loop);

/* Watches fd and owns it from now on; on failure the caller still does. Fails: SYS. */
KODA_CHECK int koda_watch_start(struct koda_loop *loop, struct koda_watch *watch, int fd,
				void (*ready)(struct koda_watch *watch, uint32_t events),
				struct koda_error *err);
/* Watches for these events from now on, and tells at once of those that are there. */
void koda_watch_change(struct koda_loop *loop, struct koda_watch *watch, uint32_t events);
/* Closes. The watch itself must live until the batch is over, for an event may be waiting. */
void koda_watch_close(struct koda_watch *watch);
/* Stops watching and hands the descriptor back. */
int koda_watch_release(struct koda_loop *loop, struct koda_watch *watch);

void koda_task_init(struct koda_task *task);
void koda_task_post(struct koda_loop *loop, struct koda_task *task,
		    void (*run)(struct koda_task *task));
void koda_task_cancel(struct koda_task *task);

void koda_queue_add(struct koda_loop *loop, struct koda_queue *queue, uint32_t ms,
		    void (*expired)(struct koda_deadline *deadline));
void koda_deadline_init(struct koda_deadline *deadline);
/* (Re)starts the deadline in this queue. */
void koda_deadline_set(struct koda_loop *loop, struct koda_queue *queue,
		       struct koda_deadline *deadline);
void koda_deadline_clear(struct koda_deadline *deadline);

#endif
