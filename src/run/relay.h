/* SPDX-License-Identifier: MIT */
/*
 * Carrying bytes between the caller's descriptors and the command's pipes. Output streams at once
 * until half of the ceiling has passed; of the rest the last half is kept and written at the end,
 * with a line that tells how much is missing. Memory never exceeds the ceiling.
 */
#ifndef KODA_RUN_RELAY_H
#define KODA_RUN_RELAY_H

#include "base/macros.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct koda_relay {
	int from; /* owned; -1: finished */
	int to;   /* borrowed for output, owned for input; -1: bytes are thrown away */
	bool own_to;
	uint64_t head_left; /* bytes that still pass at once */
	char *tail;         /* owned; a ring of tail_size bytes */
	size_t tail_size;
	uint64_t tail_total; /* bytes that went into it */
	uint64_t total;
	uint64_t left; /* bytes that are still read */
	char *pending; /* owned; read but not written yet */
	size_t pending_at;
	size_t pending_len;
	int end_mark; /* byte to write when the source ends; -1: none */
	char last;    /* byte that was read last */
	int failed;   /* errno: bytes were lost, but not because the reader is gone; 0: none were */
	void (*tap)(void *ctx, const char *bytes,
		    size_t len); /* sees all that passes; may be NULL */
	void *tap_ctx;
};

#define KODA_RELAY_INIT                                                                            \
	{                                                                                          \
		.from = -1, .to = -1, .end_mark = -1                                               \
	}

/* from is taken over; to is borrowed unless own_to. ceiling bounds what passes (UINT64_MAX: all).
 * Both are made non-blocking where that affects nobody else. Fails: NOMEM. */
KODA_CHECK int koda_relay_open(struct koda_relay *relay, int from, int to, bool own_to,
			       uint64_t ceiling, struct koda_error *err);
/* Which descriptor to poll, and for what; false when there is nothing left to do. */
bool koda_relay_wants(const struct koda_relay *relay, int *ret_fd, short *ret_events);
/* Nobody of ours writes any more: what is in the pipe now still comes, what somebody else who has
 * got hold of it writes later does not. */
void koda_relay_last(struct koda_relay *relay);
/* Does what is possible without waiting. */
void koda_relay_step(struct koda_relay *relay);
/* Writes the kept tail, waiting for the reader until the deadline; the rest is lost. */
void koda_relay_finish(struct koda_relay *relay, uint64_t deadline_ns);
uint64_t koda_relay_dropped(const struct koda_relay *relay);
void koda_relay_clear(struct koda_relay *relay);

#endif
