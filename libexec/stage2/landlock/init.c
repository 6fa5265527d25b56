/* SPDX-License-Identifier: MIT */
/*
 * T-37, T-38. Init of the landlock backend: an ordinary process above the command that reaps,
 * passes signals on, watches limits, and performs calls for the command (broker.h). When the
 * command or the guardian ends, it ends everything below itself and exits.
 */
#include "landlock/init.h"

#include "command/check.h"
#include "command/command.h"
#include "command/lock.h"
#include "command/passed_fds.h"
#include "fail.h"
#include "init/net.h"
#include "init/orders.h"
#include "init/terminal.h"
#include "init/watch.h"
#include "landlock/broker.h"
#include "landlock/broker_proxy.h"
#include "landlock/proctree.h"
#include "landlock/scratch.h"
#include "plan.h"
#include "report.h"
#include "sys.h"
#include "wire/report.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

static struct {
	pid_t pid;
	bool ended;
	int status;
} command;

/* T-33. Listens for the proxy on a port of the host that the kernel chooses. Other processes of the
 * host can connect to it, but lack the token. */
static void open_proxy_route(const struct plan *plan, struct proxy_route *route)
{
	unsigned char random[STAGE2_TOKEN_BYTES];

	memset(route, 0, sizeof(*route));
	route->inside = stage2_net_port(plan);
	if (route->inside == 0)
		return;
	route->listener = stage2_net_listen_at(&route->real);
	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		stage2_fail(KODA_LAUNCH_TOKEN_MAKE, "", errno);
	for (size_t i = 0; i < sizeof(random); i++)
		(void)snprintf(route->token + 2 * i, 3, "%02x", random[i]);
}

static void send_proxy_listener(const struct proxy_route *route)
{
	if (route->inside == 0)
		return;
	if (!stage2_report_send_fd(KODA_REPORT_LISTENER, route->listener, route->token))
		stage2_fail(KODA_LAUNCH_NET_SEND_LISTENER, "", errno);
	(void)close(route->listener);
}

/* Receives the seccomp listener from the command's process. Returns -1 if that has failed, and sent
 * a report. */
static int receive_listener(int socket)
{
	int fd = stage2_report_receive_fd(socket);

	if (fd < 0 && errno != 0 && errno != ECONNRESET)
		stage2_fail(KODA_LAUNCH_LISTENER_RECEIVE, "", errno);
	return fd;
}

/* What the command's process gets once there is a plan: a ruleset and its streams, which may be a
 * terminal by then. */
#define PASSED_FDS STAGE2_PASSED_MAX

union passed_control {
	struct cmsghdr align;
	char space[CMSG_SPACE(PASSED_FDS * sizeof(int))];
};

/* Waits for these descriptors. Exits if init is gone. */
static void receive_passed_fds(int from_init, int ret_fds[PASSED_FDS])
{
	char byte;
	struct iovec bytes = { &byte, 1 };
	union passed_control control;
	struct msghdr message = { .msg_iov = &bytes,
				  .msg_iovlen = 1,
				  .msg_control = control.space,
				  .msg_controllen = sizeof(control.space) };
	const struct cmsghdr *header;
	ssize_t n = recvmsg(from_init, &message, MSG_CMSG_CLOEXEC);

	if (n == 0 || (n < 0 && errno == ECONNRESET))
		_exit(1);
	header = n < 0 ? NULL : CMSG_FIRSTHDR(&message);
	if (!header || header->cmsg_type != SCM_RIGHTS ||
	    header->cmsg_len != CMSG_LEN(PASSED_FDS * sizeof(int)))
		stage2_fail(KODA_LAUNCH_COMMAND_NEEDS_RECEIVE, "", n < 0 ? errno : 0);
	memcpy(ret_fds, CMSG_DATA(header), PASSED_FDS * sizeof(int));
}

/* The command's process, started before there is a plan. Installing filters takes longest, and they
 * do not depend on the plan; that the plan has the same ones is checked later. */
