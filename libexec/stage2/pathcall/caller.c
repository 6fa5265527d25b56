/* SPDX-License-Identifier: MIT */
#include "pathcall/caller.h"

#include "sys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define PAGE 4096

int stage2_caller_copy(pid_t thread, uint64_t at, void *out, size_t len)
{
	struct iovec ours = { out, len };
	struct iovec theirs = { (void *)(uintptr_t)at, len };
	ssize_t n = process_vm_readv(thread, &ours, 1, &theirs, 1, 0);

	/* A process that is undumpable cannot be examined (EPERM). */
	if (n < 0)
		return errno == EPERM ? -EACCES : -errno;
	return (size_t)n == len ? 0 : -EFAULT;
}

/* Page by page: the next page may not be mapped. */
int stage2_caller_copy_text(pid_t thread, uint64_t at, char *out)
{
	size_t len = 0;

	while (len < PATHCALL_PATH_BYTES) {
		size_t step = PAGE - (size_t)((at + len) % PAGE);
		int r;

		step = step < PATHCALL_PATH_BYTES - len ? step : PATHCALL_PATH_BYTES - len;
		r = stage2_caller_copy(thread, at + len, out + len, step);
		if (r < 0)
			return r;
		if (memchr(out + len, '\0', step))
			return 0;
		len += step;
	}
	return -ENAMETOOLONG;
}

/* Writes the name of the link to it in /proc. */
static void name_dir(pid_t thread, int dirfd, char out[48])
{
	if (dirfd == AT_FDCWD)
		(void)snprintf(out, 48, "/proc/%d/cwd", thread);
	else
		(void)snprintf(out, 48, "/proc/%d/fd/%d", thread, dirfd);
}

ssize_t stage2_caller_dir_text(pid_t thread, int dirfd, char *out, size_t size)
{
	char name[48];
	ssize_t n;

	name_dir(thread, dirfd, name);
	n = readlink(name, out, size - 1);
	if (n < 0)
		return -errno;
	/* A text that fills the buffer may have been cut. */
	if ((size_t)n == size - 1)
		return -ENAMETOOLONG;
	out[n] = '\0';
	return n;
}

int stage2_caller_open_dir(pid_t thread, int dirfd)
{
	char name[48];
	int fd;

	name_dir(thread, dirfd, name);
	fd = open(name, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

pid_t stage2_caller_process(pid_t thread)
{
	char text[512];
	char path[32];
	const char *at;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", thread);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		(void)close(fd);
	text[n > 0 ? n : 0] = '\0';
	at = strstr(text, "\nTgid:");
	return at ? (pid_t)strtol(at + 6, NULL, 10) : 0;
}
