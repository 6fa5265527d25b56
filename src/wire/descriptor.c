/* SPDX-License-Identifier: MIT */
/* T-85. */
#include "wire/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#define PIPEFS 0x50495045

#ifndef F_GET_SEALS
#define F_GET_SEALS (1024 + 10)
#endif

static int socket_option(int fd, int option)
{
	socklen_t len = sizeof(int);
	int value = -1;

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) < 0 ? -1 : value;
}

/* A socket of the internet's can be disconnected and connected to anybody, in the host's network;
 * so can a datagram socket send to anybody. One that listens lets strangers in, with descriptors of
 * their own. A stream that is connected stays so. */
static const char *refuse_socket(int fd)
{
	struct sockaddr_un peer;
	socklen_t len = sizeof(peer);
	int type = socket_option(fd, SO_TYPE);

	if (socket_option(fd, SO_DOMAIN) != AF_UNIX)
		return "a network socket can be connected to any host, past the proxy";
	if (type != SOCK_STREAM && type != SOCK_SEQPACKET)
		return "a datagram socket can send to any socket of the host";
	if (socket_option(fd, SO_ACCEPTCONN) != 0 ||
	    getpeername(fd, (struct sockaddr *)&peer, &len) < 0)
		return "only a socket that is connected leads to nobody else";
	return NULL;
}

const char *koda_descriptor_refusal(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	struct statfs fs;
	struct stat st;

	if (flags < 0 || fstat(fd, &st) < 0)
		return "it is not open";
	if (S_ISDIR(st.st_mode))
		return "a directory leads to everything below and above it";
	if (flags & O_PATH)
		return "a path that is not opened can be opened for anything";
	if (S_ISSOCK(st.st_mode))
		return refuse_socket(fd);
	if (S_ISFIFO(st.st_mode))
		return fstatfs(fd, &fs) == 0 && fs.f_type == PIPEFS
			       ? NULL
			       : "a pipe that has a name can be met by others";
	/* Only files in memory have seals: no file of /proc, of a device or of a namespace does. */
	if (S_ISREG(st.st_mode) && st.st_nlink == 0 && fcntl(fd, F_GET_SEALS) >= 0)
		return NULL;
	if (S_ISREG(st.st_mode))
		return "a file can be opened again for more, and its mode and times be changed; "
		       "hand over a pipe or a memory file with its contents";
	return "only pipes, connected Unix sockets and memory files can be handed over";
}

bool koda_handed_is_sound(const struct koda_handed *handed)
{
	if (handed->count == 0 || handed->count > KODA_HANDED_MAX)
		return false;
	for (uint32_t i = 0; i < handed->count; i++) {
		if (handed->numbers[i] < KODA_HANDED_FIRST || handed->numbers[i] > KODA_HANDED_LAST)
			return false;
		for (uint32_t k = 0; k < i; k++)
			if (handed->numbers[i] == handed->numbers[k])
				return false;
	}
	return true;
}

static void close_all(const int *fds, size_t count)
{
	int saved = errno;

	for (size_t i = 0; i < count; i++)
		(void)close(fds[i]);
	errno = saved;
}

/* Out of the way of the numbers that are given out. */
static bool park(int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int parked = fcntl(fds[i], F_DUPFD_CLOEXEC, KODA_HANDED_LAST + 1);

		if (parked < 0)
			return false;
		(void)close(fds[i]);
		fds[i] = parked;
	}
	return true;
}

bool koda_handed_receive(int socket, struct koda_handed *ret_handed, int fds[KODA_HANDED_MAX])
{
	struct iovec part = { ret_handed, sizeof(*ret_handed) };
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * KODA_HANDED_MAX)];
	} control;
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.space,
				  .msg_controllen = sizeof(control.space) };
	const struct cmsghdr *header;
	size_t count = 0;
	ssize_t n;

	/* It was sent before whoever receives was told of the plan. */
	do {
		n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return false;
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
		count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(header), count * sizeof(int));
	}
	errno = EPROTO;
	if (n == (ssize_t)sizeof(*ret_handed) && count == ret_handed->count &&
	    !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) && koda_handed_is_sound(ret_handed) &&
	    park(fds, count))
		return true;
	close_all(fds, count);
	return false;
}

bool koda_handed_place(const struct koda_handed *handed, const int fds[KODA_HANDED_MAX])
{
	for (uint32_t i = 0; i < handed->count; i++)
		if (dup2(fds[i], handed->numbers[i]) < 0)
			return false;
	return true;
}