static _Noreturn void become_command(const struct plan *filters, int init, bool bounded)
{
	struct plan plan;
	int fds[PASSED_FDS];
	int listener;
	char byte = 0;

	(void)close(KODA_STAGE2_LIFE_FD);
	stage2_command_begin();
	stage2_lock_filter(filters);
	/* Init would take the end of another child for the command's. */
	listener = stage2_lock_notify_filter(filters);
	if (!stage2_report_pass_fds(init, &byte, 1, &listener, 1))
		stage2_fail(KODA_LAUNCH_LISTENER_SEND, "", errno);
	stage2_proctree_count_others();
	receive_passed_fds(init, fds);
	plan = stage2_plan_load(KODA_STAGE2_PLAN_FD);
	if (!stage2_lock_same_filters(&plan, filters))
		stage2_fail(KODA_LAUNCH_PLAN_OTHER_FILTERS, "", 0);
	for (int fd = 0; fd <= 2; fd++)
		if (dup2(fds[1 + fd], fd) < 0)
			stage2_fail(KODA_LAUNCH_COMMAND_STREAMS, "", errno);
	stage2_passed_fds_take(&plan);
	stage2_command_prepare(&plan);
	stage2_lock_enter(fds[0]);
	stage2_check_landlock(&plan, bounded);
	stage2_command_become(&plan);
}

static void remember_end(pid_t pid, int status)
{
	if (pid != command.pid)
		return;
	command.ended = true;
	command.status = status;
}

/* Ends everything below init, and exits. */
static _Noreturn void end_all(bool guarded)
{
	bool ended_by_itself = command.ended;
	bool gone = stage2_proctree_end(remember_end);

	if (!guarded)
		stage2_scratch_remove();
	/* The exit status counts if the command ended by itself, or if everything could be ended. A
	 * process that failed to become the command has sent a report. */
	if (*stage2_fail_flag)
		_exit(0);
	if (ended_by_itself || (gone && command.ended))
		(void)stage2_report_send(KODA_REPORT_EXITED, command.status);
	_exit(0);
}

static void reap(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0)
		remember_end(pid, status);
	if (!command.ended && stage2_terminal_continue(command.pid, &status))
		remember_end(command.pid, status);
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
		stage2_terminal_pass(command.pid, (int)info.ssi_signo);
}

/* Reads a signal that would stop init itself (SIGSTOP). Ends everything if the guardian is gone. */
static void obey(int guardian_fd)
{
	unsigned char number;

	if (read(guardian_fd, &number, 1) != 1)
		end_all(false);
	stage2_terminal_pass(command.pid, number);
}

static _Noreturn void serve(int signals, int guardian_fd, int command_pidfd)
{
	for (;;) {
		struct pollfd polled[3 + STAGE2_BROKER_POLLED] = {
			{ .fd = signals, .events = POLLIN },
			{ .fd = guardian_fd, .events = POLLIN },
			{ .fd = command_pidfd, .events = POLLIN }
		};
		int watch = stage2_watch_ms();
		int broker;
		size_t count = 3 + stage2_broker_wants(polled + 3, &broker);
		int ms = broker < 0 || (watch >= 0 && watch < broker) ? watch : broker;

		if (poll(polled, count, ms) < 0 && errno != EINTR)
			end_all(true);
		stage2_watch_look();
		if (polled[1].revents)
			obey(guardian_fd);
		/* A process that traces the command is told of its end first, and may not wait for
		 * it. */
		if (polled[2].revents) {
			reap();
			end_all(true);
		}
		stage2_broker_step();
		if (polled[0].revents)
			take_signal(signals);
	}
}

/* Reads a message of the guardian: a byte when there is a plan, a struct init_orders when the
 * temporary directory is made. If the guardian is gone, the directory may exist, and is removed. */
static void wait_for_guardian(int guardian_fd, void *ret_word, size_t len)
{
	ssize_t n;

	/* ECONNRESET is returned once, before the messages that are left: the guardian ended
	 * without reading the command's pid. */
	do {
		n = read(guardian_fd, ret_word, len);
	} while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	if (n != (ssize_t)len) {
		stage2_scratch_remove();
		_exit(1);
	}
}

/* Dropping the bounding set needs CAP_SETPCAP. Without it the command gets no capability anyway,
 * because of no_new_privs. Returns false then. */
static bool drop_bounding_set(void)
{
	if (prctl(PR_CAPBSET_DROP, 0, 0, 0, 0) < 0) {
		if (errno != EPERM)
			stage2_fail(KODA_LAUNCH_CAPBSET_DROP, "", errno);
		return false;
	}
	stage2_lock_bounding_set();
	return true;
}

