/* SPDX-License-Identifier: MIT */
/* Descriptors: close-on-exec from birth, closed once, read and written whole. */
#ifndef KODA_BASE_FD_H
#define KODA_BASE_FD_H

#include "base/buf.h"
#include "base/macros.h"

#include <stddef.h>

/* Closes *fd if it is open, keeps errno, leaves -1. */
void koda_fd_close(int *fd);
#define koda_auto_fd __attribute__((cleanup(koda_fd_close)))

/* Moves a descriptor out of its variable and leaves -1 behind. */
static inline int koda_take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

/* Opens the regular file behind an O_PATH descriptor for reading. Refuses files of procfs, sysfs
 * and the like. Nothing but a regular file is opened, because opening a device has side effects
 * that an attacker could choose. Fails: SYS, INVALID. */
KODA_CHECK int koda_fd_open_held(int held, int *ret_fd, struct koda_error *err);
/* Like koda_fd_open_held, for a path; follows symbolic links. Fails: SYS, INVALID. */
KODA_CHECK int koda_fd_open_regular(const char *path, int *ret_fd, struct koda_error *err);

/* Returns true for a file of procfs, sysfs and the like, and if that cannot be found out. Reading a
 * file there can have side effects, consume data or block. */
bool koda_fd_is_kernels(int fd);

/* Appends everything up to end of file; waits when the descriptor is non-blocking.
 * Fails: SYS, LIMIT at the buffer's ceiling, NOMEM. */
KODA_CHECK int koda_fd_read_all(int fd, struct koda_buf *out, struct koda_error *err);
/* Writes all len bytes. Fails: SYS. If the reader is gone, that is EPIPE only while SIGPIPE is
 * ignored or blocked. */
KODA_CHECK int koda_fd_write_all(int fd, const void *bytes, size_t len, struct koda_error *err);

/* Makes a pipe. Fails: SYS. */
KODA_CHECK int koda_fd_pipe(int *ret_read, int *ret_write, struct koda_error *err);
/* Makes a connected pair of SOCK_SEQPACKET sockets. Fails: SYS. */
KODA_CHECK int koda_fd_socketpair(int *ret_a, int *ret_b, struct koda_error *err);

/* Makes an empty memfd that is not sealed; name shows up in /proc only. Fails: SYS. */
KODA_CHECK int koda_fd_memory(const char *name, int *ret_fd, struct koda_error *err);
/* Writes the contents of a memfd, seals it against writing and resizing, and reads the seals back.
 * Fails: SYS. */
KODA_CHECK int koda_fd_seal(int fd, const void *bytes, size_t len, struct koda_error *err);
/* Makes a sealed memfd with these contents. Fails: SYS. */
KODA_CHECK int koda_fd_sealed(const char *name, const void *bytes, size_t len, int *ret_fd,
			      struct koda_error *err);
/* Returns true if fd is sealed against writing, growing, shrinking and further sealing. */
bool koda_fd_is_sealed(int fd);

/* Sends one message of len bytes (1 or more) with count descriptors (at most KODA_FD_PASS_MAX).
 * Fails: SYS. */
#define KODA_FD_PASS_MAX 16
KODA_CHECK int koda_fd_send(int socket, const void *bytes, size_t len, const int *fds, size_t count,
			    struct koda_error *err);
/* Receives one message into bytes[size]; *ret_len is its length (0: the peer is gone). The
 * descriptors, close-on-exec, go to fds[0..*ret_count), owned by the caller; more than max of
 * them, or a message longer than size, is an error and leaks nothing. Fails: SYS, LIMIT. */
KODA_CHECK int koda_fd_receive(int socket, void *bytes, size_t size, size_t *ret_len, int *fds,
			       size_t max, size_t *ret_count, struct koda_error *err);

#endif
