/* SPDX-License-Identifier: MIT */
#include "own.h"

#include "base/diag.h"
#include "base/fd.h"
#include "policy/addr.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

static bool addr_of(const struct sockaddr *sa, struct koda_addr *ret_addr)
{
	*ret_addr = (struct koda_addr){ 0 };
	if (sa && sa->sa_family == AF_INET) {
		ret_addr->family = 4;
		memcpy(ret_addr->bytes, &((const struct sockaddr_in *)(const void *)sa)->sin_addr,
		       4);
		return true;
	}
	if (sa && sa->sa_family == AF_INET6) {
		ret_addr->family = 6;
		memcpy(ret_addr->bytes, &((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr,
		       16);
		return true;
	}
	return false;
}

static int load(struct koda_own *own, struct koda_error *err)
{
	struct ifaddrs *list = NULL;
	struct koda_addr *addrs;
	size_t count = 0;

	if (getifaddrs(&list) < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot list the host's addresses");
	for (struct ifaddrs *i = list; i; i = i->ifa_next)
		count++;
	addrs = calloc(count + 1, sizeof(*addrs));
	if (!addrs) {
		freeifaddrs(list);
		return koda_fail_nomem(err);
	}
	count = 0;
	for (struct ifaddrs *i = list; i; i = i->ifa_next)
		if (addr_of(i->ifa_addr, &addrs[count]))
			count++;
	freeifaddrs(list);
	free(own->addrs);
	own->addrs = addrs;
	own->count = count;
	own->stale = false;
	return KODA_OK;
}

int koda_own_open(struct koda_own *own, struct koda_error *err)
{
	const struct sockaddr_nl group = { .nl_family = AF_NETLINK,
					   .nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR };

	own->changes = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	if (own->changes < 0 ||
	    bind(own->changes, (const struct sockaddr *)(const void *)&group, sizeof(group)) < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot watch the host's addresses");
	return load(own, err);
}

/* Anything but "nothing new" means that the list may be old. Bounded: what is left over is read the
 * next time, and the list is read again then too. */
static void look_for_changes(struct koda_own *own)
{
	char news[64];

	for (int i = 0; i < 64 && own->changes >= 0; i++) {
		if (recv(own->changes, news, sizeof(news), MSG_DONTWAIT) < 0 && errno == EAGAIN)
			return;
		own->stale = true;
	}
}

bool koda_own_has(struct koda_own *own, const struct koda_addr *addr)
{
	look_for_changes(own);
	if (own->stale && load(own, NULL) < 0)
		return true;
	for (size_t i = 0; i < own->count; i++)
		if (koda_addr_equal(&own->addrs[i], addr))
			return true;
	return false;
}

void koda_own_close(struct koda_own *own)
{
	koda_fd_close(&own->changes);
	koda_free_ptr(&own->addrs);
	own->count = 0;
}
