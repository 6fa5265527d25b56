/* SPDX-License-Identifier: MIT */
/*
 * T-37. Where there are no namespaces, some system calls of the command wait for init, which does
 * them itself or says no. The process's own call is never let go on: what was checked is a copy,
 * and what is acted on is a duplicate, so nothing that changes meanwhile counts.
 */
#ifndef KODA_STAGE2_BROKER_H
#define KODA_STAGE2_BROKER_H

#include "stage2.h"

#include <linux/seccomp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Both with their NULs. */
#define KODA_TOKEN_BYTES 32
#define KODA_TOKEN_TEXT  (2 * KODA_TOKEN_BYTES + 1)

/* The way out: connections to the first port go to the second, and begin with the token. */
struct way_out {
	uint16_t inside; /* 0: there is none */
	uint16_t real;
	int listener; /* until it is handed out */
	char token[KODA_TOKEN_TEXT];
};

/* Takes over the descriptor on which calls wait. */
void koda_broker_start(const struct plan *plan, int notifications, const struct way_out *way);

/* What to wait for (at most KODA_BROKER_POLLED) and how long at most, in milliseconds or -1; then a
 * step, whatever came. */
#define KODA_BROKER_PENDING 32
#define KODA_BROKER_POLLED  (KODA_BROKER_PENDING + 1)
size_t koda_broker_wants(struct pollfd *polled, int *ret_ms);
void koda_broker_step(void);

/* A call that waits. */
struct asked {
	uint64_t id;
	pid_t thread;
	int call;
	uint64_t args[6];
	int pidfd;
};

/* The call still waits, so its process is still the one that was looked at. */
bool koda_asked_holds(const struct asked *asked);
/* From the process's memory: 0, or a negative errno. */
int koda_asked_copy(const struct asked *asked, uint64_t at, void *out, size_t len);
/* A duplicate of one of its descriptors, or a negative errno. Ours may be the last when it is
 * closed. */
int koda_asked_fd(const struct asked *asked, int number);
void koda_asked_close(int fd);
/* A place (O_PATH) as the process names it, or a negative errno. */
int koda_asked_open(const struct asked *asked, int dirfd, const char *path, bool follow);
/* While it is on, no call waits for longer than a moment, if it can be interrupted at all. Other
 * signals stay blocked. */
void koda_broker_wake(bool on);
/* Does some grant of this right cover the place that fd is open at? */
bool koda_broker_may(int fd, uint64_t right);

/* Answers of a part: what the call returns, or a negative errno; or none yet. */
#define KODA_ASKED_LATER 1
long koda_broker_connect(const struct asked *asked);
long koda_broker_listen(const struct asked *asked);
void koda_connect_start(const struct plan *plan);
/* Without waiting, whatever kind of socket it is: 0, or a negative errno. */
int koda_connect_now(int fd, const void *address, socklen_t len);
/* Connections to the proxy, and those that are not there yet. */
void koda_way_start(const struct way_out *way, void (*answer)(uint64_t id, long result));
/* Takes fd. */
long koda_way_connect(const struct asked *asked, int fd, struct sockaddr_storage *address,
		      socklen_t len);
size_t koda_way_wants(struct pollfd *polled, int *ret_ms);
void koda_way_step(void);
/* Modes, owners and times of files. */
long koda_broker_file(const struct asked *asked);

#endif
