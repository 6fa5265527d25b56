/* SPDX-License-Identifier: MIT */
/*
 * Carries bytes between the command's pipes and the caller's descriptors, memory or callback. The
 * first half of the limit is passed on at once. Of the rest, the last half of the limit is kept in
 * a ring and passed on at the end, after a line that tells how many bytes were left out.
 */
#ifndef KODA_RUN_STREAM_RELAY_H
#define KODA_RUN_STREAM_RELAY_H

#include "base/macros.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where output goes: to a descriptor, to a function, or nowhere. */
struct koda_relay_sink {
	int fd;              /* -1: none; then take gets the bytes, or they are thrown away */
	unsigned int number; /* for take: 1 or 2 */
	void (*take)(void *ctx, unsigned int number, const char *bytes, size_t len); /* or NULL */
	void *ctx;
	bool keeps; /* take copies the bytes into memory, and calls nothing of the caller's */
};

struct koda_relay {
	int from;                  /* owned; -1: finished */
	struct koda_relay_sink to; /* to.fd is owned */
	bool is_input;
	bool ends_after_pending; /* input from memory: pending is all there is */
	uint64_t head_left;      /* bytes that still pass at once */
	char *tail;              /* owned; a ring of tail_size bytes */
	size_t tail_size;
	uint64_t tail_total; /* bytes that were put into the ring */
	size_t tail_left;    /* bytes of the ring still to be written */
	bool tail_begun;
	uint64_t total;
	uint64_t left; /* how many more bytes are read */
	char *pending; /* owned; read but not written yet */
	size_t pending_at;
	size_t pending_len;
	int end_mark; /* byte to write when the source ends; -1: none */
	char last;    /* byte that was read last */
	int failed;   /* errno with which bytes were lost; 0: none; EPIPE does not count */
	void (*tap)(void *ctx, const char *bytes,
		    size_t len); /* sees all that passes; may be NULL */
	void *tap_ctx;
};

#define KODA_RELAY_INIT                                                                            \
	{                                                                                          \
		.from = -1, .to.fd = -1, .end_mark = -1                                            \
	}

/* These take over all descriptors, also on failure, and set O_NONBLOCK on those whose open file no
 * other process shares. Fails: NOMEM. */

/* Carries from a descriptor of the caller to the command. */
KODA_CHECK int koda_relay_open_input(struct koda_relay *relay, int from, int to,
				     struct koda_error *err);
/* Carries bytes, which are taken over, to the command. */
KODA_CHECK int koda_relay_open_bytes(struct koda_relay *relay, char *bytes, size_t len, int to,
				     struct koda_error *err);
/* Carries from the command to a sink. limit bounds the bytes that pass; UINT64_MAX: all. */
KODA_CHECK int koda_relay_open_output(struct koda_relay *relay, int from,
				      const struct koda_relay_sink *to, uint64_t limit,
				      struct koda_error *err);
/* Returns which descriptor to poll and for what; false when all is done. */
bool koda_relay_wants(const struct koda_relay *relay, int *ret_fd, short *ret_events);
/* Limits reading to the bytes that are in the pipe now. Called when the command's processes have
 * ended: another process may hold the pipe and go on writing. */
void koda_relay_last(struct koda_relay *relay);
/* Reads and writes what is possible without blocking. */
void koda_relay_step(struct koda_relay *relay);
/* Has further steps write the kept ring, after all that was read is written. False if the ring is
 * empty, or was begun already. */
bool koda_relay_finish(struct koda_relay *relay);
uint64_t koda_relay_dropped(const struct koda_relay *relay);
void koda_relay_clear(struct koda_relay *relay);

#endif
