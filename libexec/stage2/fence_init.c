/* SPDX-License-Identifier: MIT */
/*
 * T-37, T-38. Init where there are no namespaces: an ordinary process above the command that reaps,
 * passes signals on, watches limits, and does for the command what the command may not do itself
 * (broker.h). When the command or the guardian ends, it ends everything below before it goes.
 */
#include "broker.h"

#include "sys.h"
#include "wire/report.h"

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* Connections that wait for the proxy to be started. */
#define BACKLOG 1024

static struct {
	pid_t pid;
	bool ended;
	int status;
} command;

/* T-33. On a port of the host's that the kernel chooses; who else finds it lacks the token. */
static void open_way_out(const struct plan *plan, struct way_out *way)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	unsigned char random[KODA_TOKEN_BYTES];
	socklen_t len = sizeof(address);
	struct koda_op op;
	size_t at = 0;
	int fd;

	memset(way, 0, sizeof(*way));
	while (koda_ops_next(plan->bytes, &at, &op))
		if (op.kind == KODA_OP_NET)
			way->inside = (uint16_t)op.n1;
	if (way->inside == 0)
		return;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, BACKLOG) < 0 || getsockname(fd, (struct sockaddr *)&address, &len) < 0)
		koda_stage2_fail("listen for the proxy", "", errno);
	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		koda_stage2_fail("make a token", "", errno);
	for (size_t i = 0; i < sizeof(random); i++)
		(void)snprintf(way->token + 2 * i, 3, "%02x", random[i]);
	way->real = ntohs(address.sin_port);
	if (!koda_report_give(KODA_REPORT_LISTENER, fd, way->token))
		koda_stage2_fail("hand the proxy's socket out", "", errno);
	(void)close(fd);
}

/* The descriptor on which its calls wait, from the command's process. -1: it has given up, and told
 * why. */
static int receive_fd(int socket)
{
	char byte;
	struct iovec bytes = { &byte, 1 };
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr message = { .msg_iov = &bytes,
				  .msg_iovlen = 1,
				  .msg_control = control.space,
				  .msg_controllen = sizeof(control.space) };
	const struct cmsghdr *header;
	int fd = -1;

	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1)
		return -1;
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

static _Noreturn void become_command(const struct plan *plan, int to_init, bool bounded)
{
	char byte = 0;

	koda_command_begin(plan);
	koda_lock_landlock(plan);
	koda_lock_filter(plan);
	if (!koda_report_pass(to_init, &byte, 1, koda_lock_asked(plan)))
		koda_stage2_fail("hand the supervision over", "", errno);
	koda_check_fenced(plan, bounded);
	koda_command_become(plan);
}

static void note_end(pid_t pid, int status)
{
	if (pid != command.pid)
		return;
	command.ended = true;
	command.status = status;
}

/* Everything ends, and init with it. */
static _Noreturn void end_all(bool guarded)
{
	bool told = command.ended;
	bool gone = koda_family_end(note_end);

	if (!guarded)
		koda_scratch_remove();
	/* How it ended by itself counts; what it left behind is not waited for without end. */
	if (told || (gone && command.ended))
		(void)koda_report_send(KODA_REPORT_EXITED, command.status, 0, "", "");
	_exit(0);
}

static void reap(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0)
		note_end(pid, status);
	if (command.ended)
		end_all(true);
}

static void take_signal(int signals)
{
	struct signalfd_siginfo info;

	if (read(signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	if (info.ssi_signo == SIGCHLD)
		reap();
	else
		(void)kill(-command.pid, (int)info.ssi_signo);
}

/* A signal that would work on init itself; else the guardian is gone. */
static void obey(int guardian_fd)
{
	unsigned char number;

	if (read(guardian_fd, &number, 1) != 1)
		end_all(false);
	(void)kill(-command.pid, number);
}

static _Noreturn void serve(int signals, int guardian_fd)
{
	for (;;) {
		struct pollfd polled[2 + KODA_BROKER_POLLED] = {
			{ .fd = signals, .events = POLLIN }, { .fd = guardian_fd, .events = POLLIN }
		};
		int watch = koda_watch_ms();
		int broker;
		size_t count = 2 + koda_broker_wants(polled + 2, &broker);
		int ms = broker < 0 || (watch >= 0 && watch < broker) ? watch : broker;

		if (poll(polled, count, ms) < 0 && errno != EINTR)
			end_all(true);
		koda_watch_look();
		if (polled[1].revents)
			obey(guardian_fd);
		koda_broker_step();
		if (polled[0].revents)
			take_signal(signals);
	}
}

/* The guardian has the plan and has made the temporary directory, or it is gone. */
static struct go wait_for_guardian(int guardian_fd)
{
	struct plan plan;
	struct go go;
	ssize_t n;

	do {
		n = read(guardian_fd, &go, sizeof(go));
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(go)) {
		/* It may have made the directory, and not have come to say so. */
		if (koda_plan_is_there()) {
			plan = koda_plan_load();
			koda_scratch_adopt(&plan);
			koda_scratch_remove();
		}
		_exit(1);
	}
	return go;
}

/* Only who has privileges can give up the right to have them; others never get any. */
static bool drop_bounding_set(void)
{
	if (prctl(PR_CAPBSET_DROP, 0, 0, 0, 0) < 0) {
		if (errno != EPERM)
			koda_stage2_fail("drop a capability", "", errno);
		return false;
	}
	koda_lock_bounding_set();
	return true;
}

static void start_command(const struct plan *plan, const struct way_out *way)
{
	bool bounded = drop_bounding_set();
	int pair[2];
	int asked;

	koda_lock_privileges();
	koda_handed_take(plan);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		koda_stage2_fail("make a socket", "", errno);
	command.pid = fork();
	if (command.pid < 0)
		koda_stage2_fail("start the command's process", "", errno);
	if (command.pid == 0)
		become_command(plan, pair[1], bounded);
	koda_handed_drop();
	(void)close(pair[1]);
	asked = receive_fd(pair[0]);
	(void)close(pair[0]);
	if (asked < 0)
		end_all(true);
	koda_broker_start(plan, asked, way);
}

_Noreturn void koda_fence_init(int guardian_fd)
{
	struct way_out way;
	struct plan plan;
	struct go go;
	sigset_t all;
	int signals;

	koda_family_begin(true);
	koda_family_count_others(); /* the plan is still being made */
	go = wait_for_guardian(guardian_fd);
	plan = koda_plan_load();
	koda_scratch_adopt(&plan);
	if (dup3(guardian_fd, KODA_STAGE2_LIFE_FD, O_CLOEXEC) < 0 ||
	    syscall(SYS_close_range, KODA_STAGE2_LIFE_FD + 1, ~0U, 0) < 0)
		koda_stage2_fail("close descriptors", "", errno);
	open_way_out(&plan, &way);
	koda_terminal_open(&plan);
	(void)sigfillset(&all);
	signals = signalfd(-1, &all, SFD_CLOEXEC);
	if (signals < 0)
		koda_stage2_fail("watch signals", "", errno);
	start_command(&plan, &way);
	for (int fd = 0; fd <= 2; fd++)
		(void)close(fd);
	koda_watch_start(&plan, !go.cgroup, !go.cgroup);
	serve(signals, KODA_STAGE2_LIFE_FD);
}
