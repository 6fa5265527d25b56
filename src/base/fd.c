/* SPDX-License-Identifier: MIT */
#include "base/fd.h"

#include "base/error.h"
#include "base/sigguard.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define READ_CHUNK ((size_t)64 * 1024)
#define ALL_SEALS  (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/* The kernel's header does not have these. */
#define CONFIGFS_MAGIC 0x62656570
#define FUSECTL_MAGIC  0x65735543

void koda_fd_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd); /* Linux frees the number even on EINTR: never retried */
	*fd = -1;
	errno = saved;
}

bool koda_fd_is_kernels(int fd)
{
	static const unsigned long kinds[] = {
		PROC_SUPER_MAGIC,   SYSFS_MAGIC,         TRACEFS_MAGIC,        DEBUGFS_MAGIC,
		CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, SECURITYFS_MAGIC,     SELINUX_MAGIC,
		SMACK_MAGIC,        BPF_FS_MAGIC,        PSTOREFS_MAGIC,       EFIVARFS_MAGIC,
		BINFMTFS_MAGIC,     NSFS_MAGIC,          RDTGROUP_SUPER_MAGIC, XENFS_SUPER_MAGIC,
		CONFIGFS_MAGIC,     FUSECTL_MAGIC,
	};
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return true;
	for (size_t i = 0; i < KODA_ARRAY_LEN(kinds); i++)
		if ((unsigned long)fs.f_type == kinds[i])
			return true;
	return false;
}

int koda_fd_open_held(int held, int *ret_fd, struct koda_error *err)
{
	char name[sizeof("/proc/self/fd/") + 3 * sizeof(held)];
	struct stat st;
	int fd;

	if (fstat(held, &st) < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot stat");
	if (S_ISDIR(st.st_mode))
		return koda_fail(err, KODA_E_INVALID, 0, "is a directory, not a file");
	if (!S_ISREG(st.st_mode) || koda_fd_is_kernels(held))
		return koda_fail(err, KODA_E_INVALID, 0, "is not a regular file");
	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", held);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT)
		return koda_fail(err, KODA_E_SYS, errno, "cannot open without /proc");
	if (fd < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot open");
	*ret_fd = fd;
	return KODA_OK;
}

int koda_fd_open_regular(const char *path, int *ret_fd, struct koda_error *err)
{
	koda_auto_fd int held = open(path, O_PATH | O_CLOEXEC);
	int r = held < 0 ? koda_fail(err, KODA_E_SYS, errno, "cannot open")
			 : koda_fd_open_held(held, ret_fd, err);

	if (r < 0)
		koda_error_within(err, path);
	return r;
}

/* Waits until a non-blocking descriptor is ready; the caller's read or write reports errors. */
static void wait_ready(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	(void)poll(&p, 1, -1);
}

int koda_fd_read_all(int fd, struct koda_buf *out, struct koda_error *err)
{
	for (;;) {
		/* One byte past the ceiling tells "exactly full" from "too long". */
		size_t want = out->max - out->len < READ_CHUNK ? out->max - out->len : READ_CHUNK;
		char probe;
		char *room = &probe;
		ssize_t n;
		int r;

		if (want > 0) {
			r = koda_buf_room(out, want, &room);
			if (r < 0)
				return koda_fail_nomem(err);
		}
		n = read(fd, room, want > 0 ? want : 1);
		if (n == 0)
			return KODA_OK;
		if (n > 0 && want == 0)
			return koda_fail(err, KODA_E_LIMIT, 0, "more than %zu bytes", out->max);
		if (n > 0)
			koda_buf_grew(out, (size_t)n);
		else if (errno == EAGAIN)
			wait_ready(fd, POLLIN);
		else if (errno != EINTR)
			return koda_fail(err, KODA_E_SYS, errno, "cannot read");
	}
}

int koda_fd_write_all(int fd, const void *bytes, size_t len, struct koda_error *err)
{
	const char *p = bytes;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n >= 0) {
			p += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			wait_ready(fd, POLLOUT);
		} else if (errno != EINTR) {
			return koda_fail(err, KODA_E_SYS, errno, "cannot write");
		}
	}
	return KODA_OK;
}

