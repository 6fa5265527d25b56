/* SPDX-License-Identifier: MIT */
/*
 * Pid 1 of the sandbox. It maps the user, builds the view, starts the command, reaps whatever
 * ends, passes signals on, and reports how the command ended. When it exits, the kernel ends
 * everything else in the namespace.
 */
#include "stage2.h"

#include "sys.h"
#include "wire/report.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* Connections that wait for the proxy to be started. */
#define BACKLOG 1024

static void raise_loopback(void)
{
	struct ifreq request = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	request.ifr_flags = IFF_UP | IFF_RUNNING;
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		koda_stage2_fail("bring the loopback up", "lo", errno);
	(void)close(fd);
}

/* T-33. The one way out begins here: a socket in this namespace that somebody outside accepts on.
 */
void koda_init_open_way_out(const struct plan *plan)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct koda_op op;
	size_t at = 0;
	int fd;

	while (koda_ops_next(plan->bytes, &at, &op)) {
		if (op.kind != KODA_OP_NET || op.n1 == 0)
			continue;
		address.sin_port = htons((uint16_t)op.n1);
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		    listen(fd, BACKLOG) < 0)
			koda_stage2_fail("listen for the proxy", "", errno);
		koda_report_give(KODA_REPORT_LISTENER, fd, "");
		(void)close(fd);
	}
}

static _Noreturn void report_exit(int status)
{
	koda_report_send(KODA_REPORT_EXITED, status, 0, "", "");
	_exit(0);
}

/* Reaps everything that has ended; does not return once the command is among it. */
static void reap(pid_t command)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == command)
			report_exit(status);
	}
}

/* A signal that the guardian cannot send itself; else the guardian is gone. */
static void obey(pid_t command, int guardian_fd)
{
	unsigned char number;

	if (read(guardian_fd, &number, 1) != 1)
		_exit(1);
	(void)kill(-command, number);
}

static _Noreturn void serve(pid_t command, int signals, int guardian_fd)
{
	struct pollfd polled[] = { { .fd = signals, .events = POLLIN },
				   { .fd = guardian_fd, .events = POLLIN } };

	for (;;) {
		struct signalfd_siginfo info;

		if (poll(polled, 2, koda_watch_ms()) < 0 && errno != EINTR)
			_exit(1);
		koda_watch_look();
		if (polled[1].revents)
			obey(command, guardian_fd);
		if (!polled[0].revents || read(signals, &info, sizeof(info)) != sizeof(info))
			continue;
		if (info.ssi_signo == SIGCHLD)
			reap(command);
		else
			(void)kill(-command, (int)info.ssi_signo);
	}
}

/* The guardian has the plan and has made its placeholders, or it is gone. */
static struct go wait_for_guardian(int guardian_fd)
{
	struct go go;
	ssize_t n;

	do {
		n = read(guardian_fd, &go, sizeof(go));
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(go))
		_exit(1);
	return go;
}

/* Gaining capabilities, as by a new user namespace, undoes it. */
static void tie_to_guardian(void)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		koda_stage2_fail("tie init to the guardian", "", errno);
}

/* What no plan can change. The runner is still making it meanwhile. */
static void prepare(uid_t user, gid_t group)
{
	tie_to_guardian();
	koda_user_map(user, group);
	koda_view_prepare();
	raise_loopback();
	if (sethostname("koda", 4) < 0)
		koda_stage2_fail("set the host name", "", errno);
	koda_report_send(KODA_REPORT_READY, KODA_REPORT_READY_LOCKED, 0, "", "");
}

_Noreturn void koda_init_run(const struct plan *plan, uid_t user, bool group)
{
	sigset_t all;
	pid_t command;
	int signals;

	/* In the view that the command has: what is opened in another has no path there. */
	koda_terminal_open(plan);
	tie_to_guardian();
	koda_lock_privileges();
	(void)sigfillset(&all);
	signals = signalfd(-1, &all, SFD_CLOEXEC);
	if (signals < 0)
		koda_stage2_fail("watch signals", "", errno);
	command = fork();
	if (command < 0)
		koda_stage2_fail("start the command's process", "", errno);
	if (command == 0)
		koda_command_main(plan);
	for (int fd = 0; fd <= 2; fd++)
		(void)close(fd);
	koda_watch_start(plan, user == 0 && !group, !group);
	serve(command, signals, KODA_STAGE2_LIFE_FD);
}

_Noreturn void koda_init_main(int guardian_fd, uid_t user, gid_t group)
{
	struct plan plan;
	struct go go;

	prepare(user, group);
	go = wait_for_guardian(guardian_fd);
	plan = koda_plan_load();
	koda_view_build(&plan, &go);
	/* Detached trees, mount points: all are done with. The lifeline's number is free, and the
	 * bond with the guardian takes its place. */
	if (dup3(guardian_fd, KODA_STAGE2_LIFE_FD, O_CLOEXEC) < 0 ||
	    syscall(SYS_close_range, KODA_STAGE2_LIFE_FD + 1, ~0U, 0) < 0)
		koda_stage2_fail("close descriptors", "", errno);
	koda_init_open_way_out(&plan);
	/* Before there is a command: once it runs, nothing may fail any more. */
	koda_check_remember_view();
	koda_user_seclude(user, group);
	koda_init_run(&plan, user, go.cgroup);
}
