/* SPDX-License-Identifier: MIT */
#include "route/host_addrs.h"

#include "base/error.h"
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

static int load(struct egress_host_addrs *list, struct koda_error *err)
{
	struct ifaddrs *found = NULL;
	struct koda_addr *addrs;
	size_t count = 0;

	if (getifaddrs(&found) < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot list the host's addresses");
	for (struct ifaddrs *i = found; i; i = i->ifa_next)
		count++;
	addrs = calloc(count + 1, sizeof(*addrs));
	if (!addrs) {
		freeifaddrs(found);
		return koda_fail_nomem(err);
	}
	count = 0;
	for (struct ifaddrs *i = found; i; i = i->ifa_next)
		if (addr_of(i->ifa_addr, &addrs[count]))
			count++;
	freeifaddrs(found);
	free(list->addrs);
	list->addrs = addrs;
	list->count = count;
	list->stale = false;
	return KODA_OK;
}

int egress_host_addrs_open(struct egress_host_addrs *list, struct koda_error *err)
{
	const struct sockaddr_nl group = { .nl_family = AF_NETLINK,
					   .nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR };

	list->changes = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	if (list->changes < 0 ||
	    bind(list->changes, (const struct sockaddr *)(const void *)&group, sizeof(group)) < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot watch the host's addresses");
	return load(list, err);
}

/* Reads netlink messages; anything but EAGAIN marks the list as stale. Reads a bounded number; the
 * rest is read by the next call, which marks it again. */
static void look_for_changes(struct egress_host_addrs *list)
{
	char news[64];

	for (int i = 0; i < 64 && list->changes >= 0; i++) {
		if (recv(list->changes, news, sizeof(news), MSG_DONTWAIT) < 0 && errno == EAGAIN)
			return;
		list->stale = true;
	}
}

bool egress_host_addrs_has(struct egress_host_addrs *list, const struct koda_addr *addr)
{
	look_for_changes(list);
	if (list->stale && load(list, NULL) < 0)
		return true;
	for (size_t i = 0; i < list->count; i++)
		if (koda_addr_equal(&list->addrs[i], addr))
			return true;
	return false;
}

void egress_host_addrs_close(struct egress_host_addrs *list)
{
	koda_fd_close(&list->changes);
	koda_free_ptr(&list->addrs);
	list->count = 0;
}
