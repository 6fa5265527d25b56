/* SPDX-License-Identifier: MIT */
#include "run/command_poll.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "run/command_step.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

struct koda_command_poll {
	int epoll;                           /* owned */
	int timer;                           /* owned */
	int known[KODA_COMMAND_STEP_POLLED]; /* descriptors in the epoll instance */
	size_t count;
};

/* EPOLLIN and EPOLLOUT have the values of POLLIN and POLLOUT. */
_Static_assert(EPOLLIN == POLLIN && EPOLLOUT == POLLOUT, "events of poll() are those of epoll");

/* Joins entries that have one descriptor: two streams may lead to one file. */
static void join(struct koda_command_wants *wants)
{
	size_t count = 0;

	for (size_t i = 0; i < wants->count; i++) {
		size_t j = 0;

		while (j < count && wants->polled[j].fd != wants->polled[i].fd)
			j++;
		if (j < count)
			wants->polled[j].events |= wants->polled[i].events;
		else
			wants->polled[count++] = wants->polled[i];
	}
	wants->count = count;
}

/* Watches a descriptor. Returns false for one that is always ready, as regular files are: epoll
 * refuses them with EPERM. */
static bool watch(struct koda_command_poll *poll, const struct pollfd *wanted)
{
	struct epoll_event event = { .events = (uint32_t)(unsigned short)wanted->events };

	return epoll_ctl(poll->epoll, EPOLL_CTL_ADD, wanted->fd, &event) == 0;
}

/* Sets the timer to an absolute time. 1: at once, because 0 stops it. */
static void set_timer(const struct koda_command_poll *poll, uint64_t at_ns)
{
	struct itimerspec spec = { .it_value = { 0 } };

	if (at_ns != KODA_DEADLINE_NEVER)
		spec.it_value = (struct timespec){ .tv_sec = (time_t)(at_ns / 1000000000U),
						   .tv_nsec = (long)(at_ns % 1000000000U) };
	(void)timerfd_settime(poll->timer, TFD_TIMER_ABSTIME, &spec, NULL);
}

void koda_command_poll_suspend(struct koda_command *command)
{
	struct koda_command_poll *poll = command->poll;

	for (size_t i = 0; poll && i < poll->count; i++)
		(void)epoll_ctl(poll->epoll, EPOLL_CTL_DEL, poll->known[i], NULL);
	if (poll)
		poll->count = 0;
}

void koda_command_poll_update(struct koda_command *command)
{
	struct koda_command_poll *poll = command->poll;
	struct koda_command_wants wants;
	uint64_t at_ns = koda_command_step_deadline(command);

	if (!poll)
		return;
	koda_command_step_wants(command, &wants);
	join(&wants);
	koda_command_poll_suspend(command);
	for (size_t i = 0; i < wants.count; i++) {
		if (watch(poll, &wants.polled[i]))
			poll->known[poll->count++] = wants.polled[i].fd;
		else
			at_ns = 1;
	}
	set_timer(poll, command->phase == KODA_PHASE_OVER ? KODA_DEADLINE_NEVER : at_ns);
}

void koda_command_poll_free(struct koda_command_poll *poll)
{
	if (!poll)
		return;
	koda_fd_close(&poll->epoll);
	koda_fd_close(&poll->timer);
	free(poll);
}

static int make(struct koda_command_poll **ret_poll, struct koda_error *err)
{
	struct koda_command_poll *poll = calloc(1, sizeof(*poll));
	struct epoll_event event = { .events = EPOLLIN };

	if (!poll)
		return koda_fail_nomem(err);
	poll->epoll = epoll_create1(EPOLL_CLOEXEC);
	poll->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (poll->epoll < 0 || poll->timer < 0 ||
	    epoll_ctl(poll->epoll, EPOLL_CTL_ADD, poll->timer, &event) < 0) {
		int r = koda_fail(err, KODA_E_SYS, errno, "cannot make a descriptor for poll()");

		koda_command_poll_free(poll);
		return r;
	}
	*ret_poll = poll;
	return KODA_OK;
}

int koda_command_poll_fd(struct koda_command *command, struct koda_error *err)
{
	int r;

	if (!command->poll) {
		r = make(&command->poll, err);
		if (r < 0)
			return r;
	}
	koda_command_poll_update(command);
	return command->poll->epoll;
}
