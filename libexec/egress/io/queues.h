/* SPDX-License-Identifier: MIT */
/* One queue for each kind of deadline; io/bounds.h has their lengths. */
#ifndef KODA_EGRESS_IO_QUEUES_H
#define KODA_EGRESS_IO_QUEUES_H

#include "io/loop.h"

struct egress_queues {
	struct egress_queue head;
	struct egress_queue connect;
	struct egress_queue attempt;
	struct egress_queue ask;
	struct egress_queue idle;
	struct egress_queue tunnel; /* no bytes in a tunnel with an open gate */
	struct egress_queue linger;
	struct egress_queue retry; /* resumes accept4(2) after an error */
};

/* Returns the queue for connections without traffic: a longer deadline for a tunnel with an open
 * gate. */
static inline struct egress_queue *egress_queues_silence(struct egress_queues *queues, bool passes)
{
	return passes ? &queues->tunnel : &queues->idle;
}

#endif
