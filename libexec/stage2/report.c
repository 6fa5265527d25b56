/* SPDX-License-Identifier: MIT */
/* Reports to the runner. If the runner is gone, the lifeline ends. */
#include "report.h"

#include "wire/report.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* How much of the socket's buffer, of 212992 bytes by default, records may take. */
#define RECORDS_BYTES 131072

static int socket_fd = KODA_STAGE2_STATUS_FD;

bool stage2_report_move(int least)
{
	int moved = fcntl(socket_fd, F_DUPFD_CLOEXEC, least);

	if (moved < 0)
		return false;
	(void)close(socket_fd);
	socket_fd = moved;
	return true;
}

static void copy_text(char *out, size_t size, const char *text)
{
	size_t len = strnlen(text, size - 1);

	memcpy(out, text, len);
	out[len] = '\0';
}

static bool send_report(const struct koda_report *report)
{
	return send(socket_fd, report, sizeof(*report), MSG_NOSIGNAL) == (ssize_t)sizeof(*report);
}

bool stage2_report_send(uint32_t kind, int status)
{
	const struct koda_report report = { .kind = kind, .status = status };

	return send_report(&report);
}

bool stage2_report_send_record(const void *record, size_t len, bool wait)
{
	int queued;

	if (wait)
		return send(socket_fd, record, len, MSG_NOSIGNAL) == (ssize_t)len;
	return ioctl(socket_fd, SIOCOUTQ, &queued) == 0 && queued < RECORDS_BYTES &&
	       send(socket_fd, record, len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len;
}

bool stage2_report_fail(uint32_t kind, enum koda_launch_step step, const char *path, int sys_errno)
{
	struct koda_report report = { .kind = kind, .step = step, .sys_errno = sys_errno };

	copy_text(report.path, sizeof(report.path), path);
	return send_report(&report);
}

bool stage2_report_pass_fds(int socket, void *bytes, size_t len, const int *fds, size_t count)
{
	struct iovec part = { bytes, len };
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(STAGE2_PASSED_MAX * sizeof(int))];
	} control = { .space = { 0 } };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.space,
				  .msg_controllen = sizeof(control.space) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(header), fds, count * sizeof(int));
	message.msg_controllen = CMSG_SPACE(count * sizeof(int));
	return sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)len;
}

int stage2_report_receive_fd(int socket)
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

	if (n < 0)
		return -1;
	errno = 0;
	header = n == 1 ? CMSG_FIRSTHDR(&message) : NULL;
	if (header && header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

bool stage2_report_send_fd(uint32_t kind, int fd, const char *path)
{
	struct koda_report report = { .kind = kind };

	copy_text(report.path, sizeof(report.path), path);
	return stage2_report_pass_fds(socket_fd, &report, sizeof(report), &fd, 1);
}
