/* SPDX-License-Identifier: MIT */
/*
 * A mount namespace with a hosts file and a resolver configuration of our own, and a network
 * namespace in which port 53 is free: for tests of what names lead to.
 */
#ifndef KODA_TEST_EGRESS_NAMES_H
#define KODA_TEST_EGRESS_NAMES_H

#include "host.h"

#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

static bool names_isolated;

static inline bool names_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		(void)close(fd);
	return ok;
}

static inline bool names_unshare(void)
{
	char text[64];
	uid_t uid = getuid();
	gid_t gid = getgid();

	if (uid == 0)
		return unshare(CLONE_NEWNS | CLONE_NEWNET) == 0;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) < 0)
		return false;
	(void)snprintf(text, sizeof(text), "%u %u 1", uid, uid);
	if (!names_write("/proc/self/setgroups", "deny") ||
	    !names_write("/proc/self/uid_map", text))
		return false;
	(void)snprintf(text, sizeof(text), "%u %u 1", gid, gid);
	return names_write("/proc/self/gid_map", text);
}

/* Binds text over a file of /etc, by way of one in dir. */
static inline bool names_replace(const char *dir, const char *name, const char *text)
{
	char from[64];
	char to[64];

	(void)snprintf(from, sizeof(from), "%s/%s", dir, name);
	(void)snprintf(to, sizeof(to), "/etc/%s", name);
	return names_write(from, text) && mount(from, to, NULL, MS_BIND, NULL) == 0;
}

/* Before there are threads. */
static inline bool names_isolate(const char *hosts, const char *resolver)
{
	struct ifreq loopback = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	char dir[] = "/tmp/koda-names-XXXXXX";
	int fd;
	bool ok;

	if (!names_unshare() || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    !mkdtemp(dir))
		return false;
	ok = mount("none", dir, "tmpfs", 0, NULL) == 0 && names_replace(dir, "hosts", hosts) &&
	     names_replace(dir, "nsswitch.conf", "hosts: files dns\n") &&
	     names_replace(dir, "resolv.conf", resolver);
	(void)umount2(dir, MNT_DETACH);
	(void)rmdir(dir);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ok = ok && ioctl(fd, SIOCSIFFLAGS, &loopback) == 0;
	(void)close(fd);
	return ok;
}

/* The socket of a name server at 127.0.0.1, which does not block. */
static inline bool names_listen(int *ret_fd)
{
	const struct sockaddr_in at = { .sin_family = AF_INET,
					.sin_port = htons(53),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	*ret_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return *ret_fd >= 0 && bind(*ret_fd, (const struct sockaddr *)&at, sizeof(at)) == 0;
}

static inline void names_need(void)
{
	if (names_isolated)
		return;
	if (getenv("KODA_TEST_MUST_RUN"))
		fail_msg("no mount namespace");
	skip();
}

#endif
