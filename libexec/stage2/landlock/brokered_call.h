/* SPDX-License-Identifier: MIT */
/*
 * One system call of the command that init performs. The command's own call is never continued:
 * what was checked is a copy, and what is acted on is a duplicate, so changes made by other threads
 * meanwhile have no effect.
 */
#ifndef KODA_STAGE2_LANDLOCK_BROKERED_CALL_H
#define KODA_STAGE2_LANDLOCK_BROKERED_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/* A call that waits for its result. */
struct brokered_call {
	uint64_t id;  /* of the notification */
	int listener; /* the seccomp listener */
	pid_t thread;
	int call; /* SYS_... */
	uint64_t args[6];
	int pidfd; /* of the thread, or of its process on older kernels */
};

/* The handler's result is known later. */
#define STAGE2_BROKERED_CALL_PENDING 1

/* Returns true if the call still waits, so that its pid is still the one that was examined. */
bool stage2_brokered_call_holds(const struct brokered_call *call);
/* Returns a duplicate of a descriptor of the command, or a negative errno. */
int stage2_brokered_call_fd(const struct brokered_call *call, int number);
/* Closes such a duplicate. It may be the last, so that SO_LINGER applies; the timer ends that. */
void stage2_brokered_call_close(int fd);
/* Opens (O_PATH) what the command calls path. Returns a negative errno. */
int stage2_brokered_call_open(const struct brokered_call *call, int dirfd, const char *path,
			      bool follow);
/* Connects a duplicate without waiting, whatever kind of socket it is. Returns 0 or a negative
 * errno. */
int stage2_brokered_call_connect(int fd, const void *address, socklen_t len);

#endif
