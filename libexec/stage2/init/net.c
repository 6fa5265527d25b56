/* SPDX-License-Identifier: MIT */
/*
 * The network namespace. Making one takes the kernel longer than making all others together. So
 * init of the native backend makes it while the runner is still making the plan. With bubblewrap
 * the plan is finished by then, and a child process makes it meanwhile.
 */
#include "init/net.h"

#include "fail.h"
#include "sys.h"
#include "wire/report.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* Connections that wait until the proxy accepts them. */
#define BACKLOG 1024

static void raise_loopback(void)
{
	struct ifreq request = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	request.ifr_flags = IFF_UP | IFF_RUNNING;
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		stage2_fail(KODA_LAUNCH_NET_LOOPBACK, "lo", errno);
	(void)close(fd);
}

void stage2_net_make(void)
{
	if (unshare(CLONE_NEWNET) < 0)
		stage2_fail(KODA_LAUNCH_NET_CREATE, "", errno);
	raise_loopback();
}

uint16_t stage2_net_port(const struct plan *plan)
{
	struct koda_op op;
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, &op))
		if (op.kind == KODA_OP_NET)
			return (uint16_t)op.n1;
	return 0;
}

int stage2_net_listen_at(uint16_t *port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(*port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) < 0 || listen(fd, BACKLOG) < 0 ||
	    (*port == 0 && getsockname(fd, (struct sockaddr *)&address, &len) < 0))
		stage2_fail(KODA_LAUNCH_NET_LISTEN, "", errno);
	*port = ntohs(address.sin_port);
	return fd;
}

static int proc_fd; /* of /proc for the child process, which replaces it with the namespace's */
static pid_t maker;

/* The child shares the descriptor table (CLONE_FILES) and nothing else. It sends no signal when it
 * ends: init would take SIGCHLD for the command's. */
void stage2_net_begin(void)
{
	int fd;

	proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc_fd < 0)
		stage2_fail(KODA_LAUNCH_OPEN, "/proc", errno);
	maker = (pid_t)syscall(SYS_clone, CLONE_FILES, NULL, NULL, NULL, NULL);
	if (maker < 0)
		stage2_fail(KODA_LAUNCH_NET_START, "", errno);
	if (maker > 0)
		return;
	stage2_net_make();
	fd = openat(proc_fd, "self/ns/net", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || dup3(fd, proc_fd, O_CLOEXEC) < 0)
		stage2_fail(KODA_LAUNCH_NET_SEND, "", errno);
	(void)close(fd);
	_exit(0);
}

void stage2_net_join(void)
{
	int status = 0;

	while (waitpid(maker, &status, __WCLONE) < 0)
		if (errno != EINTR)
			stage2_fail(KODA_LAUNCH_NET_WAIT, "", errno);
	if (status != 0)
		stage2_fail_silently(); /* it has sent a report */
	if (setns(proc_fd, CLONE_NEWNET) < 0)
		stage2_fail(KODA_LAUNCH_NET_ENTER, "", errno);
	(void)close(proc_fd);
}

/* T-33. All connections to the outside begin at this socket, on which the proxy accepts outside of
 * the network namespace. */
int stage2_net_listen(const struct plan *plan)
{
	uint16_t port = stage2_net_port(plan);

	return port == 0 ? -1 : stage2_net_listen_at(&port);
}
