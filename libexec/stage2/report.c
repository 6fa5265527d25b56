/* SPDX-License-Identifier: MIT */
/* Telling the runner. Nobody may be there to listen; that is noticed by the lifeline. */
#include "stage2.h"

#include "wire/report.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int status = KODA_STAGE2_STATUS_FD;

void koda_report_move(int least)
{
	int moved = fcntl(status, F_DUPFD_CLOEXEC, least);

	if (moved < 0)
		koda_stage2_fail("keep a descriptor", "", errno);
	(void)close(status);
	status = moved;
}

static void copy_text(char *out, size_t size, const char *text)
{
	size_t len = strnlen(text, size - 1);

	memcpy(out, text, len);
	out[len] = '\0';
}

bool koda_report_send(uint32_t kind, int ended, int sys_errno, const char *step, const char *path)
{
	struct koda_report report = { .kind = kind, .status = ended, .sys_errno = sys_errno };

	copy_text(report.step, sizeof(report.step), step);
	copy_text(report.path, sizeof(report.path), path);
	return send(status, &report, sizeof(report), MSG_NOSIGNAL) == (ssize_t)sizeof(report);
}

bool koda_report_pass(int socket, void *bytes, size_t len, const int *fds, size_t count)
{
	struct iovec part = { bytes, len };
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(KODA_PASSED_MAX * sizeof(int))];
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

bool koda_report_give(uint32_t kind, int fd, const char *path)
{
	struct koda_report report = { .kind = kind };

	copy_text(report.path, sizeof(report.path), path);
	return koda_report_pass(status, &report, sizeof(report), &fd, 1);
}
