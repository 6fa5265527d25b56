/* SPDX-License-Identifier: MIT */
/*
 * Messages to the host. They are sent at once or wait in a queue. If the host does not read, events
 * are dropped and counted for their tenant. Each tenant has a share of the queue, so that the
 * events of one do not displace those of another.
 */
#ifndef KODA_EGRESS_IO_REPORT_H
#define KODA_EGRESS_IO_REPORT_H

#include "base/buf.h"
#include "wire/egress.h"

#include <stdbool.h>

/* Places in the queue: of events, of one tenant's events, of events and questions (a question that
 * is lost counts as denied), of all messages (replies to the host must not be lost). */
#define EGRESS_REPORTS_EVENTS 512
#define EGRESS_REPORTS_SHARE  256
#define EGRESS_REPORTS_ASKS   576
#define EGRESS_REPORTS_MAX    640

struct egress_reports {
	int fd;                              /* borrowed: the control socket */
	struct koda_egress_message *waiting; /* owned ring, allocated when needed */
	/* Called when the queue stops or starts to be empty. */
	void (*block)(struct egress_reports *reports, bool waits);
	size_t first;
	size_t count;
};

/* Copies text, truncated to size, with a terminator. */
void egress_report_text(char *out, size_t size, struct koda_span text);
#define EGRESS_REPORT_TEXT(field, span) egress_report_text((field), sizeof(field), (span))

/* Fills in the magic, and sends or queues the message. Returns false if it is lost. */
bool egress_report(struct egress_reports *reports, struct koda_egress_message *message);
/* Like egress_report, for an event. *dropped counts the events lost since the last one that was
 * sent; the next one carries the count. */
void egress_report_event(struct egress_reports *reports, struct koda_egress_message *message,
			 uint32_t *dropped);
/* Sends queued messages: the socket is writable. */
void egress_reports_flush(struct egress_reports *reports);
void egress_reports_clear(struct egress_reports *reports);

#endif
