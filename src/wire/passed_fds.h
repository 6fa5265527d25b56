/* SPDX-License-Identifier: MIT */
/*
 * T-85. Descriptors besides 0-2 that the host passes to a command: which ones are allowed, and how
 * they get from the runner to the launcher. Needs libc only, because both sides use it: the
 * launcher repeats the checks of the runner.
 */
#ifndef KODA_WIRE_PASSED_FDS_H
#define KODA_WIRE_PASSED_FDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most that one message carries, and the numbers that they may get. Numbers above LAST are used
 * by the launcher until execve. */
#define KODA_PASSED_FDS_MAX   16
#define KODA_PASSED_FDS_FIRST 3
#define KODA_PASSED_FDS_LAST  127

/* The message with the descriptors, on the status socket: the only one from runner to launcher. */
struct koda_passed_fds {
	uint32_t count;
	int32_t numbers[KODA_PASSED_FDS_MAX];
};

/* Returns why a descriptor must not be passed to a command; NULL if it may. Allowed are anonymous
 * pipes, connected Unix stream and packet sockets, and memfds. Any other descriptor could give
 * access to more than itself. */
const char *koda_passed_fds_refusal(int fd);

/* Returns true if count and numbers are in range, and no number occurs twice. */
bool koda_passed_fds_is_sound(const struct koda_passed_fds *passed);

/* Receives the message and its descriptors, close-on-exec and above KODA_PASSED_FDS_LAST, in the
 * order of its numbers. Returns false with errno, and closes all of them, if there is no message
 * (EAGAIN) or the count is wrong. */
bool koda_passed_fds_receive(int socket, struct koda_passed_fds *ret_passed,
			     int fds[KODA_PASSED_FDS_MAX]);
/* Moves each to its number with dup2, in the command's process. Returns false with errno. */
bool koda_passed_fds_place(const struct koda_passed_fds *passed,
			   const int fds[KODA_PASSED_FDS_MAX]);

#endif
