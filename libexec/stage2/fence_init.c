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

/* T-33. On a port of the host's that the kernel chooses; who else finds it lacks the token. */
static void open_way_out(const struct plan *plan, struct way_out *way)
{
	unsigned char random[KODA_TOKEN_BYTES];

	memset(way, 0, sizeof(*way));
	way->inside = koda_net_port(plan);
	if (way->inside == 0)
		return;
	way->listener = koda_net_listen_at(&way->real);
	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		koda_stage2_fail("make a token", "", errno);
	for (size_t i = 0; i < sizeof(random); i++)
		(void)snprintf(way->token + 2 * i, 3, "%02x", random[i]);
}

static void hand_way_out(const struct way_out *way)
{
	if (way->inside == 0)
		return;
	if (!koda_report_give(KODA_REPORT_LISTENER, way->listener, way->token))
		koda_stage2_fail("hand the proxy's socket out", "", errno);
	(void)close(way->listener);
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
	ssize_t n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	int fd = -1;

	if (n < 0 && errno != ECONNRESET)
		koda_stage2_fail("take the supervision over", "", errno);
	if (n != 1)
		return -1;
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

/* What the command's process is given once there is a plan: a ruleset, and its streams, which may
 * be a terminal by then. */
#define GIVEN KODA_PASSED_MAX

union given {
	struct cmsghdr align;
	char space[CMSG_SPACE(GIVEN * sizeof(int))];
};

/* Waits for it; without init there is nothing to wait for. */
static void take(int from_init, int ret_fds[GIVEN])
{
	char byte;
	struct iovec bytes = { &byte, 1 };
	union given control;
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
	    header->cmsg_len != CMSG_LEN(GIVEN * sizeof(int)))
		koda_stage2_fail("take what the command needs", "", n < 0 ? errno : 0);
	memcpy(ret_fds, CMSG_DATA(header), GIVEN * sizeof(int));
}

/* The command's process, from before there is a plan. Installing filters takes longest, and they
 * are known; that they are the plan's is checked when it is there. */
static _Noreturn void become_command(const struct plan *filters, int init, bool bounded)
{
	struct plan plan;
	int fds[GIVEN];
	int asked;
	char byte = 0;

	(void)close(KODA_STAGE2_LIFE_FD);
	koda_command_begin();
	koda_lock_filter(filters);
	/* Init would take its end for the command's. */
	asked = koda_lock_asked(filters);
	if (!koda_report_pass(init, &byte, 1, &asked, 1))
		koda_stage2_fail("hand the supervision over", "", errno);
	koda_family_count_others();
	take(init, fds);
	plan = koda_plan_load(KODA_STAGE2_PLAN_FD);
	if (!koda_lock_same_filters(&plan, filters))
		koda_stage2_fail("the plan has other filters than were installed", "", 0);
	for (int fd = 0; fd <= 2; fd++)
		if (dup2(fds[1 + fd], fd) < 0)
			koda_stage2_fail("take the streams", "", errno);
	koda_handed_take(&plan);
	koda_command_settle(&plan);
	koda_lock_enter(fds[0]);
	koda_check_fenced(&plan, bounded);
	koda_command_become(&plan);
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
	/* How it ended by itself counts; what it left behind is not waited for without end. What
	 * failed to become the command has told that. */
	if (*koda_failed)
		_exit(0);
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
	if (!command.ended && koda_terminal_continue(command.pid, &status))
		note_end(command.pid, status);
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
		koda_terminal_pass(command.pid, (int)info.ssi_signo);
}

/* A signal that would work on init itself; else the guardian is gone. */
static void obey(int guardian_fd)
{
	unsigned char number;

	if (read(guardian_fd, &number, 1) != 1)
		end_all(false);
	koda_terminal_pass(command.pid, number);
}

static _Noreturn void serve(int signals, int guardian_fd, int held)
{
	for (;;) {
		struct pollfd polled[3 + KODA_BROKER_POLLED] = {
			{ .fd = signals, .events = POLLIN },
			{ .fd = guardian_fd, .events = POLLIN },
			{ .fd = held, .events = POLLIN }
		};
		int watch = koda_watch_ms();
		int broker;
		size_t count = 3 + koda_broker_wants(polled + 3, &broker);
		int ms = broker < 0 || (watch >= 0 && watch < broker) ? watch : broker;

		if (poll(polled, count, ms) < 0 && errno != EINTR)
			end_all(true);
		koda_watch_look();
		if (polled[1].revents)
			obey(guardian_fd);
		/* Whoever of its own traces it is told of its end first, and may keep that. */
		if (polled[2].revents) {
			reap();
			end_all(true);
		}
		koda_broker_step();
		if (polled[0].revents)
			take_signal(signals);
	}
}

