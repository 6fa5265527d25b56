/* SPDX-License-Identifier: MIT */
/*
 * T-85. Descriptors that the host hands to a command, besides its streams: which ones it may, and
 * how they get from the runner to the launcher. This half needs libc only, and both sides use it:
 * what the runner has looked at, the launcher looks at again.
 */
#ifndef KODA_WIRE_DESCRIPTOR_H
#define KODA_WIRE_DESCRIPTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As many as one message carries, and the numbers that they get; everything above LAST is the
 * launcher's own until the command begins. */
#define KODA_HANDED_MAX   16
#define KODA_HANDED_FIRST 3
#define KODA_HANDED_LAST  127

/* The message that they come with, on the status socket, from the runner: nothing else goes that
 * way. */
struct koda_handed {
	uint32_t count;
	int32_t numbers[KODA_HANDED_MAX];
};

/* Why it must not be handed to a command; NULL: it may. Allowed is only what leads to nothing but
 * itself: anonymous pipes, connected Unix stream and packet sockets, and files in memory that have
 * no name. Everything else can be turned into more than it was opened for. */
const char *koda_descriptor_refusal(int fd);

/* Can the numbers be given out, each once? */
bool koda_handed_is_sound(const struct koda_handed *handed);

/* Takes what has come with the message, close-on-exec and above KODA_HANDED_LAST, in the order of
 * its numbers. False with errno, and nothing is kept, if there is none (EAGAIN), or not as many as
 * it says. */
bool koda_handed_receive(int socket, struct koda_handed *ret_handed, int fds[KODA_HANDED_MAX]);
/* Each to its number, in the process that becomes the command. False with errno. */
bool koda_handed_place(const struct koda_handed *handed, const int fds[KODA_HANDED_MAX]);

#endif
