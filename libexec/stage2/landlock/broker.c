/* SPDX-License-Identifier: MIT */
/* T-37. Receives the seccomp notifications of the command's calls, examines the calling process,
 * has the call performed, and answers. */
#include "landlock/broker.h"

#include "fail.h"
#include "landlock/alarm.h"
#include "landlock/broker_connect.h"
#include "landlock/broker_file.h"
#include "landlock/grants.h"
#include "pathcall/caller.h"
#include "sys.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/ioctl.h>

/* More than the structures of any kernel. */
#define MESSAGE_MAX 512
/* Calls that are performed at a time, so that init reads signals and the lifeline in between. */
#define BATCH 32

static int listener = -1; /* the seccomp listener */

static void answer(uint64_t id, long result)
{
	union {
		struct seccomp_notif_resp resp;
		char room[MESSAGE_MAX];
	} message;

	memset(&message, 0, sizeof(message));
	message.resp.id = id;
	message.resp.val = result < 0 ? 0 : result;
	message.resp.error = result < 0 ? (int)result : 0;
	/* A process that has ended needs no answer (ENOENT). */
	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &message.resp);
}

static long do_call(const struct brokered_call *call)
{
	switch (call->call) {
	case SYS_connect:
		return stage2_broker_connect(call);
	case SYS_listen:
		return stage2_broker_connect_listen(call);
	default:
		return stage2_broker_file(call);
	}
}

static void serve(const struct seccomp_notif *notif)
{
	struct brokered_call call = { .id = notif->id,
				      .listener = listener,
				      .thread = (pid_t)notif->pid,
				      .call = notif->data.nr };
	long result = -EACCES;

	memcpy(call.args, notif->data.args, sizeof(call.args));
	/* Threads may have descriptor tables of their own; kernels before 6.9 have pidfds of
	 * processes only. */
	call.pidfd = (int)syscall(SYS_pidfd_open, call.thread, SYS_PIDFD_THREAD);
	if (call.pidfd < 0 && errno == EINVAL)
		call.pidfd = (int)syscall(SYS_pidfd_open, stage2_caller_process(call.thread), 0);
	/* The call still waits, so the pid has not been reused since pidfd_open. */
	if (call.pidfd >= 0 && stage2_brokered_call_holds(&call))
		result = do_call(&call);
	if (call.pidfd >= 0)
		(void)close(call.pidfd);
	if (result != STAGE2_BROKERED_CALL_PENDING)
		answer(call.id, result);
}

/* Returns true if a call waits. When the last process with the filter has ended, poll returns
 * POLLHUP for ever; the listener is closed then. */
static bool is_waiting(void)
{
	struct pollfd polled = { .fd = listener, .events = POLLIN };

	if (listener < 0 || poll(&polled, 1, 0) <= 0)
		return false;
	if ((polled.revents & POLLHUP) && !(polled.revents & POLLIN)) {
		(void)close(listener);
		listener = -1;
	}
	return polled.revents & POLLIN;
}

void stage2_broker_start(const struct plan *plan, int fd, const struct proxy_route *route)
{
	struct seccomp_notif_sizes sizes;

	if (!stage2_alarm_prepare() ||
	    syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0 ||
	    sizes.seccomp_notif > MESSAGE_MAX || sizes.seccomp_notif_resp > MESSAGE_MAX)
		stage2_fail(KODA_LAUNCH_BROKER_START, "", errno);
	listener = fd;
	stage2_grants_load(plan);
	stage2_broker_connect_start(plan);
	stage2_broker_proxy_start(route, answer);
}

size_t stage2_broker_wants(struct pollfd *polled, int *ret_ms)
{
	polled[0] = (struct pollfd){ .fd = listener, .events = POLLIN };
	return 1 + stage2_broker_proxy_wants(polled + 1, ret_ms);
}

void stage2_broker_step(void)
{
	stage2_broker_proxy_step();
	for (int i = 0; i < BATCH && is_waiting(); i++) {
		union {
			struct seccomp_notif notif;
			char room[MESSAGE_MAX];
		} message;

		memset(&message, 0, sizeof(message));
		/* The process may have ended in between (ENOENT). */
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &message.notif) == 0)
			serve(&message.notif);
	}
}
