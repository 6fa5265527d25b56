/* SPDX-License-Identifier: MIT */
/*
 * The network namespace. Making one takes the kernel longer than all the others together, so init
 * makes it last of what needs no plan, while the runner is still making that.
 */
#include "stage2.h"

#include "sys.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

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

/* T-33. The one way out begins here: a socket in this namespace that somebody outside accepts on.
 */
int koda_net_listen(const struct plan *plan)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct koda_op op = { .kind = KODA_OP_COUNT };
	size_t at = 0;
	int fd;

	while (op.kind != KODA_OP_NET)
		if (!koda_ops_next(plan->bytes, &at, &op))
			return -1;
	if (op.n1 == 0)
		return -1;
	address.sin_port = htons((uint16_t)op.n1);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, BACKLOG) < 0)
		koda_stage2_fail("listen for the proxy", "", errno);
	return fd;
}
