/* SPDX-License-Identifier: MIT */
/* T-37. See broker.h: taking calls in, looking at the process, answering. */
#include "broker.h"

#include "sys.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <sys/uio.h>

/* More than any kernel's structures. */
#define MESSAGE_MAX 512
/* Calls that are taken in at a time, so that init looks at other things too. */
#define BATCH     32
#define MOMENT_US 5000

static struct {
	int fd;
	struct koda_op *grants; /* owned: rules with a right to write */
	size_t count;
} broker = { .fd = -1 };

static bool is_below(struct koda_span dir, const char *path, size_t len)
{
	return len >= dir.len && memcmp(dir.ptr, path, dir.len) == 0 &&
	       (len == dir.len || path[dir.len] == '/' || dir.len == 1);
}

bool koda_broker_may(int fd, uint64_t right)
{
	char name[32];
	char path[4352];
	ssize_t len;

	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	len = readlink(name, path, sizeof(path));
	if (len <= 0 || (size_t)len == sizeof(path) || path[0] != '/')
		return false;
	for (size_t i = 0; i < broker.count; i++)
		if ((broker.grants[i].n1 & right) &&
		    is_below(broker.grants[i].text1, path, (size_t)len))
			return true;
	return false;
}

bool koda_asked_holds(const struct asked *asked)
{
	return ioctl(broker.fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &asked->id) == 0;
}

/* A process that has closed itself to others has nobody to do it for it. */
static int refusal(void)
{
	return errno == EPERM ? -EACCES : -errno;
}

int koda_asked_copy(const struct asked *asked, uint64_t at, void *out, size_t len)
{
	struct iovec ours = { out, len };
	struct iovec theirs = { (void *)(uintptr_t)at, len };
	ssize_t n = process_vm_readv(asked->thread, &ours, 1, &theirs, 1, 0);

	if (n < 0)
		return refusal();
	return (size_t)n == len ? 0 : -EFAULT;
}

int koda_asked_fd(const struct asked *asked, int number)
{
	int fd = (int)syscall(SYS_pidfd_getfd, asked->pidfd, number, 0);

	return fd >= 0 ? fd : refusal();
}

void koda_broker_wake(bool on)
{
	const struct timeval moment = { .tv_usec = on ? MOMENT_US : 0 };
	const struct itimerval timer = { moment, moment };
	sigset_t one;

	(void)sigemptyset(&one);
	(void)sigaddset(&one, SIGALRM);
	/* What is left over must have come before it would be taken for a signal to pass on. */
	(void)setitimer(ITIMER_REAL, &timer, NULL);
	(void)sigprocmask(on ? SIG_UNBLOCK : SIG_BLOCK, &one, NULL);
}

/* T-38. Whoever closes a socket last waits for what it has still to send, as long as its SO_LINGER
 * says; the process may have closed its own meanwhile. It is closed also if that is interrupted. */
void koda_asked_close(int fd)
{
	koda_broker_wake(true);
	(void)close(fd);
	koda_broker_wake(false);
}

static void wake(int number)
{
	(void)number;
}

/* "/proc/self/fd/5" is about the process's own descriptor, not about ours: its number, or -1. */
static int named_fd(const char *path)
{
	static const char own[] = "/proc/self/fd/";
	const size_t len = sizeof(own) - 1;
	char *end;
	long number;

	if (strncmp(path, own, len) != 0 || path[len] < '0' || path[len] > '9')
		return -1;
	number = strtol(path + len, &end, 10);
	return *end || number > INT32_MAX ? -1 : (int)number;
}

int koda_asked_open(const struct asked *asked, int dirfd, const char *path, bool follow)
{
	int named = follow ? named_fd(path) : -1;
	int base = AT_FDCWD;
	int fd;

	if (named >= 0)
		return koda_asked_fd(asked, named);
	if (path[0] != '/' && dirfd == AT_FDCWD) {
		char name[48];

		(void)snprintf(name, sizeof(name), "/proc/%d/cwd", asked->thread);
		base = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (base < 0)
			return -EACCES;
	} else if (path[0] != '/') {
		base = koda_asked_fd(asked, dirfd);
		if (base < 0)
			return base;
	}
	/* Links that are made by the kernel would be about us. */
	fd = sys_openat2(base, path, O_PATH | (follow ? 0 : O_NOFOLLOW), RESOLVE_NO_MAGICLINKS);
	fd = fd < 0 ? -errno : fd;
	if (base >= 0)
		koda_asked_close(base);
	return fd;
}

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
	/* Who is gone needs no answer. */
	(void)ioctl(broker.fd, SECCOMP_IOCTL_NOTIF_SEND, &message.resp);
}