int koda_fd_pipe(int *ret_read, int *ret_write, struct koda_error *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot make a pipe");
	*ret_read = ends[0];
	*ret_write = ends[1];
	return KODA_OK;
}

int koda_fd_socketpair(int *ret_a, int *ret_b, struct koda_error *err)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot make a socket pair");
	*ret_a = ends[0];
	*ret_b = ends[1];
	return KODA_OK;
}

bool koda_fd_is_sealed(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & ALL_SEALS) == ALL_SEALS;
}

int koda_fd_memory(const char *name, int *ret_fd, struct koda_error *err)
{
	*ret_fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*ret_fd < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot make an in-memory file");
	return KODA_OK;
}

int koda_fd_seal(int fd, const void *bytes, size_t len, struct koda_error *err)
{
	struct koda_sigguard quiet;
	int r;

	/* RLIMIT_FSIZE holds for a memfd too. */
	koda_sigguard_begin(&quiet);
	r = koda_fd_write_all(fd, bytes, len, err);
	koda_sigguard_end(&quiet);
	if (r < 0)
		return r;
	if (lseek(fd, 0, SEEK_SET) < 0 || fcntl(fd, F_ADD_SEALS, ALL_SEALS) < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot seal an in-memory file");
	if (!koda_fd_is_sealed(fd))
		return koda_fail(err, KODA_E_SYS, 0, "the seals of an in-memory file did not take");
	return KODA_OK;
}

int koda_fd_sealed(const char *name, const void *bytes, size_t len, int *ret_fd,
		   struct koda_error *err)
{
	koda_auto_fd int fd = -1;
	int r = koda_fd_memory(name, &fd, err);

	if (r == KODA_OK)
		r = koda_fd_seal(fd, bytes, len, err);
	if (r == KODA_OK)
		*ret_fd = koda_take_fd(&fd);
	return r;
}

union control {
	struct cmsghdr align;
	char room[CMSG_SPACE(sizeof(int) * KODA_FD_PASS_MAX)];
};

int koda_fd_send(int socket, const void *bytes, size_t len, const int *fds, size_t count,
		 struct koda_error *err)
{
	/* sendmsg does not write through iov_base; the cast only satisfies its type. */
	struct iovec iov = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = len };
	union control control = { 0 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (len == 0 || count > KODA_FD_PASS_MAX)
		return koda_fail(err, KODA_E_INVALID, 0, "message of %zu bytes, %zu descriptors",
				 len, count);
	if (count > 0) {
		struct cmsghdr *c;

		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * count);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * count);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * count);
	}
	do {
		n = sendmsg(socket, &msg, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot send a message");
	if ((size_t)n != len)
		return koda_fail(err, KODA_E_SYS, 0, "a message was cut short");
	return KODA_OK;
}

/* Collects the descriptors of msg; those beyond max are closed. Returns how many there were. */
static size_t collect_fds(struct msghdr *msg, int *fds, size_t max)
{
	size_t seen = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (seen < max)
				fds[seen] = fd;
			else
				koda_fd_close(&fd);
			seen++;
		}
	}
	return seen;
}

int koda_fd_receive(int socket, void *bytes, size_t size, size_t *ret_len, int *fds, size_t max,
		    size_t *ret_count, struct koda_error *err)
{
	struct iovec iov = { .iov_base = bytes, .iov_len = size };
	union control control = { 0 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	size_t count;
	ssize_t n;

	do {
		n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot receive a message");
	count = collect_fds(&msg, fds, max);
	if (n == 0 || count > max || (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
		for (size_t i = 0; i < count && i < max; i++)
			koda_fd_close(&fds[i]);
		if (n > 0 || count > max)
			return koda_fail(err, KODA_E_LIMIT, 0, "a message is larger than agreed");
		count = 0; /* an empty message is the end, whatever came with it */
	}
	*ret_len = (size_t)n;
	*ret_count = count;
	return KODA_OK;
}