/* First a byte says that there is a plan, then a struct go that the guardian has made the temporary
 * directory. Or it is gone, perhaps with the directory made. */
static void wait_for_guardian(int guardian_fd, void *ret_word, size_t len)
{
	ssize_t n;

	/* A reset comes once, and before what was sent earlier: we have told it something that it
	 * did not come to read. */
	do {
		n = read(guardian_fd, ret_word, len);
	} while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	if (n != (ssize_t)len) {
		koda_scratch_remove();
		_exit(1);
	}
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

/* The socket to the command's process. */
static int start_command(void)
{
	const struct plan filters = koda_plan_load(KODA_STAGE2_FILTERS_FD);
	bool bounded = drop_bounding_set();
	int pair[2];

	koda_lock_privileges();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		koda_stage2_fail("make a socket", "", errno);
	command.pid = fork();
	if (command.pid < 0)
		koda_stage2_fail("start the command's process", "", errno);
	if (command.pid == 0) {
		(void)close(pair[0]);
		become_command(&filters, pair[1], bounded);
	}
	(void)close(pair[1]);
	/* Only read where there is a group to move it to. If the guardian is gone, what it said
	 * before tells what there is to clean up. */
	if (send(KODA_STAGE2_LIFE_FD, &command.pid, sizeof(command.pid), MSG_NOSIGNAL) < 0 &&
	    errno != EPIPE && errno != ECONNRESET)
		koda_stage2_fail("tell the guardian of the command", "", errno);
	return pair[0];
}

static void let_command_go(const struct plan *plan, const struct way_out *way, int ruleset,
			   int to_command)
{
	const int fds[GIVEN] = { ruleset, 0, 1, 2 };
	int asked = receive_fd(to_command);
	char byte = 0;

	if (asked < 0)
		end_all(true);
	koda_broker_start(plan, asked, way);
	/* From here on it runs beside us. It may be gone, and have told why. */
	if (!koda_report_pass(to_command, &byte, 1, fds, GIVEN) && errno != EPIPE &&
	    errno != ECONNRESET)
		koda_stage2_fail("give the command what it needs", "", errno);
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
		koda_stage2_fail("watch signals", "", errno);
	return signals;
}

/* The lifeline's number is free, and the bond with the guardian takes its place. */
static void tidy_descriptors(int guardian_fd)
{
	if (dup3(guardian_fd, KODA_STAGE2_LIFE_FD, O_CLOEXEC) < 0 ||
	    syscall(SYS_close_range, KODA_STAGE2_FILTERS_FD + 1, ~0U, 0) < 0)
		koda_stage2_fail("close descriptors", "", errno);
}

_Noreturn void koda_fence_init(int guardian_fd)
{
	unsigned char planned;
	struct way_out way;
	struct plan plan;
	struct go go;
	int to_command;
	int ruleset;
	int signals;
	int held;

	/* The plan is still being made. */
	koda_family_begin(true);
	tidy_descriptors(guardian_fd);
	to_command = start_command();
	held = koda_command_hold(command.pid);
	signals = watch_signals();
	wait_for_guardian(KODA_STAGE2_LIFE_FD, &planned, sizeof(planned));
	/* The guardian is still making the temporary directory. */
	plan = koda_plan_load(KODA_STAGE2_PLAN_FD);
	open_way_out(&plan, &way);
	koda_terminal_open(&plan);
	ruleset = koda_lock_rules(&plan);
	koda_scratch_adopt(&plan);
	wait_for_guardian(KODA_STAGE2_LIFE_FD, &go, sizeof(go));
	koda_lock_late_rules(&plan, ruleset);
	let_command_go(&plan, &way, ruleset, to_command);
	hand_way_out(&way);
	for (int fd = 0; fd <= 2; fd++)
		(void)close(fd);
	koda_watch_start(&plan, !go.cgroup, !go.cgroup);
	serve(signals, KODA_STAGE2_LIFE_FD, held);
}