/* The number of the process that a thread belongs to; 0 if it is gone. */
static pid_t process_of(pid_t thread)
{
	char text[512];
	char path[32];
	const char *at;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", thread);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		(void)close(fd);
	text[n > 0 ? n : 0] = '\0';
	at = strstr(text, "\nTgid:");
	return at ? (pid_t)strtol(at + 6, NULL, 10) : 0;
}

static long do_call(const struct asked *asked)
{
	switch (asked->call) {
	case SYS_connect:
		return koda_broker_connect(asked);
	case SYS_listen:
		return koda_broker_listen(asked);
	default:
		return koda_broker_file(asked);
	}
}

static void serve(const struct seccomp_notif *notif)
{
	struct asked asked = { .id = notif->id,
			       .thread = (pid_t)notif->pid,
			       .call = notif->data.nr };
	long result = -EACCES;

	memcpy(asked.args, notif->data.args, sizeof(asked.args));
	/* Threads may have descriptors of their own; older kernels know processes only. */
	asked.pidfd = (int)syscall(SYS_pidfd_open, asked.thread, SYS_PIDFD_THREAD);
	if (asked.pidfd < 0 && errno == EINVAL)
		asked.pidfd = (int)syscall(SYS_pidfd_open, process_of(asked.thread), 0);
	/* From here on the number cannot have become somebody else's. */
	if (asked.pidfd >= 0 && koda_asked_holds(&asked))
		result = do_call(&asked);
	if (asked.pidfd >= 0)
		(void)close(asked.pidfd);
	if (result != KODA_ASKED_LATER)
		answer(asked.id, result);
}

/* When the last process that was asked to wait has ended, nobody will any more: init would only be
 * woken by it, again and again. */
static bool is_waiting(void)
{
	struct pollfd polled = { .fd = broker.fd, .events = POLLIN };

	if (broker.fd < 0 || poll(&polled, 1, 0) <= 0)
		return false;
	if ((polled.revents & POLLHUP) && !(polled.revents & POLLIN)) {
		(void)close(broker.fd);
		broker.fd = -1;
	}
	return polled.revents & POLLIN;
}

void koda_broker_start(const struct plan *plan, int notifications, const struct way_out *way)
{
	/* Calls are not taken up again after it. */
	const struct sigaction waking = { .sa_handler = wake };
	struct seccomp_notif_sizes sizes;
	struct koda_op op;
	size_t at = 0;

	if (sigaction(SIGALRM, &waking, NULL) < 0 ||
	    syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0 ||
	    sizes.seccomp_notif > MESSAGE_MAX || sizes.seccomp_notif_resp > MESSAGE_MAX)
		koda_stage2_fail("supervise system calls", "", errno);
	broker.fd = notifications;
	while (koda_ops_next(plan->bytes, &at, &op)) {
		struct koda_op *grants;

		/* Devices can be written to, but they are the host's. */
		if (op.kind != KODA_OP_LANDLOCK || !(op.n1 & SYS_LANDLOCK_WRITE_FILE) ||
		    strncmp(op.text1.ptr, "/dev/", 5) == 0)
			continue;
		grants = realloc(broker.grants, (broker.count + 1) * sizeof(*grants));
		if (!grants)
			koda_stage2_fail("out of memory", "", ENOMEM);
		broker.grants = grants;
		broker.grants[broker.count++] = op;
	}
	koda_connect_start(plan);
	koda_way_start(way, answer);
}

size_t koda_broker_wants(struct pollfd *polled, int *ret_ms)
{
	polled[0] = (struct pollfd){ .fd = broker.fd, .events = POLLIN };
	return 1 + koda_way_wants(polled + 1, ret_ms);
}

void koda_broker_step(void)
{
	koda_way_step();
	for (int i = 0; i < BATCH && is_waiting(); i++) {
		union {
			struct seccomp_notif notif;
			char room[MESSAGE_MAX];
		} message;

		memset(&message, 0, sizeof(message));
		/* Its process may have ended in between; that is no news. */
		if (ioctl(broker.fd, SECCOMP_IOCTL_NOTIF_RECV, &message.notif) == 0)
			serve(&message.notif);
	}
}