/* Starts the command's process. Returns the socket to it. */
static int start_command(void)
{
	const struct plan filters = stage2_plan_load(KODA_STAGE2_FILTERS_FD);
	bool bounded = drop_bounding_set();
	int pair[2];

	stage2_lock_privileges();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		stage2_fail(KODA_LAUNCH_INIT_SOCKET, "", errno);
	command.pid = fork();
	if (command.pid < 0)
		stage2_fail(KODA_LAUNCH_COMMAND_START, "", errno);
	if (command.pid == 0) {
		(void)close(pair[0]);
		become_command(&filters, pair[1], bounded);
	}
	(void)close(pair[1]);
	/* The guardian reads the pid only if there is a control group. If the guardian is gone, the
	 * messages that it has sent before tell what there is to clean up. */
	if (send(KODA_STAGE2_LIFE_FD, &command.pid, sizeof(command.pid), MSG_NOSIGNAL) < 0 &&
	    errno != EPIPE && errno != ECONNRESET)
		stage2_fail(KODA_LAUNCH_COMMAND_PID_SEND, "", errno);
	return pair[0];
}

static void release_command(const struct plan *plan, const struct proxy_route *route, int ruleset,
			    int to_command)
{
	const int fds[PASSED_FDS] = { ruleset, 0, 1, 2 };
	int listener = receive_listener(to_command);
	char byte = 0;

	if (listener < 0)
		end_all(true);
	stage2_broker_start(plan, listener, route);
	/* From here on the command runs. EPIPE, ECONNRESET: it has failed, and sent a report. */
	if (!stage2_report_pass_fds(to_command, &byte, 1, fds, PASSED_FDS) && errno != EPIPE &&
	    errno != ECONNRESET)
		stage2_fail(KODA_LAUNCH_COMMAND_NEEDS_SEND, "", errno);
	(void)close(to_command);
	(void)close(ruleset);
}

static int watch_signals(void)
{
	sigset_t all;
	int signals;

	(void)sigfillset(&all);
	signals = signalfd(-1, &all, SFD_CLOEXEC);
	if (signals < 0)
		stage2_fail(KODA_LAUNCH_WATCH_SIGNALS, "", errno);
	return signals;
}

/* init_pipe takes the number of the lifeline, which was closed. */
static void tidy_descriptors(int guardian_fd)
{
	if (dup3(guardian_fd, KODA_STAGE2_LIFE_FD, O_CLOEXEC) < 0 ||
	    syscall(SYS_close_range, KODA_STAGE2_FILTERS_FD + 1, ~0U, 0) < 0)
		stage2_fail(KODA_LAUNCH_CLOSE_FDS, "", errno);
}

_Noreturn void stage2_landlock_init(int guardian_fd)
{
	unsigned char planned;
	struct proxy_route route;
	struct plan plan;
	struct init_orders orders;
	int to_command;
	int ruleset;
	int signals;
	int command_pidfd;

	/* The runner is still making the plan. */
	stage2_proctree_begin(true);
	tidy_descriptors(guardian_fd);
	to_command = start_command();
	command_pidfd = stage2_command_hold(command.pid);
	signals = watch_signals();
	wait_for_guardian(KODA_STAGE2_LIFE_FD, &planned, sizeof(planned));
	/* The guardian is still making the temporary directory. */
	plan = stage2_plan_load(KODA_STAGE2_PLAN_FD);
	open_proxy_route(&plan, &route);
	stage2_terminal_open(&plan);
	ruleset = stage2_lock_rules(&plan);
	stage2_scratch_adopt(&plan);
	wait_for_guardian(KODA_STAGE2_LIFE_FD, &orders, sizeof(orders));
	stage2_lock_late_rules(&plan, ruleset);
	release_command(&plan, &route, ruleset, to_command);
	send_proxy_listener(&route);
	for (int fd = 0; fd <= 2; fd++)
		(void)close(fd);
	stage2_watch_start(&plan, !orders.cgroup, !orders.cgroup);
	serve(signals, KODA_STAGE2_LIFE_FD, command_pidfd);
}
