/* SPDX-License-Identifier: MIT */
#include "loop.h"

#include "base/diag.h"
#include "base/fd.h"

#include <errno.h>
#include <time.h>
#include <uv.h>

#define BATCH    256
#define SWEEP_MS 250

struct koda_loop {
	uv_loop_t uv;
	int set;
	bool stopped;
	uint64_t now;
	uint64_t next_sweep; /* 0: no deadline is set */
	struct koda_link tasks;
	struct koda_link queues;
	struct epoll_event batch[BATCH];
};

static uint64_t clock_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Once through what was posted until now; what is posted meanwhile waits for the next round. */
static void run_tasks(struct koda_loop *loop)
{
	struct koda_link round;

	if (koda_link_alone(&loop->tasks))
		return;
	round = loop->tasks;
	round.next->prev = &round;
	round.prev->next = &round;
	koda_link_init(&loop->tasks);
	while (!koda_link_alone(&round)) {
		struct koda_task *task = KODA_OUTER(struct koda_task, link, round.next);

		koda_link_remove(&task->link);
		task->run(task);
	}
}

static void sweep_queue(struct koda_queue *queue, uint64_t now)
{
	while (!koda_link_alone(&queue->head)) {
		struct koda_deadline *first =
			KODA_OUTER(struct koda_deadline, link, queue->head.next);

		if (first->at > now)
			break;
		koda_link_remove(&first->link);
		queue->expired(first);
	}
}

static void sweep(struct koda_loop *loop)
{
	bool any = false;

	for (struct koda_link *l = loop->queues.next; l != &loop->queues; l = l->next)
		sweep_queue(KODA_OUTER(struct koda_queue, link, l), loop->now);
	for (struct koda_link *l = loop->queues.next; l != &loop->queues; l = l->next)
		any = any || !koda_link_alone(&KODA_OUTER(struct koda_queue, link, l)->head);
	loop->next_sweep = any ? loop->now + SWEEP_MS : 0;
}

/* How long there is nothing to do unless something happens. */
static int patience(const struct koda_loop *loop)
{
	uint64_t now;

	if (!koda_link_alone(&loop->tasks))
		return 0;
	if (loop->next_sweep == 0)
		return -1;
	now = clock_ms();
	return loop->next_sweep > now ? (int)(loop->next_sweep - now) : 0;
}

static void turn(struct koda_loop *loop)
{
	int n = epoll_wait(loop->set, loop->batch, BATCH, patience(loop));

	loop->now = clock_ms();
	for (int i = 0; i < n; i++) {
		struct koda_watch *watch = loop->batch[i].data.ptr;

		if (!watch)
			(void)uv_run(&loop->uv, UV_RUN_NOWAIT);
		else if (watch->fd >= 0)
			watch->ready(watch, loop->batch[i].events);
	}
	if (loop->next_sweep != 0 && loop->now >= loop->next_sweep)
		sweep(loop);
	run_tasks(loop);
}

int koda_loop_new(struct koda_loop **ret_loop, struct koda_error *err)
{
	struct epoll_event uv_event = { .events = EPOLLIN };
	struct koda_loop *loop = calloc(1, sizeof(*loop));

	if (!loop)
		return koda_fail_nomem(err);
	koda_link_init(&loop->tasks);
	koda_link_init(&loop->queues);
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

void koda_loop_run(struct koda_loop *loop)
{
	/* libuv puts its own descriptors into its set only when it runs. */
	(void)uv_run(&loop->uv, UV_RUN_NOWAIT);
	while (!loop->stopped)
		turn(loop);
}

void koda_loop_stop(struct koda_loop *loop)
{
	loop->stopped = true;
}

uint64_t koda_loop_now(const struct koda_loop *loop)
{
	return loop->now;
}

void *koda_loop_uv(struct koda_loop *loop)
{
	return &loop->uv;
}

int koda_watch_start(struct koda_loop *loop, struct koda_watch *watch, int fd,
		     void (*ready)(struct koda_watch *watch, uint32_t events),
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

void koda_watch_change(struct koda_loop *loop, struct koda_watch *watch, uint32_t events)
{
	struct epoll_event event = { .events = events | EPOLLET, .data.ptr = watch };

	(void)epoll_ctl(loop->set, EPOLL_CTL_MOD, watch->fd, &event);
}

void koda_watch_close(struct koda_watch *watch)
{
	koda_fd_close(&watch->fd);
}

int koda_watch_release(struct koda_loop *loop, struct koda_watch *watch)
{
	(void)epoll_ctl(loop->set, EPOLL_CTL_DEL, watch->fd, NULL);
	return koda_take_fd(&watch->fd);
}

void koda_task_init(struct koda_task *task)
{
	koda_link_init(&task->link);
}

void koda_task_post(struct koda_loop *loop, struct koda_task *task,
		    void (*run)(struct koda_task *task))
{
	task->run = run;
	if (koda_link_alone(&task->link))
		koda_link_append(&loop->tasks, &task->link);
}

void koda_task_cancel(struct koda_task *task)
{
	koda_link_remove(&task->link);
}

void koda_queue_add(struct koda_loop *loop, struct koda_queue *queue, uint32_t ms,
		    void (*expired)(struct koda_deadline *deadline))
{
	koda_link_init(&queue->head);
	queue->ms = ms;
	queue->expired = expired;
	koda_link_append(&loop->queues, &queue->link);
}

void koda_deadline_init(struct koda_deadline *deadline)
{
	koda_link_init(&deadline->link);
}

void koda_deadline_set(struct koda_loop *loop, struct koda_queue *queue,
		       struct koda_deadline *deadline)
{
	koda_link_remove(&deadline->link);
	deadline->at = koda_loop_now(loop) + queue->ms;
	koda_link_append(&queue->head, &deadline->link);
	if (loop->next_sweep == 0)
		loop->next_sweep = loop->now + SWEEP_MS;
}

void koda_deadline_clear(struct koda_deadline *deadline)
{
	koda_link_remove(&deadline->link);
}
