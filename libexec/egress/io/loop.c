/* SPDX-License-Identifier: MIT */
#include "io/loop.h"

#include "base/error.h"
#include "base/fd.h"

#include <errno.h>
#include <time.h>
#include <uv.h>

#define BATCH    256
#define SWEEP_MS 250

struct egress_loop {
	uv_loop_t uv;
	int set;
	bool stopped;
	uint64_t now;
	uint64_t next_sweep; /* 0: no deadline is set */
	struct egress_link tasks;
	struct egress_link queues;
	struct epoll_event batch[BATCH];
};

static uint64_t clock_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Runs the tasks that were posted until now. Tasks that these post wait for the next round. */
static void run_tasks(struct egress_loop *loop)
{
	struct egress_link round;

	if (egress_link_alone(&loop->tasks))
		return;
	round = loop->tasks;
	round.next->prev = &round;
	round.prev->next = &round;
	egress_link_init(&loop->tasks);
	while (!egress_link_alone(&round)) {
		struct egress_task *task = EGRESS_OUTER(struct egress_task, link, round.next);

		egress_link_remove(&task->link);
		task->run(task);
	}
}

static void sweep_queue(struct egress_queue *queue, uint64_t now)
{
	while (!egress_link_alone(&queue->head)) {
		struct egress_deadline *first =
			EGRESS_OUTER(struct egress_deadline, link, queue->head.next);

		if (first->at > now)
			break;
		egress_link_remove(&first->link);
		queue->expired(first);
	}
}

static void sweep(struct egress_loop *loop)
{
	bool any = false;

	for (struct egress_link *l = loop->queues.next; l != &loop->queues; l = l->next)
		sweep_queue(EGRESS_OUTER(struct egress_queue, link, l), loop->now);
	for (struct egress_link *l = loop->queues.next; l != &loop->queues; l = l->next)
		any = any || !egress_link_alone(&EGRESS_OUTER(struct egress_queue, link, l)->head);
	loop->next_sweep = any ? loop->now + SWEEP_MS : 0;
}

/* Returns the timeout for epoll_wait(2). */
static int timeout_ms(const struct egress_loop *loop)
{
	uint64_t now;

	if (!egress_link_alone(&loop->tasks))
		return 0;
	if (loop->next_sweep == 0)
		return -1;
	now = clock_ms();
	return loop->next_sweep > now ? (int)(loop->next_sweep - now) : 0;
}

static void turn(struct egress_loop *loop)
{
	int n = epoll_wait(loop->set, loop->batch, BATCH, timeout_ms(loop));

	loop->now = clock_ms();
	for (int i = 0; i < n; i++) {
		struct egress_watch *watch = loop->batch[i].data.ptr;

		if (!watch)
			(void)uv_run(&loop->uv, UV_RUN_NOWAIT);
		else if (watch->fd >= 0)
			watch->ready(watch, loop->batch[i].events);
	}
	if (loop->next_sweep != 0 && loop->now >= loop->next_sweep)
		sweep(loop);
	run_tasks(loop);
}

int egress_loop_new(struct egress_loop **ret_loop, struct koda_error *err)
{
	struct epoll_event uv_event = { .events = EPOLLIN };
	struct egress_loop *loop = calloc(1, sizeof(*loop));

	if (!loop)
		return koda_fail_nomem(err);
	egress_link_init(&loop->tasks);
	egress_link_init(&loop->queues);
	loop->now = clock_ms();
	loop->set = epoll_create1(EPOLL_CLOEXEC);
	if (loop->set < 0 || uv_loop_init(&loop->uv) < 0 ||
	    epoll_ctl(loop->set, EPOLL_CTL_ADD, uv_backend_fd(&loop->uv), &uv_event) < 0) {
		koda_fd_close(&loop->set);
		free(loop);
		return koda_fail(err, KODA_E_SYS, errno, "cannot make an event loop");
	}
	*ret_loop = loop;
	return KODA_OK;
}

void egress_loop_run(struct egress_loop *loop)
{
	/* libuv adds its descriptors to its epoll set only in uv_run. */
	(void)uv_run(&loop->uv, UV_RUN_NOWAIT);
	while (!loop->stopped)
		turn(loop);
}

void egress_loop_stop(struct egress_loop *loop)
{
	loop->stopped = true;
}

uint64_t egress_loop_now(const struct egress_loop *loop)
{
	return loop->now;
}

void *egress_loop_uv(struct egress_loop *loop)
{
	return &loop->uv;
}

int egress_watch_start(struct egress_loop *loop, struct egress_watch *watch, int fd,
		       void (*ready)(struct egress_watch *watch, uint32_t events),
		       struct koda_error *err)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
				     .data.ptr = watch };

	if (epoll_ctl(loop->set, EPOLL_CTL_ADD, fd, &event) < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot watch a descriptor");
	watch->fd = fd;
	watch->ready = ready;
	return KODA_OK;
}

void egress_watch_change(struct egress_loop *loop, struct egress_watch *watch, uint32_t events)
{
	struct epoll_event event = { .events = events | EPOLLET, .data.ptr = watch };

	(void)epoll_ctl(loop->set, EPOLL_CTL_MOD, watch->fd, &event);
}

void egress_watch_close(struct egress_watch *watch)
{
	koda_fd_close(&watch->fd);
}

int egress_watch_release(struct egress_loop *loop, struct egress_watch *watch)
{
	(void)epoll_ctl(loop->set, EPOLL_CTL_DEL, watch->fd, NULL);
	return koda_take_fd(&watch->fd);
}

void egress_task_init(struct egress_task *task)
{
	egress_link_init(&task->link);
}

void egress_task_post(struct egress_loop *loop, struct egress_task *task,
		      void (*run)(struct egress_task *task))
{
	task->run = run;
	if (egress_link_alone(&task->link))
		egress_link_append(&loop->tasks, &task->link);
}

void egress_task_cancel(struct egress_task *task)
{
	egress_link_remove(&task->link);
}

void egress_queue_add(struct egress_loop *loop, struct egress_queue *queue, uint32_t ms,
		      void (*expired)(struct egress_deadline *deadline))
{
	egress_link_init(&queue->head);
	queue->ms = ms;
	queue->expired = expired;
	egress_link_append(&loop->queues, &queue->link);
}

void egress_deadline_init(struct egress_deadline *deadline)
{
	egress_link_init(&deadline->link);
}

void egress_deadline_set(struct egress_loop *loop, struct egress_queue *queue,
			 struct egress_deadline *deadline)
{
	egress_link_remove(&deadline->link);
	deadline->at = egress_loop_now(loop) + queue->ms;
	egress_link_append(&queue->head, &deadline->link);
	if (loop->next_sweep == 0)
		loop->next_sweep = loop->now + SWEEP_MS;
}

void egress_deadline_clear(struct egress_deadline *deadline)
{
	egress_link_remove(&deadline->link);
}
