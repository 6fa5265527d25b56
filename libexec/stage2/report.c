/* SPDX-License-Identifier: MIT */
/* Reports to the runner. If the runner is gone, the lifeline ends. */
#include "report.h"

#include "wire/report.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

bool stage2_report_send_fd(uint32_t kind, int fd, const char *path)
{
	struct koda_report report = { .kind = kind };

	copy_text(report.path, sizeof(report.path), path);
	return stage2_report_pass_fds(socket_fd, &report, sizeof(report), &fd, 1);
}
