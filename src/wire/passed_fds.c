/* SPDX-License-Identifier: MIT */
/* T-85. */
#include "wire/passed_fds.h"

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

/* An internet socket can be disconnected and connected again, in the host's network namespace; a
 * datagram socket can send to any address. A listening socket accepts other processes, with their
 * descriptors. A connected Unix stream keeps its peer. */
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
		return "a socket that is not connected can be connected to any other";
	return NULL;
}

const char *koda_passed_fds_refusal(int fd)
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
			       : "other processes can open a pipe that has a name";
	/* Only memfds have seals: files of /proc, devices and namespaces have none. */
	if (S_ISREG(st.st_mode) && st.st_nlink == 0 && fcntl(fd, F_GET_SEALS) >= 0)
		return NULL;
	if (S_ISREG(st.st_mode))
		return "a file can be opened again for more, and its mode and times be changed; "
		       "pass a pipe or a memory file with its contents";
	return "only pipes, connected Unix sockets and memory files can be passed";
}

bool koda_passed_fds_is_sound(const struct koda_passed_fds *passed)
{
	if (passed->count == 0 || passed->count > KODA_PASSED_FDS_MAX)
		return false;
	for (uint32_t i = 0; i < passed->count; i++) {
		if (passed->numbers[i] < KODA_PASSED_FDS_FIRST ||
		    passed->numbers[i] > KODA_PASSED_FDS_LAST)
			return false;
		for (uint32_t k = 0; k < i; k++)
			if (passed->numbers[i] == passed->numbers[k])
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

/* Moves the descriptors above the numbers of the command. */
static bool park(int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int parked = fcntl(fds[i], F_DUPFD_CLOEXEC, KODA_PASSED_FDS_LAST + 1);

		if (parked < 0)
			return false;
		(void)close(fds[i]);
		fds[i] = parked;
	}
	return true;
}

bool koda_passed_fds_receive(int socket, struct koda_passed_fds *ret_passed,
			     int fds[KODA_PASSED_FDS_MAX])
{
	struct iovec part = { ret_passed, sizeof(*ret_passed) };
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * KODA_PASSED_FDS_MAX)];
	} control;
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.space,
				  .msg_controllen = sizeof(control.space) };
	const struct cmsghdr *header;
	size_t count = 0;
	ssize_t n;

	/* The runner sends it before it announces the plan, so it has arrived. */
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
	if (n == (ssize_t)sizeof(*ret_passed) && count == ret_passed->count &&
	    !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) &&
	    koda_passed_fds_is_sound(ret_passed) && park(fds, count))
		return true;
	close_all(fds, count);
	return false;
}

bool koda_passed_fds_place(const struct koda_passed_fds *passed, const int fds[KODA_PASSED_FDS_MAX])
{
	for (uint32_t i = 0; i < passed->count; i++)
		if (dup2(fds[i], passed->numbers[i]) < 0)
			return false;
	return true;
}
