/* SPDX-License-Identifier: MIT */
#include "loop.h"

#include "base/diag.h"
#include "base/fd.h"

#include <errno.h>
#include <uv.h>

#define BATCH    256
#define SWEEP_MS 250

struct koda_loop {
	uv_loop_t uv;
	uv_poll_t poll; /* our set, inside libuv's */
	uv_idle_t busy; /* keeps libuv from sleeping while there are tasks */
	uv_timer_t sweep;
	int set;
	struct koda_link tasks;
	struct koda_link queues;
	struct epoll_event batch[BATCH];
};

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

static void on_busy(uv_idle_t *idle);

static void turn(struct koda_loop *loop)
{
	int n = epoll_wait(loop->set, loop->batch, BATCH, 0);

	for (int i = 0; i < n; i++) {
		struct koda_watch *watch = loop->batch[i].data.ptr;

		if (watch->fd >= 0)
			watch->ready(watch, loop->batch[i].events);
	}
	run_tasks(loop);
	if (!koda_link_alone(&loop->tasks))
		(void)uv_idle_start(&loop->busy, on_busy);
	else
		(void)uv_idle_stop(&loop->busy);
}

static void on_busy(uv_idle_t *idle)
{
	turn(idle->data);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	turn(poll->data);
}

static void on_sweep(uv_timer_t *timer)
{
	struct koda_loop *loop = timer->data;
	uint64_t now = koda_loop_now(loop);
	bool any = false;

	for (struct koda_link *l = loop->queues.next; l != &loop->queues; l = l->next) {
		struct koda_queue *queue = KODA_OUTER(struct koda_queue, link, l);

		while (!koda_link_alone(&queue->head)) {
			struct koda_deadline *first =
				KODA_OUTER(struct koda_deadline, link, queue->head.next);

			if (first->at > now)
				break;
			koda_link_remove(&first->link);
			queue->expired(first);
		}
	}
	for (struct koda_link *l = loop->queues.next; l != &loop->queues; l = l->next)
		any = any || !koda_link_alone(&KODA_OUTER(struct koda_queue, link, l)->head);
	if (!any)
		(void)uv_timer_stop(timer);
}

int koda_loop_new(struct koda_loop **ret_loop, struct koda_error *err)
{
	struct koda_loop *loop = calloc(1, sizeof(*loop));

	if (!loop)
		return koda_fail_nomem(err);
	koda_link_init(&loop->tasks);
	koda_link_init(&loop->queues);
	loop->set = epoll_create1(EPOLL_CLOEXEC);
	if (loop->set < 0 || uv_loop_init(&loop->uv) < 0) {
		koda_fd_close(&loop->set);
		free(loop);
		return koda_fail(err, KODA_E_SYS, errno, "cannot make an event loop");
	}
	loop->poll.data = loop->busy.data = loop->sweep.data = loop;
	if (uv_poll_init(&loop->uv, &loop->poll, loop->set) < 0 ||
	    uv_poll_start(&loop->poll, UV_READABLE, on_poll) < 0 ||
	    uv_idle_init(&loop->uv, &loop->busy) < 0 || uv_timer_init(&loop->uv, &loop->sweep) < 0)
		return koda_fail(err, KODA_E_SYS, 0, "cannot start an event loop");
	*ret_loop = loop;
	return KODA_OK;
}

void koda_loop_run(struct koda_loop *loop)
{
	(void)uv_run(&loop->uv, UV_RUN_DEFAULT);
}

void koda_loop_stop(struct koda_loop *loop)
{
	uv_stop(&loop->uv);
}

uint64_t koda_loop_now(const struct koda_loop *loop)
{
	return uv_now(&loop->uv);
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
	if (!koda_link_alone(&task->link))
		return;
	koda_link_append(&loop->tasks, &task->link);
	/* Posted from a timer or a look-up, there is no batch at whose end it would be seen. */
	if (!uv_is_active((uv_handle_t *)&loop->busy))
		(void)uv_idle_start(&loop->busy, on_busy);
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
	if (!uv_is_active((uv_handle_t *)&loop->sweep))
		(void)uv_timer_start(&loop->sweep, on_sweep, SWEEP_MS, SWEEP_MS);
}

void koda_deadline_clear(struct koda_deadline *deadline)
{
	koda_link_remove(&deadline->link);
}
