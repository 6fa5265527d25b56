/* SPDX-License-Identifier: MIT */
/*
 * The network namespace. Making one takes the kernel longer than all the others together, so init
 * makes it last of what needs no plan, while the runner is still making that. Where bubblewrap has
 * made the others there is a plan by then, and another process makes it meanwhile.
 */
#include "stage2.h"

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

void koda_net_make(void)
{
	if (unshare(CLONE_NEWNET) < 0)
		koda_stage2_fail("create a network namespace", "", errno);
	raise_loopback();
}

uint16_t koda_net_port(const struct plan *plan)
{
	struct koda_op op;
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, &op))
		if (op.kind == KODA_OP_NET)
			return (uint16_t)op.n1;
	return 0;
}

int koda_net_listen_at(uint16_t *port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(*port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) < 0 || listen(fd, BACKLOG) < 0 ||
	    (*port == 0 && getsockname(fd, (struct sockaddr *)&address, &len) < 0))
		koda_stage2_fail("listen for the proxy", "", errno);
	*port = ntohs(address.sin_port);
	return fd;
}

static int place; /* in which the other process finds /proc, and leaves the namespace */
static pid_t maker;

/* It shares the table of descriptors, and nothing else. No signal tells of its end: init would take
 * one for the command's. */
void koda_net_begin(void)
{
	int fd;

	place = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (place < 0)
		koda_stage2_fail("open", "/proc", errno);
	maker = (pid_t)syscall(SYS_clone, CLONE_FILES, NULL, NULL, NULL, NULL);
	if (maker < 0)
		koda_stage2_fail("start a process for the network", "", errno);
	if (maker > 0)
		return;
	koda_net_make();
	fd = openat(place, "self/ns/net", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || dup3(fd, place, O_CLOEXEC) < 0)
		koda_stage2_fail("hand the network over", "", errno);
	(void)close(fd);
	_exit(0);
}

void koda_net_join(void)
{
	int status = 0;

	while (waitpid(maker, &status, __WCLONE) < 0)
		if (errno != EINTR)
			koda_stage2_fail("wait for the network", "", errno);
	if (status != 0)
		koda_stage2_leave(); /* it has said why */
	if (setns(place, CLONE_NEWNET) < 0)
		koda_stage2_fail("enter the network namespace", "", errno);
	(void)close(place);
}

/* T-33. The one way out begins here: a socket in this namespace that somebody outside accepts on.
 */
int koda_net_listen(const struct plan *plan)
{
	uint16_t port = koda_net_port(plan);

	return port == 0 ? -1 : koda_net_listen_at(&port);
}
